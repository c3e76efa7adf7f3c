"""`tools/list` with 500 tools: the time that the server itself takes for an answer."""

from __future__ import annotations

import statistics
import time
from typing import Any

import mcp_types as types
from mcp import Client

import remit

CLAIMS = {"sub": "u_asha", "scope": "s1 s2 s3"}


def _app(tools: int) -> remit.Remit:
    app = remit.Remit("bench", store="sqlite://")
    for i in range(tools):

        async def tool(call: remit.Call, title: str, tags: list[str], n: int = i) -> dict[str, str]:
            """Do one of many things to a record, as the number says."""
            return {}

        app.tool(effect="read", scopes={f"s{i % 3 + 1}"}, name=f"tool_{i}")(tool)
    return app


async def measured(tools: int = 500, calls: int = 300) -> dict[str, float]:
    """Return milliseconds of server time per list, by era: the outermost middleware's median."""
    app = _app(tools)
    found: dict[str, float] = {}
    for mode in ("2026-07-28", "legacy"):
        server = app.mcp(claims=CLAIMS)
        spent: list[float] = []

        async def clocked(ctx: Any, call_next: Any, spent: list[float] = spent) -> Any:
            begun = time.perf_counter()
            answer = await call_next(ctx)
            if ctx.method == "tools/list":
                spent.append((time.perf_counter() - begun) * 1e3)
            return answer

        server.middleware.insert(0, clocked)
        async with Client(server, mode=mode, cache=None) as client:
            for _ in range(calls // 30):
                listed = await client.session.send_request(
                    types.ListToolsRequest(params=types.PaginatedRequestParams()),
                    types.ListToolsResult,
                )
            assert len(listed.tools) == tools
        found[mode] = statistics.median(spent[1:])
    await app.close()
    return found
