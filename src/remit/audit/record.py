"""What one audit row says: who, what, by which rule, how it ended. No argument's value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

__all__ = ["Record", "Row", "findable"]

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Record:
    """One event, as it will be kept (fields after NIST SP 800-53 AU-3).

    Attributes:
        call_id: The call's id; also the reference that its caller may have been given.
        at: When it came in, seconds since the epoch.
        kind: ``call``, ``decision``, ``run``, ``expiry`` or ``orphan``.
        tool: The tool; empty if there is none of the name that was called.
        tool_version: The app's version when it was declared.
        schema_digest: SHA-256 over the tool's declaration.
        principal: The verified subject, or empty.
        issuer: Who vouches for the subject.
        client: The agent or host, as the verified token names it.
        surface: Through which surface.
        outcome: The outcome's code.
        rule: Which rule decided, in the operator's words; the caller may have seen less.
        arguments_digest: SHA-256 of the arguments as canonical JSON.
        resources: The records that were touched, as ``key=id``.
        ignored: Paths that a declared policy dropped.
        repaired: ``path:repair`` for each declared repair.
        reference: What the caller was told to quote, or empty.
        duration: Seconds until the outcome.
        request_id: The request that was filed, decided or run, or empty.
        key: SHA-256 of the caller's idempotency key, or empty.
        approver: Who decided, or empty.
    """

    call_id: str
    at: float
    kind: str
    tool: str
    tool_version: str
    schema_digest: str
    principal: str
    issuer: str
    client: str
    surface: str
    outcome: str
    rule: str
    arguments_digest: str
    resources: tuple[str, ...]
    ignored: tuple[str, ...]
    repaired: tuple[str, ...]
    reference: str
    duration: float
    request_id: str
    key: str
    approver: str

    @property
    def columns(self) -> dict[str, str | float]:
        """The values that rows are found by."""
        return {
            "call_id": findable(self.call_id),
            "at": self.at,
            "tool": findable(self.tool),
            "principal": findable(self.principal),
            "client": findable(self.client),
            "surface": findable(self.surface),
            "outcome": findable(self.outcome),
        }

    def canonical(self, seq: int) -> bytes:
        """Return the exact bytes that are stored and hashed as row *seq*: sorted keys, UTF-8."""
        data: dict[str, Any] = dict(zip(_NAMES, _VALUES(self), strict=True))
        data["v"] = VERSION
        data["seq"] = seq
        return _JSON.encode(data).encode("utf-8", "backslashreplace")


def findable(value: Any) -> Any:
    """Return *value* as a column can hold it; the row's bytes hold it as it was.

    PostgreSQL takes no NUL in a text, and no database a lone surrogate.
    """
    if type(value) is str and ("\0" in value or not value.isascii()):
        return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
    return value


_NAMES: Final = tuple(one.name for one in fields(Record))
_VALUES: Final = attrgetter(*_NAMES)
_JSON: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
_TUPLES: Final = ("resources", "ignored", "repaired")


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it is kept.

    Attributes:
        seq: Its number in the chain, without gaps from 1.
        hash: Its hash, hexadecimal.
        record: What it says.
    """

    seq: int
    hash: str
    record: Record

    def __getattr__(self, name: str) -> Any:
        """Return a field of the record, so that ``row.outcome`` reads as it should."""
        if name in _NAMES:
            return getattr(self.record, name)
        raise AttributeError(name)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Row:
        """Return the row that *stored*, a row of the table, holds."""
        data = json.loads(stored["rec"])
        values: dict[str, Any] = {
            name: tuple(data[name]) if name in _TUPLES else data[name] for name in _NAMES
        }
        return cls(int(stored["seq"]), bytes(stored["hash"]).hex(), Record(**values))
