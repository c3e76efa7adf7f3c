"""T16. A tool's effect is declared, drives its hints, and is never guessed to be harmless."""

from __future__ import annotations

from typing import Any

import pytest

import remit
from tests.laws.lab import MCP, running

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "effect", [None, "", "none", "readonly", "READ", "write ", "delete", True, ["read"]]
)
def test_an_effect_must_be_said(effect: Any):
    """An effect that is missing or unknown refuses the declaration.

    If this fails, a forgotten word makes a tool look harmless.
    """

    def act() -> None: ...

    with pytest.raises(remit.DeclarationError, match="effect of act"):
        remit.Remit("effects").tool(effect=effect)(act)


def app_of() -> remit.Remit:
    app = remit.Remit("effects")

    def tool(name: str, **options: Any) -> None:
        def act() -> None: ...

        app.tool(name=name, **options)(act)

    tool("look", effect="read")
    tool("look_outside", effect="read", external=True)
    tool("save", effect="write")
    tool("set", effect="write", idempotent=True)
    tool("erase", effect="irreversible")
    tool("send", effect="irreversible", external=True)
    tool(
        "wire_money",
        effect="irreversible",
        external=True,
        approval=remit.Approval(approvers={"editor"}),
    )
    return app


# read-only, destructive, idempotent, open world
HINTS = {
    "look": (True, False, True, False),
    "look_outside": (True, False, True, True),
    "save": (False, False, False, False),
    "set": (False, False, True, False),
    "erase": (False, True, False, False),
    "send": (False, True, False, True),
    "request_wire_money": (False, False, False, False),
}


@pytest.mark.parametrize("surface", MCP)
async def test_hints_follow_from_the_declaration_and_are_all_said(surface: str):
    """All four MCP annotations are on the wire, since their defaults are the worst case.

    If this fails, an honest host asks its user about the wrong tools.
    """
    async with running(app_of(), surface) as made, made.client() as client:
        found = {
            tool.name: (
                tool.annotations.read_only_hint,
                tool.annotations.destructive_hint,
                tool.annotations.idempotent_hint,
                tool.annotations.open_world_hint,
            )
            for tool in (await client.list_tools()).tools
            if tool.annotations is not None
        }
        assert found == HINTS


async def test_a_hint_is_no_control(surface: str):
    """A tool that must wait for a person waits, however harmless its own hints are.

    If this fails, the guarantee is a host's dialog.
    """
    async with running(app_of(), surface) as made:
        outcome = await made.call("request_wire_money", {})
        assert outcome.code == "awaiting_approval"
        assert (await made.call("wire_money", {})).code == "unknown_tool"
        assert [one.state for one in await made.app.approvals.waiting()] == ["waiting"]


def test_a_read_has_nothing_to_approve():
    """An approval on a reading tool is a mistake, said at declaration.

    If this fails, a tool that changes things is declared as a read to get around something.
    """

    def act() -> None: ...

    approval = remit.Approval(approvers={"editor"})
    with pytest.raises(remit.DeclarationError, match="approval of act"):
        remit.Remit("effects").tool(effect="read", approval=approval)(act)
