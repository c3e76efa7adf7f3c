"""What goes wrong with a store, in words for whoever runs the server."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["StoreError", "said"]


class StoreError(Exception):
    """The store can't keep what it should: says what, where, and what to do.

    Whoever gets it must refuse: an effect without a record is what the store is there to prevent.
    The text is for the operator's log; no surface shows it.
    """


def said(error: BaseException, shown_url: str) -> StoreError:
    """Return *error* of a database driver as a `StoreError` about the store at *shown_url*."""
    reason = str(getattr(error, "orig", None) or error).strip().splitlines()
    first = reason[0] if reason else type(error).__name__
    lowered = first.lower()
    mend = "look at the database's own log"
    if isinstance(error, sa.exc.NoSuchModuleError):
        mend = "give a sqlite:/// or postgresql:// URL"
    elif "unable to open database" in lowered or "no such file" in lowered:
        mend = "make its folder, and let this user write there"
    elif "readonly" in lowered or "read-only" in lowered or "permission" in lowered:
        mend = "let this user write the file and its folder"
    elif "full" in lowered or "no space" in lowered:
        mend = "make room on the disk"
    elif "locked" in lowered or "busy" in lowered:
        mend = "end the process that holds it"
    elif "connect" in lowered or "server closed" in lowered:
        mend = "start the server, or mend REMIT_STORE"
    elif "not a database" in lowered or "malformed" in lowered:
        mend = "restore the file from a backup; what is there is no SQLite database"
    return StoreError(f"the store at {shown_url} failed: {first}; {mend}")
