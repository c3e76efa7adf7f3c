"""One thread per process that writes: whoever waits together shares one durable commit."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy import exc

from remit.store.chain import Appender, Recordable
from remit.store.engine import Gate, in_memory, shown
from remit.store.errors import StoreError, said
from remit.store.failures import is_everyones, is_lost, is_passing

__all__ = ["Committer", "Unit"]

BATCH: Final = 256
WAITING: Final = 10_000  # units; beyond that the store is refused rather than memory filled

Work = Callable[[sa.Connection], Any]


class _OwnError(Exception):
    """What a unit itself did wrong, with the error that its caller gets."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class Unit:
    """What one caller wants written: its work and its rows, together or not at all."""

    __slots__ = ("done", "error", "future", "loop", "result", "rows", "work")

    def __init__(
        self,
        rows: Sequence[Recordable | Callable[[], Recordable]],
        work: Work | None,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self.rows: Sequence[Recordable | Callable[[], Recordable]] = rows
        self.work: Work | None = work
        self.loop: asyncio.AbstractEventLoop | None = loop
        self.future: asyncio.Future[Any] | None = None if loop is None else loop.create_future()
        self.done: threading.Event | None = threading.Event() if loop is None else None
        self.result: Any = None
        self.error: BaseException | None = None

    def records(self) -> list[Recordable]:
        """Return its rows, each made now if it is given as a function."""
        return [row() if callable(row) else row for row in self.rows]


class Committer:
    """Takes units from any thread or loop and answers each once its commit is durable.

    A batch is tried with ever more care, since failures are rare and care costs round trips: all
    works bare, then each under a savepoint, then each unit in a transaction of its own. A work may
    so run more than once; all but its last run is undone.
    """

    def __init__(self, engine: sa.Engine, gate: Gate) -> None:
        self._engine = engine
        self._gate = gate
        self._url = shown(str(engine.url))
        self._memory = in_memory(engine.url)
        self._append = Appender(engine.dialect)
        self._queue: queue.SimpleQueue[list[Unit] | None] = queue.SimpleQueue()
        self._door = threading.Lock()  # nothing may come into the queue behind its end
        # Per loop: what one turn of it wants written goes over together, and wakes the thread once.
        self._turns: dict[asyncio.AbstractEventLoop, list[Unit]] = {}
        self._waiting = 0
        self._closed = False
        self._connection: sa.Connection | None = None
        self._committing = False  # from COMMIT on, a failure may have come after the deed
        self._lost = False  # the connection broke in use: the server may be back already
        self._thread = threading.Thread(target=self._serve, name="remit-committer", daemon=True)
        self._thread.start()

    def submit(self, unit: Unit) -> None:
        """Take *unit*; its future or event says when it is durable.

        Raises:
            StoreError: If the store is closed or can't keep up, or would wait for itself.
        """
        if threading.current_thread() is self._thread:
            text = f"the store at {self._url} was called by its own work, which would wait for ever"
            raise StoreError(f"{text}; use the connection that the work is given")
        with self._door:
            if self._closed:
                raise StoreError(f"the store at {self._url} is closed; open the app again")
            if not self._thread.is_alive():  # a fork copies the store, but not its thread
                text = f"the store at {self._url} was opened before this process was forked"
                raise StoreError(f"{text}; open it in each worker")
            if self._waiting >= WAITING:
                text = f"the store at {self._url} can't keep up: {WAITING} commits wait"
                raise StoreError(f"{text}; look at the disk or the server")
            self._waiting += 1
            if unit.loop is None:
                self._queue.put([unit])
                return
            turn = self._turns.get(unit.loop)
            if turn is None:
                turn = self._turns[unit.loop] = []
                unit.loop.call_soon(self._turned, unit.loop)
            turn.append(unit)

    def _turned(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._door:
            if turn := self._turns.pop(loop, None):
                self._queue.put(turn)

    def close(self) -> None:
        """Write what waits, then end the thread."""
        with self._door:
            if self._closed:
                return
            self._closed = True
            for turn in self._turns.values():
                self._queue.put(turn)
            self._turns.clear()
            self._queue.put(None)
        self._thread.join(30)

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            batch = first
            self._taken(first)
            try:
                with self._gate.held():
                    # Drained behind the gate: what came while we waited rides along.
                    self._drain(batch)
                    self._write(batch)
            except BaseException as error:  # noqa: BLE001 - whoever waits must hear of it
                self._undo()
                self._fail(batch, error)
            _answer(batch)
        if self._connection is not None:
            _dropped(self._connection)

    def _drain(self, batch: list[Unit]) -> None:
        while len(batch) < BATCH:
            try:
                turn = self._queue.get_nowait()
            except queue.Empty:
                return
            if turn is None:
                self._queue.put(None)
                return
            self._taken(turn)
            batch += turn

    def _taken(self, turn: list[Unit]) -> None:
        with self._door:
            self._waiting -= len(turn)

    def _write(self, batch: list[Unit]) -> None:
        error = self._tried(batch)
        if self._lost and not self._committing:
            error = self._tried(batch)
        if isinstance(error, _OwnError):
            error = self._tried(batch, fenced=True)
        if error is None:
            return
        if len(batch) == 1 or self._committing or is_everyones(error):
            self._fail(batch, error)
            return
        # One poisoned unit must not fail the others: each again, alone.
        for index, unit in enumerate(batch):
            error = self._tried([unit])
            if error is None:
                continue
            self._fail([unit], error)
            if is_everyones(error):
                self._committing = False  # the rest wasn't begun
                self._fail(batch[index + 1 :], error)
                return

    def _fail(self, batch: Iterable[Unit], error: BaseException) -> None:
        for unit in batch:
            told = said(error, self._url)
            if self._committing:
                text = f"{told}; it broke off while it was made durable: look whether it was kept"
                told = StoreError(text)
                told.__cause__ = error
            unit.error = told

    def _tried(self, batch: list[Unit], *, fenced: bool = False) -> Exception | None:
        """Write *batch* in one transaction; return what went wrong with all of it, undone."""
        self._committing = self._lost = False
        for unit in batch:
            unit.error = unit.result = None
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            if any(unit.work is not None for unit in batch):
                self._together(self._connection, batch, fenced=fenced)
            else:
                self._rows_alone(self._connection, batch)
        except Exception as error:  # noqa: BLE001 - sorted by who called
            self._undo()
            driver: Any = self._engine.dialect.loaded_dbapi.Error
            if isinstance(error, driver):
                wrapped: Any = exc.DBAPIError.instance(None, None, error, driver)
                return cast("Exception", wrapped)
            return error
        self._committing = False
        return None

    def _undo(self) -> None:
        """Leave nothing of a try behind, whatever state it is in."""
        connection = self._connection
        if connection is None:
            return
        if self._memory:  # the connection is the store, and can't be had anew
            connection.rollback()
            driver: Any = connection.connection.driver_connection
            driver.rollback()
            return
        self._lost = is_lost(connection)
        self._connection = None
        _dropped(connection)

    def _together(self, connection: sa.Connection, batch: list[Unit], *, fenced: bool) -> None:
        transaction = connection.begin()
        records: list[Recordable] = []
        for unit in batch:
            savepoint = connection.begin_nested() if fenced else None
            try:
                made = self._worked(connection, unit)
            except _OwnError as own:
                if savepoint is None and len(batch) > 1:
                    raise
                unit.error = own.error
                (savepoint or transaction).rollback()
                continue
            if savepoint is not None:
                savepoint.commit()
            records += made
        if records:
            self._append(connection.connection.driver_connection, records)
        if transaction.is_active:
            self._committing = True
            transaction.commit()

    def _rows_alone(self, connection: sa.Connection, batch: list[Unit]) -> None:
        """Write a batch of rows and nothing else: most of them, and a third of the cost."""
        records = [record for unit in batch for record in unit.records()]
        if not records:
            return
        driver: Any = connection.connection.driver_connection
        if self._engine.dialect.name == "sqlite":
            driver.execute("BEGIN IMMEDIATE")
        self._append(driver, records)
        self._committing = True
        driver.commit()

    def _worked(self, connection: sa.Connection, unit: Unit) -> list[Recordable]:
        """Do a unit's work and return its records.

        Raises:
            _OwnError: If the work raised, or a record can't be made.
        """
        if unit.work is not None:
            try:
                unit.result = unit.work(connection)
            except exc.SQLAlchemyError as error:
                if is_everyones(error) or is_passing(error):
                    raise
                raise _OwnError(said(error, self._url)) from error
            except StopIteration as error:  # no future can hold it, and no coroutine raise it
                raise _OwnError(RuntimeError("the work raised StopIteration")) from error
            except BaseException as error:
                raise _OwnError(error) from error
        try:
            return unit.records()
        except Exception as error:
            raise _OwnError(said(error, self._url)) from error


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
