"""What a declaration says beside the function, and what none of it may be."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, Required, TypedDict, cast

from remit.arguments import REPAIRS
from remit.contract import Approval, Effect, Require
from remit.outcome import CODES, Refused
from remit.principal import Principal
from remit.projection import MAX_RESULT_BYTES, Known
from remit.signature import refused

__all__ = ["Extension", "Options", "ToolOptions", "checked"]

# What MCP and every provider in facts carry alike: OpenAI's and Anthropic's is the narrowest.
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+\Z")  # RFC 6749 section 3.3, scope-token
EFFECTS: Final = ("read", "write", "irreversible")


class ToolOptions(TypedDict, total=False):
    """The options of `remit.Remit.tool`.

    Attributes:
        effect: ``read``, ``write`` or ``irreversible``; must be said.
        name: The tool's name, where it isn't the function's.
        title: A short name for people.
        description: What the model reads, where it isn't the docstring.
        external: True if it reaches systems beyond the app's own.
        idempotent: True if repeating a call changes nothing further.
        scopes: What the caller's token must hold, all of it; empty means any signed-in principal.
        public: True if anyone may call it, signed in or not.
        require: A rule about the caller.
        approval: Who must agree before its code runs; it is then called ``request_…``.
        timeout: Seconds that its code may take, and as many for loading its records; 60.
        limit: Calls per principal, such as ``60/minute``.
        inline: True runs a plain function on the event loop; say it only of what never waits.
        repair: Repairs of arguments to make, see `remit.arguments.REPAIRS`.
        errors: Which exceptions of its code the caller may know of, and in what words.
        max_result_bytes: The most bytes of a whole answer.
    """

    effect: Required[Effect]
    name: str | None
    title: str | None
    description: str | None
    external: bool
    idempotent: bool
    scopes: AbstractSet[str]
    public: bool
    require: Require | None
    approval: Approval | None
    timeout: float
    limit: str | None
    inline: bool
    repair: AbstractSet[str]
    errors: Mapping[type[Exception], Refused]
    max_result_bytes: int


@dataclass(frozen=True, slots=True)
class Extension:
    """An argument that an app adds to some of its tools, such as which tenant is meant.

    It is judged like a parameter of the tool, loaded and asked about like any record where it is a
    `remit.Resource`, and taken out before a body is parsed. The tool's code has it in
    `remit.Call.extras`, under the name that the app gives it.

    Attributes:
        kind: What a parameter's annotation would be.
        on: Given a function's name, says whether its tool has the argument; None is every tool.
        default: What stands for an absent one; without it the argument is required.
    """

    kind: Any
    on: Callable[[str], bool] | None = None
    default: Any = inspect.Parameter.empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a declaration says beside the function; and what its app adds."""

    effect: Effect | None = None
    name: str | None = None
    title: str | None = None
    description: str | None = None
    external: bool = False
    idempotent: bool = False
    scopes: AbstractSet[str] = frozenset()
    public: bool = False
    require: Require | None = None
    approval: Approval | None = None
    timeout: float = 60.0
    limit: str | None = None
    inline: bool = False
    repair: AbstractSet[str] = frozenset()
    errors: Mapping[type[Exception], Refused] = field(
        default_factory=dict[type[Exception], Refused]
    )
    max_result_bytes: int = MAX_RESULT_BYTES
    host_keys: AbstractSet[str] = frozenset()
    known_scopes: AbstractSet[str] | None = None
    version: str = "0"
    principal: type[Principal] = Principal
    extensions: Mapping[str, Extension] = field(default_factory=dict[str, Extension])
    known_results: Known | None = None

    def extras(self, tool: str) -> dict[str, tuple[Any, Any]]:
        """Return annotation and default of each argument that the app adds to *tool*."""
        return {
            name: (one.kind, one.default)
            for name, one in self.extensions.items()
            if one.on is None or one.on(tool)
        }


def checked(options: Options, tool: str) -> None:
    """Refuse whatever an option of *tool* may not be.

    Raises:
        DeclarationError: Naming the tool, the option and the mend.
    """
    _what_it_is(options, tool)
    _who_may_call(options, tool)
    _how_it_runs(options, tool)
    _what_may_leave(options, tool)


def _what_it_is(options: Options, tool: str) -> None:
    for name in ("external", "idempotent", "public", "inline"):
        if type(getattr(options, name)) is not bool:
            raise refused(tool, f"option {name}", "is True or False")
    if options.effect not in EFFECTS:
        text = "must be said: effect='read', 'write' or 'irreversible'"
        raise refused(tool, "effect", text)
    if not NAME.match(tool):
        text = (
            "has a name that MCP or a provider can't carry; "
            "use letters, digits, _ and -, at most 64, a letter first"
        )
        raise refused(tool, "", text)


def _who_may_call(options: Options, tool: str) -> None:
    if isinstance(options.scopes, str) or not isinstance(options.scopes, AbstractSet):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(tool, "scopes", "is a set of texts, e.g. scopes={'drafts:write'}")
    for scope in sorted(options.scopes):
        if not SCOPE.match(scope):
            raise refused(
                tool, f"scope {scope!r}", "is no OAuth scope: no spaces, quotes or backslashes"
            )
        if options.known_scopes is not None and scope not in options.known_scopes:
            listed = ", ".join(sorted(options.known_scopes))
            raise refused(
                tool, f"scope {scope!r}", f"is unknown; the app declares {listed or 'none'}"
            )
    if options.public and (options.scopes or options.require or options.approval):
        raise refused(
            tool, "public=True", "means anyone; it can't stand beside scopes, require or approval"
        )
    if options.require is not None and not isinstance(options.require, Require):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(tool, "require", "is remit.Require(rule, otherwise=…)")
    if options.approval is not None and not isinstance(options.approval, Approval):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(tool, "approval", "is remit.Approval(approvers={…}, …)")
    if options.approval is not None and options.effect == "read":
        raise refused(tool, "approval", "guards an effect; a tool with effect='read' has none")


def _how_it_runs(options: Options, tool: str) -> None:
    if not (isinstance(options.timeout, int | float) and 0 < options.timeout < math.inf):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise refused(tool, "timeout", "is a positive number of seconds")
    if unknown := sorted(set(options.repair) - REPAIRS):
        raise refused(
            tool, f"repair {unknown[0]!r}", f"is unknown; there are {', '.join(sorted(REPAIRS))}"
        )
    if options.limit is not None:
        import limits as rate_limits  # 80 ms, for the few that have a limit

        try:
            rate_limits.parse(options.limit)
        except ValueError as error:
            raise refused(
                tool, f"limit {options.limit!r}", "can't be read; write e.g. limit='60/minute'"
            ) from error


def _what_may_leave(options: Options, tool: str) -> None:
    if type(options.max_result_bytes) is not int or options.max_result_bytes < 4096:
        raise refused(tool, "max_result_bytes", "is a number of bytes, 4096 at least")
    for kind, answer in cast("Mapping[Any, Any]", options.errors).items():
        if not (
            isinstance(kind, type) and issubclass(kind, Exception) and isinstance(answer, Refused)
        ):
            raise refused(
                tool,
                "errors",
                "maps exception classes to Refused, e.g. {Closed: Refused('closed', '…')}",
            )
        if answer.code in CODES - {"not_found", "forbidden", "conflict"}:
            raise refused(
                tool,
                f"errors for {kind.__name__}",
                f"{answer.code!r} is remit's own code; take another",
            )
