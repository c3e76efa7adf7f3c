"""L10. Every outcome is on record first.

One audit row per call, denials included, durable before the answer leaves, tamper-evident. Arguments
are recorded as a digest, not in clear.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
import sqlalchemy as sa
from pydantic import Field

import remit
from remit.testing import Agent, agent
from tests.laws.lab import (
    ASHA,
    CANCELLABLE,
    DRAFT,
    VALID,
    Drafts,
    Lab,
    answers,
    blog,
    received,
    running,
)

pytestmark = pytest.mark.anyio


def tools() -> tuple[remit.Remit, list[str]]:
    """One tool for each way in which a call can end."""
    app, ran = remit.Remit("outcomes"), list[str]()
    nothing = Annotated[dict[str, Any], remit.Resource(_missing, allow=lambda call, row: True)]

    @app.tool(effect="write")
    def fine(count: Annotated[int, Field(ge=0)] = 0) -> str:
        ran.append("fine")
        return "x" * 50 * count

    @app.tool(effect="write", approval=remit.Approval(approvers={"editor"}))
    def gated() -> None:
        ran.append("gated")

    @app.tool(effect="write", scopes={"other:scope"})
    def scoped() -> None:
        ran.append("scoped")

    @app.tool(effect="write", require=remit.Require(lambda call: False, otherwise="Ask a person."))
    def ruled() -> None:
        ran.append("ruled")

    @app.tool(effect="write")
    def about(row: nothing) -> None:  # type: ignore[valid-type]
        ran.append("about")

    @app.tool(effect="write")
    def own() -> None:
        raise remit.Refused("not_editable", "It is published.")

    @app.tool(effect="write", limit="1/hour")
    def limited() -> None:
        ran.append("limited")

    @app.tool(effect="read", timeout=0.01)
    async def slow() -> None:
        await asyncio.Future()  # for ever

    @app.tool(effect="write", timeout=0.01)
    async def slow_write() -> None:
        await asyncio.Future()  # for ever

    @app.tool(effect="write")
    def broken() -> None:
        raise RuntimeError("x")

    @app.tool(effect="read")
    def huge() -> dict[str, int]:
        return {f"key{i}": i for i in range(6000)}

    return app, ran


def _missing(call: remit.Call, row_id: str) -> dict[str, Any] | None:
    return None


OUTCOMES: list[tuple[str, dict[str, Any], str]] = [
    ("fine", {}, "ok"),
    ("gated", {}, "unknown_tool"),
    ("request_gated", {}, "awaiting_approval"),
    ("scoped", {}, "unknown_tool"),
    ("ruled", {}, "forbidden"),
    ("about", {"row_id": "r1"}, "not_found"),
    ("own", {}, "not_editable"),
    ("slow", {}, "timeout"),
    ("slow_write", {}, "outcome_unknown"),
    ("broken", {}, "internal"),
    ("huge", {}, "too_large"),
    ("fine", {"count": -1}, "invalid_arguments"),
    ("fine", {"cuont": 1}, "invalid_arguments"),
    ("fine", {"count": "x" * 2_000_000}, "too_large"),
    ("nothing", {}, "unknown_tool"),
]


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        pytest.param(
            *one, id=f"{one[0]} {one[2]}", marks=pytest.mark.slow if one[0] == "huge" else ()
        )
        for one in OUTCOMES
    ],
)
async def test_every_outcome_has_exactly_one_row(
    surface: str, tool: str, arguments: dict[str, Any], code: str
):
    """However a call ends, there is one row, with who, what and how it ended.

    If this fails, a kind of call can be made without a trace.
    """
    app, _ = tools()
    async with running(app, surface) as made:
        outcome = await made.call(tool, arguments)
        assert outcome.code == code
        (row,) = made.app.audit.rows()
        assert row.outcome == code
        assert (row.principal, row.client, row.kind) == ("u_asha", "agent-host", "call")
        assert row.tool == (tool if tool in made.app.tools else "")
        assert row.surface == ("mcp" if surface.startswith("mcp") else surface)
        assert made.app.audit.verify().ok


async def test_the_rest_of_the_outcomes_has_one_row_each(surface: str):
    """Nobody, too many, a reused key: refused, and on record.

    If this fails, the refusals that show an attack are the ones that are not written.
    """
    app, ran = tools()
    async with running(app, surface) as made:
        said = [
            await made.as_principal(None).call("fine", {}),
            await made.call("limited", {}),
            await made.call("limited", {}),
            await made.call("fine", {"count": 1}, idempotency_key="k"),
            await made.call("fine", {"count": 2}, idempotency_key="k"),
            await made.call("fine", {"count": 1}, idempotency_key="k"),
        ]
        codes = ["unauthenticated", "ok", "rate_limited", "ok", "conflict", "ok"]
        assert [one.code for one in said] == codes
        assert [row.outcome for row in made.app.audit.rows()] == codes
        assert ran == ["limited", "fine"]


@pytest.mark.parametrize("surface", CANCELLABLE)
async def test_a_cancelled_call_is_on_record(surface: str):
    """A caller that goes away in the middle leaves a row that says so.

    If this fails, hanging up is a way to act unseen.
    """
    app = remit.Remit("cancel")
    inside = asyncio.Event()

    @app.tool(effect="write")
    async def wait() -> None:
        inside.set()
        await asyncio.Future()  # for ever

    async with running(app, surface) as made:
        calling = asyncio.create_task(made.call("wait", {}))
        await inside.wait()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await recorded(made, 1)
        (row,) = made.app.audit.rows()
        assert row.outcome == "outcome_unknown"
        assert made.app.audit.verify().ok


async def recorded(made: Agent, count: int) -> None:
    """Wait until the server side of a cancelled call has ended as well."""
    async with asyncio.timeout(10):
        while len(made.app.audit.rows()) < count:
            await asyncio.to_thread(lambda: None)


async def test_a_row_names_the_actor_and_says_nothing_in_clear(lab: Lab):
    """Actor, client, tool and its declaration, resources and a digest; of the arguments no word.

    If this fails, the audit log is the next place to steal from, or useless.
    """
    lab.drafts.add()
    sent = {**VALID, "body": "hunter2 " * 40, "draft_id": DRAFT}
    assert (await lab.asha.call("save_draft", sent)).ok
    assert (await lab.asha.call("save_draft", {**sent, "title": ""})).code == "invalid_arguments"
    assert (await lab.asha.call("hunter2", {})).code == "unknown_tool"
    good, bad, _ = lab.audit()
    assert (good.principal, good.client, good.tool) == ("u_asha", "agent-host", "save_draft")
    assert good.resources == (f"draft_id={DRAFT}",)
    assert good.tool_version == "0"
    assert len(good.schema_digest) == 64
    assert len(good.arguments_digest) == 64
    assert good.arguments_digest != bad.arguments_digest
    assert "hunter2 hunter2" not in repr(lab.audit())
    assert lab.audit()[-1].tool == ""


async def test_equal_arguments_have_equal_digests_and_others_not(lab: Lab):
    """The order of keys makes no difference to the digest; 1, 1.0 and true would.

    If this fails, two records of one call can't be matched, or two calls look like one.
    """
    for arguments in (
        {"title": "t", "body": "b"},
        {"body": "b", "title": "t"},
        {"title": "t", "body": "b", "tags": []},
        {"title": "t", "body": 1},
        {"title": "t", "body": 1.0},
        {"title": "t", "body": True},
    ):
        await lab.app.call("save_draft", arguments, claims=ASHA)
    digests = [row.arguments_digest for row in lab.audit()]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


@asynccontextmanager
async def on_file(
    path: Path, surface: str, app: remit.Remit = blog
) -> AsyncIterator[tuple[Agent, Drafts]]:
    drafts = Drafts()
    made = agent(app, principal=ASHA, deps=drafts, surface=surface, store=f"sqlite:///{path}")
    async with made.app:
        yield made, drafts


async def test_the_row_is_durable_when_the_caller_hears(surface: str, tmp_path: Path):
    """By the time an outcome is told, another process can read its row.

    If this fails, a crash right after the answer loses what happened.
    """
    path, seen = tmp_path / "remit.db", list[int]()
    app = remit.Remit("durable")

    def count() -> int:
        with sqlite3.connect(path) as connection:
            found = connection.execute("SELECT count(*) FROM audit").fetchone()[0]
        connection.close()
        return found

    @app.after_call
    def after(event: remit.Event) -> None:
        seen.append(count())

    @app.tool(effect="write")
    def keep() -> int:
        return count()

    async with on_file(path, surface, app) as (made, _):
        assert (await made.call("keep", {})).data == 0
        assert count() == 1
        assert (await made.call("keep", {"x": 1})).code == "invalid_arguments"
        assert count() == 2
    assert seen == [1, 2]


async def broken(app: remit.Remit, table: str) -> None:
    """Let every further insert into *table* fail, as a full disk would."""
    trigger = (
        f"CREATE TRIGGER full_{table} BEFORE INSERT ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    await app.store.commit(work=lambda connection: connection.execute(sa.text(trigger)))


async def test_without_an_intent_on_record_nothing_is_done(lab: Lab):
    """Where the intent can't be written the call is refused before its effect.

    If this fails, a full disk means that everything is allowed and nothing is seen.
    """
    await broken(lab.app, "effects")
    refused = await lab.asha.call("save_draft", VALID)
    assert refused.code == "store_unavailable"
    assert lab.drafts.rows == {}
    assert lab.drafts.ran == []


async def test_without_a_row_no_result_leaves(lab: Lab):
    """Where the outcome can't be written, what was read doesn't leave, and a write isn't called done.

    If this fails, breaking the log is reading without a trace.
    """
    lab.drafts.add(title="Secret plans")
    await broken(lab.app, "audit")
    said = await received(lab.asha, "read_draft", {"draft_id": DRAFT})
    assert "store_unavailable" in said
    assert "Secret plans" not in said
    assert "disk is full" not in said
    written = await lab.asha.call("save_draft", VALID)
    assert written.code in ("outcome_unknown", "store_unavailable")
    assert not written.ok


async def test_without_a_store_no_request_is_filed(lab: Lab):
    """A request that can't be kept is refused, not promised.

    If this fails, an agent tells its user that a person will look, and nobody ever can.
    """
    lab.drafts.add()
    await broken(lab.app, "requests")
    refused = await lab.asha.call("request_publish", {"draft_id": DRAFT})
    assert refused.code == "store_unavailable"
    assert await lab.queue() == []
    assert lab.drafts.rows[DRAFT].status == "draft"


async def test_a_store_that_can_not_be_opened_refuses_every_call(surface: str, tmp_path: Path):
    """No database, no call; and the answer holds no path.

    If this fails, the app runs unrecorded until someone notices.
    """
    drafts = Drafts()
    url = f"sqlite:///{tmp_path}/no/such/folder/remit.db"
    made = agent(blog, principal=ASHA, deps=drafts, surface=surface, store=url)
    if surface.startswith("mcp-http"):
        with pytest.raises(BaseException, match=r"(?s).*"):
            await made.call("save_draft", VALID)
    else:
        said = await received(made, "save_draft", VALID)
        assert "store_unavailable" in said
        assert str(tmp_path) not in said
    assert drafts.rows == {}
    assert drafts.ran == []


def without_the_fence(connection: sa.Connection) -> None:
    """Do as someone would who owns the database."""
    query = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
    for name in connection.execute(sa.text(query)).scalars().all():
        connection.execute(sa.text(f"DROP TRIGGER {name}"))


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE audit SET outcome = 'ok' WHERE seq = 2",
        "UPDATE audit SET principal = 'u_ravi' WHERE seq = 2",
        "UPDATE audit SET rec = replace(rec, 'u_asha', 'u_ravi') WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 2",
        "DELETE FROM audit WHERE seq = 4",
        "UPDATE audit SET seq = seq + 10 WHERE seq > 2",
    ],
    ids=["outcome", "actor", "bytes", "a row", "the last row", "a gap"],
)
async def test_a_changed_log_shows(lab: Lab, harm: str):
    """The database refuses to change a row; whoever makes it do so is found out, and where.

    If this fails, the record says what its last editor liked.
    """
    for i in range(4):
        await lab.app.call("save_draft", {**VALID, "status": i}, claims=ASHA)
    assert lab.app.audit.verify().ok
    with pytest.raises(remit.StoreError):  # as long as nobody takes the fence down
        await lab.app.store.commit(work=lambda connection: connection.execute(sa.text(harm)))
    assert lab.app.audit.verify().ok
    await lab.app.store.commit(work=without_the_fence)
    await lab.app.store.commit(work=lambda connection: connection.execute(sa.text(harm)))
    verdict = lab.app.audit.verify()
    assert not verdict.ok
    assert verdict.first_bad in (2, 3, 4)


async def test_calls_at_once_are_as_many_rows(lab: Lab):
    """Calls that come together get one row each, in one unbroken chain.

    If this fails, load is where calls go missing.
    """
    said = await answers(
        lab.app.call("save_draft", {**VALID, "title": f"n{i}"}, claims=ASHA) for i in range(64)
    )
    assert all(one.ok for one in said)
    assert len(lab.audit()) == 64
    assert len({row.call_id for row in lab.audit()}) == 64
    assert lab.app.audit.verify().ok


async def test_the_caller_can_name_its_row(lab: Lab):
    """The answer carries the id of its row, for the program and not for the model.

    If this fails, a user's complaint can't be found in the log.
    """
    outcome = await lab.asha.call("save_draft", VALID)
    (row,) = lab.audit()
    assert outcome.meta["call_id"] == row.call_id
    assert row.call_id not in str(outcome.data)
