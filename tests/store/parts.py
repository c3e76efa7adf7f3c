"""What the tests of the store and of the audit log share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa

from remit.audit import Record
from remit.store import Store
from remit.store.tables import audit, effects
from tests.store import postgres

MISSING = "needs PostgreSQL: the store promises the same on both databases"

POSTGRES = pytest.param("postgres", id="postgres")
EVERY = ["memory", "file", POSTGRES]
LASTING = ["file", POSTGRES]


def opened(url: str) -> None:
    """Make the tables of the store at *url*."""
    Store.open(url).close()


def url_of(kind: str, folder: Any, fill: Callable[[str], None] | None = opened) -> str:
    """Return the URL of a new store of *kind*, or skip the test where there is no server.

    *fill* is what PostgreSQL's was filled with, once for all tests; None leaves it empty.
    """
    if kind == "memory":
        return "sqlite://"
    if kind == "file":
        return f"sqlite:///{folder}/remit.db"
    template = "template1" if fill is None else postgres.filled(fill)
    url = None if template is None else postgres.fresh(template)
    if url is None:
        pytest.skip(MISSING)
    return url


def record(number: int = 0, **changed: Any) -> Record:
    """Return a record with something in each field."""
    fields: dict[str, Any] = {
        "call_id": f"call-{number}",
        "at": 1_800_000_000.25 + number,
        "kind": "call",
        "tool": "save_draft",
        "tool_version": "3",
        "schema_digest": "a" * 64,
        "principal": "u_asha",
        "issuer": "https://id.example",
        "client": "agent",
        "surface": "mcp",
        "outcome": "ok",
        "rule": "scope:drafts:write",
        "arguments_digest": "b" * 64,
        "resources": ("draft_id=7", "post_id=9"),
        "ignored": ("(root).extra",),
        "repaired": ("title:trimmed",),
        "reference": "ref-1",
        "duration": 0.125,
        "request_id": "request-1",
        "key": "c" * 64,
        "approver": "u_ed",
    }
    return Record(**fields | changed)


def effect(call_id: str, **changed: Any) -> Callable[[sa.Connection], str]:
    """Return the work that writes an intent; it gives the id back."""
    row = {
        "id": call_id,
        "tool": "save_draft",
        "issuer": "https://id.example",
        "principal": "u_asha",
        "client": "agent",
        "arguments_digest": "d",
        "state": "running",
        "started": 1.0,
    }

    def work(connection: sa.Connection) -> str:
        connection.execute(sa.insert(effects), row | changed)
        return call_id

    return work


def effect_ids(connection: sa.Connection) -> list[str]:
    """Read the ids of all intents."""
    return list(connection.execute(sa.select(effects.c.id).order_by(effects.c.id)).scalars())


def call_ids(connection: sa.Connection) -> list[str]:
    """Read the call ids of all audit rows, in the chain's order."""
    return list(connection.execute(sa.select(audit.c.call_id).order_by(audit.c.seq)).scalars())


@contextmanager
def foreign(url: str) -> Generator[sa.Connection]:
    """Give a plain connection, as somebody else with the password has it; commits at the end."""
    engine = sa.create_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def held(store: Store) -> Generator[None]:
    """Keep the committer busy, so that what is submitted meanwhile becomes one batch."""
    begun, go = threading.Event(), threading.Event()

    def work(_: sa.Connection) -> None:
        begun.set()
        assert go.wait(20)

    thread = threading.Thread(target=store.commit_sync, kwargs={"work": work})
    thread.start()
    assert begun.wait(20)
    try:
        yield
    finally:
        go.set()
        thread.join(20)
