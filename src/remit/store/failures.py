"""Which failures are the database's, and so everyone's, and which are one caller's own."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

__all__ = ["is_everyones", "is_lost", "is_passing"]

# SQLite's primary result codes (sqlite.org/rescode.html) that no other statement would fare better
# against: BUSY LOCKED NOMEM READONLY IOERR CORRUPT FULL CANTOPEN PROTOCOL NOTADB.
_SQLITE: Final = frozenset({5, 6, 7, 8, 10, 11, 13, 14, 15, 26})

# PostgreSQL's classes (its manual, appendix A): connection, insufficient resources, operator
# intervention, system error; and lock_timeout, read_only_sql_transaction.
_POSTGRES: Final = ("08", "53", "57", "58", "55P03", "25006")


def is_everyones(error: BaseException) -> bool:
    """Tell whether every unit of a batch would meet *error* too, each perhaps after a long wait."""
    if isinstance(error, OSError | exc.TimeoutError):
        return True
    if not isinstance(error, exc.DBAPIError):
        return False
    code = getattr(error.orig, "sqlite_errorcode", None)
    if isinstance(code, int):
        return code & 0xFF in _SQLITE
    state: Any = getattr(error.orig, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_POSTGRES)
    # psycopg has no state to give where the connection itself failed.
    return isinstance(error, exc.OperationalError | exc.InterfaceError)


def is_lost(connection: sa.Connection) -> bool:
    """Tell whether *connection* has gone, as after a restart of the server."""
    if connection.closed or connection.invalidated:
        return True
    # Only psycopg says so; to SQLite a connection is an open file.
    return bool(getattr(connection.connection.driver_connection, "closed", False))


def is_passing(error: BaseException) -> bool:
    """Tell whether *error* came of who else was writing: a deadlock, a serialization failure."""
    state: Any = getattr(getattr(error, "orig", None), "sqlstate", None)
    return state in {"40P01", "40001"}
