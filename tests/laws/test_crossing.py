"""Fifty principals at once on one HTTP server, a thousand calls: nobody becomes anybody else."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import remit
from remit.testing import agent
from tests.laws.lab import ADDRESS, http, served

pytestmark = pytest.mark.anyio

PRINCIPALS = 50
CALLS = 20


class Member(remit.Principal):
    tenant: str


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("era", ["2026-07-28", "legacy", "legacy, stateful"])
async def test_no_identity_crosses(era: str):
    """Each of 1,000 interleaved calls acts as the owner of its token, and has its own row.

    If this fails, a session, a context variable or a cache hands one user another's identity.
    """
    app = remit.Remit("crowd", principal=Member)
    done = list[tuple[str, str, str]]()

    @app.tool(effect="write")
    async def claim(call: remit.Call[Member, Any], said: str) -> str:
        before = call.principal.subject
        await asyncio.sleep(0)  # let the others in between
        done.append((before, call.principal.subject, said))
        return call.principal.tenant

    @app.tool(effect="write")
    def claim_in_a_thread(call: remit.Call[Member, Any], said: str) -> str:
        done.append((call.principal.subject, call.principal.subject, said))
        return call.principal.tenant

    tokens = {
        f"token-{i}": {"sub": f"u_{i}", "tenant": f"t_{i}", "client_id": f"host-{i % 7}"}
        for i in range(PRINCIPALS)
    }
    made = agent(app, principal=None, deps=None)
    wrong = list[str]()

    async def one(i: int, transport: Any) -> None:
        async with (
            http(transport, f"token-{i}") as client,
            Client(
                streamable_http_client(f"{ADDRESS}/mcp", http_client=client),
                mode="legacy" if era.startswith("legacy") else era,
            ) as session,
        ):
            for n in range(CALLS):
                tool = "claim_in_a_thread" if n % 2 else "claim"
                result = await session.call_tool(tool, {"said": f"u_{i}"})
                if result.structured_content != {"result": f"t_{i}"}:
                    wrong.append(f"u_{i} got {result.structured_content}")

    async with (
        made.app,
        served(made.app, tokens, stateless=not era.endswith("stateful")) as transport,
    ):
        await asyncio.gather(*(one(i, transport) for i in range(PRINCIPALS)))
        rows = made.app.audit.rows()
        assert made.app.audit.verify().ok

    assert wrong == []
    assert len(done) == PRINCIPALS * CALLS == 1000
    assert [one for one in done if len(set(one)) != 1] == []
    assert len(rows) == 1000
    assert len({row.call_id for row in rows}) == 1000
    assert Counter(row.principal for row in rows) == {f"u_{i}": CALLS for i in range(PRINCIPALS)}
    assert {(row.principal, row.client) for row in rows} == {
        (one["sub"], one["client_id"]) for one in tokens.values()
    }
    assert {row.outcome for row in rows} == {"ok"}
