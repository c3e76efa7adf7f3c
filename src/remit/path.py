"""The only way from a request to a tool's code.

`STAGES` is the path, in order. A stage passes on by returning None or ends the call with an
outcome; every outcome, whatever ended it, reaches *record* before it leaves (law L10). Surfaces
come in through `Path.walk` and decide nothing; an approved request takes the same stages.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from remit import failure, idempotency
from remit.arguments import encode
from remit.call import Call, Link
from remit.contract import Tool
from remit.limits import Limits
from remit.outcome import MAX_NAME, Ask, Issue, Ok, Outcome, Refused, visible
from remit.passage import Event, Passage
from remit.permissions import Missing, Permission, permission, scope_permission, unknown_tool
from remit.principal import Principal
from remit.projection import ResultError
from remit.recording import record
from remit.resources import NotThere, loaded
from remit.running import Overdue, returned
from remit.store import Store, StoreError

if TYPE_CHECKING:
    from remit.approvals import Approvals, Compare

__all__ = ["RUN_STAGES", "STAGES", "Path", "Stage"]

MAX_ARGUMENT_BYTES: Final = 1024 * 1024  # largest real arguments in public tool calls: 9 KiB

_ALONE: Final = Link()
_ENDS: Final = (Ok, Refused)  # a union would be made anew at every stage
_log = logging.getLogger("remit")


Stage = Callable[["Path", Passage], "Outcome | Awaitable[Outcome | None] | None"]
"""Passes on by returning None; a stage that may wait returns an awaitable of the same."""


class Path:
    """The path of one app: its tools, its store, and the stages between a request and them.

    Args:
        tools: The app's tools by name; those declared later are seen too.
        principal: What is read from a caller's verified claims.
        store: Gives the app's store.
        approvals: Gives the app's requests.
        limits: The app's call windows.
        clock: Seconds since the epoch.
        missing: What a caller who lacks a scope is told.
        before: Hooks to ask before a call is judged.
        after: Hooks to tell of every outcome.
        max_argument_bytes: The most bytes of one call's arguments as JSON.
    """

    def __init__(  # noqa: PLR0913 - one app's surroundings, each named where the app makes its path
        self,
        *,
        tools: Mapping[str, Tool],
        principal: type[Principal],
        store: Callable[[], Store],
        approvals: Callable[[], Approvals],
        limits: Limits,
        clock: Callable[[], float],
        missing: Missing,
        before: Sequence[Callable[[Event], Any]],
        after: Sequence[Callable[[Event], Any]],
        max_argument_bytes: int = MAX_ARGUMENT_BYTES,
    ) -> None:
        self._tools = tools
        self._principal = principal.__pydantic_validator__
        self._store = store
        self._approvals = approvals
        self._limits = limits
        self._clock = clock
        self._missing: Missing = missing
        self._before = before
        self._after = after
        self._max_argument_bytes = max_argument_bytes
        self._threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="remit-tool")

    async def walk(
        self, passage: Passage, stages: Sequence[tuple[str, Stage]] | None = None
    ) -> Outcome:
        """Take *passage* through the stages and return its outcome, on record.

        Raises:
            asyncio.CancelledError: If the caller was cancelled; that is on record too.
        """
        outcome: Outcome | None = None
        try:
            for _, stage in STAGES if stages is None else stages:
                said = stage(self, passage)
                if said is None:
                    continue
                outcome = said if isinstance(said, _ENDS) else await said
                if outcome is not None:
                    break
            else:
                outcome = failure.failed(passage, RuntimeError("the path ended without an outcome"))
        except BaseException as error:  # noqa: BLE001 - SystemExit in a tool ends its own call alone
            outcome = await self._ended(passage, error)
        return await self._recorded(passage, outcome)

    async def _ended(self, p: Passage, error: BaseException) -> Outcome:
        """Return the outcome that *error* is, or record the call and let out what is not its own.

        Raises:
            BaseException: A real cancellation, an interrupt, or the call's own teardown.
        """
        if isinstance(error, Refused):
            return error
        if isinstance(error, GeneratorExit):
            raise error  # the call is torn down: nothing can be awaited any more
        if isinstance(error, asyncio.CancelledError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                await self._record_apart(p, failure.cancelled(p))
                raise error
            return failure.failed(p, None)
        if isinstance(error, StoreError):
            return failure.no_store(p, error)
        outcome = failure.failed(p, error)
        if isinstance(error, KeyboardInterrupt):
            await self._record_apart(p, outcome)
            raise error
        return outcome

    async def approved(self, row: Mapping[str, Any], compare: Compare, *, deps: Any) -> Outcome:
        """Run an approved request's frozen arguments, as the one who asked (law L7).

        Args:
            row: The request as it is stored.
            compare: Says why it may no longer run, once its records are loaded; None lets it.
            deps: What the app's lifespan gave.
        """
        passage = Passage(
            row["tool"],
            row["arguments"],
            json.loads(row["principal"]),
            surface="approvals",
            deps=deps,
            at=self._clock(),
            client=row["client"],
        )
        passage.kind, passage.request_id = "run", row["id"]
        passage.approver, passage.text = json.loads(row["decided_by"])["subject"], row["arguments"]
        stages: list[tuple[str, Stage]] = []
        for name, stage in RUN_STAGES:
            if name == "load":
                # Durable before the records are read: nothing waits between reading and running.
                stages.append(("intend", lambda path, p: path._intend(p)))  # noqa: SLF001 - its own
            if name == "run":
                stages.append(("compare", lambda _, p: compare(p)))
            stages.append((name, stage))
        return await self.walk(passage, stages)

    # The stages, in the order of the path.

    def identify(self, p: Passage) -> Outcome | Awaitable[Outcome | None] | None:
        """Read the principal from claims that were verified for this very call (law L4)."""
        if p.claims is not None:
            p.claims = dict(p.claims)  # whoever gave them may go on using them
            try:
                p.principal = principal = self._principal.validate_python(p.claims)
            except ValidationError as error:
                found = error.errors(include_input=False, include_url=False)
                names = sorted({str(one["loc"][0]) for one in found if one["loc"]})
                p.rule = "claims:" + ",".join(names)
                return Refused("unauthenticated", "Sign in: this call carries no valid identity.")
            p.client = principal.client or p.client
        return self._announced(p) if self._before else None

    async def _announced(self, p: Passage) -> None:
        for hook in self._before:
            told = hook(p.event())
            if inspect.isawaitable(told):
                await told

    def find(self, p: Passage) -> Outcome | Awaitable[Outcome | None] | None:
        """Look the tool up by its exact name, and ask whether this principal may know of it."""
        tool = self._tools.get(p.name) if type(p.name) is str else None
        if p.principal is None and (tool is None or not tool.public):
            p.rule = "no principal"
            return Refused("unauthenticated", "Sign in: this call carries no valid identity.")
        if tool is None:
            p.rule = f"no tool {visible(str(p.name))[:MAX_NAME]!r}"
            return unknown_tool(p.name)
        p.known = p.tool = tool
        p.call = Call(
            p.principal, p.deps, p.id, tool.name, p.surface, p.client, p.key, p.link or _ALONE
        )
        if tool.require is not None:
            return self._ruled(p)
        return self._listed(p, scope_permission(tool, p.principal, self._missing))

    async def _ruled(self, p: Passage) -> Outcome | None:
        return self._listed(p, await permission(p.tool, p.call, self._missing))

    def _listed(self, p: Passage, decided: Permission) -> Outcome | None:
        """Answer as for no such tool, before anything of this one shows: its size, its rate."""
        p.decided = decided
        p.rule = decided.rule
        return None if decided.listed else decided.refusal

    def permit(self, p: Passage) -> Outcome | None:
        """Hold the caller to the one decision, which the list is made by too."""
        return None if p.decided.allowed else p.decided.refusal or unknown_tool(p.name)

    def admit(self, p: Passage) -> Outcome | None:
        """Hold the request to its size and the caller to its rate."""
        raw = p.raw
        if raw is None:
            raw = p.raw = dict[str, Any]()
        if type(raw) is dict or isinstance(raw, Mapping | str | bytes):
            p.text = encode(p.raw)
        if p.text is not None and len(p.text) > self._max_argument_bytes:
            text = f"The arguments have more than {self._max_argument_bytes} bytes. Send less."
            return Refused("too_large", text, issues=[Issue("(root)", "too_large")])
        if p.key is not None and p.principal is None:
            text = "An idempotency key is somebody's own: sign in, or call without one."
            issue = Issue("(idempotency key)", "unauthenticated")
            return Refused("invalid_arguments", text, issues=[issue])
        if p.key is not None and not idempotency.is_key(p.key):
            text = f"An idempotency key has 1 to {idempotency.MAX_KEY} printable ASCII characters."
            issue = Issue("(idempotency key)", "string_type")
            return Refused("invalid_arguments", text, issues=[issue])
        if p.tool.limit is None:
            return None
        return self._limits.check(p.tool, p.principal)

    def parse(self, p: Passage) -> Outcome | None:
        """Let the contract's own parser judge the raw arguments, once (law L2)."""
        try:
            p.judged = p.parsed = p.tool.parser.parse(p.raw, p.text)
        except Refused as refused:
            p.rule = "; ".join(f"{issue.path} {issue.code}" for issue in refused.issues)
            raise
        p.values = p.parsed.values
        return None

    def load(self, p: Passage) -> Awaitable[Outcome | None] | None:
        """Load each record and ask its rule (law L5)."""
        return self._loaded(p) if p.tool.resources else None

    async def _loaded(self, p: Passage) -> Outcome | None:
        span = asyncio.timeout(p.tool.timeout)
        try:
            async with span:
                p.values, p.touched = await loaded(p.tool, p.call, p.values)
        except NotThere as gone:
            p.rule = gone.rule
            return gone.refusal
        except TimeoutError as error:
            if not span.expired():
                return failure.failed(p, error)
            text = (
                f"Loading a record took longer than {p.tool.timeout:g} seconds. Nothing was done."
            )
            return Refused("timeout", text)
        return None

    def replay(self, p: Passage) -> Awaitable[Outcome | None] | None:
        """Return the first outcome under the caller's key, or take the key for this call."""
        return None if p.key is None or p.tool.effect == "read" else self._intend(p)

    def request(self, p: Passage) -> Awaitable[Outcome | None] | None:
        """File a request where a person must agree (law L6); the tool's code is not reached."""
        return None if p.tool.approval is None else self._approvals().file(p)

    async def run(self, p: Passage) -> Outcome | None:
        """Run the tool's code, at most for as long as it declared."""
        tool = p.tool
        if tool.effect != "read" and not p.intended:
            await self._intend(p)  # durable before the effect; failing refuses the call
        given = p.given()
        p.began = True
        try:
            p.returned = await returned(
                tool._function,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that reaches it
                given,
                seconds=tool.timeout,
                is_async=tool.is_async,
                inline=tool.inline,
                threads=self._threads,
            )
        except Overdue:
            return failure.late(p)
        except Exception as error:
            for kind, answer in tool.errors.items():
                if isinstance(error, kind):
                    return Refused(answer.code, answer.message)
            raise
        return None

    def project(self, p: Passage) -> Outcome:
        """Let only what was declared leave, bounded (law L9)."""
        try:
            data, notice = p.tool.projection.project(p.returned)
        except ResultError as error:
            return failure.unreturned(p, error)
        except Refused as refused:
            return failure.unshown(p, refused)
        return Ok(data, "ok", bool(notice), p.parsed.ignored, {"call_id": p.id}, notice)

    # What the stages need.

    async def _intend(self, p: Passage) -> Outcome | None:
        made = ""
        if p.key is not None:
            # As sent, or as it will be used: a default that was left out is the same call.
            made = f"{idempotency.digest(p.parsed.raw)}.{idempotency.digest(p.arguments)}"
        intent = idempotency.Intent(p.id, p.tool.name, p.principal, p.client, p.key, made, p.at)
        p.intended = True  # before the commit: a call cancelled in it must still be closed
        held = await self._store().commit(work=idempotency.claim(intent))
        if held is None:
            return None
        p.intended = False
        p.rule = f"replay of {held['id']}"
        return idempotency.replayed(held, made)

    # Record: the last stage, which no outcome goes around.

    async def _recorded(self, p: Passage, outcome: Outcome) -> Outcome:
        p.duration = time.perf_counter() - p.begun
        try:
            await self._store().commit([lambda: record(p, outcome)], self._closing(p, outcome))
        except StoreError as error:
            outcome = failure.no_store(p, error)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not let an outcome out unrecorded
            outcome = failure.failed(p, error)
        if isinstance(outcome, Refused):
            outcome = outcome.about(p.id)
        for hook in self._after:
            try:
                told = hook(p.event(outcome))
                if inspect.isawaitable(told):
                    await told
            except BaseException as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                    raise
                _log.exception("an after_call hook failed; reference %s", p.id)
        return outcome

    async def _record_apart(self, p: Passage, outcome: Outcome) -> None:
        """Record in a task of its own: the cancelled one must not lose its row."""
        task = asyncio.ensure_future(self._recorded(p, outcome))
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                continue

    def _closing(self, p: Passage, outcome: Outcome) -> idempotency.Work | None:
        """Return what closes the call's intent together with its row, if it made one."""
        if not p.intended:
            return None
        # Nothing was done yet, so that nothing may hold the key: not even a cancellation.
        # After a deadline or a cancellation a tool declared idempotent may run again under its key.
        again = outcome.code in ("timeout", "cancelled")
        if isinstance(outcome, Ask) or (not p.began and isinstance(outcome, Refused)) or again:
            return idempotency.release(p.id)
        return idempotency.finish(p.id, outcome, at=self._clock(), keep=p.key is not None)


STAGES: Final[Sequence[tuple[str, Stage]]] = (
    ("identify", Path.identify),
    ("find", Path.find),
    ("admit", Path.admit),
    ("permit", Path.permit),
    ("parse", Path.parse),
    ("load", Path.load),
    ("replay", Path.replay),
    ("request", Path.request),
    ("run", Path.run),
    ("project", Path.project),
)
"""The one path. *record* follows whatever ends it, and so stands in `Path.walk`, not here."""

RUN_STAGES: Final[Sequence[tuple[str, Stage]]] = tuple(
    (name, stage) for name, stage in STAGES if name not in ("admit", "replay", "request")
)
"""What an approved request goes through: everything that decides, once more, then the code."""
