"""Every law is tried over every surface."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from remit.testing import SURFACES, agent
from tests.laws.lab import ASHA, Clock, Drafts, Lab, blog


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=SURFACES)
def surface(request: pytest.FixtureRequest) -> str:
    """Each surface that there is."""
    return request.param


@pytest.fixture
async def lab(surface: str) -> AsyncIterator[Lab]:
    """The blog under each surface, with an empty table."""
    drafts, clock = Drafts(), Clock()
    asha = agent(blog.replaced(clock=clock), principal=ASHA, deps=drafts, surface=surface)
    async with asha.app:
        yield Lab(asha, drafts, clock, surface)
