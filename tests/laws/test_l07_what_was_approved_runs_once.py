"""L7. What was approved is what runs, once.

The decision binds the tool's version, the final arguments, the principal, the record's version and
an expiry. They are compared again just before the run. A crash never leads to a second run: it leads
to *outcome unknown*, which a person settles.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import remit
from remit.store.tables import requests
from tests.laws.lab import (
    ASHA,
    DRAFT,
    EDITOR,
    Clock,
    Lab,
    answers,
    digest_of,
    file_request,
    running,
)

pytestmark = pytest.mark.anyio


async def decide(lab: Lab, request_id: str, said: Any = "approve", **other: Any) -> Any:
    given = {"approver": EDITOR, "digest": await digest_of(lab, request_id), **other}
    return await lab.app.approvals.decide(request_id, said, **given)


async def rewritten(lab: Lab, request_id: str, **columns: Any) -> None:
    """Change a request's row behind remit's back."""
    change = sa.update(requests).where(requests.c.id == request_id).values(**columns)
    await lab.app.store.commit(work=lambda connection: connection.execute(change))


@pytest.mark.parametrize(
    "forged", ["", "0" * 64, "short", None], ids=["empty", "other", "short", "none"]
)
async def test_a_decision_names_what_the_person_saw(lab: Lab, forged: str | None):
    """A decision under another digest than the shown one decides nothing.

    If this fails, a person agrees to one thing and another one runs.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    digest = await digest_of(lab, request_id)
    with pytest.raises(remit.Refused) as refused:
        await decide(lab, request_id, digest=digest[:12] if forged == "short" else forged)
    assert refused.value.code == "conflict"
    assert (await lab.app.approvals.get(request_id)).state == "waiting"
    assert lab.drafts.ran == []


async def test_a_digest_of_another_request_decides_nothing(lab: Lab):
    """Two requests that look alike have two digests.

    If this fails, agreement to one is agreement to the other.
    """
    lab.drafts.add()
    one = await file_request(lab, note="a")
    other = await file_request(lab, note="b")
    with pytest.raises(remit.Refused):
        await decide(lab, one, digest=await digest_of(lab, other))
    assert lab.drafts.ran == []


@pytest.mark.parametrize(
    "columns",
    [
        {"arguments": b'{"draft_id":"d_ravi0001","note":null}'},
        {"arguments": b'{"draft_id":"d_asha0001","note":"edited"}'},
        {"subject": "u_ravi"},
        {
            "principal": '{"sub": "u_editor", "roles": ["editor"], "scope": "drafts:write", "can_request_publication": true}'
        },
        {"tool_version": "9"},
        {"schema_digest": "0" * 64},
        {"record_version": "2"},
        {"nonce": "0" * 32},
        {"expires": 4_000_000_000.0},
    ],
    ids=lambda columns: (
        next(iter(columns)) + ("" if "arguments" not in columns else str(len(columns["arguments"])))
    ),
)
async def test_a_request_edited_after_the_decision_does_not_run(lab: Lab, columns: dict[str, Any]):
    """Whatever of the bound things changes between decision and run, nothing runs.

    If this fails, agreement is to a row that anyone who reaches the table can rewrite.
    """
    lab.drafts.add()
    lab.drafts.add(id="d_ravi0001", author="u_ravi")
    request_id = await file_request(lab)
    await decide(lab, request_id, run=False)
    await rewritten(lab, request_id, **columns)
    await lab.app.approvals.sweep()
    assert {row.status for row in lab.drafts.rows.values()} == {"draft"}
    assert lab.drafts.ran == []
    assert (await lab.app.approvals.get(request_id)).state in ("superseded", "failed")


@pytest.mark.parametrize("when", ["before the decision", "before the run"])
async def test_a_record_that_moved_supersedes_the_request(lab: Lab, when: str):
    """An edit after the request was filed makes it void: the person read another text.

    If this fails, an author swaps the text after the editor agreed to it.
    """
    row = lab.drafts.add()
    request_id = await file_request(lab)
    if when == "before the run":
        await decide(lab, request_id, run=False)
        row.revision += 1
        await lab.app.approvals.sweep()
    else:
        row.revision += 1
        await decide(lab, request_id)
    assert (await lab.app.approvals.get(request_id)).state == "superseded"
    assert lab.drafts.rows[DRAFT].status == "draft"
    assert lab.drafts.ran == []
    assert lab.audit()[-1].outcome == "superseded"


@pytest.mark.parametrize("lost", ["the draft", "its author"])
async def test_what_the_requester_lost_since_is_asked_again(lab: Lab, lost: str):
    """Ownership is checked at the time of the run, too.

    If this fails, an approval is a capability that outlives the right it rests on.
    """
    row = lab.drafts.add()
    request_id = await file_request(lab)
    await decide(lab, request_id, run=False)
    if lost == "the draft":
        del lab.drafts.rows[DRAFT]
    else:
        row.author = "u_ravi"
    await lab.app.approvals.sweep()
    assert lab.drafts.ran == []
    assert (await lab.app.approvals.get(request_id)).state in ("failed", "superseded")


async def test_a_decision_counts_once(lab: Lab):
    """The second decision on a request is refused, and the code has run once.

    If this fails, a replayed message publishes again.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    digest = await digest_of(lab, request_id)
    await decide(lab, request_id)
    for said in ("approve", "deny"):
        with pytest.raises(remit.Refused) as refused:
            await decide(lab, request_id, said, digest=digest)
        assert refused.value.code == "conflict"
    await lab.app.approvals.sweep()
    assert lab.drafts.ran == ["publish"]
    assert (await lab.app.approvals.get(request_id)).state == "done"


async def test_many_deciders_at_once_are_one_run(lab: Lab):
    """Of several people who decide at the same moment one wins.

    If this fails, a double click runs it twice.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    digest = await digest_of(lab, request_id)

    async def one(i: int) -> str:
        try:
            person = {"sub": f"u_editor{i}", "roles": ["editor"]}
            await lab.app.approvals.decide(request_id, "approve", approver=person, digest=digest)
        except remit.Refused as refused:
            return refused.code
        return "decided"

    said = await asyncio.gather(*(one(i) for i in range(8)))
    assert sorted(said) == ["conflict"] * 7 + ["decided"]
    assert lab.drafts.ran == ["publish"]
    assert [row.outcome for row in lab.audit() if row.kind == "run"] == ["ok"]


async def test_many_workers_at_once_are_one_run(lab: Lab):
    """Of several workers that find an approved request one runs it.

    If this fails, a second process is a second publication.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    await decide(lab, request_id, run=False)
    ran = await asyncio.gather(*(lab.app.approvals.run(request_id) for _ in range(8)))
    assert [one is not None for one in ran].count(True) == 1
    assert lab.drafts.ran == ["publish"]


async def test_silence_runs_nothing(lab: Lab):
    """A request that nobody decides in time has expired, which is told apart from denied.

    If this fails, waiting long enough is a decision.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    digest = await digest_of(lab, request_id)
    lab.clock.now += timedelta(days=7).total_seconds()
    assert await lab.queue() == []
    with pytest.raises(remit.Refused) as refused:
        await decide(lab, request_id, digest=digest)
    assert refused.value.code == "conflict"
    await lab.app.approvals.sweep()
    assert (await lab.app.approvals.get(request_id)).state == "expired"
    assert lab.drafts.ran == []
    assert lab.audit()[-1].outcome == "expired"


def pausing() -> tuple[remit.Remit, list[str], asyncio.Event, asyncio.Event]:
    """An app whose approved tool stops in the middle of its effect."""
    app, ran = remit.Remit("slow", version="1"), list[str]()
    inside, go = asyncio.Event(), asyncio.Event()

    @app.tool(effect="irreversible", approval=remit.Approval(approvers={"editor"}))
    async def send(text: str) -> str:
        ran.append(text)
        inside.set()
        await go.wait()
        return "sent"

    return app, ran, inside, go


async def test_a_crash_in_the_run_is_unknown_and_never_a_second_run(surface: str):
    """A run that breaks off between its claim and its end becomes *unknown* when its lease lapses.

    If this fails, a restart sends the money again, or says that it never left.
    """
    app, ran, inside, _ = pausing()
    clock = Clock()
    async with running(app.replaced(clock=clock), surface) as made:
        assert (await made.call("request_send", {"text": "a"})).code == "awaiting_approval"
        (request,) = await made.app.approvals.waiting()
        deciding = asyncio.create_task(
            made.app.approvals.decide(request.id, "approve", approver=EDITOR, digest=request.digest)
        )
        await inside.wait()
        deciding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await deciding
        for _ in range(3):
            clock.now += 3600.0
            await made.app.approvals.sweep()
        assert (await made.app.approvals.get(request.id)).state == "unknown"
        assert ran == ["a"]
        assert "outcome_unknown" in [row.outcome for row in made.app.audit.rows()]
        with pytest.raises(remit.Refused):
            await made.app.approvals.decide(
                request.id, "approve", approver=EDITOR, digest=request.digest
            )
        assert ran == ["a"]


async def test_a_process_killed_after_its_claim_leaves_unknown(lab: Lab):
    """A row that says *running* with a lapsed lease is not run again, whatever its code may have done.

    If this fails, a kill at the worst moment is two publications.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    await decide(lab, request_id, run=False)
    await rewritten(lab, request_id, state="running", run_token="dead", lease=lab.clock.now + 1)
    await lab.app.approvals.sweep()
    assert (await lab.app.approvals.get(request_id)).state == "running"
    lab.clock.now += 2
    await lab.app.approvals.sweep()
    assert (await lab.app.approvals.get(request_id)).state == "unknown"
    assert await lab.app.approvals.run(request_id) is None
    assert lab.drafts.ran == []
    assert lab.audit()[-1].outcome == "outcome_unknown"


@pytest.mark.slow
@pytest.mark.parametrize("change", ["version", "schema", "approvers"])
async def test_a_tool_that_changed_since_supersedes(tmp_path: Path, surface: str, change: str):
    """A request filed with one version of the tool doesn't run in another.

    If this fails, a deploy changes what was agreed to.
    """
    ran = list[str]()

    def app_of(*, new: bool) -> remit.Remit:
        app = remit.Remit("deploys", version="2" if new and change == "version" else "1")
        role = {"chief"} if new and change == "approvers" else {"editor"}

        def send(text: str, copies: int = 1) -> None:
            ran.append(text)

        def send_one(text: str) -> None:
            ran.append(text)

        code = send if new and change == "schema" else send_one
        app.tool(name="send", effect="write", approval=remit.Approval(approvers=role))(code)
        return app

    store = f"sqlite:///{tmp_path}/remit.db"
    async with running(app_of(new=False), surface, store=store) as made:
        assert (await made.call("request_send", {"text": "a"})).ok
        (request,) = await made.app.approvals.waiting()
        await made.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest, run=False
        )
    async with running(app_of(new=True), surface, store=store) as made:
        await made.app.approvals.sweep()
        assert (await made.app.approvals.get(request.id)).state == "superseded"
    assert ran == []


async def test_the_same_wish_later_is_another_request(lab: Lab):
    """After a run the same call files a new request, which waits for a decision of its own.

    If this fails, one agreement covers whatever looks like it.
    """
    row = lab.drafts.add()
    first = await file_request(lab)
    await decide(lab, first)
    row.status = "draft"
    second = await file_request(lab)
    assert second != first
    assert (await lab.app.approvals.get(second)).state == "waiting"
    assert lab.drafts.ran == ["publish"]


async def test_the_run_is_as_the_requester_with_the_frozen_arguments(surface: str):
    """What runs are the arguments as filed, defaults filled in, on behalf of the one who asked.

    If this fails, the code runs as the approver, or on what someone sent later.
    """
    app, got = remit.Remit("frozen"), list[Any]()

    @app.tool(effect="write", approval=remit.Approval(approvers={"editor"}))
    def pay(call: remit.Call, to: str, cents: int, tags: list[str] = ["x"]) -> None:
        got.append((call.principal.subject, to, cents, tags))

    async with running(app, surface, principal=ASHA) as made:
        sent = {"to": "ravi", "cents": 3}
        assert (await made.call("request_pay", sent)).ok
        sent["cents"] = 300
        (request,) = await made.app.approvals.waiting()
        assert request.arguments == {"to": "ravi", "cents": 3, "tags": ["x"]}
        await made.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest
        )
        assert got == [("u_asha", "ravi", 3, ["x"])]


async def test_a_request_whose_claims_were_rewritten_runs_as_nobody(surface: str):
    """The claims of the one who asked are bound, even where no record's rule would notice.

    If this fails, whoever reaches the table makes an agreed call anybody's.
    """
    app, got = remit.Remit("claims"), list[Any]()

    @app.tool(effect="write", approval=remit.Approval(approvers={"editor"}))
    def pay(call: remit.Call, cents: int) -> None:
        got.append(call.principal.subject)

    async with running(app, surface, principal=ASHA) as made:
        assert (await made.call("request_pay", {"cents": 3})).ok
        (request,) = await made.app.approvals.waiting()
        await made.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest, run=False
        )
        boss = sa.update(requests).values(principal='{"sub": "u_boss", "scope": "admin"}')
        await made.app.store.commit(work=lambda connection: connection.execute(boss))
        await made.app.approvals.sweep()
        assert got == []
        assert (await made.app.approvals.get(request.id)).state == "superseded"


async def test_answers_come_in_any_order(lab: Lab):
    """Each decision runs its own request and no other.

    If this fails, the verdict on one call of a batch is the verdict on all.
    """
    for i in range(3):
        lab.drafts.add(id=f"d_asha000{i}")
    for i in range(3):
        await file_request_of(lab, f"d_asha000{i}")
    requests_ = {one.arguments["draft_id"]: one for one in await lab.queue()}
    await answers(
        lab.app.approvals.decide(
            one.id, "approve" if key.endswith("1") else "deny", approver=EDITOR, digest=one.digest
        )
        for key, one in requests_.items()
    )
    assert {key: row.status for key, row in lab.drafts.rows.items()} == {
        "d_asha0000": "draft",
        "d_asha0001": "published",
        "d_asha0002": "draft",
    }


async def file_request_of(lab: Lab, draft_id: str) -> None:
    assert (await lab.asha.call("request_publish", {"draft_id": draft_id})).ok
