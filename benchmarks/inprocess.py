"""One guarded call in this process, against a bare one and other servers' own tool paths."""

from __future__ import annotations

import logging
from typing import Annotated, Any

import mcp_types as types
from fastmcp import FastMCP
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel, Field

import remit
from benchmarks.measure import ratios, rounds

Title = Annotated[str, Field(min_length=1, max_length=160)]
RAW: dict[str, Any] = {"title": "Retry budgets for flaky APIs", "n": 3}
CLAIMS = {
    "sub": "u_asha",
    "iss": "https://idp.example",
    "client_id": "host",
    "scope": "drafts:write",
}


class Arguments(BaseModel):
    title: Title
    n: int = 0


class Out(BaseModel):
    title: str
    n: int


async def echo(title: Title, n: int = 0) -> Out:
    """Give back what came."""
    return Out(title=title, n=n)


app = remit.Remit("bench", store="sqlite://")


@app.tool(effect="read", scopes={"drafts:write"}, name="echo")
async def guarded(call: remit.Call, title: Title, n: int = 0) -> Out:
    """Give back what came."""
    return Out(title=title, n=n)


class Handed:
    """A store whose writer takes every row and makes nobody wait: the cost up to the hand-over."""

    def __init__(self) -> None:
        self.rows: Any = None

    async def commit(self, rows: Any = (), work: Any = None) -> Any:
        self.rows = rows
        return [] if work is not None else None

    def close(self) -> None:
        pass


async def bare() -> dict[str, Any]:
    arguments = Arguments.model_validate(RAW)
    return (await echo(arguments.title, arguments.n)).model_dump()


def low_level() -> Any:
    async def on_call(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        arguments = Arguments.model_validate(params.arguments or {})
        data = (await echo(arguments.title, arguments.n)).model_dump()
        text = types.TextContent(type="text", text=str(data))
        return types.CallToolResult(content=[text], structured_content=data)

    Server("low", on_call_tool=on_call)
    params = types.CallToolRequestParams(name="echo", arguments=RAW)
    return lambda: on_call(None, params)


async def measured(count: int = 9) -> dict[str, float]:
    """Return the median ratios to the bare call."""
    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    handed = app.replaced()
    handed._lifetime._store = Handed()  # noqa: SLF001 - the seam of this measurement
    full = app.replaced()
    server = MCPServer("bench")
    server.tool(name="echo")(echo)
    fast = FastMCP("bench")
    fast.tool(name="echo")(echo)
    outcome = await handed.call("echo", RAW, claims=CLAIMS)
    assert outcome.ok, outcome
    taken = await rounds(
        {
            "bare": (bare, 3000),
            "remit, row handed over": (lambda: handed.call("echo", RAW, claims=CLAIMS), 3000),
            "remit, row written (memory)": (lambda: full.call("echo", RAW, claims=CLAIMS), 300),
            "mcp low-level handler": (low_level(), 3000),
            "MCPServer.call_tool": (lambda: server.call_tool("echo", RAW), 1000),
            "FastMCP.call_tool": (lambda: fast.call_tool("echo", RAW), 200),
        },
        count=count,
    )
    await full.close()
    return ratios(taken, "bare")
