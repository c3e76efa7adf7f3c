"""What is special to MCP, with the app behind it replaced: shapes, and that nothing else gets out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import Server
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.shared.exceptions import MCPError
from opentelemetry import trace

from remit import Ask, Issue, Ok, Outcome, Refused, Remit
from remit.app import Listed
from remit.contract import Hints
from remit.surfaces.mcp import IDEMPOTENCY_KEY, server
from remit.surfaces.mcp.answers import listed as mcp_tool

pytestmark = pytest.mark.anyio

ERAS = ("2026-07-28", "legacy")
SECRET = "postgres://app:s3cret@10.0.4.12/blog"
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"note": {"type": ["string", "null"], "default": None}},
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


def tool(name: str, **changed: Any) -> Listed:
    given: dict[str, Any] = {
        "name": name,
        "title": name.title(),
        "description": f"Does {name}.",
        "input_schema": SCHEMA,
        "output_schema": {"type": "object"},
        "annotations": Hints(read_only=False, destructive=True, idempotent=False, open_world=True),
        "wrapped": False,
    }
    return Listed(**{**given, **changed})


class FakeApp:
    """Gives the outcome that a test wants, and keeps what the surface asked with."""

    name, version = "fake", "1.2.3"

    def __init__(self, outcome: Outcome | Callable[..., Any] | None = None, *tools: Listed) -> None:
        self.outcome = outcome
        self.list_error: Exception | None = None
        self.listed = tools or (tool("plain"),)
        self.asked: list[tuple[Any, ...]] = []
        self.named: dict[str, Any] = {}
        self.wrapped = frozenset(one.name for one in self.listed if one.wrapped)
        self.tools = {
            one.name: SimpleNamespace(
                projection=SimpleNamespace(content=one.output_schema is None), approval=None
            )
            for one in self.listed
        }

    def advertised(self, name: str) -> Mapping[str, Any]:
        return {one.name: one.input_schema for one in self.listed}[name]

    async def visible(self, claims: Any, *, surface: str) -> tuple[Listed, ...]:
        if self.list_error is not None:
            raise self.list_error
        return self.listed

    async def dispatch(self, name: str, raw: Any, claims: Any, **named: Any) -> Any:
        self.asked.append((name, raw, claims))
        self.named = named
        return await self.outcome(**named) if callable(self.outcome) else self.outcome


def served(app: FakeApp, **options: Any) -> Server[Any]:
    return server(cast("Remit", app), **options)


async def called(app: FakeApp, era: str, name: str = "plain", **options: Any) -> Any:
    async with Client(served(app, claims={"sub": "u"}), mode=era) as client:
        return await client.call_tool(name, options.pop("arguments", {}), **options)


# Answers. -----------------------------------------------------------------------------------------


async def test_an_ok_is_compact_json_twice(era: str) -> None:
    data = {"title": "Über 🎉", "n": 1, "none": None, "list": [1, 2.5]}
    got = await called(FakeApp(Ok(data, meta={"call_id": "c1", "request_id": "r1"})), era)
    assert got.is_error is False
    assert got.structured_content == data
    assert [one.text for one in got.content] == [
        '{"title":"Über 🎉","n":1,"none":null,"list":[1,2.5]}'
    ]
    kept = {name: value for name, value in got.meta.items() if name.startswith("remit/")}
    assert kept == {"remit/call_id": "c1", "remit/request_id": "r1", "remit/code": "ok"}


@pytest.mark.parametrize("data", [[1, 2], "text", 7, None, True, []], ids=repr)
async def test_what_is_no_object_stands_under_result(era: str, data: Any) -> None:
    schema = {"type": "object", "properties": {"result": {}}, "required": ["result"]}
    got = await called(FakeApp(Ok(data), tool("plain", wrapped=True, output_schema=schema)), era)
    assert got.structured_content == {"result": data}
    assert json.loads(got.content[0].text) == {"result": data}


async def test_what_was_cut_or_dropped_is_said_to_model_and_program(era: str) -> None:
    got = await called(
        FakeApp(Ok({}, more=True, ignored=("body.x",), notice="Ask for the next page.")), era
    )
    said = json.loads(got.content[1].text)
    assert said["ignored"] == ["body.x"]
    assert "next page" in said["more"]
    assert got.meta["remit/more"] is True
    assert got.meta["remit/ignored"] == ["body.x"]


async def test_content_blocks_leave_as_they_are(era: str) -> None:
    blocks = [
        {"type": "text", "text": "hi"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    ]
    app = FakeApp(Ok(blocks), tool("plain", output_schema=None))
    got = await called(app, era)
    assert [one.type for one in got.content] == ["text", "image"]
    assert got.structured_content is None
    app.outcome = Ok(blocks[1])
    assert [one.type for one in (await called(app, era)).content] == ["image"]


async def test_a_refusal_is_an_error_result_in_every_era(era: str) -> None:
    refused = Refused(
        "invalid_arguments",
        "Fix it.",
        issues=[Issue("body", "unrecognized_keys:authorId", "nearest: author")],
        more=2,
        meta={"call_id": "c1"},
    )
    got = await called(FakeApp(refused), era)
    assert got.is_error is True
    assert got.structured_content is None
    assert json.loads(got.content[0].text) == {
        "ok": False,
        "code": "invalid_arguments",
        "message": "Fix it.",
        "issues": [
            {"path": "body", "code": "unrecognized_keys:authorId", "hint": "nearest: author"}
        ],
        "more": 2,
    }
    assert got.meta["remit/code"] == "invalid_arguments"
    # No id of this call: what is missing and what is not yours answer alike to the last byte.
    assert "remit/call_id" not in got.meta


async def test_waiting_for_a_person_is_an_ok_with_its_code(era: str) -> None:
    got = await called(FakeApp(Ok({"status": "awaiting_approval"}, code="awaiting_approval")), era)
    assert got.is_error is False
    assert got.meta["remit/code"] == "awaiting_approval"


# What goes in. ------------------------------------------------------------------------------------


async def test_arguments_arrive_raw(era: str) -> None:
    app = FakeApp(Ok({}))
    raw = {"n": "5", "authorId": 7, "deep": {"x": [None, 1e3, {"y": "z"}]}, "__proto__": {}}
    await called(app, era, arguments=raw, name="anything at all")
    assert app.asked == [("anything at all", raw, {"sub": "u"})]
    assert app.named["surface"] == "mcp"


async def test_no_arguments_are_an_empty_object(era: str) -> None:
    app = FakeApp(Ok({}))
    await called(app, era, arguments=None)
    assert app.asked[0][1] == {}


async def test_the_idempotency_key_comes_from_the_requests_meta(era: str) -> None:
    app = FakeApp(Ok({}))
    await called(app, era, meta={IDEMPOTENCY_KEY: "k-1"})
    assert app.named["idempotency_key"] == "k-1"
    await called(app, era)
    assert app.named["idempotency_key"] is None


# Who calls. ---------------------------------------------------------------------------------------


def user(subject: str) -> AuthenticatedUser:
    claims = {"sub": subject, "iss": "https://i.example"}
    return AuthenticatedUser(AccessToken(token="", client_id="c", scopes=[], claims=claims))


async def test_identity_is_never_an_argument_or_meta(era: str) -> None:
    app = FakeApp(Ok({}))
    async with Client(
        served(app), mode=era, client_info=types.Implementation(name="u_editor", version="1")
    ) as client:
        await client.call_tool(
            "plain",
            {"sub": "u_editor", "claims": {"sub": "u_editor"}},
            meta=cast("Any", {"sub": "u_editor", "remit/claims": {"sub": "u_editor"}}),
        )
    assert app.asked[0][2] is None


async def test_each_of_fifty_callers_at_once_is_itself(era: str) -> None:
    app = FakeApp(Ok({}))
    async with Client(served(app), mode=era) as client:

        async def one(subject: str) -> None:
            auth_context_var.set(user(subject))
            await client.call_tool("plain", {"who": subject})

        await asyncio.gather(*(asyncio.create_task(one(f"u_{n}")) for n in range(50)))
    assert len(app.asked) == 50
    assert all(raw["who"] == claims["sub"] for _, raw, claims in app.asked)


# Nothing else gets out. ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [RuntimeError(SECRET), SystemExit(3), asyncio.CancelledError(SECRET), ValueError(SECRET)],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
async def test_a_bug_behind_the_surface_is_a_reference(
    era: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(**_: Any) -> Outcome:
        raise error

    app = FakeApp(broken)
    async with Client(served(app), mode=era) as client:
        got = await client.call_tool("plain", {})
        assert got.is_error is True
        said = json.loads(cast("Any", got.content[0]).text)
        assert said["code"] == "internal"
        assert said["reference"] in caplog.text
        assert SECRET not in got.model_dump_json()
        app.outcome = Ok({"still": "here"})
        assert (await client.call_tool("plain", {})).structured_content == {"still": "here"}


@pytest.mark.parametrize(
    "data", [{"x": "\ud800"}, {"x": float("nan")}, {"x": object()}], ids=range(3)
)
async def test_data_without_a_json_form_is_an_error_result(era: str, data: Any) -> None:
    got = await called(FakeApp(Ok(data)), era)
    assert got.is_error is True
    assert json.loads(got.content[0].text)["code"] == "internal"


async def test_a_real_cancellation_passes_and_the_session_lives(era: str) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow(**_: Any) -> Outcome:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    app = FakeApp(slow)
    async with Client(served(app), mode=era) as client:
        task = asyncio.create_task(client.call_tool("plain", {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(ended.wait(), 5)
        app.outcome = Ok({})
        assert (await client.call_tool("plain", {})).is_error is False


async def test_progress_arrives_and_a_listener_that_fails_hurts_nobody(era: str) -> None:
    heard: list[Any] = []

    async def reporting(progress: Any, **_: Any) -> Outcome:
        await progress(1.0, 2.0, "half")
        await progress(2.0, None, None)
        return Ok({})

    async def listener(done: float, total: float | None, text: str | None) -> None:
        heard.append((done, total, text))
        raise RuntimeError(SECRET)

    async with Client(served(FakeApp(reporting)), mode=era) as client:
        assert not (await client.call_tool("plain", {}, progress_callback=listener)).is_error
        assert not (await client.call_tool("plain", {})).is_error
    assert heard == [(1.0, 2.0, "half"), (2.0, None, None)]


# Tracing. -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", [None, object()])
@pytest.mark.parametrize("meta", [{}, {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}])
async def test_the_sdk_traces_wherever_somebody_listens(
    era: str, provider: Any, meta: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans: list[str] = []
    own = OpenTelemetryMiddleware.__call__

    async def seen(self: Any, ctx: Any, call_next: Any) -> Any:
        spans.append(ctx.method)
        return await own(self, ctx, call_next)

    monkeypatch.setattr(OpenTelemetryMiddleware, "__call__", seen)
    if provider is not None:
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    await called(FakeApp(Ok({})), era, meta=cast("Any", meta))
    assert ("tools/call" in spans) == (provider is not None or bool(meta))


# Listing. -----------------------------------------------------------------------------------------


async def raw_list(made: Server[Any], era: str, **params: Any) -> dict[str, Any]:
    """Return the list's result as the server wrote it, before any client reads it."""
    seen: list[Any] = []

    async def outermost(ctx: Any, call_next: Any) -> Any:
        answer = await call_next(ctx)
        if ctx.method == "tools/list":
            seen.append(answer)
        return answer

    made.middleware.insert(0, outermost)
    async with Client(made, mode=era, cache=None) as client:
        await client.list_tools(**params)
    made.middleware.pop(0)
    return seen[-1]


async def test_the_cached_list_is_what_the_sdk_makes_itself(era: str) -> None:
    tools = (
        tool("one"),
        tool("two", output_schema=None, description=""),
        tool("three", annotations=Hints(True, False, True, False)),
    )

    async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[mcp_tool(one) for one in tools], ttl_ms=0, cache_scope="private"
        )

    plain: Server[Any] = Server("fake", version="1.2.3", on_list_tools=on_list)
    plain.add_request_handler("tools/call", types.CallToolRequestParams, cast("Any", None))
    made = served(FakeApp(None, *tools))
    expected = await raw_list(plain, era)
    for _ in range(3):
        assert json.dumps(await raw_list(made, era)) == json.dumps(expected)
    shown = expected["tools"][0]
    assert shown["inputSchema"] == SCHEMA
    assert shown["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": False,
        "openWorldHint": True,
    }
    assert ("cacheScope" in expected) is (era != "legacy")
    assert expected.get("cacheScope", "private") == "private"


async def test_each_set_of_tools_has_its_own_list() -> None:
    app = FakeApp(None, tool("one"), tool("two"))
    made = served(app)
    for era in (*ERAS, *ERAS):
        for names in (["one", "two"], ["two"], []):
            app.listed = tuple(tool(name) for name in names)
            assert [one["name"] for one in (await raw_list(made, era))["tools"]] == names


async def test_a_cursor_that_nobody_gave_is_refused(era: str) -> None:
    async with Client(served(FakeApp()), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools(cursor="forged")
    assert caught.value.code == types.INVALID_PARAMS


async def test_a_list_for_claims_that_are_nobodys_is_refused_not_empty(era: str) -> None:
    app = FakeApp()
    app.list_error = Refused("unauthenticated", "Sign in.")
    async with Client(served(app), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
    assert caught.value.message == "Sign in."


async def test_a_bug_in_listing_is_a_reference(era: str) -> None:
    app = FakeApp()
    app.list_error = RuntimeError(SECRET)
    async with Client(served(app), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
    assert caught.value.code == types.INTERNAL_ERROR
    assert "reference" in caught.value.message
    assert SECRET not in repr(caught.value)


# Questions. ---------------------------------------------------------------------------------------


FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


async def accept(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Asha"})


class Asking(FakeApp):
    """Asks once, with a state, then answers with what came back."""

    async def dispatch(self, name: str, raw: Any, claims: Any, **named: Any) -> Any:
        self.named = named
        self.asked.append((name, raw, claims))
        if named["answers"] is None:
            return Ask({"who": FORM}, state={"round": 1})
        return Ok({"answers": named["answers"], "state": named["state"]})


async def test_a_question_goes_to_a_client_that_can_be_asked() -> None:
    async with Client(
        served(Asking(), claims={"sub": "u"}), mode="2026-07-28", elicitation_callback=accept
    ) as client:
        got = await client.call_tool("plain", {})
    assert got.structured_content == {
        "answers": {"who": {"action": "accept", "content": {"name": "Asha"}}},
        "state": {"round": 1},
    }


async def test_a_client_that_cant_be_asked_is_told_what_it_lacks() -> None:
    app = Asking()
    async with Client(served(app), mode="2026-07-28") as client:
        with pytest.raises(MCPError) as caught:
            await client.call_tool("plain", {})
    assert caught.value.code == types.MISSING_REQUIRED_CLIENT_CAPABILITY
    assert caught.value.data == {"requiredCapabilities": {"elicitation": {}}}
    assert app.named["can_ask"] == frozenset()


async def test_in_the_handshake_era_a_question_is_a_refusal() -> None:
    async with Client(served(Asking()), mode="legacy", elicitation_callback=accept) as client:
        got = await client.call_tool("plain", {})
    assert got.is_error is True
    assert json.loads(cast("Any", got.content[0]).text)["code"] == "input_required"


async def test_a_questions_state_is_sealed_and_its_owners() -> None:
    """It comes back to the same tool, arguments and principal as it was, or not at all."""
    app = Asking()
    made = served(app, state_keys=["k" * 32])
    async with Client(made, mode="2026-07-28", elicitation_callback=accept) as client:

        async def asked(subject: str, arguments: dict[str, Any], **sent: Any) -> Any:
            auth_context_var.set(user(subject))
            return await client.session.call_tool(
                "plain", arguments, allow_input_required=True, **sent
            )

        first = await asked("u_asha", {"a": 1})
        state = first.request_state
        assert "round" not in state
        answers = {"who": types.ElicitResult(action="accept", content={"name": "A"})}
        sent = {"input_responses": answers, "request_state": state}
        assert (await asked("u_asha", {"a": 1}, **sent)).structured_content["state"] == {"round": 1}
        for subject, arguments, token in (
            ("u_ben", {"a": 1}, state),
            ("u_asha", {"a": 2}, state),
            ("u_asha", {"a": 1}, state[:40] + ("A" if state[40] != "A" else "B") + state[41:]),
            ("u_asha", {"a": 1}, '{"round": 9}'),
        ):
            before = len(app.asked)
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await asked(subject, arguments, input_responses=answers, request_state=token)
            assert len(app.asked) == before


@pytest.mark.slow
def test_without_the_sdk_the_error_says_what_to_install() -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['mcp'] = None; import remit.surfaces.mcp"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert "pip install 'remit[mcp]'" in ran.stderr
