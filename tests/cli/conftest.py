"""A runner for the command, over a store of each test's own."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.needs import ROOT

AUTHOR = json.dumps({"sub": "asha", "scope": "notes:read notes:write"})
EDITOR = json.dumps({"sub": "ed", "roles": ["editor"]})
DESK = "tests.cli.desk:app"

Remit = Callable[..., Result]


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from tests.cli import desk

    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REMIT_STORE", f"sqlite:///{tmp_path}/desk.db")
    monkeypatch.setenv("COLUMNS", "200")
    desk.PUBLISHED.clear()
    yield
    for name in ("remit", "uvicorn"):
        logging.getLogger(name).handlers.clear()


@pytest.fixture
def remit() -> Remit:
    """Run the command in this process."""
    from remit.cli.root import command

    def run(
        *args: str, stdin: str | bytes | None = None, env: dict[str, Any] | None = None
    ) -> Result:
        return CliRunner().invoke(command, list(args), input=stdin, env=env, prog_name="remit")

    return run


@pytest.fixture
def author(remit: Remit) -> Remit:
    """Call the desk's tools as a signed-in author: ``author(TOOL, flags…)``."""

    def run(*args: str, stdin: str | bytes | None = None) -> Result:
        return remit("call", "--claims", AUTHOR, DESK, *args, stdin=stdin)

    return run
