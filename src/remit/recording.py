"""From a finished call to its audit row; made where rows are written, not where callers wait."""

from __future__ import annotations

import json

from remit import idempotency
from remit.audit import Record
from remit.outcome import Outcome
from remit.passage import Passage

__all__ = ["record"]


def record(p: Passage, outcome: Outcome) -> Record:
    """Return the audit row of *p*, which ended in *outcome*: who, what, by which rule; no value."""
    tool, who, judged = p.known, p.principal, p.judged
    return Record(
        call_id=p.id,
        at=p.at,
        kind=p.kind,
        # A name that is no tool's may hold whatever a caller likes; *rule* has it, made visible.
        tool="" if tool is None else tool.name,
        tool_version="" if tool is None else tool.version,
        schema_digest="" if tool is None else tool.digest,
        principal="" if who is None else who.subject,
        issuer="" if who is None else who.issuer,
        client=p.client,
        surface=p.surface,
        outcome=outcome.code,
        rule=p.rule,
        arguments_digest=_digest(p.text),
        resources=p.touched,
        ignored=() if judged is None else judged.ignored + judged.hosted,
        repaired=() if judged is None else judged.repaired,
        reference=getattr(outcome, "reference", None) or "",
        duration=p.duration,
        request_id=p.request_id,
        key="" if p.key is None else idempotency.digest(p.key),
        approver=p.approver,
    )


def _digest(text: bytes | None) -> str:
    """Return the digest of *text*'s JSON value, key order aside; empty for what is no JSON."""
    if text is None:
        return ""
    try:
        return idempotency.digest(json.loads(text))
    except (ValueError, RecursionError):
        return ""
