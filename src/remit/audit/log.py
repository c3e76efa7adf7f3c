"""Read the audit log, and find the first row that isn't what was written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from remit.audit.record import Row, findable
from remit.store import Store, StoreError
from remit.store.chain import CHAIN, FIRST, link
from remit.store.tables import audit, audit_head

__all__ = ["Audit", "Head", "Verdict"]

_CHUNK: Final = 2000
_FOUND_BY: Final = ("call_id", "at", "tool", "principal", "client", "surface", "outcome")


# Without result types: what was tampered with need not be of its column's type.
def _seen(table: sa.Table) -> list[sa.Label[Any]]:
    return [sa.type_coerce(one, sa.types.NullType()).label(one.name) for one in table.c]


@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain ends. Kept elsewhere, it shows later that the rows up to it are the same.

    Attributes:
        seq: The last row's number, which is the number of rows.
        hash: Its hash, hexadecimal.
    """

    seq: int
    hash: str


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
            StoreError: If the store can't be read, or a row was tampered with beyond reading.
        """
        wanted = [audit.c.chain == CHAIN, audit.c.seq > since]
        for column, value in (("tool", tool), ("principal", principal), ("outcome", outcome)):
            if value is not None:
                wanted.append(audit.c[column] == findable(value))
        select = sa.select(*_seen(audit)).where(*wanted).order_by(audit.c.seq.desc())
        if limit is not None:
            select = select.limit(limit)

        def work(connection: sa.Connection) -> list[Row]:
            return [_read(row) for row in connection.execute(select).mappings()][::-1]

        return self._store.read_sync(work)

    def head(self) -> Head:
        """Return the last row's number and hash, to be kept where the store's owner can't write.

        Raises:
            StoreError: If the store can't be read.
        """
        return self._store.read_sync(_head)

    def verify(self, *, anchors: Iterable[Head] = ()) -> Verdict:
        """Read every row, in bounded memory, and hold it to the chain.

        A changed, deleted, inserted or moved row is found. The chain alone doesn't show a cut tail
        whose head was set back, or a chain rewritten from some row on: *anchors* do.

        Args:
            anchors: Heads that were kept elsewhere, in any order.

        Raises:
            StoreError: If the store can't be read.
        """
        kept: dict[int, set[str]] = {}
        for anchor in anchors:
            kept.setdefault(anchor.seq, set()).add(anchor.hash.lower())
        return self._store.read_sync(lambda connection: _verified(connection, kept))


def _read(row: Mapping[Any, Any]) -> Row:
    try:
        return Row.of(row)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        text = f"row {row['seq']} of the audit log can't be read; run: remit audit verify"
        raise StoreError(text) from error


def _head(connection: sa.Connection) -> Head:
    mine = audit_head.c.chain == CHAIN
    row = connection.execute(sa.select(*_seen(audit_head)).where(mine)).mappings().first()
    if row is None:
        return Head(0, "")
    digest = row["hash"]
    return Head(int(row["seq"]), digest.hex() if type(digest) is bytes else "")


def _verified(connection: sa.Connection, anchors: dict[int, set[str]]) -> Verdict:
    previous, seq = FIRST, 0
    beside = (audit.c.chain != CHAIN) | (audit.c.seq < 1)
    if stray := connection.execute(sa.select(sa.func.count()).where(beside)).scalar():
        text = f"{stray} rows stand beside the chain, where remit writes none"
        return Verdict(ok=False, rows=0, first_bad=None, text=text)
    while True:
        select = (
            sa.select(*_seen(audit))
            .where(audit.c.chain == CHAIN, audit.c.seq > seq)
            .order_by(audit.c.seq)
            .limit(_CHUNK)
        )
        rows = connection.execute(select).mappings().all()
        for row in rows:
            wrong = _wrong(row, seq + 1, previous)
            if not wrong and anchors and not anchors.pop(seq + 1, set()) <= {row["hash"].hex()}:
                wrong = "its hash is not the one that was kept elsewhere"
            if wrong:
                text = f"row {seq + 1} is not what was written: {wrong}"
                return Verdict(ok=False, rows=seq, first_bad=seq + 1, text=text)
            previous, seq = row["hash"], seq + 1
        if len(rows) < _CHUNK:
            break
    return _ended(_head(connection), seq, previous, max(anchors, default=0))


def _ended(head: Head, seq: int, previous: bytes, anchored: int) -> Verdict:
    """Return the verdict on a chain that is whole as far as row *seq*, where it ends."""
    first_bad = seq + 1
    if head.seq > seq or anchored > seq:
        whose = "the head" if head.seq > seq else "a head that was kept elsewhere"
        text = f"{whose} says {max(head.seq, anchored)} rows, and there are {seq}: the tail was cut"
    elif head.seq < seq:
        first_bad = head.seq + 1
        text = f"the head says {head.seq} rows, and there are {seq}: row {first_bad} was added"
    elif head.hash != previous.hex():
        first_bad = max(seq, 1)
        text = f"the head doesn't hold the hash of row {seq}"
    else:
        text = f"{seq} rows, each as it was written"
        return Verdict(ok=True, rows=seq, first_bad=None, text=text)
    return Verdict(ok=False, rows=seq, first_bad=first_bad, text=text)


def _wrong(row: Mapping[Any, Any], seq: int, previous: bytes) -> str:
    """Return what is wrong with *row*, which should have number *seq*, or nothing."""
    if row["seq"] != seq:
        return f"it is missing; the next there is has number {row['seq']}"
    rec, own = row["rec"], row["hash"]
    if type(rec) is not bytes or type(own) is not bytes:
        return "its bytes or its hash are no bytes any more"
    if own != link(previous, rec):
        return "its hash doesn't fit its bytes and the row before"
    try:
        data: Any = json.loads(rec)
        found = {name: data[name] for name in ("seq", *_FOUND_BY)}
    except (ValueError, KeyError, TypeError, RecursionError):
        return "its bytes are no audit record"
    if found["seq"] != seq:
        return "its bytes are those of another row"
    for name in _FOUND_BY:
        if findable(found[name]) != row[name]:
            return f"its column {name} differs from its bytes"
    return ""
