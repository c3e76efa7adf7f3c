"""The servers that the HTTP benchmark compares: the same tool, each with JSON responses."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from benchmarks.inprocess import CLAIMS, RAW, Arguments, echo

__all__ = ["RAW", "TOKEN", "app"]

TOKEN = "token-of-the-benchmark"  # noqa: S105 - known to this benchmark's own server alone


class _OneToken:
    issuer = "https://idp.example"

    async def verify(self, token: str) -> Mapping[str, Any] | None:
        return CLAIMS if token == TOKEN else None


class _SdkToken:
    async def verify_token(self, token: str) -> AccessToken | None:
        if token != TOKEN:
            return None
        return AccessToken(
            token=token,
            client_id=CLAIMS["client_id"],
            scopes=[CLAIMS["scope"]],
            subject=CLAIMS["sub"],
            claims=dict(CLAIMS),
        )


def _guarded_low_level() -> Any:
    settings = AuthSettings.model_validate(
        {
            "issuer_url": "https://idp.example",
            "resource_server_url": "http://127.0.0.1:8000/mcp",
            "required_scopes": [],
            "validate_token_resource": False,
        }
    )
    return _low_level_server().streamable_http_app(
        stateless_http=True, json_response=True, auth=settings, token_verifier=_SdkToken()
    )


def _low_level() -> Any:
    return _low_level_server().streamable_http_app(stateless_http=True, json_response=True)


def _low_level_server() -> Server[Any]:
    schema = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "n": {"type": "integer"}},
    }

    async def on_list(ctx: Any, params: Any) -> types.ListToolsResult:
        tool = types.Tool(name="echo", input_schema=schema)
        return types.ListToolsResult(tools=[tool], ttl_ms=0, cache_scope="private")

    async def on_call(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = Arguments.model_validate(params.arguments or {})
        data = (await echo(arguments.title, arguments.n)).model_dump()
        text = types.TextContent(type="text", text=json.dumps(data))
        return types.CallToolResult(content=[text], structured_content=data)

    return Server(
        "low",
        on_list_tools=on_list,
        on_call_tool=on_call,
        get_tool_input_schema=lambda name: schema if name == "echo" else None,
    )


def _remit() -> Any:
    from benchmarks.inprocess import app as guarded

    return guarded.mcp_app(auth=_OneToken(), resource_url="http://127.0.0.1:8000/mcp")


def _fastmcp() -> Any:
    from fastmcp import FastMCP

    server = FastMCP("bench")
    server.tool(name="echo")(echo)
    return server.http_app(path="/mcp", stateless_http=True, json_response=True)


def app(kind: str) -> Any:
    """Return the ASGI app of one contender."""
    made = {
        "low-level": _low_level,
        "low-level-auth": _guarded_low_level,
        "remit": _remit,
        "fastmcp": _fastmcp,
    }
    return made[kind]()


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(app(sys.argv[1]), port=int(sys.argv[2]), log_level="error", access_log=False)
