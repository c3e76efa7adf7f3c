"""`Store`: durable before it answers, or a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import sqlalchemy as sa
from sqlalchemy import exc

from remit.store.chain import Recordable
from remit.store.committer import Committer, Unit
from remit.store.engine import Gate, in_memory, made, reading, shown
from remit.store.errors import said
from remit.store.schema import migrated

__all__ = ["Store"]

T = TypeVar("T")


class Store:
    """Where an app keeps what it must not forget.

    Made by `open`. Safe to use from any thread or event loop; after a fork, open it anew.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.url: str = shown(str(engine.url))
        self._memory = in_memory(engine.url)
        self._gate = gate = Gate(engine)
        try:
            with gate.held():
                migrated(engine)
        except BaseException as error:
            gate.close()
            engine.dispose()
            if isinstance(error, exc.SQLAlchemyError | OSError):
                raise said(error, self.url) from error
            raise
        self._committer = Committer(engine, gate)

    def __repr__(self) -> str:
        """Name the store without its password."""
        return f"<Store {self.url}>"

    @classmethod
    def open(cls, url: str) -> Store:
        """Open the store at *url*, making or migrating its tables.

        Args:
            url: A SQLAlchemy URL: ``sqlite:///file.db``, ``sqlite://`` for memory, or
                ``postgresql://user@host/database``.

        Raises:
            StoreError: If it can't be opened, or was made by a newer remit.
        """
        return cls(made(url))

    async def commit(
        self,
        rows: Sequence[Recordable | Callable[[], Recordable]] = (),
        work: Callable[[sa.Connection], T] | None = None,
    ) -> T:
        """Do *work* and append the audit *rows*, in one transaction; return once it is durable.

        Args:
            rows: Audit records, or functions that make them where they are written.
            work: Statements to run; what it returns is returned. If it raises, nothing of this call
                is written and the exception comes out here. It may be run again, its first run
                undone, when another call's work in the same commit failed: so it should do nothing
                but use the connection it is given.

        Raises:
            StoreError: If the database fails; then nothing may be assumed to be written.
        """
        unit = Unit(rows, work, asyncio.get_running_loop())
        self._committer.submit(unit)
        return await cast("asyncio.Future[T]", unit.future)

    def commit_sync(
        self,
        rows: Sequence[Recordable | Callable[[], Recordable]] = (),
        work: Callable[[sa.Connection], T] | None = None,
    ) -> T:
        """Do what `commit` does, for callers without an event loop."""
        unit = Unit(rows, work, None)
        self._committer.submit(unit)
        if unit.done is not None:
            unit.done.wait()
        if unit.error is not None:
            raise unit.error
        return cast("T", unit.result)

    async def read(self, work: Callable[[sa.Connection], T]) -> T:
        """Return what *work* reads, all of it as it was at one moment.

        Raises:
            StoreError: If the database fails, or *work* tries to write.
        """
        if self._memory:
            return await self.commit(work=_only_reading(work))
        return await asyncio.to_thread(self.read_sync, work)

    def read_sync(self, work: Callable[[sa.Connection], T]) -> T:
        """Do what `read` does, for callers without an event loop."""
        if self._memory:
            # Memory has one connection, and the committer holds it.
            return self.commit_sync(work=_only_reading(work))
        try:
            with self._engine.connect().execution_options(remit_read=True) as connection:
                return _only_reading(work)(connection)
        except (exc.SQLAlchemyError, OSError) as error:
            raise said(error, self.url) from error

    def close(self) -> None:
        """Write what waits, and give every connection back."""
        self._committer.close()
        self._engine.dispose()
        self._gate.close()


def _only_reading(work: Callable[[sa.Connection], T]) -> Callable[[sa.Connection], T]:
    def guarded(connection: sa.Connection) -> T:
        with reading(connection):
            return work(connection)

    return guarded
