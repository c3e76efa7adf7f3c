"""The only way from a request to a tool's code.

`STAGES` is the path, in order. A stage passes on by returning None or ends the call with an outcome;
every outcome, whatever ended it, reaches *record* before it leaves (law L10). Surfaces come in
through `Path.walk` and decide nothing; an approved request comes in through the same stages.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from remit import idempotency
from remit.arguments import Parsed, encode
from remit.audit import Record
from remit.call import Call, Progress
from remit.contract import Tool
from remit.limits import Limits
from remit.outcome import MAX_NAME, Ask, Issue, Ok, Outcome, Refused, visible
from remit.permissions import Missing, permission, unknown_tool
from remit.principal import Principal
from remit.projection import ResultError
from remit.resources import NotThere, loaded
from remit.store import Store, StoreError

if TYPE_CHECKING:
    from remit.approvals import Approvals

__all__ = ["RUN_STAGES", "STAGES", "Event", "Passage", "Path"]

MAX_ARGUMENT_BYTES: Final = 1024 * 1024  # largest real arguments in public tool calls: 9 KiB

_log = logging.getLogger("remit")


@dataclass(frozen=True, slots=True)
class Event:
    """What a hook is told of a call: never a value.

    Attributes:
        call_id: The id in the call's audit row.
        tool: The name that was called.
        surface: Through which surface.
        principal: On whose behalf, or None.
        outcome: What it ended in; None before the call.
        duration: Seconds until then.
    """

    call_id: str
    tool: str
    surface: str
    principal: Principal | None
    outcome: Outcome | None = None
    duration: float = 0.0


@dataclass(slots=True)
class Passage:
    """One call on its way: what came in, and what each stage found."""

    name: str
    raw: Any
    claims: Mapping[str, Any] | None
    surface: str
    client: str
    key: str | None
    report: Progress | None
    answers: Mapping[str, Any]
    state: Any
    can_ask: frozenset[str]
    deps: Any
    at: float
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    begun: float = field(default_factory=time.perf_counter)
    kind: str = "call"
    principal: Principal | None = None
    tool: Tool | None = None
    call: Call[Any, Any] | None = None
    text: bytes | None = None
    parsed: Parsed | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    touched: tuple[str, ...] = ()
    rule: str = ""
    intended: bool = False
    began: bool = False
    returned: Any = None
    request_id: str = ""
    approver: str = ""

    @property
    def declared(self) -> Tool:
        """The tool, once *find* has found it."""
        return cast("Tool", self.tool)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they will be used, once *parse* has passed them, as JSON by callers' keys."""
        return self.declared.frozen(cast("Parsed", self.parsed))


Stage = Callable[["Path", Passage], Awaitable["Outcome | None"]]


class Path:
    """The path of one app: its tools, its store, and the stages between a request and them."""

    def __init__(
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
        self._principal = principal
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
                outcome = await stage(self, passage)
                if outcome is not None:
                    break
            else:
                outcome = self._failed(passage, RuntimeError("the path ended without an outcome"))
        except Refused as refused:
            outcome = refused
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                await self._record_apart(passage, self._cancelled(passage))
                raise
            outcome = self._failed(passage, None)
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except StoreError as error:
            outcome = self._no_store(passage, error)
        except BaseException as error:  # noqa: BLE001 - SystemExit of a handler ends its own call alone
            outcome = self._failed(passage, error)
        return await self._recorded(passage, outcome)

    # The stages, in the order of the path. -----------------------------------------------------------

    async def identify(self, p: Passage) -> Outcome | None:
        """Read the principal from claims that were verified for this very call (law L4)."""
        if p.claims is not None:
            try:
                p.principal = self._principal.model_validate(p.claims)
            except ValidationError as error:
                names = sorted(
                    {
                        str(e["loc"][0])
                        for e in error.errors(include_input=False, include_url=False)
                        if e["loc"]
                    }
                )
                p.rule = "claims:" + ",".join(names)
                return Refused("unauthenticated", "Sign in: this call carries no valid identity.")
            p.client = p.principal.client or p.client
        for hook in self._before:
            told = hook(Event(p.id, p.name, p.surface, p.principal))
            if inspect.isawaitable(told):
                await told
        return None

    async def find(self, p: Passage) -> Outcome | None:
        """Look the tool up by its exact name."""
        tool = self._tools.get(p.name) if type(p.name) is str else None
        if p.principal is None and (tool is None or not tool.public):
            p.rule = "no principal"
            return Refused("unauthenticated", "Sign in: this call carries no valid identity.")
        if tool is None:
            p.rule = f"no tool {visible(str(p.name))[:MAX_NAME]!r}"
            return unknown_tool(p.name)
        p.tool = tool
        p.call = Call(
            principal=p.principal,
            deps=p.deps,
            id=p.id,
            tool=tool.name,
            surface=p.surface,
            client=p.client,
            log=logging.LoggerAdapter(_log, {"call_id": p.id, "tool": tool.name}),
            idempotency_key=p.key,
            answers=p.answers,
            state=p.state,
            can_ask=p.can_ask,
            **({"report": p.report} if p.report is not None else {}),
        )
        return None

    async def permit(self, p: Passage) -> Outcome | None:
        """Ask the one decision function, which the list asks too."""
        decided = await permission(p.declared, cast("Call[Any, Any]", p.call), self._missing)
        if decided.allowed:
            return None
        p.rule = decided.rule
        if decided.refusal is not None and decided.refusal.code == "unknown_tool":
            return decided.refusal
        return decided.refusal or unknown_tool(p.name)

    async def admit(self, p: Passage) -> Outcome | None:
        """Hold the request to its size and the caller to its rate."""
        if p.raw is None:
            p.raw = {}
        if isinstance(p.raw, Mapping | str | bytes):
            p.text = encode(cast("Any", p.raw))
        if p.text is not None and len(p.text) > self._max_argument_bytes:
            text = f"The arguments have more than {self._max_argument_bytes} bytes. Send less."
            return Refused("too_large", text, issues=[Issue("(root)", "too_large")])
        if p.key is not None and not (type(p.key) is str and 0 < len(p.key) <= idempotency.MAX_KEY):
            text = f"An idempotency key is a text of 1 to {idempotency.MAX_KEY} characters."
            return Refused(
                "invalid_arguments", text, issues=[Issue("(idempotency key)", "string_type")]
            )
        return self._limits.check(p.declared, p.principal)

    async def parse(self, p: Passage) -> Outcome | None:
        """Let the contract's own parser judge the raw arguments, once (law L2)."""
        p.parsed = p.declared.parser.parse(p.raw, p.text)
        p.values = p.parsed.values
        return None

    async def load(self, p: Passage) -> Outcome | None:
        """Load each record and ask its rule (law L5)."""
        if p.declared.resources:
            try:
                p.values, p.touched = await loaded(
                    p.declared, cast("Call[Any, Any]", p.call), p.values
                )
            except NotThere as gone:
                p.rule = gone.rule
                return gone.refusal
        return None

    async def replay(self, p: Passage) -> Outcome | None:
        """Return the first outcome under the caller's key, or take the key for this call."""
        if p.key is None or p.declared.effect == "read":
            return None
        return await self._intend(p)

    async def request(self, p: Passage) -> Outcome | None:
        """File a request where a person must agree (law L6); the tool's code is not reached."""
        if p.declared.approval is None:
            return None
        return await self._approvals().file(p)

    async def run(self, p: Passage) -> Outcome | None:
        """Run the tool's code, at most for as long as it declared."""
        tool = p.declared
        if tool.effect != "read" and not p.intended:
            await self._intend(p)  # durable before the effect; failing refuses the call
        given = dict(p.values)
        if tool.call_parameter:
            given[tool.call_parameter] = p.call
        p.began = True
        try:
            async with asyncio.timeout(tool.timeout) as span:
                returned = await self._code(tool, given)
        except TimeoutError as error:
            if not span.expired():
                return self._failed(p, error)
            return self._late(p)
        except Exception as error:
            for kind, answer in tool.errors.items():
                if isinstance(error, kind):
                    return Refused(answer.code, answer.message)
            raise
        p.returned = returned
        return None

    async def project(self, p: Passage) -> Outcome | None:
        """Let only what was declared leave, bounded (law L9)."""
        try:
            data, cut = p.declared.projection.project(p.returned)
        except ResultError as error:
            return self._failed(p, error)
        ignored = cast("Parsed", p.parsed).ignored
        return Ok(data, more=cut, ignored=ignored, meta={"call_id": p.id})

    # What the stages need. ---------------------------------------------------------------------------

    async def _code(self, tool: Tool, given: dict[str, Any]) -> Any:
        function = tool._function  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the one place that reaches it
        if tool.is_async:
            return await function(**given)
        if tool.inline:
            returned = function(**given)
        else:
            context = contextvars.copy_context()

            def guarded() -> tuple[bool, Any]:
                # Not through the future: it can't carry StopIteration, and SystemExit would end the worker.
                try:
                    return True, context.run(function, **given)
                except BaseException as error:  # noqa: BLE001
                    return False, error

            loop = asyncio.get_running_loop()
            fine, returned = await loop.run_in_executor(self._threads, guarded)
            if not fine:
                raise returned
        return await returned if inspect.isawaitable(returned) else returned

    async def _intend(self, p: Passage) -> Outcome | None:
        made = idempotency.digest(p.arguments) if p.key is not None else ""
        intent = idempotency.Intent(p.id, p.declared.name, p.principal, p.client, p.key, made, p.at)
        p.intended = True  # before the commit: a call cancelled in it must still be closed
        held = await self._store().commit(work=idempotency.claim(intent))
        if held is None:
            return None
        p.intended = False
        p.rule = f"replay of {held['id']}"
        return idempotency.replayed(held, made)

    def _late(self, p: Passage) -> Refused:
        tool = p.declared
        _log.warning("tool %s took longer than %s s; reference %s", tool.name, tool.timeout, p.id)
        if tool.effect == "read" or tool.idempotent:
            return Refused(
                "timeout",
                f"{tool.name} took longer than {tool.timeout:g} seconds and was stopped. Repeating it is safe.",
            )
        return self._unknown(p, f"{tool.name} took longer than {tool.timeout:g} seconds")

    def _unknown(self, p: Passage, what: str) -> Refused:
        text = (
            f"{what}; whether it took effect is unknown. Do not repeat it: check first, "
            f"or give a person the reference {p.id}."
        )
        return Refused("outcome_unknown", text, reference=p.id)

    def _cancelled(self, p: Passage) -> Refused:
        if p.began and p.tool is not None and p.tool.effect != "read" and not p.tool.idempotent:
            return self._unknown(p, "The call was cancelled while it ran")
        return Refused("cancelled", "The caller cancelled the call.")

    def _failed(self, p: Passage, error: BaseException | None) -> Refused:
        """Log what happened under a reference; that reference is all that leaves (law L8)."""
        _log.error(
            "tool %s failed; reference %s",
            p.name if p.tool else "(unknown)",
            p.id,
            exc_info=error,
            extra={"call_id": p.id},
        )
        text = f"The operation failed inside the server. Do not retry automatically; tell the user to quote reference {p.id}."
        return Refused("internal", text, reference=p.id)

    def _no_store(self, p: Passage, error: StoreError) -> Refused:
        _log.error(
            "tool %s: the store refuses; reference %s",
            p.name if p.tool else "(unknown)",
            p.id,
            exc_info=error,
        )
        if p.began and p.tool is not None and p.tool.effect != "read":
            return self._unknown(p, "The outcome could not be written down")
        text = f"The server can't write its record, so the call was not made. Try later; reference {p.id}."
        return Refused("store_unavailable", text, reference=p.id)

    # Record: the last stage, which no outcome goes around. -------------------------------------------

    async def _recorded(self, p: Passage, outcome: Outcome) -> Outcome:
        try:
            await self._record(p, outcome)
        except StoreError as error:
            outcome = self._no_store(p, error)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must not let an outcome out unrecorded
            outcome = self._failed(p, error)
        for hook in self._after:
            try:
                told = hook(
                    Event(
                        p.id, p.name, p.surface, p.principal, outcome, time.perf_counter() - p.begun
                    )
                )
                if inspect.isawaitable(told):
                    await told
            except Exception:
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

    async def _record(self, p: Passage, outcome: Outcome) -> None:
        work = None
        if p.intended:
            # Nothing was done yet, so that nothing may hold the key: not even a cancellation.
            if isinstance(outcome, Ask) or (not p.began and isinstance(outcome, Refused)):
                work = idempotency.release(p.id)
            else:
                work = idempotency.finish(p.id, outcome, at=self._clock(), keep=p.key is not None)
        await self._store().commit([self._row(p, outcome)], work)

    def _row(self, p: Passage, outcome: Outcome) -> Record:
        tool, who, parsed = p.tool, p.principal, p.parsed
        return Record(
            call_id=p.id,
            at=p.at,
            kind=p.kind,
            # A name that is no tool's may hold anything that a caller likes.
            tool=tool.name if tool is not None else "",
            tool_version=tool.version if tool is not None else "",
            schema_digest=tool.digest if tool is not None else "",
            principal=who.subject if who is not None else "",
            issuer=who.issuer if who is not None else "",
            client=p.client,
            surface=p.surface,
            outcome=outcome.code,
            rule=p.rule,
            arguments_digest=_digest(p),
            resources=p.touched,
            ignored=() if parsed is None else parsed.ignored + parsed.hosted,
            repaired=() if parsed is None else parsed.repaired,
            reference=getattr(outcome, "reference", None) or "",
            duration=time.perf_counter() - p.begun,
            request_id=p.request_id,
            key="" if p.key is None else idempotency.digest(p.key),
            approver=p.approver,
        )


def _digest(p: Passage) -> str:
    """Return the digest of what was sent, key order aside; of unreadable text, the digest of its bytes."""
    raw = p.raw if p.parsed is None else p.parsed.raw
    try:
        return idempotency.digest(json.loads(raw) if isinstance(raw, str | bytes) else raw)
    except (ValueError, TypeError, RecursionError):
        return ""


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
"""The one path. *record* follows whatever ends it, and so stands in `Path.walk`, not in this table."""

RUN_STAGES: Final[Sequence[tuple[str, Stage]]] = tuple(
    (name, stage) for name, stage in STAGES if name not in ("admit", "replay", "request")
)
"""What an approved request goes through: everything that decides, once more, then the code."""
