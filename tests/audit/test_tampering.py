"""Whoever owns the database can change it. The fences make it hard by accident; the chain shows it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from remit.audit import Audit, Head, Record, Verdict
from remit.store import StoreError
from remit.store.chain import FIRST, link
from remit.store.tables import audit, audit_head
from tests.audit.conftest import ROWS
from tests.store.parts import foreign

SQLITE_FENCES = ("audit_no_update", "audit_no_delete", "audit_no_replace")
POSTGRES_FENCES = ("audit_no_change", "audit_no_truncate")
FOUND_BY = ("call_id", "at", "tool", "principal", "client", "surface", "outcome")


def execute(connection: sa.Connection, statement: str, **values: Any) -> Any:
    return connection.execute(sa.text(statement), values)


def tampered(url: str, change: Callable[[sa.Connection], Any]) -> None:
    """Take the fences down and *change* what they guard."""
    with foreign(url) as connection:
        if connection.dialect.name == "postgresql":
            for name in POSTGRES_FENCES:
                execute(connection, f"DROP TRIGGER {name} ON audit")
        else:
            for name in SQLITE_FENCES:
                execute(connection, f"DROP TRIGGER {name}")
        change(connection)


def found(verdict: Verdict, first_bad: int | None, words: str) -> bool:
    assert not verdict.ok
    assert words in verdict.text
    return verdict.first_bad == first_bad


def rec_of(connection: sa.Connection, seq: int) -> dict[str, Any]:
    return json.loads(
        connection.execute(sa.select(audit.c.rec).where(audit.c.seq == seq)).scalar_one()
    )


def packed(data: dict[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, separators=(",", ":")).encode()


def chained_anew(connection: sa.Connection, first: int, **changed: Any) -> None:
    """Change row *first* and compute every later hash and the head again, as the code's reader can."""
    previous, seq = FIRST, 0
    for row in connection.execute(sa.select(audit).order_by(audit.c.seq)).mappings().all():
        rec, seq = row["rec"], row["seq"]
        values: dict[str, Any] = {}
        if seq == first:
            rec = packed(json.loads(rec) | changed)
            values = {key: value for key, value in changed.items() if key in FOUND_BY}
        previous = link(previous, rec)
        here = sa.update(audit).where(audit.c.seq == seq)
        connection.execute(here.values(rec=rec, hash=previous, **values))
    connection.execute(sa.update(audit_head).values(seq=seq, hash=previous))


# Fences. ------------------------------------------------------------------------------------------

ATTEMPTS = {
    "update": "UPDATE audit SET principal = 'eve' WHERE seq = 3",
    "delete": "DELETE FROM audit WHERE seq = 3",
    "replace": "INSERT OR REPLACE INTO audit SELECT chain, seq, call_id, at, tool, 'eve', client,"
    " surface, outcome, rec, hash FROM audit WHERE seq = 3",
    "upsert": "INSERT INTO audit SELECT * FROM audit WHERE seq = 3"
    " ON CONFLICT (chain, seq) DO UPDATE SET principal = 'eve'",
    "truncate": "TRUNCATE audit",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_rows_are_not_changed_by_plain_statements(log: Audit, url: str, attempt: str) -> None:
    statement = ATTEMPTS[attempt]
    if url.startswith("sqlite") and attempt == "upsert":
        statement = statement.replace("seq = 3 ", "seq = 3 AND true ")  # its grammar wants a WHERE
    with pytest.raises(DBAPIError), foreign(url) as connection:
        execute(connection, statement)
    assert log.verify().ok
    assert [row.principal for row in log.rows()] == ["u_asha"] * ROWS


# The chain. ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", FOUND_BY)
def test_a_changed_column_is_found(log: Audit, url: str, column: str) -> None:
    value = 5.5 if column == "at" else "eve"
    third = sa.update(audit).where(audit.c.seq == 3)
    tampered(url, lambda connection: connection.execute(third.values({column: value})))
    assert found(log.verify(), 3, f"its column {column} differs from its bytes")


@pytest.mark.parametrize("field", [*(one.name for one in dataclasses.fields(Record)), "seq", "v"])
def test_a_changed_field_is_found(log: Audit, url: str, field: str) -> None:
    def change(connection: sa.Connection) -> None:
        rec = packed(rec_of(connection, 3) | {field: 9})
        connection.execute(sa.update(audit).where(audit.c.seq == 3).values(rec=rec))

    tampered(url, change)
    assert found(log.verify(), 3, "its hash doesn't fit its bytes")


def test_a_changed_hash_is_found(log: Audit, url: str) -> None:
    def change(connection: sa.Connection) -> None:
        connection.execute(sa.update(audit).where(audit.c.seq == 3).values(hash=bytes(32)))

    tampered(url, change)
    assert found(log.verify(), 3, "its hash doesn't fit")


@pytest.mark.parametrize("seq", [1, 3, ROWS])
def test_a_deleted_row_is_found(log: Audit, url: str, seq: int) -> None:
    tampered(url, lambda c: execute(c, "DELETE FROM audit WHERE seq = :seq", seq=seq))
    assert found(log.verify(), seq, "the tail was cut" if seq == ROWS else "it is missing")


def test_a_deleted_row_is_found_though_the_gap_is_closed(log: Audit, url: str) -> None:
    def change(connection: sa.Connection) -> None:
        execute(connection, "DELETE FROM audit WHERE seq = 3")
        for seq in range(4, ROWS + 1):
            execute(connection, "UPDATE audit SET seq = :to WHERE seq = :seq", seq=seq, to=seq - 1)

    tampered(url, change)
    assert found(log.verify(), 3, "its hash doesn't fit its bytes and the row before")


def test_rows_in_another_order_are_found(log: Audit, url: str) -> None:
    def change(connection: sa.Connection) -> None:
        for seq, to in ((3, 99), (4, 3), (99, 4)):
            execute(connection, "UPDATE audit SET seq = :to WHERE seq = :seq", seq=seq, to=to)

    tampered(url, change)
    assert found(log.verify(), 3, "its hash doesn't fit its bytes and the row before")


INSERT = (
    "INSERT INTO audit SELECT {chain}, {seq}, call_id, at, tool, principal, client, surface, outcome,"
    " rec, hash FROM audit WHERE seq = 3"
)


@pytest.mark.parametrize("seq", [0, -5])
def test_a_row_before_the_first_is_found(log: Audit, url: str, seq: int) -> None:
    tampered(url, lambda c: execute(c, INSERT.format(chain="chain", seq=seq)))
    assert found(log.verify(), None, "1 rows stand beside the chain")


def test_a_row_of_another_chain_is_found(log: Audit, url: str) -> None:
    tampered(url, lambda c: execute(c, INSERT.format(chain="'aside'", seq=3)))
    assert found(log.verify(), None, "1 rows stand beside the chain")


def test_a_row_after_the_last_is_found(log: Audit, url: str) -> None:
    tampered(url, lambda c: execute(c, INSERT.format(chain="chain", seq=ROWS + 1)))
    assert found(log.verify(), ROWS + 1, "its hash doesn't fit")


def test_a_row_after_the_last_is_found_though_it_is_chained(log: Audit, url: str) -> None:
    def change(connection: sa.Connection) -> None:
        row = dict(connection.execute(sa.select(audit).where(audit.c.seq == ROWS)).mappings().one())
        rec = packed(json.loads(row["rec"]) | {"seq": ROWS + 1})
        row |= {"seq": ROWS + 1, "rec": rec, "hash": link(row["hash"], rec)}
        connection.execute(sa.insert(audit), row)

    tampered(url, change)
    assert found(log.verify(), ROWS + 1, f"the head says {ROWS} rows, and there are {ROWS + 1}")


DEEP = pytest.param(b"[" * 100_000, id="deep")  # json gives up with a RecursionError


@pytest.mark.parametrize("rec", [b"{}", b"no JSON", b"[]", b"\xff", b'{"seq":3}', DEEP])
def test_bytes_that_are_no_record_are_found_and_not_read(log: Audit, url: str, rec: bytes) -> None:
    def change(connection: sa.Connection) -> None:
        before = connection.execute(sa.select(audit.c.hash).where(audit.c.seq == 2)).scalar_one()
        here = sa.update(audit).where(audit.c.seq == 3)
        connection.execute(here.values(rec=rec, hash=link(before, rec)))

    tampered(url, change)
    assert found(log.verify(), 3, "its bytes are no audit record")
    with pytest.raises(StoreError, match="row 3 of the audit log can't be read; run: remit audit"):
        log.rows()
    assert len(log.rows(since=3)) == ROWS - 3


@pytest.mark.parametrize("column", ["rec", "hash"])
def test_a_value_of_another_type_is_found(log: Audit, url: str, column: str) -> None:
    third = sa.update(audit).where(audit.c.seq == 3)
    other = third.values({column: sa.func.lower("TEXT", type_=sa.Text)})
    if not url.startswith("sqlite"):
        with pytest.raises(DBAPIError), foreign(url) as connection:
            connection.execute(other)
        return
    tampered(url, lambda connection: connection.execute(other))
    assert found(log.verify(), 3, "are no bytes any more")
    with pytest.raises(StoreError, match="row 3 of the audit log can't be read"):
        log.rows()


@pytest.mark.parametrize("statement", ["DELETE FROM audit_head", "UPDATE audit_head SET seq = 0"])
def test_a_head_that_was_changed_is_found(log: Audit, url: str, statement: str) -> None:
    tampered(url, lambda c: execute(c, statement))
    assert found(log.verify(), 1, f"the head says 0 rows, and there are {ROWS}")


def test_a_heads_hash_that_was_changed_is_found(log: Audit, url: str) -> None:
    tampered(url, lambda c: c.execute(sa.update(audit_head).values(hash=bytes(32))))
    assert found(log.verify(), ROWS, "the head doesn't hold the hash")


# What the chain alone can't show. -----------------------------------------------------------------


def cut(connection: sa.Connection, rows: int) -> None:
    execute(connection, "DELETE FROM audit WHERE seq > :rows", rows=rows)
    last = sa.select(audit.c.hash).where(audit.c.seq == rows).scalar_subquery()
    connection.execute(sa.update(audit_head).values(seq=rows, hash=last))


def test_a_cut_tail_whose_head_was_set_back_shows_against_a_kept_head(log: Audit, url: str) -> None:
    kept = log.head()
    tampered(url, lambda connection: cut(connection, 5))
    assert log.verify().ok, "the chain alone can't know; the docs say so"
    assert found(log.verify(anchors=[kept]), 6, "a head that was kept elsewhere says 7 rows")


def test_a_rewritten_chain_shows_against_a_kept_head(log: Audit, url: str) -> None:
    kept = log.head()
    tampered(url, lambda connection: chained_anew(connection, 3, principal="eve"))
    assert log.verify().ok
    assert found(log.verify(anchors=[kept]), ROWS, "not the one that was kept elsewhere")


def test_kept_heads_may_be_many_and_in_any_order(log: Audit, url: str) -> None:
    rows = {row.seq: Head(row.seq, row.hash.upper()) for row in log.rows()}
    anchors = [rows[5], rows[2], Head(0, "00" * 32), rows[2]]
    assert log.verify(anchors=anchors).ok
    assert found(log.verify(anchors=[*anchors, Head(2, "ab" * 32)]), 2, "kept elsewhere")
    tampered(url, lambda connection: chained_anew(connection, 3, principal="eve"))
    assert found(log.verify(anchors=anchors), 5, "kept elsewhere")
