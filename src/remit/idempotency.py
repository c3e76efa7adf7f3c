"""Intent before an effect, and one effect per key (laws L10 and L11).

One row in ``effects`` is both: it is durable before the tool's code runs, and under a caller's key
it holds the first outcome, which the same call gets again and another call doesn't.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from remit.outcome import Issue, Ok, Outcome, Refused
from remit.principal import Principal
from remit.store.tables import effects

__all__ = [
    "MAX_KEY",
    "Intent",
    "claim",
    "digest",
    "finish",
    "is_key",
    "orphans",
    "release",
    "replayed",
    "stored",
]

MAX_KEY: Final = 255
KEEP: Final = 24 * 3600.0  # seconds that a key's outcome is kept

Work = Callable[[sa.Connection], Any]


def digest(arguments: Any) -> str:
    """Return the SHA-256 of *arguments* as canonical JSON: sorted keys, no spaces, UTF-8."""
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_key(text: object) -> bool:
    """Tell whether *text* can be a key: 1 to 255 printable ASCII characters.

    What every store and every log keeps alike; a NUL or a lone surrogate is refused by some.
    """
    return type(text) is str and 0 < len(text) <= MAX_KEY and text.isascii() and text.isprintable()


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to be done, by whom, and under which key."""

    call_id: str
    tool: str
    principal: Principal | None
    client: str
    key: str | None
    arguments_digest: str
    at: float


def _scoped(key: str, who: Principal | None) -> str:
    """Return what *key* is kept under: all that the app reads of its owner, such as a tenant.

    Scopes and roles come and go with a token; the others say whose the outcome is.
    """
    own = {} if who is None else who.model_dump(mode="json", exclude={"scopes", "roles"})
    return digest([key, own])


def claim(intent: Intent) -> Callable[[sa.Connection], dict[str, Any] | None]:
    """Return the work that writes *intent* down.

    It gives None, or the row that holds the key already; then nothing was written.
    """
    who = intent.principal
    row: dict[str, Any] = {
        "id": intent.call_id,
        "tool": intent.tool,
        "issuer": who.issuer if who else "",
        "principal": who.subject if who else "",
        "client": intent.client,
        "key": None if intent.key is None else _scoped(intent.key, who),
        "arguments_digest": intent.arguments_digest,
        "state": "running",
        "started": intent.at,
        "expires": intent.at + KEEP if intent.key else None,
    }
    scope = [
        effects.c[name] == row[name] for name in ("tool", "issuer", "principal", "client", "key")
    ]

    def work(connection: sa.Connection) -> dict[str, Any] | None:
        if intent.key is None:
            connection.execute(sa.insert(effects), row)
            return None
        # A finished key may be used again when its outcome is no longer kept; an unknown one never.
        connection.execute(
            sa.delete(effects).where(
                *scope, effects.c.state == "done", effects.c.expires < intent.at
            )
        )
        insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        made = connection.execute(insert(effects).values(row).on_conflict_do_nothing())
        if made.rowcount:
            return None
        held = connection.execute(sa.select(effects).where(*scope)).mappings().one()
        return dict(held)

    return work


def finish(call_id: str, outcome: Outcome, *, at: float, keep: bool) -> Work:
    """Return the work that writes an intent's *outcome*; without a key nothing has to be kept."""

    def work(connection: sa.Connection) -> None:
        where = effects.c.id == call_id
        if outcome_is_open(outcome):
            connection.execute(
                sa.update(effects)
                .where(where)
                .values(state="unknown", finished=at, outcome=stored(outcome))
            )
        elif keep:
            connection.execute(
                sa.update(effects)
                .where(where)
                .values(state="done", finished=at, outcome=stored(outcome))
            )
        else:
            connection.execute(sa.delete(effects).where(where))

    return work


def release(call_id: str) -> Work:
    """Return the work that gives a key back because nothing was done under it."""
    return lambda connection: connection.execute(sa.delete(effects).where(effects.c.id == call_id))


def outcome_is_open(outcome: Outcome) -> bool:
    """Tell whether the effect behind *outcome* may or may not have happened."""
    return outcome.code == "outcome_unknown"


def replayed(held: dict[str, Any], arguments_digest: str) -> Outcome:
    """Return what a call gets whose key is held by *held*."""
    if not {*arguments_digest.split(".")} & {*held["arguments_digest"].split(".")}:
        text = "This idempotency key was used for other arguments. Use a new key for a new call."
        return Refused("conflict", text, issues=[Issue("(idempotency key)", "key_reused")])
    if held["state"] == "running":
        text = (
            "The first call with this idempotency key is still running. "
            "Ask again later with the same key."
        )
        return Refused("in_progress", text, retry_after=1.0)
    return _restored(json.loads(cast("str", held["outcome"])))


def stored(outcome: Outcome) -> str:
    """Return *outcome* as the text that is kept of it: nothing that didn't leave for the caller."""
    if isinstance(outcome, Ok):
        kept: dict[str, Any] = {
            "ok": True,
            "code": outcome.code,
            "data": outcome.data,
            "more": outcome.more,
            "ignored": outcome.ignored,
            "meta": dict(outcome.meta),
            "notice": outcome.notice,
        }
    else:
        kept = {
            "ok": False,
            "code": outcome.code,
            "message": outcome.message,
            "issues": [[i.path, i.code, i.hint] for i in outcome.issues],
            "more": outcome.more,
            "reference": outcome.reference,
            "retry_after": outcome.retry_after,
        }
    return json.dumps(kept, ensure_ascii=False)


def _restored(kept: dict[str, Any]) -> Outcome:
    if kept["ok"]:
        return Ok(
            kept["data"],
            code=kept["code"],
            more=kept["more"],
            ignored=tuple(kept["ignored"]),
            meta={**kept["meta"], "replayed": True},
            notice=kept["notice"],
        )
    return Refused(
        kept["code"],
        kept["message"],
        issues=[Issue(*one) for one in kept["issues"]],
        more=kept["more"],
        reference=kept["reference"],
        retry_after=kept["retry_after"],
        meta={"replayed": True},
    )


def orphans(before: float) -> Callable[[sa.Connection], list[dict[str, Any]]]:
    """Return the work that marks effects begun before *before* and never ended as unknown.

    It gives those rows: a process died between an intent and its outcome, so that nobody can say
    whether the effect happened.
    """

    def work(connection: sa.Connection) -> list[dict[str, Any]]:
        where = (effects.c.state == "running", effects.c.started < before)
        rows = [
            dict(row) for row in connection.execute(sa.select(effects).where(*where)).mappings()
        ]
        unknown = stored(
            Refused(
                "outcome_unknown",
                "The first call broke off; whether it took effect is unknown. "
                "Check before you repeat it.",
            )
        )
        for row in rows:
            connection.execute(
                sa.update(effects)
                .where(effects.c.id == row["id"])
                .values(state="unknown", outcome=unknown)
            )
        return rows

    return work
