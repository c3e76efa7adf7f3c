"""The blog's own store: one SQLite table, and the one table of moves that a post can make.

Nothing here knows of agents or of remit. Each row has an ``edit_token``, an internal column of the
kind that every real table has, so that a leak has something to find.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self

__all__ = ["Draft", "Drafts", "Move", "Moved", "Status", "open_drafts"]

Status = Literal["draft", "published", "retracted"]
Move = Literal["edit", "publish", "retract"]

MOVES: Final[dict[tuple[Status, Move], Status]] = {
    ("draft", "edit"): "draft",
    ("draft", "publish"): "published",
    ("published", "retract"): "retracted",
}
"""Every move there is. Whoever wants to know whether a draft can be edited asks this table."""


class Moved(Exception):
    """The post is not, or no longer, where this move begins."""


@dataclass(frozen=True, slots=True)
class Draft:
    """One row, whole."""

    id: str
    author: str
    status: Status
    title: str
    body: str
    tags: tuple[str, ...]
    revision: int
    edit_token: str

    def can(self, move: Move) -> bool:
        """Tell whether *move* is open to a post of this status."""
        return (self.status, move) in MOVES


class Drafts:
    """All drafts and posts, in one file that several processes may have open.

    Args:
        path: A file, or ``:memory:``.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self._db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS drafts (id TEXT PRIMARY KEY, author TEXT, status TEXT,"
            " title TEXT, body TEXT, tags TEXT, revision INTEGER, edit_token TEXT)"
        )

    async def get(self, draft_id: str) -> Draft | None:
        """Return one draft, or None."""
        found = await self._rows("SELECT * FROM drafts WHERE id = ?", draft_id)
        return found[0] if found else None

    async def of(self, author: str, *, after: str = "", most: int) -> list[Draft]:
        """Return *most* drafts of *author* that follow the id *after*."""
        query = "SELECT * FROM drafts WHERE author = ? AND id > ? ORDER BY id LIMIT ?"
        return await self._rows(query, author, after, most)

    async def create(self, author: str, *, title: str, body: str, tags: tuple[str, ...]) -> Draft:
        """Insert a draft of *author*."""
        key, token = f"d_{secrets.token_hex(8)}", f"et_secret_{secrets.token_hex(8)}"
        query = "INSERT INTO drafts VALUES (?, ?, 'draft', ?, ?, ?, 1, ?) RETURNING *"
        return (await self._rows(query, key, author, title, body, json.dumps(tags), token))[0]

    async def edit(self, draft: Draft, *, title: str, body: str, tags: tuple[str, ...]) -> Draft:
        """Replace what *draft* says."""
        return await self._move(draft, "edit", title=title, body=body, tags=json.dumps(tags))

    async def publish(self, draft: Draft) -> Draft:
        """Let *draft* go live."""
        return await self._move(draft, "publish")

    async def _move(self, draft: Draft, move: Move, **columns: str) -> Draft:
        if not draft.can(move):
            raise Moved(f"{draft.id} is {draft.status}: it has no way to {move}")
        columns["status"] = MOVES[draft.status, move]
        # The revision in the WHERE is what makes of two moves at once one move and one refusal.
        query = (
            f"UPDATE drafts SET {', '.join(f'{name} = ?' for name in columns)},"  # noqa: S608 - our names
            " revision = revision + 1 WHERE id = ? AND revision = ? RETURNING *"
        )
        moved = await self._rows(query, *columns.values(), draft.id, draft.revision)
        if not moved:
            raise Moved(f"{draft.id} is no longer at revision {draft.revision}")
        return moved[0]

    async def _rows(self, query: str, *values: object) -> list[Draft]:
        return await asyncio.to_thread(self._fetch, query, values)

    def _fetch(self, query: str, values: tuple[object, ...]) -> list[Draft]:
        rows: list[dict[str, Any]] = [dict(row) for row in self._db.execute(query, values)]
        return [Draft(**{**row, "tags": tuple(json.loads(row["tags"]))}) for row in rows]

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        """Use the store for a while."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


@asynccontextmanager
async def open_drafts() -> AsyncIterator[Drafts]:
    """Open the file that ``BLOG_DRAFTS`` names; ``:memory:`` leaves none."""
    with Drafts(os.environ.get("BLOG_DRAFTS", "drafts.db")) as drafts:
        yield drafts
