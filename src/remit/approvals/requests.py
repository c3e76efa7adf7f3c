"""A request's record and the statements that move it: each a conditional write, or nothing.

The states and who moves them::

    waiting -> approved -> running -> done | failed | unknown
            -> denied | expired | cancelled        approved -> superseded

An UPDATE names the state that it moves from; a row that has moved already is left alone, so that
two deciders, two workers or a replay can't both win.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast

import sqlalchemy as sa

from remit.store.tables import requests

__all__ = ["Decision", "Request", "bound_digest", "canonical", "filed", "found", "listed", "moved"]


class Decision(StrEnum):
    """What a person says to a request; nothing else opens or closes one."""

    APPROVE = "approve"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as an approver sees it.

    Attributes:
        id: Its unguessable id.
        digest: SHA-256 over everything that the decision binds; a decision must name it.
        short: The first twelve digits, by which chat and page are matched.
        tool: The tool's name.
        arguments: The final arguments, defaults filled in, as they will run.
        subject: Who asks.
        issuer: Who vouches for the asker.
        client: Through which agent or host.
        effect: The effect in one line, from the declaration's ``show``; None without one.
        state: Where it is in its life.
        repeats: How often the same call was made while it waited.
        created: When it was filed, seconds since the epoch.
        expires: When silence ends it, seconds since the epoch.
        approvers: The roles of which one must decide.
        decided_by: The subject who decided, or None.
        decided: When, or None.
        reason: What the decider said, or None.
        outcome: What the run ended in, as `remit.outcome.wire` shows it, or None.
    """

    id: str
    digest: str
    tool: str
    arguments: dict[str, Any]
    subject: str
    issuer: str
    client: str
    effect: str | None
    state: str
    repeats: int
    created: float
    expires: float
    approvers: frozenset[str]
    decided_by: str | None
    decided: float | None
    reason: str | None
    outcome: dict[str, Any] | None

    @property
    def short(self) -> str:
        """The first twelve hexadecimal digits of the digest."""
        return self.digest[:12]

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Request:
        """Return the request that *row* of the store holds."""
        decider = None if row["decided_by"] is None else json.loads(row["decided_by"])
        return cls(
            id=row["id"],
            digest=row["digest"],
            tool=row["tool"],
            arguments=json.loads(row["arguments"]),
            subject=row["subject"],
            issuer=row["issuer"],
            client=row["client"],
            effect=row["shown"],
            state=row["state"],
            repeats=row["repeats"],
            created=row["created"],
            expires=row["expires"],
            approvers=frozenset(cast("list[str]", json.loads(row["approvers"]))),
            decided_by=None if decider is None else decider["subject"],
            decided=row["decided"],
            reason=row["reason"],
            outcome=None if row["outcome"] is None else json.loads(row["outcome"]),
        )


def canonical(value: Any) -> bytes:
    """Return *value* as the bytes that are frozen and hashed: sorted keys, no spaces, UTF-8.

    1, 1.0 and true stay three values, and text is compared code point by code point.
    """
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def bound_digest(row: Mapping[str, Any]) -> str:
    """Return the SHA-256 over all that a decision on *row* binds, as hexadecimal digits.

    It is dynamic linking as in PSD2 RTS Art. 5: whatever of it changes, the digest changes.
    """
    bound = {
        name: row[name]
        for name in (
            "id",
            "tool",
            "tool_version",
            "schema_digest",
            "principal",
            "issuer",
            "subject",
            "client",
            "record_version",
            "resources",
            "expires",
            "approvers",
            "nonce",
            "shown",
        )
    }
    bound["arguments"] = row["arguments"].decode()
    return hashlib.sha256(canonical(bound)).hexdigest()


def filed(
    row: dict[str, Any], *, now: float, most: int
) -> Callable[[sa.Connection], dict[str, Any] | None]:
    """Return the work that files *row*, or finds the same call waiting.

    It gives the row that waits, or None if *most* of the requester's wait already.
    """
    same = (
        requests.c.state == "waiting",
        requests.c.expires > now,
        requests.c.issuer == row["issuer"],
        requests.c.subject == row["subject"],
    )
    twin = (
        requests.c.tool == row["tool"],
        requests.c.schema_digest == row["schema_digest"],
        requests.c.client == row["client"],
        requests.c.arguments == row["arguments"],
        requests.c.record_version.is_not_distinct_from(row["record_version"]),
    )

    def work(connection: sa.Connection) -> dict[str, Any] | None:
        held = connection.execute(sa.select(requests).where(*same, *twin)).mappings().first()
        if held is not None:
            repeats = held["repeats"] + 1
            connection.execute(
                sa.update(requests).where(requests.c.id == held["id"]).values(repeats=repeats)
            )
            return {**held, "repeats": repeats}
        waiting = connection.execute(
            sa.select(sa.func.count()).select_from(requests).where(*same)
        ).scalar_one()
        if waiting >= most:
            return None
        connection.execute(sa.insert(requests), row)
        return row

    return work


def moved(
    request_id: str,
    *,
    source: str,
    target: str,
    token: str | None = None,
    unexpired_at: float | None = None,
    **values: Any,
) -> Callable[[sa.Connection], bool]:
    """Return the work that moves one request from *source* to *target*; it says whether it did.

    Args:
        request_id: Which request.
        source: The state that it must be in.
        target: The state that it gets.
        token: The run token that it must carry, if a run is being ended.
        unexpired_at: Refuse to move a request that has expired by then.
        values: Further columns to write.
    """
    where = [requests.c.id == request_id, requests.c.state == source]
    if token is not None:
        where.append(requests.c.run_token == token)
    if unexpired_at is not None:
        where.append(requests.c.expires > unexpired_at)

    def work(connection: sa.Connection) -> bool:
        done = connection.execute(sa.update(requests).where(*where).values(state=target, **values))
        return done.rowcount == 1

    return work


def found(request_id: str) -> Callable[[sa.Connection], dict[str, Any] | None]:
    """Return the work that reads one request's row."""

    def work(connection: sa.Connection) -> dict[str, Any] | None:
        row = (
            connection.execute(sa.select(requests).where(requests.c.id == request_id))
            .mappings()
            .first()
        )
        return None if row is None else dict(row)

    return work


def listed(
    *conditions: sa.ColumnElement[bool], limit: int = 1000
) -> Callable[[sa.Connection], list[dict[str, Any]]]:
    """Return the work that reads the requests for which all *conditions* hold, oldest first."""

    def work(connection: sa.Connection) -> list[dict[str, Any]]:
        select = (
            sa.select(requests)
            .where(*conditions)
            .order_by(requests.c.created, requests.c.id)
            .limit(limit)
        )
        return [dict(row) for row in connection.execute(select).mappings()]

    return work
