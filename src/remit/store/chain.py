"""The hash chain: each audit row's hash covers its own bytes and the hash of the row before.

Editing, deleting, inserting or reordering rows breaks it. Cutting the tail, or rewriting all of it,
does not show without a copy of the head kept elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, Protocol

import sqlalchemy as sa

from remit.store.tables import audit, audit_head

__all__ = ["CHAIN", "FIRST", "Recordable", "appended", "link"]

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
    """Return the hash of a row; *previous* has a fixed length, so that no two inputs run together."""
    return hashlib.sha256(_PREFIX + previous + rec).digest()


def appended(connection: sa.Connection, records: Sequence[Recordable]) -> None:
    """Append *records* to the chain; the head is locked once for all of them."""
    if not records:
        return
    # FOR UPDATE reads the head as it is after the wait; a lock taken in a statement of its own would not.
    seq, previous = connection.execute(
        sa.select(audit_head.c.seq, audit_head.c.hash)
        .where(audit_head.c.chain == CHAIN)
        .with_for_update()
    ).one()
    rows: list[dict[str, object]] = []
    for record in records:
        seq += 1
        rec = record.canonical(seq)
        previous = link(previous, rec)
        rows.append({"chain": CHAIN, "seq": seq, **record.columns, "rec": rec, "hash": previous})
    connection.execute(sa.insert(audit), rows)
    connection.execute(
        sa.update(audit_head).where(audit_head.c.chain == CHAIN).values(seq=seq, hash=previous)
    )
