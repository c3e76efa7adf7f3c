"""L4. Identity comes from the request.

The principal is parsed from claims that were verified for *this* call; a missing or renamed claim
fails closed. No argument, session start or shared object can supply it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

import remit
from tests.laws.lab import ASHA, RAVI, VALID, Author, Lab, running

pytestmark = pytest.mark.anyio


async def test_the_author_is_the_tokens_subject(lab: Lab):
    """A draft belongs to whom the verified claims name.

    If this fails, a sentence in a pasted text decides under whose name something is filed.
    """
    outcome = await lab.asha.call("save_draft", {"title": "t", "body": "b"})
    assert outcome.ok, outcome
    (row,) = lab.drafts.rows.values()
    assert row.author == "u_asha"
    (written,) = lab.audit()
    assert (written.principal, written.client) == ("u_asha", "agent-host")


@pytest.mark.parametrize(
    "key",
    [
        "authorId",
        "author",
        "user_id",
        "sub",
        "principal",
        "claims",
        "scope",
        "tenant",
        "_meta",
        "token",
    ],
)
async def test_no_argument_supplies_identity(lab: Lab, key: str):
    """A key that names an identity is an unknown key, and the call writes nothing.

    If this fails, a model can act as whom it likes.
    """
    refused = await lab.asha.call("save_draft", {**VALID, key: "u_ravi"})
    assert (refused.code, refused.issues[0].code) == (
        "invalid_arguments",
        f"unrecognized_keys:{key}",
    )
    assert lab.drafts.rows == {}
    assert [row.principal for row in lab.audit()] == ["u_asha"]


@pytest.mark.parametrize(
    "claims",
    [
        None,
        {},
        {"user": "u_asha", "scope": "drafts:write"},
        {"subject": "u_asha", "scope": "drafts:write"},
        {**ASHA, "sub": ""},
        {**ASHA, "sub": None},
        {**ASHA, "sub": 7},
        {**ASHA, "sub": ["u_asha"]},
        {**ASHA, "can_request_publication": "yes"},
        {**ASHA, "scope": {"drafts:write": True}},
    ],
    ids=[
        "nobody",
        "empty",
        "renamed",
        "by our name",
        "blank",
        "null",
        "number",
        "list",
        "mistyped",
        "scope",
    ],
)
async def test_claims_that_make_no_principal_fail_closed(
    lab: Lab, claims: Mapping[str, Any] | None
):
    """A missing, renamed or mistyped claim is nobody: no default person, no guess.

    If this fails, a verifier that renames a claim gives a session whose user is undefined.
    """
    refused = await lab.app.call("save_draft", VALID, claims=claims)
    assert refused.code == "unauthenticated"
    assert lab.drafts.rows == {}
    assert [row.principal for row in lab.audit()] == [""]


async def test_nobody_gets_nothing_over_any_surface(lab: Lab):
    """Without a principal no tool is called and none is shown, over stdio and in process, too.

    If this fails, a transport without a token is a transport without rules.
    """
    lab.drafts.add()
    nobody = lab.agent(None)
    for tool, arguments in (
        ("save_draft", dict(VALID)),
        ("read_draft", {"draft_id": "d_asha0001"}),
    ):
        refused = await nobody.call(tool, arguments)
        assert refused.code == "unauthenticated"
    assert await nobody.tools() == []
    assert lab.drafts.ran == []
    assert len(lab.drafts.rows) == 1
    assert lab.outcomes() == ["unauthenticated"] * 2


async def test_only_a_public_tool_is_for_anyone(surface: str):
    """``public=True`` is the one way to let nobody in.

    If this fails, a tool is open because somebody forgot to say that it isn't.
    """
    app = remit.Remit("open")

    @app.tool(effect="read", public=True)
    def opening_hours() -> str:
        return "9 to 5"

    @app.tool(effect="read")
    def signed_in() -> str:
        return "secret"

    async with running(app, surface, principal=None) as made:
        assert await made.tools() == ["opening_hours"]
        assert (await made.call("opening_hours", {})).data == "9 to 5"
        assert (await made.call("signed_in", {})).code == "unauthenticated"


async def test_principals_at_once_do_not_meet(lab: Lab):
    """Each of many simultaneous calls acts as its own principal.

    If this fails, a shared object holds the identity, and load decides who acts as whom.
    """

    async def one(i: int) -> remit.Outcome:
        made = lab.agent({**ASHA, "sub": f"u_{i}"})
        return await made.call("save_draft", {"title": f"by u_{i}", "body": "b"})

    outcomes = await asyncio.gather(*(one(i) for i in range(8)))
    assert all(outcome.ok for outcome in outcomes)
    written = {(row.author, row.title) for row in lab.drafts.rows.values()}
    assert written == {(f"u_{i}", f"by u_{i}") for i in range(8)}
    assert {row.principal for row in lab.audit()} == {f"u_{i}" for i in range(8)}


async def test_a_principal_can_not_be_changed_by_a_tool(surface: str):
    """What a tool's code gets is immutable, and the next call gets its own.

    If this fails, one call can leave another an identity.
    """
    app = remit.Remit("fixed", principal=Author)
    seen = list[str]()

    @app.tool(effect="write")
    def change(call: remit.Call[Author, Any]) -> str:
        seen.append(call.principal.subject)
        with pytest.raises((AttributeError, ValueError)):
            call.principal.subject = "u_root"
        with pytest.raises((AttributeError, TypeError)):
            call.principal = None  # type: ignore[misc]
        return call.principal.subject

    async with running(app, surface) as made:
        assert (await made.call("change", {})).data == "u_asha"
        assert (await made.as_principal(RAVI).call("change", {})).data == "u_ravi"
        assert seen == ["u_asha", "u_ravi"]


async def test_a_sync_tool_keeps_its_principal_in_its_thread(surface: str):
    """Identity is passed explicitly, so that a thread hop can't lose or swap it.

    If this fails, a tool that runs in a thread reads whoever was there last.
    """
    app = remit.Remit("threads")

    @app.tool(effect="read")
    def who(call: remit.Call) -> str:
        return call.principal.subject

    async with running(app, surface) as made:
        agents = [made.as_principal({"sub": f"u_{i}"}) for i in range(6)]
        said = await asyncio.gather(*(one.call("who", {}) for one in agents))
        assert [one.data for one in said] == [f"u_{i}" for i in range(6)]
