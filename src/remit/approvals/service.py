"""File, decide, run: what the path, an operator and a worker do with a request.

Nothing here is reachable from a tool or from an agent's credential: `Approvals.decide` takes the
verified claims of a person, asks for a role, refuses the requester, and wants the digest that the
person saw. The frozen bytes run, never a copy that anyone sends again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from remit.approvals.filing import record_version, request
from remit.approvals.requests import (
    Decision,
    Request,
    bound_digest,
    canonical,
    found,
    listed,
    moved,
)
from remit.audit import Record
from remit.contract import Tool
from remit.outcome import Outcome, Refused, wire
from remit.principal import Principal
from remit.store import Store
from remit.store.tables import requests

if TYPE_CHECKING:
    from remit.passage import Passage

__all__ = ["Approvals", "Compare"]

MAX_WAITING: Final = 20  # requests of one principal; flooding an approver is an attack
LEASE: Final = 300.0  # seconds after which a run that said nothing more counts as broken off

Compare = Callable[["Passage"], Awaitable["Refused | None"]]
Execute = Callable[[Mapping[str, Any], Compare], Awaitable[Outcome]]


class Approvals:
    """The requests of one app.

    Args:
        store: Gives the app's store.
        tools: The app's tools by name.
        execute: Runs a request's frozen arguments through the path, as its requester.
        clock: Seconds since the epoch.
        max_waiting: How many requests of one principal may wait at once.
    """

    def __init__(
        self,
        *,
        store: Callable[[], Store],
        tools: Mapping[str, Tool],
        execute: Execute,
        clock: Callable[[], float] = time.time,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._store = store
        self._tools = tools
        self._execute = execute
        self._clock = clock
        self._max_waiting = max_waiting

    async def file(self, passage: Passage) -> Outcome:
        """Freeze *passage* and file it; the same call gets the request that waits already."""
        return await request(passage, self._store(), most=self._max_waiting)

    # What an operator does.

    async def waiting(self) -> list[Request]:
        """Return the requests that a person can decide now, oldest first."""
        rows = await self._store().read(
            listed(requests.c.state == "waiting", requests.c.expires > self._clock())
        )
        return [Request.of(row) for row in rows]

    async def all(self, *, limit: int = 1000) -> list[Request]:
        """Return requests in every state, oldest first."""
        return [Request.of(row) for row in await self._store().read(listed(limit=limit))]

    async def get(self, request_id: str) -> Request:
        """Return one request.

        Raises:
            Refused: ``not_found``.
        """
        row = await self._store().read(found(request_id))
        if row is None:
            raise _no_request()
        return Request.of(row)

    async def decide(
        self,
        request_id: str,
        decision: Decision | str,
        *,
        approver: Mapping[str, Any],
        digest: str,
        reason: str = "",
        run: bool = True,
    ) -> Request:
        """Record a person's decision, and run what was approved.

        Args:
            request_id: Which request.
            decision: `Decision.APPROVE` or `Decision.DENY`, or exactly their text; nothing else
                decides.
            approver: The person's verified claims, from the approvers' own sign-in.
            digest: The digest that the person was shown, in full.
            reason: What the person says; the requester's agent gets it with a denial.
            run: False leaves the run to the serving process.

        Returns:
            The request as it is after that.

        Raises:
            Refused: ``invalid_decision``, ``unauthenticated``, ``forbidden``, ``not_found``,
                ``conflict`` if it was decided, has expired or is not what the person saw.
        """
        said = _decision(decision)
        person = _person(approver)
        row = await self._store().read(found(_text(request_id)))
        if row is None:
            raise _no_request()
        now = self._clock()
        if refusal := self._may_decide(row, person, digest, now):
            await self._note(
                row,
                "decision",
                refusal.code,
                approver=person.subject,
                rule=refusal.message,
                now=now,
            )
            raise refusal
        target = "approved" if said is Decision.APPROVE else "denied"
        record = self._record(row, "decision", target, approver=person.subject, now=now)
        move = moved(
            request_id,
            source="waiting",
            target=target,
            unexpired_at=now,
            decided=now,
            reason=reason[:500] or None,
            decided_by=json.dumps(
                {"subject": person.subject, "issuer": person.issuer, "roles": sorted(person.roles)}
            ),
        )
        try:
            await self._store().commit([record], _must(move))
        except _Lost:
            raise _decided_already() from None
        if target == "approved" and run:
            await self.run(request_id)
        return await self.get(request_id)

    async def cancel(self, request_id: str, *, requester: Mapping[str, Any]) -> Request:
        """Withdraw a waiting request as the one who filed it.

        Raises:
            Refused: ``not_found`` for another's request, ``conflict`` if it no longer waits.
        """
        person = _person(requester)
        row = await self._store().read(found(request_id))
        if row is None or (row["issuer"], row["subject"]) != (person.issuer, person.subject):
            raise _no_request()
        record = self._record(row, "decision", "cancelled", approver="", now=self._clock())
        try:
            await self._store().commit(
                [record], _must(moved(request_id, source="waiting", target="cancelled"))
            )
        except _Lost:
            raise _decided_already() from None
        return await self.get(request_id)

    def _may_decide(
        self, row: Mapping[str, Any], person: Principal, digest: str, now: float
    ) -> Refused | None:
        """Return why *person* can't decide *row* having seen *digest*, or None."""
        roles = frozenset(cast("list[str]", json.loads(row["approvers"])))
        tool = self._tools.get(row["tool"])
        if not roles & person.roles:
            return Refused(
                "forbidden", f"Deciding this needs one of the roles {', '.join(sorted(roles))}."
            )
        # Whose issuer is unknown may be anyone's namesake: the requester must not pass for two.
        known = row["issuer"] and person.issuer
        own = row["subject"] == person.subject and (not known or row["issuer"] == person.issuer)
        if own and not (
            tool is not None and tool.approval is not None and tool.approval.self_approval
        ):
            text = "You asked for this yourself; another person has to decide."
            return Refused("forbidden", text)
        if not secrets.compare_digest(_text(digest).encode(), row["digest"].encode()):
            text = "This is not the request you were shown. Look again; give its whole digest."
            return Refused("conflict", text)
        if row["state"] != "waiting":
            return _decided_already()
        if row["expires"] <= now:
            return Refused("conflict", "The request has expired; it has to be made again.")
        return None

    # Running.

    async def run(self, request_id: str) -> Outcome | None:
        """Run one approved request, once; None if it isn't there to be run."""
        token = secrets.token_hex(16)
        now = self._clock()
        waiting = await self._store().read(found(request_id))
        tool = None if waiting is None else self._tools.get(waiting["tool"])
        # Loading and running each have the tool's own time.
        lease = now + LEASE + (2 * tool.timeout if tool is not None else 0.0)
        claimed = await self._store().commit(
            work=moved(
                request_id, source="approved", target="running", run_token=token, lease=lease
            )
        )
        if not claimed:
            return None
        row = cast("dict[str, Any]", await self._store().read(found(request_id)))

        async def compare(passage: Passage) -> Refused | None:
            return await self._moved_since(row, passage)

        outcome = await self._execute(row, compare)
        target = "done" if outcome.ok else _ended(outcome)
        await self._store().commit(
            work=moved(
                request_id,
                source="running",
                target=target,
                token=token,
                outcome=json.dumps(wire(outcome)),
                finished=self._clock(),
            )
        )
        return outcome

    async def _moved_since(self, row: Mapping[str, Any], passage: Passage) -> Refused | None:
        """Compare again what the decision bound, just before the run (law L7)."""
        tool = passage.tool
        if row["expires"] <= self._clock():
            passage.rule = "the request expired"
            return Refused("superseded", "The request expired before it could be run.")
        changed = "What was approved has changed since; it has to be asked for again."
        superseded = Refused("superseded", changed)
        if (tool.version, tool.digest) != (
            row["tool_version"],
            row["schema_digest"],
        ) or tool.approval is None:
            passage.rule = "the tool changed"
            return superseded
        if bound_digest(row) != row["digest"] or canonical(passage.arguments) != row["arguments"]:
            passage.rule = "the request changed"
            return superseded
        if await record_version(tool.approval, passage) != row["record_version"]:
            passage.rule = "the record changed"
            return superseded
        decider = json.loads(row["decided_by"])
        if not frozenset(cast("list[str]", decider["roles"])) & tool.approval.approvers:
            passage.rule = "the approver's role no longer decides"
            return superseded
        return None

    async def sweep(self) -> int:
        """End what time has ended and run what was approved elsewhere; returns how much there was.

        A run whose lease has lapsed is *unknown*, never run again: it may have done its work.
        """
        now, count = self._clock(), 0
        state, expires, lease = requests.c.state, requests.c.expires, requests.c.lease
        late = await self._store().read(listed((state == "waiting") & (expires <= now)))
        lost = await self._store().read(listed((state == "running") & (lease <= now)))
        for rows, kind, source, target in (
            (late, "expiry", "waiting", "expired"),
            (lost, "run", "running", "unknown"),
        ):
            for row in rows:
                code = "outcome_unknown" if target == "unknown" else target
                record = self._record(row, kind, code, approver="", now=now)
                try:
                    await self._store().commit(
                        [record],
                        _must(moved(row["id"], source=source, target=target, finished=now)),
                    )
                except _Lost:
                    continue
                count += 1
        for row in await self._store().read(listed(state == "approved")):
            count += await self.run(row["id"]) is not None
        return count

    # Records.

    async def _note(
        self,
        row: Mapping[str, Any],
        kind: str,
        outcome: str,
        *,
        approver: str,
        rule: str,
        now: float,
    ) -> None:
        await self._store().commit(
            [self._record(row, kind, outcome, approver=approver, now=now, rule=rule)]
        )

    def _record(
        self,
        row: Mapping[str, Any],
        kind: str,
        outcome: str,
        *,
        approver: str,
        now: float,
        rule: str = "",
    ) -> Record:
        return Record(
            call_id=secrets.token_hex(16),
            at=now,
            kind=kind,
            tool=row["tool"],
            tool_version=row["tool_version"],
            schema_digest=row["schema_digest"],
            principal=row["subject"],
            issuer=row["issuer"],
            client=row["client"],
            surface="approvals",
            outcome=outcome,
            rule=f"{rule}; digest {row['digest']}".lstrip("; "),
            arguments_digest=hashlib.sha256(row["arguments"]).hexdigest(),
            resources=tuple(json.loads(row["resources"])),
            ignored=(),
            repaired=(),
            reference="",
            duration=0.0,
            request_id=row["id"],
            key="",
            approver=approver,
        )


class _Lost(Exception):
    """Somebody else moved the request first."""


def _must(move: Callable[[Any], bool]) -> Callable[[Any], None]:
    """Return *move* as work whose audit row is not written if it moved nothing."""

    def work(connection: Any) -> None:
        if not move(connection):
            raise _Lost

    return work


def _ended(outcome: Outcome) -> str:
    return {"outcome_unknown": "unknown", "superseded": "superseded"}.get(outcome.code, "failed")


def _decision(said: object) -> Decision:
    """Return the decision that *said* is; a yes-like value is none (OWASP ASI09)."""
    if isinstance(said, Decision):
        return said
    if type(said) is str and said in ("approve", "deny"):
        return Decision(said)
    raise Refused(
        "invalid_decision", "A decision is exactly 'approve' or 'deny'; nothing was decided."
    )


def _person(claims: object) -> Principal:
    try:
        return Principal.model_validate(claims)
    except ValidationError:
        raise Refused("unauthenticated", "Sign in: deciding needs a verified identity.") from None


def _text(value: object) -> str:
    """Return *value* if it is a text, else the empty one, which names no request and fits none."""
    return value if isinstance(value, str) else ""


def _no_request() -> Refused:
    return Refused("not_found", "There is no such request.")


def _decided_already() -> Refused:
    return Refused("conflict", "The request has been decided already or no longer waits.")
