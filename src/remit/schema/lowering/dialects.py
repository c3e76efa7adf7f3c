"""What each provider takes as the schema of a tool's arguments, as one table.

The vendors' structured-output pages say which keywords a strict schema may hold; where those and
observed answers differ, the narrower holds here, so that what is sent is never a *400*.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["GEMINI", "NAMES", "PROVIDERS", "STRICT", "Dialect", "Provider"]

Provider = Literal["plain", "anthropic", "openai", "gemini"]
PROVIDERS: Final[tuple[Provider, ...]] = ("plain", "anthropic", "openai", "gemini")

_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_BOUNDS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
)
_LOOKAROUND: Final = re.compile(r"\(\?[=!<]")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one provider takes.

    Attributes:
        title: The provider, as people call it.
        words: Bounds and annotations that are sent as they are.
        formats: Values of ``format`` that are.
        pattern: What a pattern may not contain; None if none is sent.
        closes: Whether each object must refuse other keys, and each value say its type.
        requires_all: Whether each property must be required.
        type_lists: Whether ``type`` may be a list (of scalars).
        tuples: Whether ``prefixItems`` is taken.
        const: Whether ``const`` is.
        enums: The kinds of value that ``enum`` may list.
        recursion: Where references may lead back: anywhere, below optional properties, nowhere.
        few_items: Whether ``minItems`` may be 0 or 1 only.
        fresh_case: Whether listed texts may come back in another capitalisation.
    """

    title: str
    words: frozenset[str]
    formats: frozenset[str]
    pattern: re.Pattern[str] | None
    closes: bool = True
    requires_all: bool = False
    type_lists: bool = True
    tuples: bool = False
    const: bool = True
    enums: frozenset[str] = frozenset({"string", "integer", "number", "boolean", "null"})
    recursion: Literal["anywhere", "optional", "nowhere"] = "nowhere"
    few_items: bool = False
    fresh_case: bool = False


STRICT: Final[dict[str, Dialect]] = {
    # platform.claude.com, "Structured outputs": JSON outputs and strict tool use share the rules.
    "anthropic": Dialect(
        title="Anthropic",
        words=frozenset({"title", "default"}),
        formats=_FORMATS | {"uri"},
        pattern=re.compile(r"\(\?[=!<P]|\\[1-9bBk]|\{\d{4,}|\{\d*,\d{4,}"),
        type_lists=False,
        few_items=True,
        fresh_case=True,
    ),
    # developers.openai.com, "Structured outputs".
    "openai": Dialect(
        title="OpenAI",
        words=_BOUNDS | {"title", "minLength", "maxLength", "minItems", "maxItems"},
        formats=_FORMATS,
        pattern=_LOOKAROUND,
        requires_all=True,
        recursion="anywhere",
    ),
}
"""The strict modes, in which decoding is held to the schema."""

# ai.google.dev, "Structured output", for ``parametersJsonSchema``: the mode is the request's.
GEMINI: Final = Dialect(
    title="Gemini",
    words=frozenset({"minimum", "maximum", "minItems", "maxItems"}),
    formats=frozenset({"date-time", "date", "time"}),
    pattern=None,
    closes=False,
    tuples=True,
    const=False,
    enums=frozenset({"string", "integer", "number"}),
    recursion="optional",
)

NAMES: Final[dict[str, tuple[re.Pattern[str], int]]] = {
    "plain": (re.compile(r"[A-Za-z0-9_.-]+"), 128),
    "anthropic": (re.compile(r"[A-Za-z0-9_-]+"), 64),
    "openai": (re.compile(r"[A-Za-z0-9_-]+"), 64),
    "gemini": (re.compile(r"[A-Za-z_][A-Za-z0-9_]*"), 64),
}
"""What a tool's name may consist of, and how many letters it may have."""
