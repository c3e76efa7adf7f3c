"""Agents over each surface for the reports' tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from click.testing import CliRunner

import remit
from remit.cli.root import command
from remit.testing import Agent, agent
from tests.needs import ROOT
from tests.reports.reach import ASHA, MCP, SURFACES, Using


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _agents(surface: str) -> AsyncIterator[Using]:
    async with AsyncExitStack() as stack:

        async def using(
            app: remit.Remit, principal: Mapping[str, Any] | None = ASHA, *, deps: Any = None
        ) -> Agent:
            made = agent(app, principal=principal, deps=deps, surface=surface)
            return Agent(await stack.enter_async_context(made.app), made.claims, surface)

        yield using


@pytest.fixture(params=SURFACES)
async def using(request: pytest.FixtureRequest) -> AsyncIterator[Using]:
    """Give an agent on an app, over each surface in turn."""
    async for made in _agents(request.param):
        yield made


@pytest.fixture(params=MCP)
async def over_mcp(request: pytest.FixtureRequest) -> AsyncIterator[Using]:
    """Give an agent on an app, over each transport and era of MCP in turn."""
    async for made in _agents(request.param):
        yield made


@pytest.fixture
async def here() -> AsyncIterator[Using]:
    """Give an agent on an app, from Python alone, for what no surface can change."""
    async for made in _agents("python"):
        yield made


@pytest.fixture
def shell(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run ``remit call`` on the desk."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("REMIT_STORE", f"sqlite:///{tmp_path}/desk.db")

    def run(tool: str, *options: str) -> Any:
        return CliRunner().invoke(command, ["call", *options, "tests.reports.desk:app", tool])

    return run
