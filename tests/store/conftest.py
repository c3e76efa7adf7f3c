"""Stores to test: in memory, in a file, and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from remit.store import Store
from tests.store import postgres
from tests.store.parts import EVERY, LASTING, url_of


@pytest.fixture(scope="session", autouse=True)
def _server_ended() -> Generator[None]:
    """End the server with the session: xdist ends its workers before atexit has tidied up."""
    yield
    if postgres.server.cache_info().currsize and (running := postgres.server()) is not None:
        running.end()


@pytest.fixture(params=EVERY)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new store, of each kind."""
    return url_of(request.param, tmp_path)


@pytest.fixture(params=LASTING)
def lasting_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a new store that outlives its process."""
    return url_of(request.param, tmp_path)


@pytest.fixture(params=LASTING)
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database in which there is nothing yet."""
    return url_of(request.param, tmp_path, fill=None)


@pytest.fixture
def store(url: str) -> Generator[Store]:
    """A new store, of each kind."""
    made = Store.open(url)
    yield made
    made.close()


@pytest.fixture
def lasting(lasting_url: str) -> Generator[Store]:
    """A new store that outlives its process."""
    made = Store.open(lasting_url)
    yield made
    made.close()
