"""A tool's contract: what a declaration may say, and the record that one becomes.

Values only. The markers are what a team writes in its signatures; `Tool` is what the path reads.
A `Tool` can't be called: the only way to its code is the path (law L2).
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, cast

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypeVar

from remit.outcome import Refused

if TYPE_CHECKING:
    from remit.arguments import Parsed, Parser
    from remit.projection import Projection

__all__ = [
    "Approval",
    "Body",
    "Clip",
    "DeclarationError",
    "DeclarationWarning",
    "Effect",
    "Hints",
    "Page",
    "Require",
    "Resource",
    "Resourced",
    "Tool",
    "no_others",
]

Effect = Literal["read", "write", "irreversible"]
Rule = Callable[[Any], "bool | Awaitable[bool]"]
RecordRule = Callable[[Any, Any], "bool | Awaitable[bool]"]
T = TypeVar("T", default=Any)


class DeclarationError(Exception):
    """A declaration that can't be kept: says which tool, where in it, and the mend (law L12)."""


class DeclarationWarning(UserWarning):
    """A declaration that can be kept, but looks like a mistake; says the mend."""


# These take object: a caller whose editor checks nothing may pass anything at all.
def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_span(value: object) -> bool:
    return isinstance(value, timedelta) and value > timedelta(0)


def no_others(where: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a misspelt option, which would be a rule that nobody keeps.

    Raises:
        DeclarationError: With the nearest name there is.
    """
    there = sorted(known)
    if unknown := sorted(set(given) - set(there)):
        near = difflib.get_close_matches(unknown[0], there, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(there)}"
        raise DeclarationError(f"{where}: there is no option {unknown[0]!r}; {hint}")


def _takes(function: Callable[..., Any], *given: object) -> bool:
    """Tell whether *function* can be called with the positional arguments *given*."""
    try:
        inspect.signature(function).bind(*given)
    except TypeError:
        return False
    except ValueError:  # some of C's functions have no signature to read
        return True
    return True


@dataclass(frozen=True, slots=True)
class Resource:
    """Marks a parameter as a record: the caller sends its id, the tool gets the record (law L5).

    ``Annotated[Draft, Resource(load_draft, allow=is_author)]`` shows callers the loader's own id
    parameter. On every call the record is loaded and *allow* is asked; a record that doesn't exist
    and one that *allow* refuses are answered alike.

    Attributes:
        load: ``load(call, id)`` gives the record or None. A plain function runs in a thread, unless
            the tool is declared inline.
        allow: ``allow(call, record)`` says whether this principal may touch it. Only True does. It
            runs on the event loop: a rule decides by what it is given and never waits for long.
        otherwise: What a caller can do when there is no such record for it.
    """

    load: Callable[..., Any]
    allow: RecordRule
    otherwise: str = ""

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Refuse a record without a rule, which anyone could touch."""
        no_others("Resource", options, {"load", "allow", "otherwise"})
        if "allow" not in options:
            text = "Resource: nothing says who may touch the record; add e.g. allow=is_author"
            raise DeclarationError(text)
        return object.__new__(cls)  # super() would miss the class that slots made

    def __init__(self, load: Callable[..., Any], *, allow: RecordRule, otherwise: str = "") -> None:
        if not callable(load):
            text = "Resource: load is no function; write Resource(load_draft, allow=is_author)"
            raise DeclarationError(text)
        if not callable(allow):
            text = (
                f"Resource({getattr(load, '__name__', 'load')}): allow says who may touch the "
                "record, and must be a function, e.g. allow=is_author"
            )
            raise DeclarationError(text)
        if not _takes(load, None, None):
            raise DeclarationError("Resource: load takes the call and an id: load(call, draft_id)")
        if not _takes(allow, None, None):
            raise DeclarationError(
                "Resource: allow takes the call and the record: allow(call, row)"
            )
        object.__setattr__(self, "load", load)
        object.__setattr__(self, "allow", allow)
        object.__setattr__(self, "otherwise", otherwise)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Refuse to stand inside another type, where nobody would load the record."""
        text = (
            "a Resource stands inside another type; make it a parameter of the tool "
            "(draft: MyDraft, MyDraft | None, or list[MyDraft])"
        )
        raise DeclarationError(text)


class Body:
    """Marks the one parameter that is the argument object itself: ``Annotated[Draft, remit.Body]``.

    Its fields stand at the top of the arguments, beside those of plain parameters, and its key
    policy is the policy of the whole.
    """


@dataclass(frozen=True, slots=True)
class Require:
    """A rule about the caller, asked before the arguments are read.

    Attributes:
        rule: ``rule(call)`` says whether this principal may use the tool. Only True does.
        otherwise: What the caller is told if not; without words the tool is hidden like an unknown
            one.
    """

    rule: Rule
    otherwise: str = ""

    def __init__(self, rule: Rule, *, otherwise: str = "") -> None:
        if not callable(rule):
            text = (
                "Require: the rule is no function; "
                "write Require(lambda call: call.principal.is_editor)"
            )
            raise DeclarationError(text)
        if not _takes(rule, None):
            raise DeclarationError("Require: the rule takes the call and nothing else: rule(call)")
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "otherwise", otherwise)


@dataclass(frozen=True, slots=True)
class Approval:
    """Says that a person must agree before the tool's code runs (laws L6 and L7).

    Attributes:
        approvers: Roles (claim ``roles``) of which a person needs one to decide.
        expires: How long a request waits; silence never runs anything.
        show: ``show(call, **arguments)`` gives the effect in one line for the approver.
        version: ``version(call, **resources)`` gives the record's version; the run is refused if it
            moved.
        self_approval: True lets the requester decide as well; off, since that is no second person.
    """

    approvers: frozenset[str]
    expires: timedelta
    show: Callable[..., Any] | None = None
    version: Callable[..., Any] | None = None
    self_approval: bool = False

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Refuse an approval that nobody can give."""
        known = {"approvers", "expires", "show", "version", "self_approval"}
        no_others("Approval", options, known)
        if "approvers" not in options:
            text = "Approval: nothing says who decides; add the roles, e.g. approvers={'editor'}"
            raise DeclarationError(text)
        return object.__new__(cls)  # super() would miss the class that slots made

    def __init__(
        self,
        *,
        approvers: set[str] | frozenset[str],
        expires: timedelta = timedelta(days=7),
        show: Callable[..., Any] | None = None,
        version: Callable[..., Any] | None = None,
        self_approval: bool = False,
    ) -> None:
        if isinstance(approvers, str) or not approvers or not all(map(_is_name, approvers)):
            text = (
                "Approval: approvers is a set of role names and can't be empty, "
                "e.g. approvers={'editor'}"
            )
            raise DeclarationError(text)
        if not _is_span(expires):
            text = "Approval: expires is a positive timedelta, e.g. expires=timedelta(days=7)"
            raise DeclarationError(text)
        if type(self_approval) is not bool:
            text = "Approval: self_approval is True or False"
            raise DeclarationError(text)
        for name, function in (("show", show), ("version", version)):
            if function is not None and not callable(function):
                text = f"Approval: {name} is no function"
                raise DeclarationError(text)
        object.__setattr__(self, "approvers", frozenset(approvers))
        object.__setattr__(self, "expires", expires)
        object.__setattr__(self, "show", show)
        object.__setattr__(self, "version", version)
        object.__setattr__(self, "self_approval", self_approval)


@dataclass(frozen=True, slots=True)
class Clip:
    """Marks a text of a result that is cut to *length* characters: ``Annotated[str, Clip(80)]``.

    A cut text ends in ``…``. Arguments are never clipped: the mark means something in results only.
    """

    length: int

    def __post_init__(self) -> None:
        """Refuse a length that leaves nothing."""
        if type(self.length) is not int or self.length < 1:
            text = "Clip: length is a positive number of characters, e.g. Clip(80)"
            raise DeclarationError(text)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Add the clipping to how the value is written, and leave how it is read alone."""
        schema = cast("dict[str, Any]", handler(source))
        schema["serialization"] = core_schema.plain_serializer_function_ser_schema(
            self._clipped, return_schema=core_schema.str_schema(max_length=self.length)
        )
        return cast("CoreSchema", schema)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Say the ceiling in the result's schema."""
        made = handler(schema)
        if handler.mode == "serialization":
            made["maxLength"] = self.length
        return made

    def _clipped(self, text: Any) -> Any:
        if isinstance(text, str) and len(text) > self.length:
            return text[: self.length - 1] + "…"
        return text


class Page(BaseModel, Generic[T]):
    """A result that is one page of a longer list.

    Attributes:
        items: This page's items, each projected to *T*.
        more: True if there are further items, or if some were cut to fit the result's ceiling.
        next: What to send to get the next page, as the tool's own arguments define it.
    """

    items: Annotated[list[T], Field(description="This page's items.")]
    more: Annotated[bool, Field(description="True if there are further items.")] = False
    next: Annotated[str | None, Field(description="Send this to get the next page.")] = None


@dataclass(frozen=True, slots=True)
class Hints:
    """The four MCP annotations, always said in full: hints to a host, never a control."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True)
class Resourced:
    """One resource parameter of a tool.

    Attributes:
        name: The tool's own parameter.
        wire: The key that callers send.
        many: True if it takes a list of ids.
        resource: How to load it and whom to allow.
    """

    name: str
    wire: str
    many: bool
    resource: Resource


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """One declared operation. Read it; it can't be called.

    Attributes:
        name: What callers call it by; ``request_…`` where a person must agree.
        title: A short name for people.
        description: What the model reads.
        effect: ``read``, ``write`` or ``irreversible``.
        external: True if it touches systems beyond the app's own.
        idempotent: True if a repeated call changes nothing further.
        scopes: What the caller's token must hold, all of it.
        public: True if anyone may call it, signed in or not.
        require: A rule about the caller, or None.
        approval: Who must agree, or None.
        timeout: Seconds that its code may take.
        limit: Calls per principal, such as ``60/minute``, or None.
        input_schema: The advertised schema of its arguments.
        output_schema: The schema of its result, an object at the root.
        version: The app's version at declaration.
        digest: SHA-256 over all of the above that a caller can notice.
    """

    name: str
    title: str
    description: str
    effect: Effect
    external: bool
    idempotent: bool
    scopes: frozenset[str]
    public: bool
    require: Require | None
    approval: Approval | None
    timeout: float
    limit: str | None
    inline: bool
    errors: Mapping[type[Exception], Refused]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    version: str
    digest: str
    parser: Parser
    projection: Projection
    resources: tuple[Resourced, ...]
    call_parameter: str | None
    extras: frozenset[str]
    is_async: bool
    frozen: Callable[[Parsed], dict[str, Any]]
    _function: Callable[..., Any]

    @property
    def hints(self) -> Hints:
        """The four annotations that follow from the declaration."""
        # A gated tool only files a request: its own call destroys nothing and reaches nobody.
        gated = self.approval is not None
        return Hints(
            read_only=self.effect == "read",
            destructive=self.effect == "irreversible" and not gated,
            idempotent=self.effect == "read" or self.idempotent,
            open_world=self.external and not gated,
        )

    def __repr__(self) -> str:
        """Name the tool, and nothing of what it closes over."""
        return f"<Tool {self.name}: {self.effect}>"
