"""Freeze a call and file it as a request: what the path does where a person must agree."""

from __future__ import annotations

import inspect
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, cast

from remit.approvals.requests import bound_digest, canonical, filed
from remit.contract import Approval
from remit.outcome import Ok, Outcome, Refused, visible
from remit.permissions import answer
from remit.principal import Principal
from remit.store import Store

if TYPE_CHECKING:
    from remit.passage import Passage

__all__ = ["record_version", "request"]

MAX_SHOWN = 2000  # characters of an effect line; a longer one hides what it should show


async def request(passage: Passage, store: Store, *, most: int) -> Outcome:
    """Freeze *passage* and file it; the same call gets the request that waits already.

    Args:
        passage: The call, its arguments judged and its records loaded.
        store: Where it waits.
        most: How many requests of one principal may wait.

    Raises:
        StoreError: If it can't be filed.
    """
    row = await _row(passage)
    held = await store.commit(work=filed(row, now=passage.at, most=most))
    if held is None:
        text = f"{most} of your requests wait for a person already. Wait until some are decided."
        return Refused("rate_limited", text)
    passage.request_id = held["id"]
    moment = datetime.fromtimestamp(held["expires"], UTC).isoformat(timespec="seconds")
    data = {
        "status": "awaiting_approval",
        "request": held["digest"][:12],
        "expires_at": moment.replace("+00:00", "Z"),
        "next": "A person decides. Nothing has happened yet; do not call again for the same thing.",
    }
    # The id stays out of the model's text: it decides nothing, and nobody has to read it there.
    meta = {"call_id": passage.id, "request_id": held["id"]}
    return Ok(data, code="awaiting_approval", meta=meta)


async def _row(passage: Passage) -> dict[str, Any]:
    tool, approval = passage.tool, cast("Approval", passage.tool.approval)
    principal = cast("Principal", passage.principal)
    claims = dict(passage.claims or {})
    if type(principal).model_validate(claims) != principal:
        text = "the claims were changed while the call was on its way"
        raise RuntimeError(text)
    row: dict[str, Any] = {
        "id": f"req_{secrets.token_urlsafe(24)}",
        "tool": tool.name,
        "tool_version": tool.version,
        "schema_digest": tool.digest,
        "arguments": canonical(passage.arguments),
        "principal": json.dumps(claims, sort_keys=True, default=_as_list),
        "issuer": principal.issuer,
        "subject": principal.subject,
        "client": passage.client,
        "record_version": await record_version(approval, passage),
        "resources": json.dumps(passage.touched),
        "created": passage.at,
        "expires": passage.at + approval.expires.total_seconds(),
        "state": "waiting",
        "approvers": json.dumps(sorted(approval.approvers)),
        "nonce": secrets.token_hex(16),
        "shown": await _shown(approval, passage),
        "repeats": 0,
    }
    row["digest"] = bound_digest(row)
    return row


def _as_list(value: object) -> list[Any]:
    """Write a claim that Python code gave as a set; any other object is no claim."""
    if isinstance(value, set | frozenset | tuple):
        return sorted(cast("Iterable[str]", value))
    raise TypeError(f"a claim is a {type(value).__name__}, which no token carries")


async def record_version(approval: Approval, passage: Passage) -> str | None:
    """Return the version of the records that *passage* touches, or None where none is declared.

    Raises:
        TypeError: If the declared function gives something that doesn't stay the same when written.
    """
    if approval.version is None:
        return None
    records = {place.name: passage.values[place.name] for place in passage.tool.resources}
    said = await answer(approval.version, passage.call, **_fitting(approval.version, records))
    if said is not None and not isinstance(said, str | int | float | bytes | date):
        kind = type(said).__name__
        text = f"version of {passage.tool.name} gives a {kind}; give a text, number or time"
        raise TypeError(text)
    return repr(said)


async def _shown(approval: Approval, passage: Passage) -> str | None:
    if approval.show is None:
        return None
    said = await answer(approval.show, passage.call, **_fitting(approval.show, passage.values))
    text = visible(str(said))
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _fitting(function: Callable[..., Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of *named* that *function* asks for; the declaration has seen that all exist."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(named)
    return {name: value for name, value in named.items() if name in parameters}
