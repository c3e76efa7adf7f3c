"""The app on the MCP SDK's low-level server.

Raw arguments go to `Remit.dispatch` as the SDK's JSON parser left them, and outcomes come back as
tool results. Nothing is decided here, and nothing but an answer or a real cancellation gets out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import mcp_types as types
from mcp.server import Server
from mcp.server._otel import OpenTelemetryMiddleware
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import CallNext, HandlerResult, ServerMiddleware
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import X_MCP_HEADER_KEY
from mcp_types.methods import serialize_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from opentelemetry import trace

from remit.outcome import Ask, Ok, Outcome, Refused, wire
from remit.surfaces.mcp import answers
from remit.surfaces.mcp.answers import Context, Shape

if TYPE_CHECKING:
    from remit.app import Listed, Remit

__all__ = ["IDEMPOTENCY_KEY", "server"]

IDEMPOTENCY_KEY: Final = "remit/idempotency-key"
"""Where a client puts its key: in the request's ``_meta``."""

MAX_LISTS: Final = 256  # lists kept as wire JSON; one is about 1 KiB per tool

_log = logging.getLogger("remit")


def server(
    app: Remit,
    *,
    claims: Mapping[str, Any] | None = None,
    state_keys: Sequence[str | bytes] | None = None,
    flat: bool = False,
) -> Server[Any]:
    """Return *app* as a low-level MCP server.

    Args:
        app: The app.
        claims: Who calls over stdio or in process, from configuration. Over HTTP they are never
            used: there each request's own verified token says who calls.
        state_keys: Secrets of 32 bytes or more that seal the state of a question (`remit.Ask`);
            processes that answer for one another need the same. Without it a key of this process.
        flat: True lists discriminated unions as one object (`remit.schema.flatten`), for clients
            that mangle ``oneOf``. A call is judged by the tool's own contract all the same.
    """
    surface = _Surface(app, None if claims is None else dict(claims), flat=flat)
    made: Server[Any] = Server(
        app.name,
        version=app.version,
        on_list_tools=surface.list_tools,
        get_tool_input_schema=surface.input_schema,
    )
    # Not on_call_tool: its type has no place for a wire shape, which is checked all the same.
    made.add_request_handler("tools/call", types.CallToolRequestParams, surface.call_tool)
    made.middleware[:] = [_traced(one) for one in made.middleware]
    made.middleware.append(surface.with_tools)
    security = RequestStateSecurity(
        keys=[secrets.token_bytes(32)] if state_keys is None else state_keys,
        bind_principal=surface.identity,
    )
    made.middleware.append(RequestStateBoundary(security, default_audience=app.name))
    return made


def _traced(middleware: ServerMiddleware[Any]) -> ServerMiddleware[Any]:
    """Return *middleware*, but for the SDK's tracing where nobody traces.

    OpenTelemetry's API then makes a span, a context and three context managers that do nothing.
    """
    if not isinstance(middleware, OpenTelemetryMiddleware):
        return middleware

    async def traced(ctx: Context, call_next: CallNext) -> HandlerResult:
        idle = isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        if idle and "traceparent" not in (ctx.meta or {}):
            return await call_next(ctx)
        return await middleware(ctx, call_next)

    return traced


class _Surface:
    """What the server's handlers share."""

    def __init__(self, app: Remit, fixed: Mapping[str, Any] | None, *, flat: bool) -> None:
        self._app = app
        self._flat = flat
        self._fixed = fixed
        self._lists: dict[tuple[int, str], tuple[tuple[Listed, ...], list[Any]]] = {}
        self._shapes: dict[str, Shape] = {}
        self._mirrored: dict[str, Mapping[str, Any] | None] = {}

    # Who calls. --------------------------------------------------------------------------------

    def claims(self, ctx: Context) -> Mapping[str, Any] | None:
        """Return the claims that were verified for this very request, or None for nobody."""
        if ctx.request is not None:
            # Not the context variable: what it holds may have come with another request.
            user = ctx.request.scope.get("user")
            return user.access_token.claims if isinstance(user, AuthenticatedUser) else None
        if self._fixed is not None:
            return self._fixed
        token = get_access_token()
        return None if token is None else token.claims

    def identity(self, ctx: Context) -> str | None:
        """Return whom a question's state belongs to."""
        claims = self.claims(ctx)
        if claims is None:
            return None
        return json.dumps([claims.get(name) for name in ("client_id", "azp", "iss", "sub")])

    # Listing. ----------------------------------------------------------------------------------

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a tool's schema for the SDK's check of ``Mcp-Param-*`` headers, if it has any.

        The SDK walks the whole schema on each call, before it comes to anyone.
        """
        try:
            return self._mirrored[name]
        except KeyError:
            pass
        try:
            schema = self._app.advertised(name)
        except KeyError:
            return None
        found = schema if f'"{X_MCP_HEADER_KEY}"' in json.dumps(schema) else None
        self._mirrored[name] = found
        return found

    async def list_tools(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """Return the envelope of the list; `with_tools` fills in the tools."""
        if params is not None and params.cursor is not None:
            raise MCPError(types.INVALID_PARAMS, "Unknown cursor: the list has one page.")
        return types.ListToolsResult(tools=[], ttl_ms=0, cache_scope="private")

    async def with_tools(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Put the caller's tools into a list whose request and envelope the SDK has checked.

        The SDK validates and dumps each tool of each answer: 7.6 ms for 500. What it makes of them
        is the same for the same tools and protocol version, so that it is made once.
        """
        answer = await call_next(ctx)
        if ctx.method != "tools/list" or not isinstance(answer, dict):
            return answer
        try:
            visible = await self._app.visible(self.claims(ctx), surface="mcp")
            return {**answer, "tools": self._wire(visible, ctx.protocol_version)}
        except Refused as refused:
            raise MCPError(types.INVALID_REQUEST, refused.message, wire(refused)) from None
        except Exception as error:  # noqa: BLE001 - as for a call: see call_tool
            raise MCPError(types.INTERNAL_ERROR, _broken(error).message) from None

    def _wire(self, visible: tuple[Listed, ...], version: str) -> list[Any]:
        # The app gives the same tuple for the same set. It is kept beside its id, so that the id
        # can't come to name another.
        key = (id(visible), version)
        held = self._lists.get(key)
        if held is None:
            if len(self._lists) >= MAX_LISTS:
                del self._lists[next(iter(self._lists))]
            tools = [answers.listed(one, flat=self._flat) for one in visible]
            whole = types.ListToolsResult(tools=tools)
            dumped = whole.model_dump(by_alias=True, mode="json", exclude_none=True)
            written = serialize_server_result("tools/list", version, dumped)["tools"]
            held = self._lists[key] = (visible, written)
        return held[1]

    # Calling. ----------------------------------------------------------------------------------

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """Take a call to the path, and its outcome back."""
        try:
            return self._answer(ctx, params.name, await self._called(ctx, params))
        except MCPError:
            raise
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return answers.refusal(_broken(None))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001 - the handshake era sends str(error) to clients
            return answers.refusal(_broken(error))

    async def _called(self, ctx: Context, params: types.CallToolRequestParams) -> Outcome:
        async def report(done: float, total: float | None, text: str | None) -> None:
            try:
                await ctx.session.report_progress(done, total, text)
            except Exception as error:  # noqa: BLE001 - a listener that went away fails no call
                _log.debug("a progress report was lost: %s", type(error).__name__)

        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return await self._app.dispatch(
            params.name,
            {} if params.arguments is None else params.arguments,
            self.claims(ctx),
            surface="mcp",
            idempotency_key=cast("Any", (ctx.meta or {}).get(IDEMPOTENCY_KEY)),
            progress=report,
            answers=(ctx.params or {}).get("inputResponses") if modern else None,
            # RequestStateBoundary let nothing through but what `answers.question` wrote.
            state=json.loads(params.request_state) if params.request_state is not None else None,
            can_ask=answers.able(ctx) if modern else frozenset(),
        )

    def _answer(self, ctx: Context, name: str, outcome: Outcome) -> dict[str, Any]:
        if isinstance(outcome, Ok):
            return answers.result(outcome, self._shapes.get(name) or self._shape(name))
        if isinstance(outcome, Ask) and ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return answers.question(ctx, outcome)
        return answers.refusal(outcome)

    def _shape(self, name: str) -> Shape:
        tool = self._app.tools[name]
        made: Shape = "wrapped" if name in self._app.wrapped else "object"
        if tool.projection.content and tool.approval is None:
            made = "content"
        self._shapes[name] = made
        return made


def _broken(error: BaseException | None) -> Refused:
    """Log a bug of ours under a reference; that is all that leaves (law L8)."""
    reference = secrets.token_hex(16)
    _log.error("the MCP surface failed; reference %s", reference, exc_info=error)
    text = (
        "The operation failed inside the server. Do not retry automatically; "
        f"tell the user to quote reference {reference}."
    )
    return Refused("internal", text, reference=reference)
