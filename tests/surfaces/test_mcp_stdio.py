"""stdio, through a process of its own: the client starts it, and configuration says who calls."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ERAS = ("2026-07-28", "legacy")

PROGRAM = """
import asyncio, os, sys
import remit

app = remit.Remit("blog", version="1", store=f"sqlite:///{sys.argv[1]}")

@app.tool(effect="read")
async def whoami(call: remit.Call) -> str:
    print("a stray print must not reach the wire")
    return call.principal.subject

@app.tool(effect="read", public=True)
async def ping(call: remit.Call[remit.Principal | None]) -> str:
    return "pong"

@app.tool(effect="write")
async def leave(call: remit.Call) -> str:
    raise SystemExit(3)

claims = {"sub": sys.argv[2]} if len(sys.argv) > 2 else None
asyncio.run(app.mcp_stdio(claims=claims))
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


@asynccontextmanager
async def started(folder: Path, era: str, *arguments: str) -> AsyncIterator[Client]:
    program = folder / "server.py"
    program.write_text(PROGRAM)
    command = StdioServerParameters(
        command=sys.executable, args=[str(program), str(folder / "remit.db"), *arguments]
    )
    async with Client(stdio_client(command), mode=era) as client:
        yield client


async def test_the_configured_principal_calls(tmp_path: Path, era: str) -> None:
    async with started(tmp_path, era, "u_asha") as client:
        names = [one.name for one in (await client.list_tools()).tools]
        assert names == ["whoami", "ping", "leave"]
        got = await client.call_tool("whoami", {})
        assert got.structured_content == {"result": "u_asha"}
        left = await client.call_tool("leave", {})
        assert '"internal"' in left.content[0].text  # type: ignore[union-attr]
        got = await client.call_tool("whoami", {"sub": "u_editor"})
        assert '"unrecognized_keys:sub"' in got.content[0].text  # type: ignore[union-attr]
        assert (await client.call_tool("ping", {})).structured_content == {"result": "pong"}


async def test_without_a_principal_only_public_tools_can_be_called(
    tmp_path: Path, era: str
) -> None:
    async with started(tmp_path, era) as client:
        assert [one.name for one in (await client.list_tools()).tools] == ["ping"]
        for name in ("whoami", "leave", "no_such_tool"):
            refused = await client.call_tool(name, {})
            assert '"unauthenticated"' in refused.content[0].text  # type: ignore[union-attr]
        assert (await client.call_tool("ping", {})).structured_content == {"result": "pong"}
