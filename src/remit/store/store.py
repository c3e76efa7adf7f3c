"""`Store`: durable before it answers, or a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import sqlalchemy as sa

from remit.store.chain import Recordable
from remit.store.committer import Committer, Unit
from remit.store.engine import Gate, made, shown
from remit.store.errors import StoreError, said
from remit.store.schema import migrated

__all__ = ["Store"]

T = TypeVar("T")


class Store:
    """Where an app keeps what it must not forget. Made by `open`; safe to use from any thread or loop."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self.url = shown(str(engine.url))
        self._memory = engine.dialect.name == "sqlite" and engine.url.database in (
            None,
            "",
            ":memory:",
        )
        gate = Gate(engine)
        try:
            with gate.held():
                migrated(engine)
        except StoreError:
            gate.close()
            raise
        except (sa.exc.SQLAlchemyError, OSError) as error:
            gate.close()
            raise said(error, self.url) from error
        self._gate = gate
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
                is written and the exception comes out here.

        Raises:
            StoreError: If the database fails; then nothing may be assumed to be written.
        """
        unit = Unit(rows, work, asyncio.get_running_loop())
        self._committer.submit(unit)
        return cast("T", await cast("asyncio.Future[T]", unit.future))

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
        """Return what *work* reads.

        Raises:
            StoreError: If the database fails.
        """
        if self._memory:
            return await self.commit(work=work)
        return await asyncio.to_thread(self.read_sync, work)

    def read_sync(self, work: Callable[[sa.Connection], T]) -> T:
        """Do what `read` does, for callers without an event loop."""
        if self._memory:
            return self.commit_sync(
                work=work
            )  # memory has one connection, which the committer holds
        try:
            with self._engine.connect().execution_options(remit_read=True) as connection:
                return work(connection)
        except (sa.exc.SQLAlchemyError, OSError) as error:
            raise said(error, self.url) from error

    def close(self) -> None:
        """Write what waits, and give every connection back."""
        self._committer.close()
        self._engine.dispose()
        self._gate.close()
