"""One call on its way down the path: what came in, and what each stage found."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.arguments import Parsed
from remit.call import Call, Link
from remit.contract import Tool
from remit.outcome import Outcome, Refused
from remit.permissions import Permission
from remit.principal import Principal

__all__ = ["Event", "Passage"]


# A call's id is a reference and opens nothing, so that it may come from a generator seeded once per
# process. Under a profiler os.urandom let the committer's thread in between: 140 µs of each call.
_ids: Final = random.Random(os.urandom(32))  # noqa: S311
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=lambda: _ids.seed(os.urandom(32)))


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


class Passage:
    """One call: made where it enters the path, filled by the stages, read by the record.

    A plain class with defaults on the class: it is made for every call, and most calls touch few.

    Attributes:
        tool: The tool, once *find* has found it; `known` says whether it has.
        call: What the tool's code and the rules get, once *find* has found the tool.
        decided: The one decision about principal and tool, made by *find*.
        parsed: The judged arguments, once *parse* has passed them; `judged` says whether it has.
        values: Parameter values, with records in place of ids once *load* has loaded them.
        rule: Which rule ended the call, for the operator's record.
        intended: True once an intent is, or may be, in the store.
        began: True once the tool's code was entered.
    """

    tool: Tool
    call: Call[Any, Any]
    decided: Permission
    parsed: Parsed
    values: dict[str, Any]
    returned: Any
    known: Tool | None = None
    judged: Parsed | None = None
    principal: Principal | None = None
    text: bytes | None = None
    touched: tuple[str, ...] = ()
    rule: str = ""
    intended: bool = False
    began: bool = False
    kind: str = "call"
    request_id: str = ""
    approver: str = ""
    duration: float = 0.0

    def __init__(  # noqa: PLR0913 - what a surface gives, all of it, each by its name
        self,
        name: str,
        raw: Any,
        claims: Mapping[str, Any] | None,
        *,
        surface: str,
        deps: Any,
        at: float,
        client: str = "",
        key: str | None = None,
        link: Link | None = None,
    ) -> None:
        self.name = name
        self.raw = raw
        self.claims = claims
        self.surface = surface
        self.deps = deps
        self.at = at
        self.client = client
        self.key = key
        self.link = link
        self.id: str = f"{_ids.getrandbits(128):032x}"
        self.begun: float = time.perf_counter()

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they will be used, as JSON by callers' keys, defaults filled in.

        Where the values don't survive being written and read again (a secret is written as
        asterisks), these are the arguments as they were sent.
        """
        try:
            written = self.tool.frozen(self.parsed)
            again = self.tool.parser.parse(written, None)
        except (Refused, ValueError, TypeError):
            return self.parsed.raw
        return written if again.values == self.parsed.values else self.parsed.raw

    def given(self) -> dict[str, Any]:
        """Return what the tool's code is called with."""
        given = dict(self.values)
        if self.tool.extras:
            self.call = self.call.extended({name: given.pop(name) for name in self.tool.extras})
        if self.tool.call_parameter:
            given[self.tool.call_parameter] = self.call
        return given

    def event(self, outcome: Outcome | None = None) -> Event:
        """Return what a hook is told now."""
        return Event(self.id, self.name, self.surface, self.principal, outcome, self.duration)
