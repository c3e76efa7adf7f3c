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


class _Clock:
    """A middleware that says how long each list took behind it, in milliseconds."""

    def __init__(self) -> None:
        self.spent: list[float] = []

    async def __call__(self, ctx: Any, call_next: Any) -> Any:
        begun = time.perf_counter()
        answer = await call_next(ctx)
        if ctx.method == "tools/list":
            self.spent.append((time.perf_counter() - begun) * 1e3)
        return answer


async def measured(tools: int = 500, calls: int = 40) -> dict[str, float]:
    """Return milliseconds per list, by protocol era: the whole answer, and remit's own share."""
    app = _app(tools)
    found: dict[str, float] = {}
    request = types.ListToolsRequest(params=types.PaginatedRequestParams())
    for mode in ("2026-07-28", "legacy"):
        server = app.mcp(claims=CLAIMS)
        ours = next(i for i, m in enumerate(server.middleware) if "with_tools" in repr(m))
        whole, before, behind = _Clock(), _Clock(), _Clock()
        server.middleware.insert(ours + 1, behind)
        server.middleware.insert(ours, before)
        server.middleware.insert(0, whole)
        async with Client(server, mode=mode, cache=None) as client:
            for _ in range(calls):
                listed = await client.session.send_request(request, types.ListToolsResult)
                assert len(listed.tools) == tools
        shares = [a - b for a, b in zip(before.spent, behind.spent, strict=True)]
        found[f"{mode}: remit's own share"] = statistics.median(shares[1:])
        found[f"{mode}: with the SDK's checks and envelope"] = statistics.median(whole.spent[1:])
    await app.close()
    return found
