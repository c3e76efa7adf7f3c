"""Audit logs to test: in memory, in a file, and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from remit.audit import Audit
from remit.store import Store
from tests.store import postgres
from tests.store.parts import EVERY, LASTING, record, url_of

ROWS = 7


@pytest.fixture(scope="session", autouse=True)
def _server_ended() -> Generator[None]:
    """End the server with the session: xdist ends its workers before atexit has tidied up."""
    yield
    if postgres.server.cache_info().currsize and (running := postgres.server()) is not None:
        running.end()


@pytest.fixture(params=EVERY)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store]:
    """A new store, of each kind."""
    made = Store.open(url_of(request.param, tmp_path))
    yield made
    made.close()


def written(url: str) -> None:
    """Write seven rows to the store at *url*, in two commits."""
    store = Store.open(url)
    store.commit_sync([record(n) for n in range(1, 4)])
    store.commit_sync([record(n) for n in range(4, ROWS + 1)])
    store.close()


@pytest.fixture(params=LASTING)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store with seven rows in two commits, which nobody has open."""
    made = url_of(request.param, tmp_path, fill=written)
    if request.param == "file":
        written(made)
    return made


@pytest.fixture
def log(url: str) -> Generator[Audit]:
    """The log of that store."""
    store = Store.open(url)
    yield Audit(store)
    store.close()
