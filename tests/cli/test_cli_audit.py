"""`remit audit`: the rows read back, nothing in them is obeyed, and a changed one is named."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import DESK, Remit


@pytest.fixture
def url(author: Remit, tmp_path: Path) -> str:
    for args in (["ping"], ["echo", "--title", "a"], ["fail", "--how", "gone"], ["ping"]):
        author(*args)
    return f"sqlite:///{tmp_path}/desk.db"


def test_tail_shows_the_last_rows_newest_last(remit: Remit, url: str) -> None:
    shown = remit("audit", "tail", DESK, "-n", "3", "--json")
    assert shown.exit_code == 0, shown.output
    rows = [json.loads(line) for line in shown.stdout.splitlines()]
    assert [row["tool"] for row in rows] == ["echo", "fail", "ping"]
    table = remit("audit", "tail", "--store", url).stdout
    assert "asha" in table
    assert "not_found" in table
    only = remit("audit", "tail", DESK, "--json", "--tool", "ping", "--outcome", "ok").stdout
    assert len(only.splitlines()) == 2
    assert remit("audit", "tail", DESK, "--principal", "nobody").stdout == "no rows\n"


def test_what_a_caller_wrote_is_drawn(remit: Remit, url: str) -> None:
    remit("call", "--claims", '{"sub": "\\u001b[31meve\\u202e"}', DESK, "ping")
    remit("call", DESK, "\x1b[2Jnothing")
    for args in ((), ("--json",)):
        shown = remit("audit", "tail", DESK, *args).stdout
        assert not set("\x1b\u202e") & set(shown)


def test_verify_names_the_first_broken_row(remit: Remit, url: str, tmp_path: Path) -> None:
    fine = remit("audit", "verify", "--store", url)
    assert fine.exit_code == 0, fine.output
    with sqlite3.connect(tmp_path / "desk.db") as store:
        names = store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            store.execute(f"DROP TRIGGER {name}")
        store.execute("UPDATE audit SET outcome = 'ok' WHERE seq = 3")
    store.close()
    broken = remit("audit", "verify", DESK)
    assert broken.exit_code == 1
    assert "3" in broken.stderr
    verdict = json.loads(remit("audit", "verify", DESK, "--json").stdout)
    assert (verdict["ok"], verdict["first_bad"]) == (False, 3)


def test_a_log_that_isnt_there_is_not_a_whole_one(remit: Remit, tmp_path: Path) -> None:
    result = remit("audit", "verify", "--store", f"sqlite:///{tmp_path}/typo.db")
    assert result.exit_code == 2
    assert "no file" in result.stderr
    assert not (tmp_path / "typo.db").exists()
    assert remit("audit", "verify").exit_code == 2
    assert remit("audit", "verify", DESK, "--store", "sqlite://").exit_code == 2
