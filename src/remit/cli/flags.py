"""A tool's arguments as flags, and flags as JSON text that the tool's own parser then judges.

Values only. A flag's text is never parsed twice: where the schema takes a text it is that text, as
it stands; where it takes only numbers, JSON's spelling of one goes on digit for digit. Whatever
doesn't fit goes on as text, since refusing is the parser's work (law L2). What flags can't say
(null, an empty list, lists of objects, maps, mixed unions) is said with ``--json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

__all__ = ["Flag", "Given", "flags", "json_of"]

Json = Mapping[str, Any]
Kind = Literal["text", "scalar", "switch"]

MAX_NESTING: Final = 4  # levels below which a flag's name is longer than its JSON

# JSON's grammar for a number (RFC 8259 section 6): int() and float() take other spellings too.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
_SPELLABLE = re.compile(r"\w[\w.-]*\Z")
_SCALARS: Final = frozenset({"string", "number", "integer", "boolean"})


@dataclass(frozen=True, slots=True)
class Flag:
    """One value of the arguments that the command line can say.

    Attributes:
        path: Its keys from the root of the arguments.
        kind: ``text`` stays text, ``scalar`` may be a number or a boolean, ``switch`` has no value.
        many: True if it is a list, one item for each time that the flag is given.
        choices: The values that are allowed, or empty.
        required: True if the call needs it.
        text: What the schema says of it.
        on: The spellings that set it; the first is shown.
        off: The spellings that set a switch to false.
    """

    path: tuple[str, ...]
    kind: Kind
    many: bool
    choices: tuple[Any, ...]
    required: bool
    text: str
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()

    @property
    def metavar(self) -> str:
        """What stands for the value in a help text."""
        if self.choices:
            return "|".join(one if isinstance(one, str) else _dumps(one) for one in self.choices)
        return "TEXT" if self.kind == "text" else "VALUE"

    def literal(self, text: str) -> str:
        """Return the JSON text of the value that *text* stands for."""
        if text in self.choices or self.kind == "text":
            return _dumps(text)
        if self.choices:
            exact = [one for one in map(_dumps, self.choices) if one == text]
            return exact[0] if exact else _dumps(text)
        if text in ("true", "false") or _NUMBER.match(text):
            return text
        return _dumps(text)


@dataclass(frozen=True, slots=True)
class Given:
    """A flag and what the command line gave it: texts, or whether a switch is on."""

    flag: Flag
    values: Sequence[str] | bool


def _dumps(value: Any) -> str:
    return json.dumps(value)


def flags(schema: Json) -> tuple[list[Flag], list[str]]:
    """Return the flags for arguments of *schema*, and the keys that only ``--json`` can say.

    Exact names come first, so that a spelling always means the key that is written like it;
    ``--draft-id`` for ``draft_id`` and ``--no-x`` for a boolean ``x`` are added where still free.
    """
    found, rest = _within(schema, schema, (), frozenset(), needed=True)
    found.sort(key=lambda flag: len(flag.path))
    taken = {"--" + ".".join(flag.path) for flag in found}
    named: list[Flag] = []
    seen: set[str] = set()
    for flag in found:
        exact = "--" + ".".join(flag.path)
        if exact in seen:
            rest.append(".".join(flag.path))
            continue
        seen.add(exact)
        on = (*_free(exact.replace("_", "-"), taken, exact), exact)
        off: tuple[str, ...] = ()
        if flag.kind == "switch":
            names = dict.fromkeys("--no-" + spelling[2:] for spelling in on)
            off = tuple(name for name in names if _free(name, taken, ""))
        named.append(
            Flag(flag.path, flag.kind, flag.many, flag.choices, flag.required, flag.text, on, off)
        )
    return named, rest


def _free(spelling: str, taken: set[str], exact: str) -> tuple[str, ...]:
    if spelling == exact or spelling in taken or spelling.startswith("---"):
        return ()
    taken.add(spelling)
    return (spelling,)


def _within(
    doc: Json, node: Json, path: tuple[str, ...], refs: frozenset[str], *, needed: bool
) -> tuple[list[Flag], list[str]]:
    """Return the flags for the properties of *node*, all its alternatives together."""
    found: list[Flag] = []
    rest: list[str] = []
    properties: dict[str, list[Json]] = {}
    arms = [arm for arm, _ in _arms(doc, node, refs)]
    below = frozenset[str]().union(refs, *(passed for _, passed in _arms(doc, node, refs)))
    for arm in arms:
        for name, inner in arm.get("properties", {}).items():
            properties.setdefault(name, []).append(inner)
    for name, inners in properties.items():
        value: Json = inners[0] if len(inners) == 1 else {"anyOf": inners}
        here = (*path, name)
        required = needed and all(name in arm.get("required", ()) for arm in arms)
        if not _SPELLABLE.match(name):
            rest.append(".".join(here))
            continue
        flag = _flag(doc, value, here, below, required=required)
        if flag is not None:
            found.append(flag)
        elif len(here) < MAX_NESTING and _is_object(doc, value, below):
            more, unsaid = _within(doc, value, here, below, needed=required)
            found += more
            rest += unsaid if more else [".".join(here)]
        else:
            rest.append(".".join(here))
    return found, rest


def _arms(doc: Json, node: Json, refs: frozenset[str]) -> Iterator[tuple[Json, frozenset[str]]]:
    """Yield the alternatives of *node*, each with the references that lead to it."""
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name not in refs:
            yield from _arms(doc, doc.get("$defs", {}).get(name, {}), refs | {name})
        else:
            yield {"type": "recursion"}, refs
        return
    arms = [*node.get("anyOf", ()), *node.get("oneOf", ())]
    if len(node.get("allOf", ())) == 1:
        arms += node["allOf"]
    for arm in arms:
        yield from _arms(doc, arm, refs)
    if not arms:
        yield node, refs


def _kinds(doc: Json, node: Json, refs: frozenset[str]) -> set[str]:
    kinds: set[str] = set()
    for arm, _ in _arms(doc, node, refs):
        given = arm.get("type")
        if isinstance(given, list):
            kinds |= set(cast("list[str]", given))
        elif isinstance(given, str):
            kinds.add(given)
        elif "const" in arm or "enum" in arm:
            kinds |= {_kind_of(one) for one in _allowed(arm)}
        else:
            kinds.add("any")
    return kinds - {"null"}


def _kind_of(value: Any) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "other"


def _allowed(arm: Json) -> list[Any]:
    return [arm["const"]] if "const" in arm else list(arm.get("enum", ()))


def _is_object(doc: Json, node: Json, refs: frozenset[str]) -> bool:
    return _kinds(doc, node, refs) == {"object"}


def _flag(
    doc: Json, node: Json, path: tuple[str, ...], refs: frozenset[str], *, required: bool
) -> Flag | None:
    """Return the flag for *node*, or None if flags can't say its values."""
    kinds, many = _kinds(doc, node, refs), False
    values: Json = node
    if kinds == {"array"}:
        items = [
            arm.get("items")
            for arm, _ in _arms(doc, node, refs)
            if arm.get("type") == "array" and "prefixItems" not in arm
        ]
        arrays = [arm for arm, _ in _arms(doc, node, refs) if arm.get("type") == "array"]
        if len(items) != 1 or len(arrays) != 1 or not isinstance(items[0], dict):
            return None
        values, many = cast("Json", items[0]), True
        kinds = _kinds(doc, values, refs)
    if not kinds or not kinds <= _SCALARS:
        return None
    arms = [arm for arm, _ in _arms(doc, values, refs) if arm.get("type") != "null"]
    choices: tuple[Any, ...] = ()
    if all("const" in arm or "enum" in arm for arm in arms):
        choices = tuple(one for arm in arms for one in _allowed(arm) if one is not None)
    text = str(
        node.get("description") or next((a["description"] for a in arms if "description" in a), "")
    )
    kind: Kind = "scalar"
    if kinds == {"boolean"} and not many and not choices:
        kind = "switch"
    elif "string" in kinds and not (choices and kinds != {"string"}):
        kind = "text"
    return Flag(path, kind, many, choices, required, text)


def json_of(given: Sequence[Given]) -> str:
    """Return the arguments that *given* says as JSON text, numbers spelled as they were."""
    tree: dict[str, Any] = {}
    for one in given:
        owner = tree
        for key in one.flag.path[:-1]:
            owner = owner.setdefault(key, {})
        owner[one.flag.path[-1]] = _Literal(_said(one))
    return _written(tree)


class _Literal(str):
    """JSON text that is whole already."""

    __slots__ = ()


def _said(given: Given) -> str:
    if isinstance(given.values, bool):
        return _dumps(given.values)
    texts = [given.flag.literal(text) for text in given.values]
    return f"[{', '.join(texts)}]" if given.flag.many else texts[0]


def _written(node: Any) -> str:
    if isinstance(node, _Literal):
        return str(node)
    return "{" + ", ".join(f"{_dumps(key)}: {_written(item)}" for key, item in node.items()) + "}"
