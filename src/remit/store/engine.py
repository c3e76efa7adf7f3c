"""Engines: what each database needs before it may be trusted with a record."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.pool import StaticPool

from remit.store.errors import StoreError, said

if sys.platform != "win32":  # there SQLite's own busy handler alone decides who writes next
    import fcntl

__all__ = ["Gate", "in_memory", "made", "reading", "shown"]

BUSY_MS: Final = 10_000

# A process that is frozen in a transaction holds the chain's head; the others must not wait for it
# for ever. And "durable" is not the database's to turn off: its default may be off.
_SESSION: Final = """
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off'
"""


def shown(url: str) -> str:
    """Return *url* as it may be printed: without its password and query."""
    try:
        return sa.make_url(url).set(query={}).render_as_string(hide_password=True)
    except exc.ArgumentError:
        return "(unreadable URL)"


def _file(url: sa.URL) -> str | None:
    """Return the SQLite file at *url*; None for memory, and for another database."""
    if url.get_backend_name() != "sqlite":
        return None
    path, query = url.database or "", url.query
    if path.startswith("file:") and query.get("uri"):
        path = unquote(path.removeprefix("file:"))
        if path.startswith("//"):  # an authority, which SQLite allows to be empty or localhost
            path = "/" + path[2:].partition("/")[2]
        if query.get("mode") == "memory":
            return None
    return None if path in ("", ":memory:") else path


def in_memory(url: sa.URL) -> bool:
    """Tell whether the store at *url* ends with its one connection."""
    return url.get_backend_name() == "sqlite" and _file(url) is None


@contextmanager
def reading(connection: sa.Connection) -> Generator[None]:
    """Refuse writes through *connection*: what a reader wrote would be undone without a word."""
    if connection.dialect.name != "sqlite":
        yield  # PostgreSQL knows it from the transaction
        return
    connection.exec_driver_sql("PRAGMA query_only=ON")
    try:
        yield
    finally:
        connection.exec_driver_sql("PRAGMA query_only=OFF")


def made(url: str) -> sa.Engine:
    """Return an engine for *url* whose commits are durable when they return.

    Raises:
        StoreError: If the URL or its driver can't be used.
    """
    try:
        parsed = sa.make_url(url)
    except exc.ArgumentError as error:
        text = "the store's URL can't be read; write e.g. sqlite:///remit.db or postgresql://user@host/db"
        raise StoreError(text) from error
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    try:
        if parsed.get_backend_name() != "sqlite":
            return _postgres(parsed)
    except ModuleNotFoundError as error:
        text = (
            f"the store at {shown(url)} needs a driver; install it: pip install 'remit[postgres]'"
        )
        raise StoreError(text) from error
    except exc.NoSuchModuleError as error:
        raise said(error, shown(url)) from error
    return _sqlite(parsed)


def _postgres(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "postgresql":
        text = f"the store at {shown(str(url))} is neither SQLite nor PostgreSQL; give a URL of one"
        raise StoreError(text)
    engine = sa.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=4,
        connect_args={"connect_timeout": 10, "application_name": "remit"},
    )

    def connected(connection: Any, _: object) -> None:
        connection.execute(_SESSION)
        connection.commit()  # or the settings would go with the transaction

    def begun(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("remit_read"):
            # The default shows each statement another state: rows, then a head that has moved on.
            # Said here and not to the driver, which would say READ WRITE to whoever comes next.
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


def _sqlite(url: sa.URL) -> sa.Engine:
    memory = in_memory(url)
    options: dict[str, Any] = {"poolclass": StaticPool} if memory else {}
    engine = sa.create_engine(
        url, connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000}, **options
    )

    def connected(connection: Any, _: object) -> None:
        # Transactions begin where we say so: sqlite3 would begin its own, and late.
        connection.isolation_level = None
        cursor = connection.cursor()
        if not memory:
            cursor.execute("PRAGMA journal_mode=WAL")
            # FULL, not NORMAL: a commit that power loss can undo is no record.
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("PRAGMA fullfsync=ON")  # macOS: its fsync leaves bytes in the drive
        cursor.execute("PRAGMA recursive_triggers=ON")  # so that REPLACE can't go around the fences
        cursor.close()

    def begun(connection: sa.Connection) -> None:
        readonly = connection.get_execution_options().get("remit_read")
        connection.exec_driver_sql("BEGIN" if readonly else "BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


class Gate:
    """Lets one process at a time write a SQLite file, in the order in which they came.

    SQLite's busy handler sleeps and is unfair: measured with two processes, one wrote 798 rows and
    the other 1. The kernel's queue on a side file is first come, first served. A lock falls when
    any descriptor of its file closes, so the side file is opened once and by nobody else.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._file: IO[bytes] | None = None
        self._lock = threading.Lock()
        database = _file(engine.url)
        if database is not None and sys.platform != "win32":
            try:
                self._file = Path(f"{database}.lock").open("ab")  # noqa: SIM115 - open as long as the store is
            except OSError as error:
                raise said(error, shown(str(engine.url))) from error

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the gate: blocks until every earlier comer has gone through."""
        if self._file is None or sys.platform == "win32":
            yield
            return
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the side file back."""
        if self._file is not None:
            self._file.close()
