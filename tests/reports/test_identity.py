"""Field reports of the kind identity: who calls is who this very request was verified for."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

import remit
from remit.testing import agent as agent_of
from tests.reports.reach import ASHA, EDITOR, RAVI, Using, issues, ok, refused, sent
from tests.reports.tokens import ACCEPT, served

pytestmark = pytest.mark.anyio

TOKENS: dict[str, dict[str, Any]] = {
    "asha": {**ASHA, "scope": "a b", "iat": 1},
    "asha-refreshed": {**ASHA, "scope": "a", "iat": 2, "exp": 99, "jti": "other"},
    "ravi": {**RAVI, "scope": "a b"},
    "asha-elsewhere": {**ASHA, "iss": "https://other.example", "scope": "a b"},
    "asha-on-phone": {**ASHA, "client_id": "phone", "scope": "a b"},
    "nobody": {"iss": ASHA["iss"], "client_id": ASHA["client_id"], "scope": "a b"},
    "nameless": {**ASHA, "sub": ""},
}
OTHERS = ("ravi", "asha-elsewhere", "asha-on-phone")


def meeting(parties: int) -> tuple[remit.Remit, list[Any]]:
    """Return an app whose tool waits until *parties* calls are in it, and what each saw."""
    app, seen, all_in = remit.Remit("meeting"), list[Any](), asyncio.Event()
    inside: list[str] = []

    @app.tool(effect="read")
    async def meet(call: remit.Call, me: str) -> str:
        before = call.principal
        inside.append(me)
        if len(inside) == parties:
            all_in.set()
        await all_in.wait()
        assert call.principal is before
        seen.append((me, call.principal.subject, sorted(call.principal.scopes), call.id))
        return call.principal.subject

    return app, seen


# FR-068 ------------------------------------------------------------------------------------------


async def test_fr_068_overlapping_calls_of_one_session_keep_their_own_tokens():
    app, seen = meeting(4)
    async with served(app, TOKENS, stateless=False) as (wire, made):
        session = await wire.begin("asha")
        order = ["asha", "asha-refreshed", "asha", "asha-refreshed"]
        calls = [wire.call(one, "meet", {"me": one}, session=session) for one in order]
        results = await asyncio.gather(*calls)
        assert [result["isError"] for result in results] == [False] * 4
        assert sorted((me, scopes) for me, _, scopes, _ in seen) == [
            ("asha", ["a", "b"]),
            ("asha", ["a", "b"]),
            ("asha-refreshed", ["a"]),
            ("asha-refreshed", ["a"]),
        ]
        assert len({call_id for *_, call_id in seen}) == 4
        assert len(made.audit.rows()) == 4


async def test_fr_068_overlapping_calls_of_many_callers_do_not_mix(using: Using):
    app, seen = meeting(12)
    first = await using(app, {**ASHA, "sub": "u_0"})
    agents = [first, *(first.as_principal({**ASHA, "sub": f"u_{i}"}) for i in range(1, 12))]
    outcomes = await asyncio.gather(
        *(agent.call("meet", {"me": f"u_{i}"}) for i, agent in enumerate(agents))
    )
    assert [ok(outcome) for outcome in outcomes] == [f"u_{i}" for i in range(12)]
    assert all(me == subject for me, subject, *_ in seen)
    assert {row.principal for row in first.app.audit.rows()} == {f"u_{i}" for i in range(12)}


async def test_fr_068_a_call_and_its_principal_can_not_be_changed(here: Using):
    app, tried = remit.Remit("fixed"), list[str]()

    @app.tool(effect="read")
    def change(call: remit.Call) -> None:
        for target, name, value in (
            (call, "principal", None),
            (call, "id", "x"),
            (call, "client", "x"),
            (call.principal, "subject", "u_root"),
            (call.principal, "scopes", frozenset({"admin"})),
        ):
            with pytest.raises((AttributeError, ValueError, TypeError)):
                setattr(target, name, value)
            tried.append(name)
        assert isinstance(call.principal.scopes, frozenset)
        assert isinstance(call.principal.roles, frozenset)

    claims = {**ASHA, "scope": "a"}
    ok(await (await here(app, claims)).call("change", {}))
    assert len(tried) == 5
    assert claims == {**ASHA, "scope": "a"}


@pytest.mark.parametrize(
    "extra",
    [
        {"sub": "u_ravi"},
        {"subject": "u_ravi"},
        {"call": {"principal": {"sub": "u_ravi"}}},
        {"principal": "u_ravi"},
        {"claims": {"sub": "u_ravi"}},
        {"_meta": {"sub": "u_ravi"}},
    ],
)
async def test_fr_068_no_argument_says_who_calls(using: Using, extra: dict[str, Any]):
    app, seen = meeting(1)
    outcome = await (await using(app)).call("meet", {"me": "x", **extra})
    assert issues(outcome) == [("(root)", f"unrecognized_keys:{next(iter(extra))}")]
    assert seen == []


# FR-069 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_fr_069_another_s_session_is_like_none(other: str, method: str):
    app, seen = meeting(1)
    async with served(app, TOKENS, stateless=False) as (wire, made):
        session = await wire.begin("asha")
        call = {
            "jsonrpc": "2.0",
            "id": 7,
            "method": "tools/call",
            "params": {"name": "meet", "arguments": {"me": "x"}},
        }
        answers = []
        for held in (session, "0" * len(session)):
            headers = {
                **ACCEPT,
                "Authorization": f"Bearer {other}",
                "MCP-Protocol-Version": "2025-11-25",
                "Mcp-Session-Id": held,
            }
            body = {"json": call} if method == "POST" else {}
            answers.append(await wire.http.request(method, "/mcp", headers=headers, **body))
        assert [one.status_code for one in answers] == [404, 404]
        assert answers[0].content == answers[1].content
        assert session not in answers[0].text
        assert seen == []
        assert made.audit.rows() == []
        result = await wire.call("asha", "meet", {"me": "asha"}, session=session)
        assert result["isError"] is False, "their own session went on"


def publisher() -> tuple[remit.Remit, list[Any]]:
    app, done = remit.Remit("publisher"), list[Any]()

    @app.tool(
        effect="write",
        approval=remit.Approval(approvers={"editor"}, expires=timedelta(days=1)),
    )
    def publish(call: remit.Call, post: str) -> str:
        done.append((call.principal.subject, post))
        return post

    @app.tool(effect="write")
    def note(call: remit.Call, text: str) -> str:
        done.append((call.principal.subject, text))
        return f"{call.principal.subject}: {text}"

    return app, done


@pytest.mark.parametrize("who", ["ravi", "asha", "nobody", "nameless"])
async def test_fr_069_nobody_but_an_approver_answers_a_waiting_request(here: Using, who: str):
    app, done = publisher()
    agent = await here(app)
    assert (await agent.call("request_publish", {"post": "p"})).code == "awaiting_approval"
    (waiting,) = await agent.app.approvals.waiting()
    for decision in ("approve", "deny"):
        with pytest.raises(remit.Refused) as caught:
            await agent.app.approvals.decide(
                waiting.id, decision, approver=TOKENS[who], digest=waiting.digest
            )
        assert "u_asha" not in sent(caught.value)
    assert await agent.app.approvals.waiting() == [waiting]
    assert done == []


async def test_fr_069_another_s_stored_outcome_can_not_be_read(using: Using):
    app, done = publisher()
    asha = await using(app)
    assert ok(await asha.call("note", {"text": "t"}, idempotency_key="k")) == "u_asha: t"
    ravi = asha.as_principal(RAVI)
    assert ok(await ravi.call("note", {"text": "t"}, idempotency_key="k")) == "u_ravi: t"
    assert ok(await asha.call("note", {"text": "t"}, idempotency_key="k")) == "u_asha: t"
    assert done == [("u_asha", "t"), ("u_ravi", "t")]


# FR-070 ------------------------------------------------------------------------------------------


def counter(limit: str | None) -> tuple[remit.Remit, list[Any]]:
    app, done = remit.Remit("counter", max_waiting=1), list[Any]()
    approval = remit.Approval(approvers={"editor"}, expires=timedelta(days=1))

    @app.tool(effect="write", limit=limit)
    def count(call: remit.Call) -> int:
        done.append((call.principal.issuer, call.principal.subject))
        return len(done)

    @app.tool(effect="write", approval=approval)
    def publish(post: str) -> None: ...

    return app, done


@pytest.mark.parametrize("other", ["ravi", "asha-elsewhere"])
async def test_fr_070_subject_and_issuer_make_the_owner_and_not_the_client_alone(
    using: Using, other: str
):
    app, done = counter("1/hour")
    asha = await using(app, TOKENS["asha"])
    theirs = asha.as_principal(TOKENS[other])
    assert ok(await asha.call("count", {}, idempotency_key="k")) == 1
    assert ok(await theirs.call("count", {}, idempotency_key="k")) == 2
    for agent in (asha, theirs):
        refused(await agent.call("count", {}), "rate_limited")
    for agent in (asha, theirs):
        assert (await agent.call("request_publish", {"post": "p"})).code == "awaiting_approval"
        refused(await agent.call("request_publish", {"post": "q"}), "rate_limited")
    assert len(done) == 2
    owners = {(one.issuer, one.subject) for one in await asha.app.approvals.waiting()}
    assert owners == set(done)
    assert {(row.issuer, row.principal) for row in asha.app.audit.rows()} == owners


@pytest.mark.parametrize("token", ["nobody", "nameless", "unknown"])
async def test_fr_070_without_a_subject_there_is_no_session_and_no_call(token: str):
    app, done = counter(None)
    for stateless in (True, False):
        async with served(app, TOKENS, stateless=stateless) as (wire, made):
            call = await wire.post(token, "tools/call", {"name": "count", "arguments": {}})
            listed = await wire.post(token, "tools/list", {})
            assert (call.status_code, listed.status_code) == (401, 401)
            if not stateless:
                with pytest.raises(AssertionError):
                    await wire.begin(token)
            assert [row for row in made.audit.rows() if row.outcome == "ok"] == []
    assert done == []


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": ["u_asha"]},
        {"subject": "u_asha"},
        {"client_id": "desktop", "scope": "a b"},
        None,
    ],
)
async def test_fr_070_nor_from_python(here: Using, claims: dict[str, Any] | None):
    app, done = counter(None)
    refused(await (await here(app, claims)).call("count", {}), "unauthenticated")
    assert done == []


# FR-071 ------------------------------------------------------------------------------------------


async def test_fr_071_a_refreshed_token_goes_on_with_the_session():
    app, seen = meeting(1)
    async with served(app, TOKENS, stateless=False) as (wire, _):
        session = await wire.begin("asha")
        for token in ("asha", "asha-refreshed", "asha"):
            result = await wire.call(token, "meet", {"me": token}, session=session)
            assert result["isError"] is False
    assert [me for me, *_ in seen] == ["asha", "asha-refreshed", "asha"]


async def test_fr_071_and_with_what_waits_and_what_was_done(using: Using):
    app, done = publisher()
    asha = await using(app, TOKENS["asha"])
    refreshed = asha.as_principal(TOKENS["asha-refreshed"])
    ok(await asha.call("note", {"text": "t"}, idempotency_key="k"))
    ok(await refreshed.call("note", {"text": "t"}, idempotency_key="k"))
    assert done == [("u_asha", "t")]
    first = await asha.call("request_publish", {"post": "p"})
    again = await refreshed.call("request_publish", {"post": "p"})
    assert (first.code, again.code) == ("awaiting_approval", "awaiting_approval")
    assert ok(first)["request"] == ok(again)["request"]
    (waiting,) = await asha.app.approvals.waiting()
    decided = await asha.app.approvals.decide(
        waiting.id, "approve", approver=EDITOR, digest=waiting.digest
    )
    assert decided.state == "done"
    assert done == [("u_asha", "t"), ("u_asha", "p")]


# FR-073 ------------------------------------------------------------------------------------------

TRACE: contextvars.ContextVar[str] = contextvars.ContextVar("trace")


async def test_fr_073_a_sync_tool_knows_its_caller_in_its_thread(using: Using):
    app, seen, barrier = remit.Remit("threads"), list[Any](), threading.Barrier(8)

    @app.tool(effect="read")
    def work(call: remit.Call, me: str) -> str:
        barrier.wait(20)
        seen.append((me, call.principal.subject, threading.current_thread().name))
        return call.principal.subject

    first = await using(app)
    agents = [first.as_principal({**ASHA, "sub": f"u_{i}"}) for i in range(8)]
    outcomes = await asyncio.gather(
        *(agent.call("work", {"me": f"u_{i}"}) for i, agent in enumerate(agents))
    )
    assert [ok(outcome) for outcome in outcomes] == [f"u_{i}" for i in range(8)]
    assert all(me == subject for me, subject, _ in seen)
    assert threading.main_thread().name not in {thread for *_, thread in seen}


async def test_fr_073_context_variables_reach_the_thread_of_their_own_call(here: Using):
    app = remit.Remit("traced")

    @app.tool(effect="read")
    def traced() -> str:
        found = TRACE.get("none")
        TRACE.set("spoilt")
        return found

    agent = await here(app)

    async def one(trace: str) -> str:
        TRACE.set(trace)
        return ok(await agent.call("traced", {}))

    traces = [f"t{i}" for i in range(20)]
    assert await asyncio.gather(*(asyncio.create_task(one(trace)) for trace in traces)) == traces
    assert ok(await agent.call("traced", {})) == "none"


async def test_fr_073_a_thread_that_runs_on_after_its_time_stays_its_caller_s(here: Using):
    app, late = remit.Remit("late"), list[Any]()
    go, gone = threading.Event(), threading.Event()

    @app.tool(effect="read", timeout=0.05)
    def slow(call: remit.Call) -> None:
        go.wait(20)
        late.append(call.principal.subject)
        gone.set()

    @app.tool(effect="read")
    def quick(call: remit.Call) -> str:
        return call.principal.subject

    agent = await here(app)
    refused(await agent.call("slow", {}), "timeout")
    assert ok(await agent.as_principal(RAVI).call("quick", {})) == "u_ravi"
    go.set()
    assert await asyncio.to_thread(gone.wait, 20)
    assert late == ["u_asha"]
    assert [row.principal for row in agent.app.audit.rows()] == ["u_asha", "u_ravi"]


def test_fr_073_a_generator_is_refused_when_declared():
    app = remit.Remit("generators")

    def stream(call: remit.Call) -> Iterator[str]:
        yield call.principal.subject

    async def astream(call: remit.Call) -> AsyncIterator[str]:
        yield call.principal.subject

    for function in (stream, astream):
        with pytest.raises(remit.DeclarationError, match="generator"):
            app.tool(effect="read")(function)


async def test_fr_073_there_is_no_default_principal(using: Using):
    app, seen = remit.Remit("nobody"), list[Any]()

    @app.tool(effect="read")
    def private(call: remit.Call) -> None:
        seen.append(call.principal)

    @app.tool(effect="read", public=True)
    def public(call: remit.Call[remit.Principal | None]) -> None:  # type: ignore[type-var]
        seen.append(call.principal)

    agent = await using(app, None)
    refused(await agent.call("private", {}), "unauthenticated")
    ok(await agent.call("public", {}))
    assert seen == [None]


# FR-074 ------------------------------------------------------------------------------------------


async def test_fr_074_the_library_offers_no_tool_of_its_own(over_mcp: Using):
    """Covers that nothing is there to run by itself; delegated credentials come with the guard."""
    app, done = publisher()
    agent = await over_mcp(app)
    assert set(await agent.tools()) == {"request_publish", "note"}
    assert await (await over_mcp(remit.Remit("empty"))).tools() == []
    for name in ("decide", "approve", "approvals", "audit", "health", "remit", "publish", "tools"):
        refused(await agent.call(name, {}), "unknown_tool")
    assert done == []


async def test_fr_074_the_health_check_says_nothing_and_needs_no_one():
    import httpx2

    app, _ = publisher()
    made = app.replaced(store="sqlite://")
    asgi = made.serve()
    transport = httpx2.ASGITransport(asgi)
    async with (
        asgi.router.lifespan_context(asgi),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http,
    ):
        healthy = await http.get("/healthz")
        assert (healthy.status_code, healthy.json()) == (200, {"status": "ok"})
        for path in ("/approvals", "/audit", "/api", "/tools", "/"):
            assert (await http.get(path)).status_code == 404


async def test_fr_074_nobody_gets_what_the_server_itself_could_do():
    app, done = publisher()
    agent = agent_of(app, principal=None, surface="mcp")
    async with agent.app:
        refused(await agent.call("note", {"text": "t"}), "unauthenticated")
        refused(await agent.call("request_publish", {"post": "p"}), "unauthenticated")
        assert await agent.tools() == []
        assert await agent.app.approvals.all() == []
    assert done == []
    assert json.dumps(done) == "[]"
