"""T7. Ownership is checked for every id, in bulk and when an approval is run; not-yours is not-found.

tests/laws/test_l05 proves the single id; here are several of them, and time between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

import remit
from remit.outcome import wire
from tests.laws.lab import ASHA, EDITOR, running

pytestmark = pytest.mark.anyio


@dataclass
class Note:
    id: str
    owner: str


class Notes:
    def __init__(self) -> None:
        self.table = {f"n{i}": Note(f"n{i}", "u_ravi" if i == 3 else "u_asha") for i in range(1, 5)}
        self.done: list[Any] = []


def load(call: remit.Call[Any, Notes], note_id: str) -> Note | None:
    return call.deps.table.get(note_id)


def load_target(call: remit.Call[Any, Notes], target_id: str) -> Note | None:
    return call.deps.table.get(target_id)


def mine(call: remit.Call[Any, Notes], note: Note) -> bool:
    return note.owner == call.principal.subject


app = remit.Remit("notes")


@app.tool(effect="write")
def move(
    call: remit.Call[Any, Notes],
    note: Annotated[Note, remit.Resource(load, allow=mine)],
    target: Annotated[Note, remit.Resource(load_target, allow=mine)],
) -> None:
    call.deps.done.append((note.id, target.id))


@app.tool(effect="irreversible", approval=remit.Approval(approvers={"editor"}))
def erase(
    call: remit.Call[Any, Notes], notes: list[Annotated[Note, remit.Resource(load, allow=mine)]]
) -> None:
    call.deps.done.append([note.id for note in notes])


@pytest.mark.parametrize("where", ["note_id", "target_id"])
async def test_each_of_two_ids_is_checked(surface: str, where: str):
    """One foreign id among two refuses the call, like a missing one, wherever it stands.

    If this fails, the second id of a tool is the unguarded one.
    """
    notes, own = Notes(), {"note_id": "n1", "target_id": "n2"}
    async with running(app, surface, deps=notes) as made:
        assert (await made.call("move", own)).ok
        theirs = await made.call("move", {**own, where: "n3"})
        missing = await made.call("move", {**own, where: "n9"})
        assert wire(theirs) == wire(missing)
        assert theirs.issues[0].path == where
        assert notes.done == [("n1", "n2")]


async def test_a_foreign_id_in_bulk_files_no_request(surface: str):
    """A list with one foreign id isn't even asked for.

    If this fails, a person is asked to agree to what the asker may not do.
    """
    notes = Notes()
    async with running(app, surface, deps=notes) as made:
        assert (
            await made.call("request_erase", {"note_ids": ["n1", "n2", "n3"]})
        ).code == "not_found"
        assert await made.app.approvals.waiting() == []
        assert notes.done == []


@pytest.mark.parametrize("lost", ["given away", "gone"])
async def test_ownership_is_asked_again_when_it_runs(surface: str, lost: str):
    """A record that was lost between agreement and run stops the run of them all.

    If this fails, an approval is a key to records that are somebody else's by now.
    """
    notes = Notes()
    async with running(app, surface, deps=notes) as made:
        assert (await made.call("request_erase", {"note_ids": ["n1", "n2", "n4"]})).ok
        (request,) = await made.app.approvals.waiting()
        approvals = made.app.approvals
        await approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest, run=False
        )
        if lost == "gone":
            del notes.table["n2"]
        else:
            notes.table["n2"].owner = "u_ravi"
        await approvals.sweep()
        assert notes.done == []
        assert (await approvals.get(request.id)).state == "failed"
        assert made.app.audit.rows()[-1].outcome == "not_found"


async def test_the_approver_need_not_own_the_record(surface: str):
    """The run is checked as the one who asked, not as the one who agreed.

    If this fails, either nobody can approve, or the approver's rights are borrowed.
    """
    notes = Notes()
    async with running(app, surface, deps=notes, principal=ASHA) as made:
        assert (await made.call("request_erase", {"note_ids": ["n1"]})).ok
        (request,) = await made.app.approvals.waiting()
        done = await made.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest
        )
        assert done.state == "done"
        assert notes.done == [["n1"]]
