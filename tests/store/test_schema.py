"""Migrations: from nothing to now, once, forward only, and never over what isn't known."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from remit.store import Store, StoreError, schema
from remit.store.tables import metadata
from tests.store.parts import call_ids, effect, effect_ids, foreign, record

OURS = {*metadata.tables, "remit_version"}


def test_an_empty_database_gets_the_tables_that_the_code_means(empty_url: str) -> None:
    Store.open(empty_url).close()
    with foreign(empty_url) as connection:
        assert set(sa.inspect(connection).get_table_names()) == OURS
        options = {"version_table": "remit_version", "compare_type": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_opening_again_changes_nothing_and_spares_the_migrations(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Store.open(empty_url)
    first.commit_sync([record(1)], effect("a"))
    first.close()

    def unwanted(_: sa.Connection) -> None:
        pytest.fail("Alembic takes 0.27 s to import")

    monkeypatch.setattr(schema, "_upgrade", unwanted)
    again = Store.open(empty_url)
    assert again.read_sync(effect_ids) == ["a"]
    assert again.read_sync(call_ids) == ["call-1"]
    again.close()


def test_every_revision_is_known_by_name_and_leads_forward() -> None:
    config = Config()
    folder = Path(schema.__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder))
    found = [*ScriptDirectory.from_config(config).walk_revisions()][::-1]
    assert tuple(one.revision for one in found) == schema.REVISIONS
    assert [one for one in found if hasattr(one.module, "downgrade")] == []


def test_a_newer_schema_is_refused_and_left_alone(empty_url: str) -> None:
    Store.open(empty_url).close()
    with foreign(empty_url) as connection:
        connection.execute(sa.text("UPDATE remit_version SET version_num = '9999'"))
    with pytest.raises(StoreError) as refused:
        Store.open(empty_url)
    text = str(refused.value)
    assert "is of revision 9999, which this version of remit doesn't know" in text
    assert text.endswith("run the newer remit that made it, or name another store")
    with foreign(empty_url) as connection:
        version = connection.execute(sa.text("SELECT version_num FROM remit_version")).scalar()
    assert version == "9999"


def test_somebody_elses_tables_are_left_alone(empty_url: str) -> None:
    with foreign(empty_url) as connection:
        connection.execute(sa.text("CREATE TABLE requests (id INTEGER)"))
    with pytest.raises(StoreError, match=r"already exists; give remit a file, a database or a"):
        Store.open(empty_url)
    with foreign(empty_url) as connection:
        assert sa.inspect(connection).get_table_names() == ["requests"]


def test_threads_may_open_one_store_and_many_at_once(empty_url: str, tmp_path: Path) -> None:
    urls = [empty_url, empty_url, "sqlite://", "sqlite://", f"sqlite:///{tmp_path}/other.db"]
    opened: list[Store] = []
    threads = [
        threading.Thread(target=lambda url=url: opened.append(Store.open(url))) for url in urls
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(opened) == len(urls)
    for number, store in enumerate(opened):
        assert store.commit_sync(work=effect(f"{number}")) == f"{number}"
        store.close()
