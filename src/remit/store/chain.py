"""The hash chain: each audit row's hash covers its own bytes and the hash of the row before.

Editing, deleting, inserting or reordering rows breaks it. Cutting the tail, or rewriting all of it,
does not show without a copy of the head kept elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final, Protocol

import sqlalchemy as sa

from remit.store.tables import audit, audit_head

__all__ = ["CHAIN", "FIRST", "Appender", "Recordable", "link"]

CHAIN: Final = "main"
FIRST: Final = bytes(32)
_PREFIX: Final = b"remit-audit-1"  # no other use of SHA-256 can be mistaken for a row


class Recordable(Protocol):
    """What can become an audit row."""

    @property
    def columns(self) -> dict[str, str | float]:
        """The values that rows are found by."""
        ...

    def canonical(self, seq: int) -> bytes:
        """Return the exact bytes of the row with number *seq*."""
        ...


def link(previous: bytes, rec: bytes) -> bytes:
    """Return a row's hash; *previous* has a fixed length, so that no two inputs run together."""
    return hashlib.sha256(_PREFIX + previous + rec).digest()


class Appender:
    """Appends rows to the chain through the driver itself.

    These three statements run for every call, and building them anew costs several times what the
    database takes to run them. They are written with the tables, and compiled once per engine.
    """

    def __init__(self, dialect: sa.Dialect) -> None:
        mine = audit_head.c.chain == sa.literal_column(f"'{CHAIN}'")
        # FOR UPDATE reads the head as it is after the wait; a lock of its own statement would not.
        head = sa.select(audit_head.c.seq, audit_head.c.hash).where(mine).with_for_update()
        move = sa.update(audit_head).where(mine)
        move = move.values(seq=sa.bindparam("seq"), hash=sa.bindparam("hash"))
        self._head = str(head.compile(dialect=dialect))
        row, moved = sa.insert(audit).compile(dialect=dialect), move.compile(dialect=dialect)
        self._row, self._moved = str(row), str(moved)
        self._order = row.positiontup
        self._moved_order = moved.positiontup

    def __call__(self, driver: Any, records: Sequence[Recordable]) -> None:
        """Append *records* through *driver*, a DBAPI connection; the head is locked once."""
        cursor = driver.cursor()
        try:
            cursor.execute(self._head)
            seq, previous = cursor.fetchone()
            previous = bytes(previous)
            rows: list[Any] = []
            for record in records:
                seq += 1
                rec = record.canonical(seq)
                previous = link(previous, rec)
                row = record.columns | {"chain": CHAIN, "seq": seq, "rec": rec, "hash": previous}
                rows.append(_bound(row, self._order))
            cursor.executemany(self._row, rows)
            cursor.execute(self._moved, _bound({"seq": seq, "hash": previous}, self._moved_order))
        finally:
            cursor.close()


def _bound(values: dict[str, Any], order: Sequence[str] | None) -> Any:
    """Return *values* as the driver binds them: by position, or by name."""
    return values if order is None else tuple(values[name] for name in order)
