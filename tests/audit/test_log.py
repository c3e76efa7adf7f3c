"""The log read back: every field as it was written, and the rows that were asked for."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import pickle

import pytest
import sqlalchemy as sa

from remit.audit import Audit, Head, Record, Row
from remit.audit import log as log_module
from remit.store import Store, StoreError
from remit.store.tables import audit
from tests.store.parts import effect, record


def test_a_row_says_everything_that_the_record_said(store: Store) -> None:
    store.commit_sync([record(1)])
    (row,) = Audit(store).rows()
    assert row.record == record(1)
    assert row.seq == 1
    assert row.outcome == "ok"
    assert row.resources == ("draft_id=7", "post_id=9")
    with pytest.raises(AttributeError):
        _ = row.nothing


def test_a_row_can_be_copied_and_sent(store: Store) -> None:
    store.commit_sync([record(1)])
    (row,) = Audit(store).rows()
    assert copy.copy(row) == copy.deepcopy(row) == pickle.loads(pickle.dumps(row)) == row  # noqa: S301 - our own


def test_every_field_is_in_the_bytes_that_are_hashed() -> None:
    """A field that the hash doesn't cover could be changed unseen (threat T24)."""
    plain = record()
    assert set(json.loads(plain.canonical(1))) == {
        *(one.name for one in dataclasses.fields(Record)),
        "seq",
        "v",
    }
    for one in dataclasses.fields(Record):
        value = getattr(plain, one.name)
        other = value + 1 if isinstance(value, float) else value[:-1]
        changed = dataclasses.replace(plain, **{one.name: other})
        assert changed.canonical(1) != plain.canonical(1), one.name
    assert plain.canonical(1) != plain.canonical(2)


def test_the_chain_can_be_computed_by_anybody(store: Store) -> None:
    """The recipe is a promise: a verifier in another language must agree."""
    store.commit_sync([record(n) for n in range(1, 4)])

    def work(connection: sa.Connection) -> list[tuple[bytes, bytes]]:
        rows = connection.execute(sa.select(audit.c.rec, audit.c.hash).order_by(audit.c.seq))
        return [(bytes(rec), bytes(digest)) for rec, digest in rows]

    previous = bytes(32)
    for rec, digest in store.read_sync(work):
        previous = hashlib.sha256(b"remit-audit-1" + previous + rec).digest()
        assert digest == previous
        keys = [*json.loads(rec)]
        assert keys == sorted(keys)
        assert b": " not in rec
    assert Audit(store).head() == Head(3, previous.hex())


def test_rows_are_numbered_without_gaps_though_works_fail(store: Store) -> None:
    store.commit_sync([record(1)], effect("a"))
    with pytest.raises(StoreError):
        store.commit_sync([record(2)], effect("a"))
    store.commit_sync([record(3)], effect("b"))
    assert [row.seq for row in Audit(store).rows()] == [1, 2]


def test_the_rows_that_are_asked_for_come_oldest_first(store: Store) -> None:
    store.commit_sync(
        [
            record(1, tool="a", principal="asha", outcome="ok"),
            record(2, tool="b", principal="asha", outcome="forbidden"),
            record(3, tool="a", principal="béla", outcome="ok"),
            record(4, tool="a", principal="asha", outcome="forbidden"),
        ]
    )
    log = Audit(store)

    def numbers(rows: list[Row]) -> list[int]:
        return [row.seq for row in rows]

    assert numbers(log.rows()) == [1, 2, 3, 4]
    assert numbers(log.rows(since=2)) == [3, 4]
    assert numbers(log.rows(limit=2)) == [3, 4], "the newest, and still oldest first"
    assert numbers(log.rows(since=1, limit=1)) == [4]
    assert numbers(log.rows(limit=0)) == []
    assert numbers(log.rows(tool="a")) == [1, 3, 4]
    assert numbers(log.rows(tool="a", principal="asha", outcome="forbidden")) == [4]
    assert numbers(log.rows(principal="béla")) == [3]
    assert numbers(log.rows(principal="' OR 1=1 --")) == []


def test_an_empty_log_is_whole(store: Store) -> None:
    log = Audit(store)
    assert log.rows() == []
    assert log.head() == Head(0, "00" * 32)
    verdict = log.verify(anchors=[log.head()])
    assert (verdict.ok, verdict.rows, verdict.first_bad) == (True, 0, None)


@pytest.mark.parametrize("count", [2, 3, 4, 6, 7])
def test_the_log_is_read_in_pieces(
    store: Store, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr("remit.audit.log._CHUNK", 3)
    store.commit_sync([record(n) for n in range(count)])
    verdict = Audit(store).verify()
    assert (verdict.ok, verdict.rows) == (True, count)
    assert verdict.text == f"{count} rows, each as it was written"


def test_the_log_is_whole_while_it_is_written(
    log: Audit, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows and head are read at one moment, or a log that grows would seem to be cut."""
    writer, read_head = Store.open(url), log_module._head

    def written_meanwhile(connection: sa.Connection) -> Head:
        writer.commit_sync([record(8)])
        return read_head(connection)

    monkeypatch.setattr(log_module, "_head", written_meanwhile)
    verdicts = [log.verify() for _ in range(3)]
    writer.close()
    assert [one.text for one in verdicts if not one.ok] == []
    assert [one.rows for one in verdicts] == [7, 8, 9]
