"""Records named by ids: loaded anew on every call, and only for whom their rule allows (law L5).

*Missing* and *not yours* leave here as one and the same refusal; which of the two it was is for
the operator's record alone.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from remit.call import Call
from remit.contract import Resourced, Tool
from remit.outcome import Issue, Refused
from remit.permissions import answer, asked

__all__ = ["NotThere", "loaded"]


class NotThere(Exception):
    """A record that this principal can't have, with the refusal and what the record says."""

    def __init__(self, refusal: Refused, rule: str) -> None:
        super().__init__(rule)
        self.refusal = refusal
        self.rule = rule


async def loaded(
    tool: Tool, call: Call[Any, Any], values: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return *values* with each record in place of its id, and the names of what was touched.

    Raises:
        NotThere: If a record doesn't exist or its rule doesn't say True.
        Exception: Whatever a loader or a rule raises.
    """
    touched: list[str] = []
    made = dict(values)
    for place in tool.resources:
        given = values[place.name]
        if given is None:
            continue
        ids: list[Any] = given if place.many else [given]
        rows = [await _one(place, call, one, inline=tool.inline) for one in ids]
        touched += [f"{place.wire}={one}" for one in ids]
        made[place.name] = rows if place.many else rows[0]
    return made, tuple(touched)


async def _one(place: Resourced, call: Call[Any, Any], handle: Any, *, inline: bool) -> Any:
    load = place.resource.load
    if inline or inspect.iscoroutinefunction(load):
        row = await answer(load, call, handle)
    else:
        # A plain loader most likely waits for a database, and would make every other call wait.
        row = await asyncio.to_thread(load, call, handle)
        row = await row if inspect.isawaitable(row) else row
    if row is None:
        raise NotThere(_refusal(place), f"resource:{place.wire} missing")
    if not await asked(place.resource.allow, call, row):
        raise NotThere(_refusal(place), f"resource:{place.wire} not yours")
    return row


def _refusal(place: Resourced) -> Refused:
    """Return the one answer, the same bytes for every id (OWASP API1:2023)."""
    text = (
        f"There is no record under this {place.wire} for you. {place.resource.otherwise}".rstrip()
    )
    return Refused("not_found", text, issues=[Issue(place.wire, "not_found")])
