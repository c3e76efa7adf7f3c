"""A store that can't keep what it should says what, where and what to do, and recovers when it can."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from remit.audit import Audit
from remit.store import Store, StoreError
from tests.store.parts import call_ids, effect, effect_ids, foreign, held, record, url_of

PASSWORD = "hunter2"


def opening(url: str) -> str:
    with pytest.raises(StoreError) as refused:
        Store.open(url)
    return str(refused.value)


def committing(store: Store, *args: Any) -> str:
    with pytest.raises(StoreError) as refused:
        store.commit_sync(*args)
    return str(refused.value)


# Opening. -----------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    text = opening(f"sqlite:///{tmp_path}/none/remit.db")
    assert f"the store at sqlite:///{tmp_path}/none/remit.db failed: " in text
    assert text.endswith("; make its folder, and let this user write there")


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    assert "unable to open database file; make its folder" in opening(f"sqlite:///{tmp_path}")


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    tmp_path.joinpath("plain").write_text("")
    text = opening(f"sqlite:///{tmp_path}/plain/remit.db")
    assert text.endswith("; name a file in a folder that is there")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    tmp_path.joinpath("remit.db").write_text("Dear diary, " * 500)
    text = opening(f"sqlite:///{tmp_path}/remit.db")
    assert text.endswith("not a database; restore the file from a backup; it is no SQLite database")


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    Store.open(f"sqlite:///{tmp_path}/remit.db").close()
    with foreign(f"sqlite:///{tmp_path}/remit.db") as connection:
        connection.exec_driver_sql("PRAGMA journal_mode=DELETE")
    text = opening(f"sqlite:///file:{tmp_path}/remit.db?mode=ro&uri=true")
    assert text.endswith("readonly database; let this user write the file and its folder")


def test_a_uri_names_its_file_and_the_gate_stands_beside_it(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///file:{tmp_path}/remit.db?uri=true")
    store.commit_sync(work=effect("a"))
    store.close()
    assert {path.name for path in tmp_path.iterdir()} == {"remit.db", "remit.db.lock"}
    memory = Store.open("sqlite:///file::memory:?uri=true")
    memory.commit_sync(work=effect("a"))
    assert memory.read_sync(effect_ids) == ["a"]
    memory.close()


@pytest.mark.parametrize(
    ("url", "end"),
    [
        ("remit.db", "write e.g. sqlite:///remit.db or postgresql://user@host/db"),
        ("mysql://u@h/db", "is neither SQLite nor PostgreSQL; give a URL of one"),
        ("elsewhere://u@h/db", "is neither SQLite nor PostgreSQL; give a URL of one"),
        ("postgresql+nothing://u@h/db", "give a sqlite:/// or postgresql:// URL"),
    ],
)
def test_a_url_that_names_no_store(url: str, end: str) -> None:
    assert opening(url).endswith(end)


def test_a_server_that_is_not_there_and_a_password_that_is_not_told() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = opening(
        f"postgresql://remit:{PASSWORD}@127.0.0.1:{port}/remit?options=-cfoo%3D{PASSWORD}"
    )
    assert text.endswith("; start the server, or mend REMIT_STORE")
    assert f"remit:***@127.0.0.1:{port}/remit failed" in text
    assert PASSWORD not in text


def test_a_server_that_may_only_be_read(tmp_path: Path) -> None:
    reading, words = (
        "?options=-cdefault_transaction_read_only%3Don",
        "read-only transaction; let this",
    )
    assert words in opening(url_of("postgres", tmp_path, fill=None) + reading)
    replica = Store.open(url_of("postgres", tmp_path) + reading)
    assert Audit(replica).verify().ok, "whoever checks the log needs to write nothing"
    assert words in committing(replica, [record(1)])
    assert words in committing(replica, [record(2)], effect("a"))
    replica.close()


def test_a_store_is_shown_without_its_password(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path}/remit.db?timeout=3")
    assert repr(store) == f"<Store sqlite:///{tmp_path}/remit.db>"
    store.close()


# Writing. -----------------------------------------------------------------------------------------


@pytest.fixture(params=["memory", "file"])
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store on a disk that is nearly full."""
    store = Store.open(url_of(request.param, tmp_path))
    room = store.commit_sync(work=pages("page_count"))
    store.commit_sync(work=pages(f"max_page_count={room}"))
    yield store
    store.close()


def pages(pragma: str) -> Any:
    return lambda connection: connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()


def wide(number: int) -> Any:
    return record(number, rule="x" * 20_000)


@pytest.mark.parametrize("works", [False, True], ids=["rows", "works"])
def test_a_full_disk_refuses_everyone_and_leaves_no_half(small: Store, works: bool) -> None:
    async def main() -> list[Any]:
        with held(small):
            waiting = [
                asyncio.ensure_future(small.commit([wide(n)], effect(f"{n}") if works else None))
                for n in range(20)
            ]
            await asyncio.sleep(0)
        return await asyncio.gather(*waiting, return_exceptions=True)

    got = asyncio.run(main())
    assert {type(one) for one in got} == {StoreError}
    assert str(got[0]).endswith("database or disk is full; make room on the disk")
    assert len({id(one) for one in got}) == 20, "an exception that is raised twice mixes its traces"
    assert small.read_sync(call_ids) == small.read_sync(effect_ids) == []
    small.commit_sync(work=pages("max_page_count=100000"))
    small.commit_sync([wide(1)], effect("a"))
    assert small.read_sync(call_ids) == ["call-1"]
    assert Audit(small).verify().ok


def test_a_file_that_somebody_spoilt(tmp_path: Path) -> None:
    path = tmp_path / "remit.db"
    store = Store.open(f"sqlite:///{path}")
    store.commit_sync([record(1)])
    store.close()
    store = Store.open(f"sqlite:///{path}")
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    text = committing(store, [record(2)])
    assert text.endswith("malformed; restore the file from a backup; it is no SQLite database")
    with pytest.raises(StoreError):
        store.read_sync(call_ids)
    store.close()


def test_a_commit_that_breaks_off_is_not_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been kept: again would write it twice, and 'nothing was done' would be a guess."""
    runs: list[str] = []

    def work(connection: sa.Connection) -> None:
        runs.append("run")
        effect("a")(connection)

    def broken(self: Any) -> None:
        raise sa.exc.OperationalError("COMMIT", {}, OSError("server closed the connection"))

    monkeypatch.setattr(sa.RootTransaction, "commit", broken)
    text = committing(store, [record(1)], work)
    assert runs == ["run"]
    assert text.endswith("broke off while it was made durable: look whether it was kept")
    monkeypatch.undo()
    store.commit_sync([record(2)], effect("b"))
    assert store.read_sync(effect_ids) == ["b"]
    assert Audit(store).verify().ok


def test_a_locked_file_refuses_everyone_after_one_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.store.engine.BUSY_MS", 10)
    store = Store.open(f"sqlite:///{tmp_path}/remit.db")

    async def main() -> list[Any]:
        units = [store.commit([record(n)], effect(f"{n}")) for n in range(9)]
        return await asyncio.gather(*units, return_exceptions=True)

    with foreign(store.url) as connection:
        connection.exec_driver_sql("PRAGMA user_version=1")  # takes the write lock
        effect("theirs")(connection)
        got = asyncio.run(main())
        assert {type(one) for one in got} == {StoreError}
        assert str(got[0]).endswith("database is locked; end the process that holds it")
    assert store.commit_sync(work=effect("a")) == "a"
    store.close()


# A server that goes, and comes back. --------------------------------------------------------------


def ended(url: str) -> None:
    """End every connection that remit has to its database."""
    with foreign(url) as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE application_name = 'remit' AND datname = current_database()"
            )
        )


@pytest.mark.parametrize("works", [False, True], ids=["rows", "works"])
def test_a_restart_of_the_server_fails_nobody(tmp_path: Path, works: bool) -> None:
    url = url_of("postgres", tmp_path)
    store = Store.open(url)
    for turn in range(3):
        store.commit_sync([record(turn)], effect(f"{turn}") if works else None)
        assert len(store.read_sync(call_ids)) == turn + 1
        ended(url)
    store.commit_sync([record(3)])
    assert store.read_sync(call_ids) == [f"call-{n}" for n in range(4)]
    assert Audit(store).verify().ok
    store.close()


def test_a_server_that_is_away_refuses_until_it_is_back(tmp_path: Path) -> None:
    url = url_of("postgres", tmp_path)
    store = Store.open(url)
    store.commit_sync([record(1)])
    name = sa.make_url(url).database
    elsewhere = sa.make_url(url).set(database="postgres").render_as_string(hide_password=False)
    with foreign(elsewhere) as connection:
        connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
    with foreign(elsewhere) as connection:
        everyone = (
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = :name"
        )
        connection.execute(sa.text(everyone), {"name": name})
    assert "; start the server, or mend REMIT_STORE" in committing(store, [record(2)])
    assert "; start the server, or mend REMIT_STORE" in committing(store, [record(3)], effect("a"))
    with pytest.raises(StoreError):
        store.read_sync(call_ids)
    with foreign(elsewhere) as connection:
        connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
    store.commit_sync([record(4)], effect("b"))
    assert store.read_sync(call_ids) == ["call-1", "call-4"]
    store.close()


def test_durability_is_not_the_servers_to_turn_off(tmp_path: Path) -> None:
    url = url_of("postgres", tmp_path)
    asked = ("synchronous_commit", "lock_timeout")
    store = Store.open(f"{url}?options=-csynchronous_commit%3Doff")
    shown = [store.commit_sync(work=setting(name)) for name in asked]
    store.close()
    assert shown == ["on", "10s"]


def setting(name: str) -> Any:
    return lambda connection: connection.exec_driver_sql(f"SHOW {name}").scalar()
