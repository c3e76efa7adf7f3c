"""L5. A handle is a name.

A record id from a model grants nothing. Each call loads the record and asks whether this principal
may touch it; *missing* and *not yours* get the same bytes back.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import remit
from remit.outcome import wire
from tests.laws.lab import ASHA, DRAFT, RAVI, VALID, Lab, received, running

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("tool", ["save_draft", "read_draft", "request_publish"])
async def test_anothers_draft_looks_exactly_like_a_missing_one(lab: Lab, tool: str):
    """For another author's draft and for one that isn't there the same bytes come back, and nothing changes.

    If this fails, an agent can find out which ids exist, or touch what is not its user's.
    """
    lab.drafts.add(id="d_ravi0001", author="u_ravi", title="Ravi's draft")
    arguments = dict(VALID) if tool == "save_draft" else {}
    theirs = await received(lab.asha, tool, {**arguments, "draft_id": "d_ravi0001"})
    missing = await received(lab.asha, tool, {**arguments, "draft_id": "d_nope0001"})
    assert theirs == missing
    assert "not_found" in theirs
    assert list(lab.drafts.rows) == ["d_ravi0001"]
    assert lab.drafts.rows["d_ravi0001"].title == "Ravi's draft"
    assert lab.drafts.ran == []
    assert await lab.queue() == []
    assert lab.outcomes() == ["not_found", "not_found"]


async def test_only_the_operators_record_says_which(lab: Lab):
    """Which of the two it was stands in the audit row, and only there.

    If this fails, either the caller learns it or the operator can't.
    """
    lab.drafts.add(id="d_ravi0001", author="u_ravi")
    for draft_id in ("d_ravi0001", "d_nope0001"):
        outcome = await lab.asha.call("read_draft", {"draft_id": draft_id})
        assert "yours" not in str(wire(outcome)).replace("to see yours", "")
    rules = [row.rule for row in lab.audit()]
    assert len(set(rules)) == 2


async def test_each_call_asks_again(lab: Lab):
    """A draft that was the caller's a moment ago is not its any more.

    If this fails, having once seen an id is a permission that nobody can take back.
    """
    row = lab.drafts.add()
    assert (await lab.asha.call("read_draft", {"draft_id": DRAFT})).ok
    row.author = "u_ravi"
    assert (await lab.asha.call("read_draft", {"draft_id": DRAFT})).code == "not_found"
    assert (await lab.agent(RAVI).call("read_draft", {"draft_id": DRAFT})).ok
    assert lab.drafts.ran == ["read_draft"] * 2


async def test_an_id_that_one_principal_was_given_is_useless_to_another(lab: Lab):
    """An id out of one principal's answer opens nothing for another.

    If this fails, possession is authorization.
    """
    saved = await lab.asha.call("save_draft", VALID)
    draft_id = saved.data["draft_id"]
    refused = await lab.agent(RAVI).call(
        "save_draft", {**VALID, "title": "mine now", "draft_id": draft_id}
    )
    assert refused.code == "not_found"
    assert lab.drafts.rows[draft_id].title == VALID["title"]


class Note(BaseModel):
    id: str
    owner: str


def notes(allow: Any) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("notes"), list[Any]()
    table = {
        key: Note(id=key, owner="u_asha" if key != "n3" else "u_ravi") for key in ("n1", "n2", "n3")
    }

    def load(call: remit.Call, note_id: str) -> Note | None:
        return table.get(note_id)

    Mine = Annotated[Note, remit.Resource(load, allow=allow)]

    @app.tool(effect="write")
    def merge(notes: list[Mine]) -> int:
        got.append([note.id for note in notes])
        return len(notes)

    @app.tool(effect="write")
    def clear(note: Mine | None = None) -> None:
        got.append(note)

    return app, got


async def test_a_list_of_ids_is_asked_for_each(surface: str):
    """One foreign id in a list refuses the whole call before anything runs.

    If this fails, a bulk tool is the way around the check of the single one.
    """
    app, got = notes(lambda call, note: note.owner == call.principal.subject)
    async with running(app, surface) as made:
        assert (await made.call("merge", {"note_ids": ["n1", "n2"]})).ok
        theirs = await made.call("merge", {"note_ids": ["n1", "n3"]})
        missing = await made.call("merge", {"note_ids": ["n1", "n9"]})
        assert theirs.code == "not_found"
        assert wire(theirs) == wire(missing)
        assert got == [["n1", "n2"]]


async def test_an_optional_record_may_be_left_out_and_nothing_else(surface: str):
    """No id is no record; an id that isn't the caller's is not the same as none.

    If this fails, a foreign id falls back to *create a new one*, or to *all of them*.
    """
    app, got = notes(lambda call, note: note.owner == call.principal.subject)
    async with running(app, surface) as made:
        assert (await made.call("clear", {})).ok
        assert (await made.call("clear", {"note_id": None})).ok
        assert (await made.call("clear", {"note_id": "n3"})).code == "not_found"
        assert (await made.call("clear", {"note_id": ""})).code == "not_found"
        assert got == [None, None]


@pytest.mark.parametrize("said", ["yes", 1, None, "", [True]], ids=repr)
async def test_only_true_allows(surface: str, said: Any):
    """A rule that says something true-like, or nothing, refuses.

    If this fails, a rule that returns the record, a coroutine or a count opens everything.
    """
    app, got = notes(lambda call, note: said)
    async with running(app, surface) as made:
        assert (await made.call("clear", {"note_id": "n1"})).code == "not_found"
        assert got == []


async def test_a_rule_or_a_loader_that_fails_refuses(surface: str):
    """An error in the check is a refusal, never a way through.

    If this fails, whoever can break the check has passed it.
    """

    def broken(call: remit.Call, note: Note) -> bool:
        raise RuntimeError("no connection")

    app, got = notes(broken)
    async with running(app, surface, principal=ASHA) as made:
        assert (await made.call("clear", {"note_id": "n1"})).code == "internal"
        assert got == []
        assert [row.outcome for row in made.app.audit.rows()] == ["internal"]
