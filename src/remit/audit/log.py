"""Read the audit log, and find the first row that isn't what was written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from remit.audit.record import Row
from remit.store import Store
from remit.store.chain import CHAIN, FIRST, link
from remit.store.tables import audit, audit_head

__all__ = ["Audit", "Verdict"]

_CHUNK: Final = 2000
_FOUND_BY: Final = ("call_id", "at", "tool", "principal", "client", "surface", "outcome")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verification found.

    Attributes:
        ok: True if every row is what was written, as far as the chain can tell.
        rows: How many rows were read.
        first_bad: The number of the first broken row, or None.
        text: What it found, in a sentence.
    """

    ok: bool
    rows: int
    first_bad: int | None
    text: str


class Audit:
    """The audit log of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rows(
        self,
        *,
        since: int = 0,
        limit: int | None = None,
        tool: str | None = None,
        principal: str | None = None,
        outcome: str | None = None,
    ) -> list[Row]:
        """Return rows, oldest first.

        Args:
            since: Only rows with a higher number.
            limit: At most so many, the newest of them; None is all.
            tool: Only rows of this tool.
            principal: Only rows of this subject.
            outcome: Only rows that ended in this code.

        Raises:
            StoreError: If the store can't be read.
        """
        wanted = [audit.c.chain == CHAIN, audit.c.seq > since]
        for column, value in (("tool", tool), ("principal", principal), ("outcome", outcome)):
            if value is not None:
                wanted.append(audit.c[column] == value)
        select = sa.select(audit).where(*wanted).order_by(audit.c.seq.desc())
        if limit is not None:
            select = select.limit(limit)

        def work(connection: sa.Connection) -> list[Row]:
            return [Row.of(dict(row)) for row in connection.execute(select).mappings()][::-1]

        return self._store.read_sync(work)

    def verify(self) -> Verdict:
        """Read every row, in bounded memory, and hold it to the chain.

        A changed, deleted, inserted or moved row is found. A cut tail, or a chain rewritten from some
        row on, is found only against a head that was kept elsewhere.

        Raises:
            StoreError: If the store can't be read.
        """
        return self._store.read_sync(_verified)


def _verified(connection: sa.Connection) -> Verdict:
    previous, seq = FIRST, 0
    while True:
        select = (
            sa.select(audit)
            .where(audit.c.chain == CHAIN, audit.c.seq > seq)
            .order_by(audit.c.seq)
            .limit(_CHUNK)
        )
        rows = connection.execute(select).mappings().all()
        for row in rows:
            if wrong := _wrong(dict(row), seq + 1, previous):
                text = f"row {seq + 1} is not what was written: {wrong}"
                return Verdict(ok=False, rows=seq, first_bad=seq + 1, text=text)
            previous, seq = bytes(row["hash"]), seq + 1
        if len(rows) < _CHUNK:
            break
    head = connection.execute(
        sa.select(audit_head.c.seq, audit_head.c.hash).where(audit_head.c.chain == CHAIN)
    ).first()
    if head is None or int(head.seq) != seq or bytes(head.hash) != previous:
        text = f"the head says {None if head is None else head.seq} rows, and there are {seq}: the tail was cut"
        return Verdict(ok=False, rows=seq, first_bad=seq + 1, text=text)
    return Verdict(ok=True, rows=seq, first_bad=None, text=f"{seq} rows, each as it was written")


def _wrong(row: dict[str, Any], seq: int, previous: bytes) -> str:
    """Return what is wrong with *row*, which should have number *seq*, or nothing."""
    if row["seq"] != seq:
        return f"it is missing; the next there is has number {row['seq']}"
    rec = bytes(row["rec"])
    if bytes(row["hash"]) != link(previous, rec):
        return "its hash doesn't fit its bytes and the row before"
    data = json.loads(rec)
    if data["seq"] != seq:
        return f"its bytes are those of row {data['seq']}"
    for name in _FOUND_BY:
        if data[name] != row[name]:
            return f"its column {name} differs from its bytes"
    return ""
