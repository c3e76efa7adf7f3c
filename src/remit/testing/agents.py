"""An agent under test: what a client of each surface sends, and what it gets back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
import types
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from remit.app import Remit
from remit.outcome import Issue, Ok, Outcome, Refused
from remit.principal import Principal

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

__all__ = ["SURFACES", "Agent", "agent"]

SURFACES: Final = (
    "python",
    "cli",
    "mcp",
    "mcp-legacy",
    "mcp-stdio",
    "mcp-stdio-legacy",
    "mcp-http",
    "mcp-http-legacy",
)
"""The surfaces there are. MCP is spoken in both eras: 2026-07-28, and with *legacy* 2025-11-25."""

_ONE_COMMAND: Final = threading.Lock()
_TOKEN: Final = "token-of-the-principal-under-test"  # noqa: S105 - no secret: only this kit takes it
_ADDRESS: Final = "http://127.0.0.1:8000"


def agent(
    app: Remit,
    *,
    principal: Mapping[str, Any] | Principal | None,
    deps: Any = ...,
    surface: str = "python",
    store: str = "sqlite://",
) -> Agent:
    """Return an agent that calls *app*'s tools through one surface.

    Args:
        app: The app; the agent works on a copy with surroundings of its own, `Agent.app`.
        principal: Verified claims, or a principal, or None for nobody.
        deps: What tools get as ``call.deps``; left out, the app's lifespan is entered.
        surface: One of `SURFACES`.
        store: Where outcomes go; memory by itself.

    Raises:
        ValueError: If there is no such surface.
    """
    if surface not in SURFACES:
        text = f"there is no surface {surface!r}; there are {', '.join(SURFACES)}"
        raise ValueError(text)
    return Agent(app.replaced(deps=deps, store=store), _claims(principal), surface)


def _claims(principal: Mapping[str, Any] | Principal | None) -> dict[str, Any] | None:
    if principal is None:
        return None
    if not isinstance(principal, Principal):
        return dict(principal)
    data = principal.model_dump(mode="json")
    names = {"subject": "sub", "issuer": "iss", "client": "client_id", "scopes": "scope"}
    return {names.get(key, key): value for key, value in data.items()}


class Agent:
    """Calls tools through one surface.

    Attributes:
        app: The app that it calls, for assertions on state: ``agent.app.audit.rows()``.
        claims: On whose behalf.
        surface: Through which surface.
    """

    def __init__(self, app: Remit, claims: dict[str, Any] | None, surface: str) -> None:
        self.app = app
        self.claims = claims
        self.surface = surface

    def as_principal(self, principal: Mapping[str, Any] | Principal | None) -> Agent:
        """Return another principal's agent on the same app and store."""
        return Agent(self.app, _claims(principal), self.surface)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | bytes,
        *,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Call a tool, and return what the client of this surface got.

        Args:
            tool: The tool's name.
            arguments: Its arguments; text is sent as it is where the surface carries text.
            idempotency_key: Sent where the surface puts it.
        """
        if self.surface == "python":
            return await self.app.call(
                tool, arguments, claims=self.claims, idempotency_key=idempotency_key
            )
        if self.surface == "cli":
            return await self._command(tool, arguments, idempotency_key)
        raw = cast(
            "dict[str, Any]",
            json.loads(arguments) if isinstance(arguments, str | bytes) else dict(arguments),
        )
        meta: Any = (
            {"remit/idempotency-key": idempotency_key} if idempotency_key is not None else None
        )
        async with self.client() as client:
            return self._outcome(tool, await client.call_tool(tool, raw, meta=meta))

    async def _command(
        self, tool: str, arguments: Mapping[str, Any] | str | bytes, key: str | None
    ) -> Outcome:
        """Run ``remit call`` in this process as a shell would: options, input, exit code."""
        from click.testing import CliRunner

        from remit.cli.root import command

        kept = _Kept.__new__(_Kept)
        kept.__dict__ = self.app.__dict__
        module = types.ModuleType(f"remit_under_test_{uuid.uuid4().hex}")
        module.__dict__["app"] = kept
        options = ["--claims", json.dumps(self.claims)] if self.claims is not None else []
        if key is not None:
            options += ["--idempotency-key", key]
        text = arguments if isinstance(arguments, str | bytes) else json.dumps(dict(arguments))
        words = ["call", "--json-output", "--json", "-", *options, f"{module.__name__}:app", tool]

        def invoked() -> Any:
            # A command's output is the whole process's, so that one runs at a time.
            with _ONE_COMMAND:
                return CliRunner().invoke(command, words, input=text)

        sys.modules[module.__name__] = module
        try:
            # The command runs a loop of its own, and so needs a thread of its own.
            ended = await asyncio.to_thread(invoked)
        finally:
            del sys.modules[module.__name__]
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        shown = json.loads(ended.stdout)
        if bool(shown["ok"]) != (ended.exit_code in (0, 3)):
            text = f"exit code {ended.exit_code} doesn't fit the outcome {shown['code']}"
            raise AssertionError(text)
        return _restored(shown)

    async def tools(self) -> list[str]:
        """Return the names of the tools that this agent is shown."""
        if self.surface in ("python", "cli"):
            return [one.name for one in await self.app.visible(self.claims, surface=self.surface)]
        async with self.client() as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    def client(self, **options: Any) -> AbstractAsyncContextManager[Client]:
        """Return a connected MCP client of this surface, for what `call` doesn't cover."""
        kind = self.surface.removesuffix("-legacy")
        mode = "legacy" if self.surface.endswith("-legacy") else "2026-07-28"
        if kind == "mcp":
            return self._memory(mode, options)
        if kind == "mcp-stdio":
            return self._stdio(mode, options)
        if kind == "mcp-http":
            return self._http(mode, options)
        text = f"{self.surface} has no MCP client"
        raise ValueError(text)

    @asynccontextmanager
    async def _memory(self, mode: str, options: dict[str, Any]) -> AsyncGenerator[Client]:
        from mcp import Client

        async with Client(self.app.mcp(claims=self.claims), mode=mode, **options) as client:
            yield client

    @asynccontextmanager
    async def _stdio(self, mode: str, options: dict[str, Any]) -> AsyncGenerator[Client]:
        """Speak the stdio transport, line by line, through two pipes."""
        import anyio
        from mcp import Client

        server = self.app.mcp(claims=self.claims)
        (to_server, from_client), (to_client, from_server) = os.pipe(), os.pipe()
        reads = [
            anyio.wrap_file(os.fdopen(fd, "r", encoding="utf-8")) for fd in (to_server, to_client)
        ]
        writes = [
            anyio.wrap_file(os.fdopen(fd, "w", encoding="utf-8"))
            for fd in (from_client, from_server)
        ]

        async def serve() -> None:
            async with _lines(reads[0], writes[1]) as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(serve)
                try:
                    # The transport is symmetric: lines of JSON in, lines of JSON out.
                    async with Client(_lines(reads[1], writes[0]), mode=mode, **options) as client:
                        try:
                            yield client
                        finally:
                            # Readers wait in threads; an end of file is what wakes them.
                            with anyio.CancelScope(shield=True):
                                for pipe in writes:
                                    await pipe.aclose()
                finally:
                    group.cancel_scope.cancel()
        finally:
            for pipe in reads:
                pipe.wrapped.close()

    @asynccontextmanager
    async def _http(self, mode: str, options: dict[str, Any]) -> AsyncGenerator[Client]:
        """Speak streamable HTTP to the very ASGI app that would be served."""
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        await self.app.start()  # so that the served app's end is not the end of what it wrote
        if self.claims is None:
            served = self.app.mcp_app(stateless=mode != "legacy")
        else:
            served = self.app.mcp_app(
                auth=_OneToken(self.claims),
                stateless=mode != "legacy",
                resource_url=f"{_ADDRESS}/mcp",
                issuer="https://issuer.invalid",
            )
        headers = {} if self.claims is None else {"Authorization": f"Bearer {_TOKEN}"}
        transport = httpx2.ASGITransport(served)
        async with (
            served.router.lifespan_context(served),
            httpx2.AsyncClient(transport=transport, base_url=_ADDRESS, headers=headers) as http,
            Client(
                streamable_http_client(f"{_ADDRESS}/mcp", http_client=http), mode=mode, **options
            ) as client,
        ):
            yield client

    def _outcome(self, tool: str, result: CallToolResult) -> Outcome:
        meta = dict(result.meta or {})
        kept = {
            key.removeprefix("remit/"): value
            for key, value in meta.items()
            if key.startswith("remit/")
        }
        if result.is_error:
            return _restored(json.loads(cast("Any", result.content[0]).text))
        data: Any = result.structured_content
        if data is None:
            blocks = [
                block.model_dump(by_alias=True, exclude_none=True) for block in result.content
            ]
            data = blocks if len(blocks) != 1 else blocks[0]
        elif tool in self.app.wrapped:
            data = data["result"]
        return Ok(
            data,
            code=kept.pop("code", "ok"),
            more=kept.pop("more", False),
            ignored=tuple(kept.pop("ignored", ())),
            notice=kept.pop("notice", ""),
            meta=kept,
        )


def _restored(shown: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `remit.outcome.wire` wrote as *shown*."""
    if shown["ok"]:
        return Ok(
            shown["data"],
            code=shown["code"],
            more=shown.get("more", False),
            ignored=tuple(shown.get("ignored", ())),
            notice=shown.get("notice", ""),
            meta=shown.get("meta", {}),
        )
    return Refused(
        shown["code"],
        shown["message"],
        issues=[Issue(**one) for one in shown.get("issues", [])],
        more=shown.get("more", 0),
        retry_after=shown.get("retry_after"),
        reference=shown.get("reference"),
    )


class _Kept(Remit):
    """The app under test, which a command that closes its app leaves open."""

    async def close(self) -> None:
        """Leave everything open: the test still looks at it."""


class _Pipe:
    """A writer to which nothing is said any more once it is closed.

    A client that is being cancelled still tries to say goodbye.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    async def write(self, text: str) -> None:
        with contextlib.suppress(ValueError, OSError):
            await self._file.write(text)

    async def flush(self) -> None:
        with contextlib.suppress(ValueError, OSError):
            await self._file.flush()


@asynccontextmanager
async def _lines(read: Any, write: Any) -> AsyncGenerator[Any]:
    """Speak JSON in lines through two pipes; one that comes when nobody listens is no failure."""
    import anyio
    from mcp.server.stdio import stdio_server

    ended: BaseException | None = None
    pipe: Any = _Pipe(write)
    try:
        async with stdio_server(read, pipe) as streams:
            try:
                yield streams
            except BaseException as why:
                ended = why
                raise
    except* anyio.BrokenResourceError:
        pass
    if ended is not None:
        raise ended


class _OneToken:
    """A verifier that knows one token, and whose it is."""

    def __init__(self, claims: dict[str, Any] | None) -> None:
        self._claims = claims

    async def verify(self, token: str) -> Mapping[str, Any] | None:
        return self._claims if token == _TOKEN else None
