"""One committer: durable before it answers, everyone together, and nobody's failure is another's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from remit.audit import Audit, Record
from remit.store import Store, StoreError, committer
from remit.store.tables import effects
from tests.store.parts import call_ids, effect, effect_ids, foreign, held, record


class OwnError(Exception):
    """What a work may raise for reasons of its own."""


def own(_: sa.Connection) -> None:
    raise OwnError


def raising(error: BaseException) -> Callable[[sa.Connection], None]:
    def work(connection: sa.Connection) -> None:
        effect(f"undone-{type(error).__name__}")(connection)
        raise error

    return work


async def together(store: Store, *units: tuple[list[Any], Any]) -> list[Any]:
    """Commit *units* in one batch; return what each got."""
    with held(store):
        waiting = [asyncio.ensure_future(store.commit(rows, work)) for rows, work in units]
        await asyncio.sleep(0)  # each is in the queue now
    return await asyncio.gather(*waiting, return_exceptions=True)


def test_a_commit_gives_what_its_work_returns(store: Store) -> None:
    assert asyncio.run(store.commit(work=lambda c: c.execute(sa.select(5)).scalar())) == 5
    assert store.commit_sync(work=effect("a")) == "a"
    assert store.commit_sync([record()]) is None
    assert store.commit_sync() is None
    assert store.read_sync(effect_ids) == ["a"]


def test_what_is_acknowledged_is_there_for_others(lasting: Store, lasting_url: str) -> None:
    async def main() -> None:
        await lasting.commit([record(1)], effect("a"))
        with foreign(lasting_url) as connection:
            assert effect_ids(connection) == ["a"]
            assert call_ids(connection) == ["call-1"]

    asyncio.run(main())


def test_a_file_is_written_through_to_the_disk(tmp_path: Any) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/remit.db")
    asked = [store.commit_sync(work=pragma(name)) for name in ("journal_mode", "synchronous")]
    store.close()
    assert asked == ["wal", 2], "2 is FULL"


def pragma(name: str) -> Callable[[sa.Connection], Any]:
    return lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.mark.parametrize("works", [False, True], ids=["rows", "works"])
def test_64_callers_are_each_kept_once(store: Store, works: bool) -> None:
    async def caller(name: int) -> None:
        for turn in range(5):
            number = name * 5 + turn
            await store.commit([record(number)], effect(f"{number:03}") if works else None)

    async def main() -> None:
        await asyncio.gather(*map(caller, range(64)))

    asyncio.run(main())
    assert sorted(store.read_sync(call_ids)) == sorted(f"call-{n}" for n in range(320))
    assert store.read_sync(effect_ids) == ([f"{n:03}" for n in range(320)] if works else [])
    verdict = Audit(store).verify()
    assert (verdict.ok, verdict.rows) == (True, 320)


def test_whoever_waits_together_shares_one_transaction(store: Store) -> None:
    begun: list[str] = []
    sa.event.listen(store._engine, "commit", lambda _: begun.append("commit"))

    async def main() -> None:
        await together(store, *[([record(n)], effect(f"{n}")) for n in range(8)])

    asyncio.run(main())
    assert len(begun) == 2, "one that held the committer, one for the eight"


def test_threads_and_loops_commit_side_by_side(store: Store) -> None:
    async def main(name: int) -> None:
        await asyncio.gather(*(store.commit([record(name * 10 + n)]) for n in range(10)))

    threads = [threading.Thread(target=asyncio.run, args=(main(name),)) for name in range(4)]
    threads += [
        threading.Thread(target=store.commit_sync, args=([record(n)],)) for n in range(40, 60)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(store.read_sync(call_ids)) == sorted(f"call-{n}" for n in range(60))
    assert Audit(store).verify().ok


def test_a_work_that_raises_undoes_itself_and_nobody_else(store: Store) -> None:
    async def main() -> None:
        got = await together(
            store,
            ([record(1)], effect("a")),
            ([record(2)], raising(OwnError())),
            ([record(3)], None),
            ([record(4)], effect("b")),
        )
        assert got[0] == "a"
        assert isinstance(got[1], OwnError)
        assert got[2:] == [None, "b"]

    asyncio.run(main())
    assert store.read_sync(effect_ids) == ["a", "b"]
    assert store.read_sync(call_ids) == ["call-1", "call-3", "call-4"]
    assert Audit(store).verify().ok


def test_a_lone_work_that_raises_leaves_nothing(store: Store) -> None:
    with pytest.raises(OwnError):
        store.commit_sync([record(1)], raising(OwnError()))
    assert store.read_sync(effect_ids) == []
    assert store.read_sync(call_ids) == []
    assert store.commit_sync([record(2)], effect("a")) == "a"


@pytest.mark.parametrize(
    "error",
    [OSError("of the work's own"), TimeoutError(), asyncio.CancelledError(), KeyError("x")],
    ids=lambda error: type(error).__name__,
)
def test_what_a_work_raises_is_its_callers(store: Store, error: BaseException) -> None:
    async def main() -> None:
        got = await together(store, ([record(1)], effect("a")), ([], raising(error)))
        assert got[0] == "a"
        assert type(got[1]) is type(error)

    asyncio.run(main())
    assert store.read_sync(effect_ids) == ["a"]


def test_a_stop_iteration_hangs_nobody(store: Store) -> None:
    async def main() -> None:
        units = [([], raising(StopIteration())), ([record(1)], effect("a"))]
        got = await asyncio.wait_for(together(store, *units), 20)
        assert isinstance(got[0], RuntimeError), "no future can hold a StopIteration"
        assert got[1] == "a"

    asyncio.run(main())


def test_a_statement_that_fails_is_its_callers(store: Store) -> None:
    store.commit_sync(work=effect("a"))

    def wrong(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT nothing FROM nowhere"))

    async def main() -> None:
        got = await together(
            store,
            ([record(1)], effect("a")),
            ([record(2)], wrong),
            ([record(3)], effect("b")),
            ([record(4)], None),
        )
        assert isinstance(got[0], StoreError), "its id is taken"
        assert isinstance(got[1], StoreError)
        assert got[2:] == ["b", None]

    asyncio.run(main())
    assert store.read_sync(effect_ids) == ["a", "b"]
    assert store.read_sync(call_ids) == ["call-3", "call-4"]


def test_a_work_may_meet_a_conflict_and_go_on(store: Store) -> None:
    store.commit_sync(work=effect("a"))

    def second(connection: sa.Connection) -> str:
        try:
            with connection.begin_nested():
                effect("a")(connection)
        except sa.exc.IntegrityError:
            return effect("a2")(connection)
        raise AssertionError

    async def main() -> None:
        got = await together(store, ([record(1)], second), ([record(2)], effect("b")))
        assert got == ["a2", "b"]

    asyncio.run(main())
    assert store.read_sync(effect_ids) == ["a", "a2", "b"]


def test_a_key_is_taken_once_however_many_ask(store: Store) -> None:
    async def main() -> None:
        works = [([record(n)], effect(f"{n}", key="k")) for n in range(6)]
        got = await together(store, *works)
        assert sum(isinstance(one, StoreError) for one in got) == 5

    asyncio.run(main())
    assert len(store.read_sync(effect_ids)) == 1
    assert len(store.read_sync(call_ids)) == 1


@pytest.mark.parametrize("works", [False, True], ids=["rows", "works"])
def test_a_row_that_cannot_be_made_fails_its_caller_only(store: Store, works: bool) -> None:
    def unmade() -> Record:
        raise OwnError("no such passage")

    unwritable = record(3, resources=(object(),))

    async def main() -> None:
        got = await together(
            store,
            ([record(1)], effect("a") if works else None),
            ([unmade], effect("b") if works else None),
            ([unwritable], effect("c") if works else None),
            ([record(4)], effect("d") if works else None),
        )
        assert [type(one) for one in got[1:3]] == [StoreError, StoreError]
        assert "no such passage" in str(got[1])
        assert isinstance(got[1].__cause__, OwnError)
        assert not isinstance(got[0], Exception)
        assert not isinstance(got[3], Exception)

    asyncio.run(main())
    assert store.read_sync(call_ids) == ["call-1", "call-4"]
    assert store.read_sync(effect_ids) == (["a", "d"] if works else [])
    assert Audit(store).verify().ok


def test_text_that_a_database_cannot_hold_is_on_record_all_the_same(store: Store) -> None:
    odd = "a\0b\udc80ü"
    store.commit_sync([record(1, principal=odd, rule=odd, resources=(odd,))])
    store.commit_sync([record(2)], effect("a"))
    log = Audit(store)
    assert [row.record.principal for row in log.rows(principal=odd)] == [odd]
    assert log.rows()[0].record.resources == (odd,)
    assert log.verify().ok


def test_a_callers_cancellation_is_no_failure(store: Store) -> None:
    async def main() -> None:
        with held(store):
            left = asyncio.ensure_future(store.commit([record(1)]))
            stays = asyncio.ensure_future(store.commit([record(2)]))
            await asyncio.sleep(0)
            left.cancel()
        await stays
        with pytest.raises(asyncio.CancelledError):
            await left

    asyncio.run(main())
    assert store.read_sync(call_ids) == ["call-1", "call-2"]


def test_a_loop_that_ended_takes_nobody_with_it(store: Store) -> None:
    loop = asyncio.new_event_loop()

    async def left_behind() -> None:
        unit = committer.Unit([record(1)], None, asyncio.get_running_loop())
        store._committer.submit(unit)

    with held(store):
        loop.run_until_complete(left_behind())
        loop.close()
        waiting = threading.Thread(target=store.commit_sync, args=([record(2)],))
        waiting.start()
    waiting.join(20)
    assert not waiting.is_alive()
    assert store.read_sync(call_ids) == ["call-1", "call-2"]


def test_what_one_turn_of_a_loop_wants_written_is_one_commit(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    tried = store._committer._tried

    def counted(batch: Any, **options: Any) -> Any:
        batches.append(len(batch))
        return tried(batch, **options)

    monkeypatch.setattr(store._committer, "_tried", counted)

    async def main() -> None:
        await asyncio.gather(*(store.commit([record(n)]) for n in range(50)))

    asyncio.run(main())
    assert batches == [50]
    assert len(store.read_sync(call_ids)) == 50


def test_what_a_loop_left_behind_is_written_when_the_store_is_closed(
    lasting: Store, lasting_url: str
) -> None:
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(lasting.commit([record(1)]))
    loop.call_soon(loop.stop)
    loop.run_forever()  # ends before the turn in which the row would have gone over
    lasting.close()
    with foreign(lasting_url) as connection:
        assert call_ids(connection) == ["call-1"]
    waiting.cancel()
    loop.run_until_complete(asyncio.wait([waiting]))
    loop.close()


def test_a_store_that_cannot_keep_up_refuses(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "WAITING", 3)

    async def main() -> None:
        with held(store):
            waiting = [asyncio.ensure_future(store.commit([record(n)])) for n in range(3)]
            await asyncio.sleep(0)
            with pytest.raises(StoreError, match="can't keep up: 3 commits wait; look at"):
                await store.commit([record(4)])
        await asyncio.gather(*waiting)

    asyncio.run(main())
    assert len(store.read_sync(call_ids)) == 3


def test_a_closed_store_writes_what_waits_and_refuses_what_comes(
    lasting: Store, lasting_url: str
) -> None:
    waiting = [threading.Thread(target=lasting.commit_sync, args=([record(n)],)) for n in range(5)]
    with held(lasting):
        for thread in waiting:
            thread.start()
        while lasting._committer._queue.qsize() < 5:
            pass
    lasting.close()
    for thread in waiting:
        thread.join(20)
    with pytest.raises(StoreError, match="is closed; open the app again"):
        lasting.commit_sync([record(9)])
    with foreign(lasting_url) as connection:
        assert len(call_ids(connection)) == 5
    lasting.close()


def test_a_work_that_would_wait_for_itself_is_told(store: Store) -> None:
    with pytest.raises(StoreError, match="use the connection that the work is given"):
        store.commit_sync(work=lambda _: store.commit_sync([record(1)]))
    assert store.commit_sync(work=effect("a")) == "a"


def test_a_reader_cannot_write(store: Store) -> None:
    with pytest.raises(StoreError):
        store.read_sync(effect("a"))
    with pytest.raises(StoreError):
        asyncio.run(store.read(effect("a")))
    assert store.read_sync(effect_ids) == []
    assert store.commit_sync(work=effect("a")) == "a"


def test_what_a_reader_raises_is_its_own(store: Store) -> None:
    with pytest.raises(OwnError):
        store.read_sync(own)
    assert asyncio.run(store.read(effect_ids)) == []


def test_a_reader_sees_one_moment(lasting: Store) -> None:
    def work(connection: sa.Connection) -> tuple[int, int]:
        count = sa.select(sa.func.count()).select_from(effects)
        before = connection.execute(count).scalar() or 0
        lasting.commit_sync(work=effect("a"))
        return before, connection.execute(count).scalar() or 0

    assert lasting.read_sync(work) == (0, 0)
    assert lasting.read_sync(effect_ids) == ["a"]
