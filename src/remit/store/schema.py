"""Bring a store's tables to this version, forward only, and never past what this version knows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from remit.store.engine import in_memory, shown
from remit.store.errors import StoreError

__all__ = ["REVISIONS", "migrated"]

REVISIONS: Final = ("0001",)
"""Every revision that this version of remit knows, oldest first."""

_TABLE: Final = "remit_version"
_LOCK: Final = 0x72656D6974  # "remit", a PostgreSQL advisory lock of our own
_ALEMBIC: Final = threading.Lock()  # it keeps what it works on in module globals


def _current(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table(_TABLE):
        return None
    return connection.execute(sa.text(f"SELECT version_num FROM {_TABLE}")).scalar()  # noqa: S608 - a constant


def migrated(engine: sa.Engine) -> None:
    """Bring the tables behind *engine* to the newest revision, one process at a time.

    Raises:
        StoreError: If they are of a version that this remit doesn't know.
    """
    if in_memory(engine.url):
        _in_memory(engine)
        return
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        version = _current(connection)
        if version == REVISIONS[-1]:
            return
        if version is not None and version not in REVISIONS:
            where = shown(str(engine.url))
            text = (
                f"the store at {where} is of revision {version}, which this version "
                "of remit doesn't know; run the newer remit that made it, or name another store"
            )
            raise StoreError(text)
        _upgrade(connection)


_image: list[bytes] = []
"""A migrated database in memory, made once: tests open thousands, and migrating takes 25 ms."""


def _in_memory(engine: sa.Engine) -> None:
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if _image:
            driver.deserialize(_image[0])
            return
        with connection.begin():
            _upgrade(connection)
        _image.append(driver.serialize())


def _upgrade(connection: sa.Connection) -> None:
    # 0.27 s to import, and needed only where something is to be migrated.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")))
    attributes: dict[str, Any] = config.attributes
    attributes["connection"] = connection
    attributes["version_table"] = _TABLE
    with _ALEMBIC:
        command.upgrade(config, "head")
