"""T6. Each call is evaluated anew, the list by the same decision; names match exactly; denied is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.laws.lab import ASHA, DRAFT, VALID, Lab, received

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "name",
    [
        "Save_draft", "SAVE_DRAFT", "save_draft ", " save_draft", "save_draft\n", "save_draft\x00",
        "save_draft\u200b", "ѕave_draft", "save-draft", "savedraft", "save_draf", "save_draft2",
        "save_*", "*", "save_draft|read_draft", "blog.save_draft", "blog/save_draft", "", "publish",
        "__class__", "save_draft()",
    ],
)  # fmt: skip
async def test_a_name_matches_exactly_or_not_at_all(lab: Lab, name: str):
    """Case, spaces, look-alikes, patterns and paths find no tool.

    If this fails, a rule for one spelling is passed with another.
    """
    lab.drafts.add()
    outcome = await lab.app.call(name, {**VALID, "draft_id": DRAFT}, claims=ASHA)
    assert outcome.code == "unknown_tool"
    assert lab.drafts.ran == []
    assert lab.outcomes() == ["unknown_tool"]


@pytest.mark.parametrize(
    "claims",
    [
        {"sub": "u_asha"},
        {"sub": "u_asha", "scope": ""},
        {"sub": "u_asha", "scope": "drafts"},
        {"sub": "u_asha", "scope": "drafts:*"},
        {"sub": "u_asha", "scope": "DRAFTS:WRITE"},
        {"sub": "u_asha", "scope": "drafts:writeall"},
        {"sub": "u_asha", "scope": "drafts:read"},
        {"sub": "u_asha", "scope": "drafts:write"},
        {"sub": "u_asha", "scope": "drafts:write drafts:read"},
        {"sub": "u_asha", "scope": ["drafts:write drafts:read"]},
        {"sub": "u_asha", "scope": "drafts:write", "can_request_publication": True},
    ],
    ids=lambda claims: str(claims.get("scope")) + str(claims.get("can_request_publication", "")),
)
async def test_list_and_call_are_one_decision(lab: Lab, claims: Mapping[str, Any]):
    """What is listed is not unknown when called, and what is not listed is.

    If this fails, hiding a tool is all that protects it.
    """
    lab.drafts.add()
    made = lab.agent(claims)
    listed = set(await made.tools())
    arguments: dict[str, Any] = {
        "save_draft": dict(VALID),
        "read_draft": {"draft_id": DRAFT},
        "list_my_drafts": {},
        "request_publish": {"draft_id": DRAFT},
    }
    for name, given in arguments.items():
        outcome = await made.call(name, given)
        assert (outcome.code == "unknown_tool") is (name not in listed), (name, outcome)


async def test_denied_is_unknown_to_the_byte(lab: Lab):
    """A tool that this principal may not use answers as one that doesn't exist.

    If this fails, an agent can map what it isn't allowed, and ask its user for more.
    """
    reader = lab.agent({"sub": "u_asha", "scope": "drafts:read"})
    denied = await received(reader, "save_draft", VALID)
    unknown = await received(reader, "save_post", VALID)
    assert denied == unknown
    assert lab.drafts.rows == {}
    rules = [row.rule for row in lab.audit()]
    assert "drafts:write" in rules[0]
    assert rules[0] != rules[1]


async def test_wrong_arguments_do_not_show_a_hidden_tool(lab: Lab):
    """Whatever is sent to a hidden tool, size and form included, the answer is the same.

    If this fails, a malformed call tells hidden from missing.
    """
    reader = lab.agent({"sub": "u_asha", "scope": "drafts:read"})
    for given in ({}, {"x": 1}, {"title": "y" * 1_100_000}):
        assert await received(reader, "save_draft", given) == await received(
            reader, "save_post", given
        )
    assert lab.drafts.ran == []


async def test_a_scope_that_was_taken_away_counts_at_once(lab: Lab):
    """The next call with a lesser token is decided by that token.

    If this fails, a connection keeps what its first token held.
    """
    assert (await lab.asha.call("save_draft", VALID)).ok
    less = lab.agent({**ASHA, "scope": "drafts:read"})
    assert (await less.call("save_draft", VALID)).code == "unknown_tool"
    assert "save_draft" not in await less.tools()
    assert len(lab.drafts.rows) == 1
