"""What a call ends in: `Ok` or `Refused`, and the shape both have on every surface.

Values only: nothing here reads a clock, a socket or a store. A surface turns an outcome into its
host's shapes with `wire`, and adds nothing to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Literal, Self

from typing_extensions import TypeVar

__all__ = [
    "CODES",
    "MAX_ISSUES",
    "MAX_NAME",
    "Ask",
    "Issue",
    "Ok",
    "Outcome",
    "Refused",
    "visible",
    "wire",
]

MAX_ISSUES: Final = 5  # what a model can act on in one turn; the rest is a count
MAX_MESSAGE: Final = 1000  # characters of an author's own words that travel
MAX_NAME: Final = 64  # characters of a caller's key that are repeated back

CODES: Final = frozenset(
    {
        "ok",
        "awaiting_approval",
        "invalid_arguments",
        "unauthenticated",
        "forbidden",
        "not_found",
        "unknown_tool",
        "conflict",
        "in_progress",
        "input_required",
        "superseded",
        "invalid_decision",
        "rate_limited",
        "too_large",
        "timeout",
        "cancelled",
        "outcome_unknown",
        "internal",
        "store_unavailable",
    }
)
"""Codes that remit itself gives; a tool's author may add others."""

_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")

# Unicode that a reader can't see or that reorders what it sees: OWASP LLM01:2026 #5, Trojan Source.
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f"
    "\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u2800\U000110bd\U000110cd\U00013430-\U00013440"
    "\U0001bca0-\U0001bca3\U0001d159"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

T = TypeVar("T", default=Any)


def visible(text: str) -> str:
    r"""Return *text* with invisible, control and bidi characters written as ``\u{...}``."""
    return _UNSEEN.sub(lambda found: f"\\u{{{ord(found.group()):04x}}}", text)


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing wrong with the arguments.

    Attributes:
        path: Where, dotted (``body.tags.0``), or ``(root)`` for the whole object.
        code: pydantic's error type, or ``unrecognized_keys:NAME[,NAME]``.
        hint: What would be right: allowed values, declared names, the shape received. Never a
            value that was sent.
    """

    path: str
    code: str
    hint: str = ""


@dataclass(slots=True)  # not frozen: that would make it three times as slow to make
class Ok(Generic[T]):
    """The call did what it was asked, or is waiting for a person.

    Attributes:
        data: The result, JSON-ready, with declared fields only.
        code: ``ok``, or ``awaiting_approval`` when a person must decide first.
        more: True if a list or a string was cut so that the result fits its ceiling.
        ignored: Paths of keys that a declared ``extra="ignore"`` object left out.
        notice: What was cut, by how much, and what to ask for instead; empty if nothing was.
        meta: Ids for the caller's program (``call_id``, ``request_id``), kept out of the model's
            text.
    """

    data: T
    code: Literal["ok", "awaiting_approval"] = "ok"
    more: bool = False
    ignored: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    notice: str = ""

    @property
    def ok(self) -> Literal[True]:
        """Always True: tells an `Ok` from a `Refused`."""
        return True


class Refused(Exception):
    """The call did not do what it was asked, and says why in words made for the caller.

    A tool's code raises it for a failure that its caller may know of; the code and the message then
    travel as they are. Every other exception is masked.

    Args:
        code: snake_case, at most 64 characters: one of `CODES` or the author's own.
        message: What is wrong and what to do next; cut after 1,000 characters.
        issues: What is wrong with the arguments, five at most; the rest is counted in *more*.
        more: How many further issues there are.
        retry_after: Seconds after which a call may succeed, where that is known.
        reference: The id under which the operator finds the details.

    Raises:
        ValueError: If *code* isn't snake_case.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        issues: Sequence[Issue] = (),
        more: int = 0,
        retry_after: float | None = None,
        reference: str | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        if not _CODE.match(code):
            text = (
                "a refusal's code is snake_case, "
                "e.g. Refused('not_editable', 'Draft is published.')"
            )
            raise ValueError(text)
        if code in ("ok", "awaiting_approval"):
            raise ValueError(f"{code!r} says that a call succeeded; a refusal has another code")
        message = visible(message)
        if len(message) > MAX_MESSAGE:
            message = message[: MAX_MESSAGE - 1] + "…"
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.issues: list[Issue] = list(issues[:MAX_ISSUES])
        self.more: int = more + max(0, len(issues) - MAX_ISSUES)
        self.retry_after = retry_after
        self.reference = reference
        self.meta: Mapping[str, Any] = meta or {}

    def about(self, call_id: str) -> Self:
        """Return a copy that names its call: an author may raise one refusal in many calls."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.args = self.args
        made.meta = {**self.meta, "call_id": call_id}
        return made

    @property
    def ok(self) -> Literal[False]:
        """Always False: tells a `Refused` from an `Ok`."""
        return False

    def __str__(self) -> str:
        """Return the code and the message, as a log shows them."""
        return f"{self.code}: {self.message}" if self.message else self.code

    def __eq__(self, other: object) -> bool:
        """Compare by what a caller sees."""
        return isinstance(other, Refused) and wire(self) == wire(other)

    def __hash__(self) -> int:
        """Hash by what a caller sees first."""
        return hash((self.code, self.message))


class Ask(Refused):
    """The tool asks its caller something before it goes on; an answer is data, never permission.

    Only a surface whose client can be asked carries the questions; elsewhere the call is refused.
    The tool runs anew with the answers in `Call.answers`, so nothing may have been done before.

    Args:
        questions: By a name of the tool's choice: ``{"method": …, "params": …}`` as the MCP
            specification of 2026-07-28 defines input requests (elicitation, sampling, roots).
        state: JSON that comes back with the answers as `Call.state`; sealed on the way.
    """

    def __init__(self, questions: Mapping[str, Mapping[str, Any]], *, state: Any = None) -> None:
        text = (
            "This tool has to ask its caller something, which this way of calling it can't carry."
        )
        super().__init__("input_required", text)
        self.questions = questions
        self.state = state


Outcome = Ok[Any] | Refused
"""What every call ends in."""


def wire(outcome: Outcome) -> dict[str, Any]:
    """Return *outcome* as the JSON object that every surface shows; `meta` stays out of it."""
    if isinstance(outcome, Ok):
        shown: dict[str, Any] = {"ok": True, "code": outcome.code, "data": outcome.data}
        if outcome.more:
            shown["more"] = True
        if outcome.notice:
            shown["notice"] = outcome.notice
        if outcome.ignored:
            shown["ignored"] = list(outcome.ignored)
        return shown
    shown = {"ok": False, "code": outcome.code, "message": outcome.message}
    if outcome.issues:
        shown["issues"] = [
            {"path": i.path, "code": i.code, **({"hint": i.hint} if i.hint else {})}
            for i in outcome.issues
        ]
    if outcome.more:
        shown["more"] = outcome.more
    if outcome.retry_after is not None:
        shown["retry_after"] = outcome.retry_after
    if outcome.reference is not None:
        shown["reference"] = outcome.reference
    return shown
