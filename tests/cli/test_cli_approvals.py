"""`remit approvals`: a named person reads the whole request and decides about that one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.cli import desk
from tests.cli.conftest import AUTHOR, DESK, EDITOR, Remit

HIDDEN = "hello\u200b\u202e\x1b[31m [bold]x[/bold]"


@pytest.fixture
def filed(author: Remit) -> Any:
    """A request that waits, as the list shows it to scripts."""

    def file(note: str = HIDDEN) -> Any:
        result = author("request_publish", "--note", note)
        assert result.exit_code == 3, result.output
        short = json.loads(result.stdout)["data"]["request"]

        async def found() -> Any:
            one = next(r for r in await desk.app.approvals.all() if r.short == short)
            await desk.app.close()
            return one

        return asyncio.run(found())

    return file


@pytest.mark.parametrize("args", [["list"], ["show", "x"], ["approve", "x"], ["deny", "x"]])
@pytest.mark.parametrize(
    ("claims", "hint"),
    [
        ([], "say who you are"),
        (["--claims", '{"roles": ["editor"]}'], "name nobody"),
        (["--claims", '{"sub": 7, "roles": ["editor"]}'], "name nobody"),
        (["--claims", '{"sub": "ed"}'], "no roles"),
        (["--claims", AUTHOR], "no roles"),
    ],
)
def test_nobody_in_particular_sees_or_decides(
    remit: Remit, args: list[str], claims: list[str], hint: str
) -> None:
    result = remit("approvals", args[0], *claims, DESK, *args[1:])
    assert result.exit_code == 5
    assert hint in result.stderr


def test_the_list_draws_what_the_requester_wrote(remit: Remit, filed: Any) -> None:
    one = filed()
    result = remit("approvals", "list", DESK, "--claims", EDITOR)
    assert result.exit_code == 0
    assert one.short in result.stdout
    assert "asha" in result.stdout
    assert not set("\u200b\u202e\x1b") & set(result.stdout)
    assert "[bold]x[/bold]" in result.stdout


def test_show_prints_every_argument_with_the_invisible_made_visible(
    remit: Remit, filed: Any
) -> None:
    one = filed()
    result = remit("approvals", "show", DESK, one.id, env={"REMIT_CLAIMS": EDITOR})
    assert '"note": "hello\\u{200b}\\u{202e}\\u001b[31m [bold]x[/bold]"' in result.stdout
    assert '"loud": false' in result.stdout, "defaults are part of what runs"
    assert f"--digest {one.digest}" in result.stdout
    assert not set("\u200b\u202e\x1b") & set(result.stdout)
    read = json.loads(
        remit("approvals", "show", DESK, one.short, "--json", "--claims", EDITOR).stdout
    )
    assert read["arguments"]["note"] == HIDDEN
    assert read["digest"] == one.digest


def test_a_long_argument_is_shown_whole(remit: Remit, filed: Any) -> None:
    one = filed("a" * 9000 + "END")
    assert "a" * 9000 + "END" in remit("approvals", "show", DESK, one.id, "--claims", EDITOR).stdout


@pytest.mark.parametrize("digits", [64, 20, 12])
def test_approving_is_recorded_and_left_to_the_serving_process(
    remit: Remit, filed: Any, digits: int
) -> None:
    one = filed("n")
    result = remit(
        *("approvals", "approve", DESK, one.id, "--digest", one.digest[:digits], "--yes"),
        *("--claims", EDITOR, "--json"),
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["state"], found["decided_by"]) == ("approved", "ed")
    assert desk.PUBLISHED == []

    async def swept() -> None:
        await desk.app.approvals.sweep()
        await desk.app.close()

    asyncio.run(swept())
    assert desk.PUBLISHED == ["n"]


def test_run_runs_it_here(remit: Remit, filed: Any) -> None:
    one = filed("n")
    args = ("approvals", "approve", DESK, one.short, "--digest", one.short, "--yes", "--run")
    result = remit(*args, "--claims", EDITOR)
    assert result.exit_code == 0, result.output
    assert "done" in result.stdout
    assert desk.PUBLISHED == ["n"]
    again = remit(*args, "--claims", EDITOR)
    assert again.exit_code == 6
    assert desk.PUBLISHED == ["n"]


def test_deny_says_why(remit: Remit, filed: Any) -> None:
    one = filed("n")
    result = remit(
        *("approvals", "deny", DESK, one.id, "--digest", one.digest, "--yes"),
        *("--reason", "too \x1b[31msoon", "--claims", EDITOR),
    )
    assert result.exit_code == 0
    shown = remit("approvals", "show", DESK, one.id, "--claims", EDITOR).stdout
    assert "denied" in shown
    assert "too \\u{001b}[31msoon" in shown
    assert remit("approvals", "list", DESK, "--claims", EDITOR).stdout == "no requests wait\n"
    assert one.short in remit("approvals", "list", DESK, "--all", "--claims", EDITOR).stdout


@pytest.mark.parametrize(
    ("digest", "number"),
    [(None, 2), ("", 2), ("0", 2), ("%", 2), ("f" * 11, 2), ("0" * 12, 6), ("0" * 64, 6)],
)
def test_a_decision_without_the_digest_that_was_read_decides_nothing(
    remit: Remit, filed: Any, digest: str | None, number: int
) -> None:
    one = filed("n")
    given = [] if digest is None else ["--digest", digest]
    result = remit("approvals", "approve", DESK, one.id, *given, "--yes", "--claims", EDITOR)
    assert result.exit_code == number
    assert one.digest not in result.stderr
    shown = json.loads(
        remit("approvals", "show", DESK, one.id, "--json", "--claims", EDITOR).stdout
    )
    assert shown["state"] == "waiting"


def test_off_a_terminal_a_decision_wants_to_be_confirmed(remit: Remit, filed: Any) -> None:
    one = filed("n")
    args = ("approvals", "approve", DESK, one.id, "--digest", one.digest, "--claims", EDITOR)
    assert remit(*args).exit_code == 2


def test_on_a_terminal_a_decision_is_asked_for(
    remit: Remit, filed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = filed()
    monkeypatch.setattr("remit.cli.approvals._can_ask", lambda: True)
    args = ("approvals", "approve", DESK, one.id, "--digest", one.digest, "--claims", EDITOR)
    refused = remit(*args, stdin="n\n")
    assert refused.exit_code == 130
    assert "\\u{200b}" in refused.stdout
    assert remit(*args, stdin="y\n").exit_code == 0


def test_the_wrong_person_and_the_wrong_request_are_refused(remit: Remit, filed: Any) -> None:
    one = filed("n")
    decide = ("approvals", "approve", DESK, one.id, "--digest", one.digest, "--yes", "--claims")
    assert remit(*decide, '{"sub": "x", "roles": ["reader"]}').exit_code == 5
    own = json.dumps({**json.loads(AUTHOR), "roles": ["editor"]})
    assert remit(*decide, own).exit_code == 5, "the requester is no second person"
    for unknown in ("req_nothing", "0" * 12):
        args = ("approvals", "show", DESK, unknown, "--claims", EDITOR)
        assert remit(*args).exit_code == 4
