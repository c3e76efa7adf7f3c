"""One served app and several callers of it, each with a token of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import httpx2

import remit

HOST = "http://127.0.0.1:8000"
ACCEPT = {"Accept": "application/json, text/event-stream"}
MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"


class Tokens:
    """A verifier that knows the tokens it was given, and whose they are."""

    issuer = "https://id.example"

    def __init__(self, claims: Mapping[str, Mapping[str, Any]]) -> None:
        self._claims = claims

    async def verify(self, token: str) -> Mapping[str, Any] | None:
        return self._claims.get(token)


class Wire:
    """Posts MCP messages as they are, under a token, in either era."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self.http = http
        self._ids = count(1)  # of requests in flight, one session takes each id once

    async def post(
        self, token: str, method: str, params: dict[str, Any], *, session: str | None = None
    ) -> httpx2.Response:
        """Send one message; with *session* in the era of sessions."""
        headers = {**ACCEPT, "Authorization": f"Bearer {token}"}
        if session is None:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
            if "name" in params:
                headers["Mcp-Name"] = params["name"]
            meta = {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {**params, "_meta": meta}
        else:
            headers |= {"MCP-Protocol-Version": HANDSHAKE, "Mcp-Session-Id": session}
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        return await self.http.post("/mcp", json=message, headers=headers)

    async def post_text(self, token: str, tool: str, arguments: str) -> httpx2.Response:
        """Send a call whose arguments are this very text."""
        meta = (
            f'{{"io.modelcontextprotocol/protocolVersion": "{MODERN}",'
            ' "io.modelcontextprotocol/clientCapabilities": {}}'
        )
        text = (
            f'{{"jsonrpc": "2.0", "id": {next(self._ids)}, "method": "tools/call", "params": '
            f'{{"name": "{tool}", "arguments": {arguments}, "_meta": {meta}}}}}'
        )
        headers = {
            **ACCEPT,
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        return await self.http.post("/mcp", content=text.encode(), headers=headers)

    async def call(
        self, token: str, tool: str, arguments: dict[str, Any], *, session: str | None = None
    ) -> dict[str, Any]:
        """Call a tool and return the result as it came."""
        params = {"name": tool, "arguments": arguments}
        answer = await self.post(token, "tools/call", params, session=session)
        assert answer.status_code == 200, answer.text
        return answer.json()["result"]

    async def tools(self, token: str) -> set[str]:
        """Return the names that the token's owner is shown."""
        answer = await self.post(token, "tools/list", {})
        assert answer.status_code == 200, answer.text
        return {tool["name"] for tool in answer.json()["result"]["tools"]}

    async def begin(self, token: str) -> str:
        """Begin a session and return its id."""
        params = {
            "protocolVersion": HANDSHAKE,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        message = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": "initialize",
            "params": params,
        }
        headers = {**ACCEPT, "Authorization": f"Bearer {token}"}
        answer = await self.http.post("/mcp", json=message, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["mcp-session-id"]


@asynccontextmanager
async def served(
    app: remit.Remit,
    claims: Mapping[str, Mapping[str, Any]],
    *,
    stateless: bool = True,
    **surroundings: Any,
) -> AsyncIterator[tuple[Wire, remit.Remit]]:
    """Serve a copy of *app* with a store in memory to the owners of tokens."""
    made = app.replaced(store="sqlite://", **surroundings)
    asgi = made.mcp_app(auth=Tokens(claims), resource_url=f"{HOST}/mcp", stateless=stateless)
    transport = httpx2.ASGITransport(asgi)
    async with (
        made,
        asgi.router.lifespan_context(asgi),
        httpx2.AsyncClient(transport=transport, base_url=HOST) as http,
    ):
        yield Wire(http), made
