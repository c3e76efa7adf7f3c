"""What goes wrong with a store, in words for whoever runs the server."""

from __future__ import annotations

from typing import Final

from sqlalchemy import exc

__all__ = ["StoreError", "said"]


class StoreError(Exception):
    """The store can't keep what it should: says what, where, and what to do.

    Whoever gets it must refuse: an effect without a record is what the store is there to prevent.
    The text is for the operator's log; no surface shows it.
    """


# The first that fits. Words of the drivers, since SQLite and PostgreSQL share no codes.
_MENDS: Final = (
    (("already exists",), "give remit a file, a database or a schema of its own"),
    (("unable to open database", "no such file"), "make its folder, and let this user write there"),
    (("not a directory", "is a directory"), "name a file in a folder that is there"),
    (("permission denied for", "must be owner"), "grant this role the tables, or name its owner"),
    (
        ("readonly", "read-only", "permission denied"),
        "let this user write the file and its folder",
    ),
    (("full", "no space"), "make room on the disk"),
    (("locked", "busy", "lock timeout"), "end the process that holds it"),
    (("not a database", "malformed"), "restore the file from a backup; it is no SQLite database"),
    (("i/o error",), "look at the disk, then at the system's log"),
    (("connect", "server closed", "terminat"), "start the server, or mend REMIT_STORE"),
)


def said(error: BaseException, shown_url: str) -> StoreError:
    """Return *error* of a database driver as a `StoreError` about the store at *shown_url*."""
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()
    first = reason[0] if reason else type(error).__name__
    made: StoreError
    if isinstance(error, exc.NoSuchModuleError):
        mend = "give a sqlite:/// or postgresql:// URL"
        made = StoreError(f"the store at {shown_url} failed: {first}; {mend}")
    elif isinstance(error, exc.SQLAlchemyError | OSError):
        lowered = first.lower()
        mends = (mend for words, mend in _MENDS if any(word in lowered for word in words))
        mend = next(mends, "look at the database's own log")
        made = StoreError(f"the store at {shown_url} failed: {first}; {mend}")
    else:
        made = StoreError(
            f"the store at {shown_url} was given what it can't write: {type(error).__name__}: "
            f"{first}; mend the code that made the row"
        )
    made.__cause__ = error
    return made
