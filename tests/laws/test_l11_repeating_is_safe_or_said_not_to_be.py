"""L11. Repeating is safe, or said not to be.

A tool says its effect. With an idempotency key the same call returns the first outcome and another
call under that key is refused. An ambiguous failure says *outcome unknown*, never *try again*.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import remit
from remit.testing import Agent
from tests.laws.lab import ASHA, CANCELLABLE, DRAFT, RAVI, VALID, Clock, Lab, answers, running

pytestmark = pytest.mark.anyio

KEY = "2a1d6c1e-create-draft"


async def test_the_same_call_under_one_key_is_one_effect(lab: Lab):
    """A retry with its key gets the first outcome, and nothing is done again.

    If this fails, a host that times out and retries makes two drafts.
    """
    first = await lab.asha.call("save_draft", VALID, idempotency_key=KEY)
    again = await lab.asha.call("save_draft", dict(reversed(VALID.items())), idempotency_key=KEY)
    assert first.ok
    assert again.ok
    assert first.data == again.data
    assert len(lab.drafts.rows) == 1
    assert lab.drafts.ran == ["save_draft"]
    assert lab.outcomes() == ["ok", "ok"]
    assert "replay" in lab.audit()[1].rule


async def test_defaults_said_and_unsaid_are_the_same_call(lab: Lab):
    """What counts is what the call means once defaults are filled in.

    If this fails, a host that spells out a default gets a conflict for its own retry.
    """
    bare = {"title": "t", "body": "b"}
    assert (await lab.asha.call("save_draft", bare, idempotency_key=KEY)).ok
    assert (await lab.asha.call("save_draft", {**bare, "tags": []}, idempotency_key=KEY)).ok
    assert len(lab.drafts.rows) == 1


async def test_another_call_under_the_key_is_refused(lab: Lab):
    """The same key with other arguments does nothing and says so.

    If this fails, a mix-up of keys returns another call's answer as this one's.
    """
    assert (await lab.asha.call("save_draft", VALID, idempotency_key=KEY)).ok
    refused = await lab.asha.call("save_draft", {**VALID, "title": "other"}, idempotency_key=KEY)
    assert refused.code == "conflict"
    assert [row.title for row in lab.drafts.rows.values()] == [VALID["title"]]


@pytest.mark.parametrize(
    "other",
    [RAVI, {**ASHA, "client_id": "another-host"}, {**ASHA, "iss": "https://other.example"}],
    ids=["subject", "client", "issuer"],
)
async def test_a_key_belongs_to_who_used_it(lab: Lab, other: dict[str, Any]):
    """Another principal, client or issuer with the same key makes a call of its own.

    If this fails, guessing a key is reading somebody's outcome, or blocking it.
    """
    first = await lab.asha.call("save_draft", VALID, idempotency_key=KEY)
    second = await lab.agent(other).call("save_draft", VALID, idempotency_key=KEY)
    assert first.ok
    assert second.ok
    assert first.data["draft_id"] != second.data["draft_id"]
    assert len(lab.drafts.rows) == 2


async def test_a_refusal_before_the_effect_gives_the_key_back(lab: Lab):
    """A call that was refused before it did anything can be mended under its key.

    If this fails, one typo burns the key, and the host sends the mended call without one.
    """
    bad = await lab.asha.call("save_draft", {**VALID, "titel": "x"}, idempotency_key=KEY)
    assert bad.code == "invalid_arguments"
    gone = await lab.asha.call(
        "save_draft", {**VALID, "draft_id": "d_nope0001"}, idempotency_key=KEY
    )
    assert gone.code == "not_found"
    assert (await lab.asha.call("save_draft", VALID, idempotency_key=KEY)).ok
    assert len(lab.drafts.rows) == 1


async def test_a_failure_inside_is_kept_under_the_key(lab: Lab):
    """After a failure in the middle the key gives the same failure, and the code isn't run again.

    If this fails, a retry doubles whatever the first attempt had done before it failed.
    """
    lab.drafts.broken = RuntimeError("after the insert")
    first = await lab.asha.call("save_draft", VALID, idempotency_key=KEY)
    lab.drafts.broken = None
    again = await lab.asha.call("save_draft", VALID, idempotency_key=KEY)
    assert (first.code, again.code) == ("internal", "internal")
    assert first.reference == again.reference
    assert lab.drafts.ran == ["save_draft"]
    assert lab.drafts.rows == {}


async def test_who_lost_the_right_gets_no_kept_outcome(lab: Lab):
    """A replay passes every check of a first call.

    If this fails, a key is a permission that outlives the scope.
    """
    assert (await lab.asha.call("save_draft", VALID, idempotency_key=KEY)).ok
    lost = lab.agent({**ASHA, "scope": "drafts:read"})
    assert (await lost.call("save_draft", VALID, idempotency_key=KEY)).code == "unknown_tool"


async def test_a_read_is_read_anew(lab: Lab):
    """A key on a reading tool changes nothing: what is read is read now.

    If this fails, an agent looks at yesterday's draft.
    """
    row = lab.drafts.add()
    first = await lab.asha.call("read_draft", {"draft_id": DRAFT}, idempotency_key=KEY)
    row.title = "New title"
    again = await lab.asha.call("read_draft", {"draft_id": DRAFT}, idempotency_key=KEY)
    assert (first.data["title"], again.data["title"]) == ("Asha's draft", "New title")


@pytest.mark.parametrize("key", ["", "x" * 256], ids=["empty", "long"])
async def test_a_key_that_can_not_be_kept_is_refused(lab: Lab, key: str):
    """An empty or overlong key is refused before anything happens.

    If this fails, a key is dropped in silence, and the caller believes that it is safe.
    """
    refused = await lab.asha.call("save_draft", VALID, idempotency_key=key)
    assert refused.code == "invalid_arguments"
    assert lab.drafts.rows == {}


def slow(*, effect: Any, idempotent: bool = False) -> tuple[remit.Remit, list[int]]:
    """An app whose tool does its work and then takes too long to say so."""
    app, ran = remit.Remit("slow"), list[int]()

    @app.tool(effect=effect, idempotent=idempotent, timeout=0.01)
    async def work() -> int:
        ran.append(1)
        await asyncio.Future()  # for ever
        return 1

    return app, ran


@pytest.mark.parametrize("effect", ["write", "irreversible"])
async def test_a_write_that_takes_too_long_is_unknown(surface: str, effect: str):
    """Its deadline passed and it may have worked: *outcome unknown*, and no advice to try again.

    If this fails, the model repeats a payment that was made.
    """
    app, ran = slow(effect=effect)
    async with running(app, surface) as made:
        refused = await made.call("work", {}, idempotency_key=KEY)
        assert refused.code == "outcome_unknown"
        assert "not repeat" in refused.message
        assert not advises_to_retry(refused.message)
        assert refused.retry_after is None
        again = await made.call("work", {}, idempotency_key=KEY)
        assert again.code == "outcome_unknown"
        assert ran == [1]
        assert [row.outcome for row in made.app.audit.rows()] == ["outcome_unknown"] * 2


def advises_to_retry(text: str) -> bool:
    return any(words in text.lower() for words in ("try again", "retry it", "repeating it is safe"))


@pytest.mark.parametrize(("effect", "idempotent"), [("read", False), ("write", True)])
async def test_what_is_safe_to_repeat_says_so(surface: str, effect: str, idempotent: bool):
    """A read, or a write declared idempotent, may be repeated after its deadline, and the answer says it.

    If this fails, an agent gives up on what only took long.
    """
    app, ran = slow(effect=effect, idempotent=idempotent)
    async with running(app, surface) as made:
        refused = await made.call("work", {})
        assert refused.code == "timeout"
        assert advises_to_retry(refused.message)
        assert (await made.call("work", {})).code == "timeout"
        assert ran == [1, 1]


async def test_a_sync_tools_deadline_holds_too(surface: str):
    """A plain function that doesn't come back ends its call, and blocks nobody.

    If this fails, one stuck driver stops the loop, and every session on it.
    """
    import threading

    app, go = remit.Remit("stuck"), threading.Event()

    @app.tool(effect="write", timeout=0.01)
    def stuck() -> None:
        go.wait(10)

    @app.tool(effect="read")
    def stand() -> str:
        return "standing"

    async with running(app, surface) as made:
        try:
            assert (await made.call("stuck", {})).code == "outcome_unknown"
            assert (await made.call("stand", {})).ok
        finally:
            go.set()


@pytest.mark.parametrize("surface", CANCELLABLE)
async def test_a_second_call_while_the_first_runs_waits_its_turn(surface: str):
    """While the first call under a key runs, the second is told so; there is one effect.

    If this fails, two retries at once are two effects.
    """
    app, ran = remit.Remit("at once"), list[int]()
    inside, go = asyncio.Event(), asyncio.Event()

    @app.tool(effect="write")
    async def work() -> int:
        ran.append(1)
        inside.set()
        await go.wait()
        return 7

    async with running(app, surface) as made:
        first = asyncio.create_task(made.call("work", {}, idempotency_key=KEY))
        await inside.wait()
        second = await made.call("work", {}, idempotency_key=KEY)
        assert second.code == "in_progress"
        go.set()
        assert (await first).data == 7
        assert (await made.call("work", {}, idempotency_key=KEY)).data == 7
        assert ran == [1]


async def test_many_at_once_under_one_key_are_one_effect(lab: Lab):
    """Of many simultaneous calls under one key one does it.

    If this fails, the check and the act are two steps.
    """
    said = await answers(
        lab.app.call("save_draft", VALID, claims=ASHA, idempotency_key=KEY) for _ in range(16)
    )
    assert {one.code for one in said} <= {"ok", "in_progress"}
    assert len(lab.drafts.rows) == 1
    assert lab.drafts.ran == ["save_draft"]


async def cancelled(made: Agent, inside: asyncio.Event, **options: Any) -> None:
    calling = asyncio.create_task(made.call("work", {}, **options))
    await inside.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    async with asyncio.timeout(10):
        while not made.app.audit.rows():
            await asyncio.to_thread(lambda: None)


@pytest.mark.parametrize("surface", CANCELLABLE)
async def test_a_cancelled_write_is_unknown_under_its_key(surface: str):
    """A call that was cancelled in its effect is unknown: recorded, and not run again under its key.

    If this fails, cancel and retry is two effects, or a rollback that never was.
    """
    app, ran = remit.Remit("cancel"), list[int]()
    inside = asyncio.Event()

    @app.tool(effect="write")
    async def work() -> None:
        ran.append(1)
        inside.set()
        await asyncio.Future()  # for ever

    async with running(app, surface) as made:
        await cancelled(made, inside, idempotency_key=KEY)
        assert [row.outcome for row in made.app.audit.rows()] == ["outcome_unknown"]
        again = await made.call("work", {}, idempotency_key=KEY)
        assert again.code == "outcome_unknown"
        assert ran == [1]


@pytest.mark.parametrize("surface", CANCELLABLE)
async def test_a_cancelled_read_is_only_cancelled(surface: str):
    """A cancelled read is recorded as cancelled, once, and hurts nothing.

    If this fails, every closed window is an alarm.
    """
    app = remit.Remit("cancel")
    inside = asyncio.Event()

    @app.tool(effect="read")
    async def work() -> None:
        inside.set()
        await asyncio.Future()  # for ever

    @app.tool(effect="read")
    def stand() -> str:
        return "standing"

    async with running(app, surface) as made:
        await cancelled(made, inside)
        assert [row.outcome for row in made.app.audit.rows()] == ["cancelled"]
        assert (await made.call("stand", {})).ok


@pytest.mark.slow
async def test_an_effect_whose_process_died_is_unknown(surface: str, tmp_path: Path):
    """An intent that never got its outcome is found at the next start and named unknown, not run.

    If this fails, nobody ever learns of the half-done effect, or a restart does it again.
    """
    app, ran = remit.Remit("dies"), list[int]()
    inside = asyncio.Event()

    @app.tool(effect="write", timeout=5)
    async def work() -> None:
        ran.append(1)
        inside.set()
        await asyncio.Future()  # for ever

    clock, store = Clock(), f"sqlite:///{tmp_path}/remit.db"
    dead = app.replaced(clock=clock, store=store, deps=None)
    calling = asyncio.create_task(dead.call("work", {}, claims=ASHA, idempotency_key=KEY))
    await inside.wait()
    clock.now += 3600
    async with running(app.replaced(clock=clock), surface, store=store) as made:
        (row,) = made.app.audit.rows()
        assert (row.kind, row.outcome, row.principal) == ("orphan", "outcome_unknown", "u_asha")
        again = await made.call("work", {}, idempotency_key=KEY)
        assert again.code == "outcome_unknown"
        assert ran == [1]
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await dead.close()


async def test_a_kept_outcome_survives_a_restart(surface: str, tmp_path: Path):
    """The same key in the next process gives the first outcome.

    If this fails, a deploy in the middle of a retry doubles the effect.
    """
    app, ran = remit.Remit("restarts"), list[int]()

    @app.tool(effect="write")
    def work(count: int = 1) -> int:
        ran.append(count)
        return len(ran)

    store = f"sqlite:///{tmp_path}/remit.db"
    for _ in range(2):
        async with running(app, surface, store=store) as made:
            assert (await made.call("work", {}, idempotency_key=KEY)).data == 1
    assert ran == [1]


async def test_without_a_key_two_calls_are_two_effects(lab: Lab):
    """Nothing is guessed to be a repetition: two legitimate identical calls are two.

    If this fails, the second of two equal orders is swallowed.
    """
    first = await lab.asha.call("save_draft", VALID)
    second = await lab.asha.call("save_draft", VALID)
    assert first.data["draft_id"] != second.data["draft_id"]
    assert len(lab.drafts.rows) == 2
