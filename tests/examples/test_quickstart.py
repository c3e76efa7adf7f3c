"""The quick start does what a new user is told, from Python and from an MCP client."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import quickstart
from remit.testing import agent

pytestmark = pytest.mark.anyio

ME = {"sub": "u_me"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("surface", ["python", "mcp", "mcp-legacy", "mcp-http"])
async def test_a_note_is_kept_for_whom_the_token_names(surface: str, monkeypatch):
    monkeypatch.setattr(quickstart, "notes", {})
    me = agent(quickstart.app, principal=ME, surface=surface)
    async with me.app:
        assert await me.tools() == ["add_note"]
        outcome = await me.call("add_note", {"text": "milk"})
        assert outcome.ok, outcome
        assert outcome.data == 1
        refused = await me.call("add_note", {"text": "milk", "user": "u_boss"})
        assert [issue.code for issue in refused.issues] == ["unrecognized_keys:user"]
    assert quickstart.notes == {"u_me": ["milk"]}


async def test_nobody_keeps_no_note(monkeypatch):
    monkeypatch.setattr(quickstart, "notes", {})
    nobody = agent(quickstart.app, principal=None)
    async with nobody.app:
        assert (await nobody.call("add_note", {"text": "milk"})).code == "unauthenticated"
    assert quickstart.notes == {}


def test_it_fits_on_a_readers_screen():
    lines = Path(quickstart.__file__).read_text("utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 12
