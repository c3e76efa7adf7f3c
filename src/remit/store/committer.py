"""One thread per process that writes: whoever waits together shares one durable commit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from remit.store.chain import Appender, Recordable
from remit.store.engine import Gate, shown
from remit.store.errors import StoreError, said

__all__ = ["Committer", "Unit"]

BATCH: Final = 256
WAITING: Final = 10_000  # units; beyond that the store is refused rather than memory filled

Row = "Recordable | Callable[[], Recordable]"
Work = Callable[[sa.Connection], Any]


class Unit:
    """What one caller wants written: its work and its rows, together or not at all."""

    __slots__ = ("done", "error", "future", "loop", "result", "rows", "work")

    def __init__(
        self,
        rows: Sequence[Recordable | Callable[[], Recordable]],
        work: Work | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.rows = rows
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] | None = None if loop is None else loop.create_future()
        self.done = threading.Event() if loop is None else None
        self.result: Any = None
        self.error: BaseException | None = None


class Committer:
    """Takes units from any thread or loop and answers each once its commit is durable."""

    def __init__(self, engine: sa.Engine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate
        self._url = shown(str(engine.url))
        self._append = Appender(engine.dialect)
        self._queue: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="remit-committer", daemon=True)
        self._thread.start()

    def submit(self, unit: Unit) -> None:
        """Take *unit*; its future or event says when it is durable.

        Raises:
            StoreError: If the store is closed or can't keep up.
        """
        if self._closed:
            text = f"the store at {self._url} is closed; open the app again"
            raise StoreError(text)
        if self._queue.qsize() >= WAITING:
            text = f"the store at {self._url} can't keep up: {WAITING} commits wait; look at the disk or the server"
            raise StoreError(text)
        self._queue.put(unit)

    def close(self) -> None:
        """Write what waits, then end the thread."""
        self._closed = True
        self._queue.put(None)
        self._thread.join(30)

    def _serve(self) -> None:
        connection: sa.Connection | None = None
        while (first := self._queue.get()) is not None:
            batch = [first]
            try:
                with self._gate.held():
                    # Drained behind the gate: what came while we waited rides along.
                    self._drain(batch)
                    if connection is None or connection.closed or connection.invalidated:
                        connection = self._engine.connect()
                    self._write(connection, batch)
            except BaseException as error:  # noqa: BLE001 - whatever it is, everyone who waits must hear of it
                for unit in batch:
                    unit.error = unit.error or said(error, self._url)
                if connection is not None:
                    connection = _dropped(connection)
            _answer(batch)
        if connection is not None:
            connection.close()

    def _drain(self, batch: list[Unit]) -> None:
        while len(batch) < BATCH:
            try:
                unit = self._queue.get_nowait()
            except queue.Empty:
                return
            if unit is None:
                self._queue.put(None)
                return
            batch.append(unit)

    def _write(self, connection: sa.Connection, batch: list[Unit]) -> None:
        try:
            self._together(connection, batch)
        except (sa.exc.SQLAlchemyError, OSError):
            # One poisoned unit must not fail the others: each again, alone.
            for unit in batch:
                unit.error, unit.result = None, None
                try:
                    self._together(connection, [unit])
                except (sa.exc.SQLAlchemyError, OSError) as error:
                    unit.error = said(error, self._url)

    def _together(self, connection: sa.Connection, batch: list[Unit]) -> None:
        if all(unit.work is None for unit in batch):
            self._rows_alone(connection, batch)
            return
        with connection.begin() as transaction:
            records: list[Recordable] = []
            for unit in batch:
                if self._worked(connection, unit, alone=len(batch) == 1):
                    records += [row() if callable(row) else row for row in unit.rows]
                elif len(batch) == 1:
                    transaction.rollback()
                    return
            if records:
                self._append(connection.connection.driver_connection, records)

    def _rows_alone(self, connection: sa.Connection, batch: list[Unit]) -> None:
        """Write a batch of rows and nothing else: most of them, and a third of the cost."""
        records = [row() if callable(row) else row for unit in batch for row in unit.rows]
        if not records:
            return
        driver: Any = connection.connection.driver_connection
        try:
            if self._engine.dialect.name == "sqlite":
                driver.execute("BEGIN IMMEDIATE")
            self._append(driver, records)
            driver.commit()
        except BaseException as error:
            driver.rollback()
            if isinstance(error, self._engine.dialect.loaded_dbapi.Error):
                raise sa.exc.DBAPIError.instance(
                    None, None, error, self._engine.dialect.loaded_dbapi.Error
                ) from error
            raise

    def _worked(self, connection: sa.Connection, unit: Unit, *, alone: bool) -> bool:
        """Do a unit's own work; a work that raises is undone and told, and writes no rows."""
        if unit.work is None:
            return True
        savepoint = None if alone else connection.begin_nested()
        try:
            unit.result = unit.work(connection)
        except (sa.exc.OperationalError, sa.exc.InterfaceError, OSError):
            raise  # the database, not the work
        except Exception as error:  # noqa: BLE001 - goes to the one caller whose work it is
            unit.error = (
                said(error, self._url) if isinstance(error, sa.exc.SQLAlchemyError) else error
            )
            if savepoint is not None:
                savepoint.rollback()
            return False
        if savepoint is not None:
            savepoint.commit()
        return True


def _dropped(connection: sa.Connection) -> None:
    try:
        connection.invalidate()
        connection.close()
    except Exception:  # noqa: BLE001, S110 - it is being thrown away
        pass


def _answer(batch: Iterable[Unit]) -> None:
    """Tell everyone in *batch*; one wake-up per event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Unit]] = {}
    for unit in batch:
        if unit.loop is not None:
            by_loop.setdefault(unit.loop, []).append(unit)
        elif unit.done is not None:
            unit.done.set()
    for loop, units in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, units)
        except RuntimeError:
            continue  # the loop has ended, and with it everyone who waited


def _resolve(units: Iterable[Unit]) -> None:
    for unit in units:
        future = unit.future
        if future is None or future.done():
            continue
        if unit.error is not None:
            future.set_exception(unit.error)
        else:
            future.set_result(unit.result)
