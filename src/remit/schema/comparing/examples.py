"""Values at a schema's edges, just inside and just outside: a validator then judges which."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final, cast

from remit.schema.document import Document, Json
from remit.schema.places import DEFINITIONS, items_of, named_of
from remit.schema.policy import SchemaError

__all__ = ["examples", "matching"]

_MOST: Final = 40  # values per schema
_READ: Final = 4_000  # schemas per search
_LARGE: Final = 1e300  # beyond which floats can't follow
_FEW: Final = 6  # of a schema that only says what it isn't
_DEEP: Final = 6  # objects and lists inside one another
_LONG: Final = 20_000  # letters of a text
_WIDE: Final = (200, 6)  # items of a list, or keys of an object: outside, and within others
_OTHER: Final = "another_key"
_FORMATS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "a@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/a",
    "uuid": "4b1f0a3e-9c2d-4e5f-8a6b-7c8d9e0f1a2b",
}
_ANY: Final[tuple[Any, ...]] = ("a", 1, 1.5, True, None, [], {})


def examples(node: Any, document: Document) -> Iterator[Any]:
    """Yield at most 40 values that are likely to be valid under *node*, the smallest first."""
    yield from _Examples(document).of(node, 0)


class _Examples:
    """One search, which reads no more than so many schemas, whatever leads where."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._left = _READ

    def of(self, node: Any, depth: int) -> Iterator[Any]:
        """Yield the values of *node*, each of them once."""
        seen: set[str] = set()
        for value in islice(self._of(node, depth), 2 * _MOST):
            if (told := repr(value)) not in seen and len(seen) < _MOST:
                seen.add(told)
                yield value

    def _of(self, node: Any, depth: int) -> Iterator[Any]:
        self._left -= 1
        if depth > _DEEP or self._left < 0:
            return
        if not isinstance(node, dict):
            yield from _ANY if node is not False else ()
            return
        here = cast("Json", node)
        for word in ("$ref", "allOf", "anyOf", "oneOf"):
            if isinstance(here.get(word), str | list):
                yield from self._combined(here, word, depth)
                return
        if "const" in here or "enum" in here:
            yield from [here["const"]] if "const" in here else items_of(here, "enum")
            return
        for kind in items_of(here, "type") or [here.get("type", "")]:
            yield from self._kind(str(kind), here, depth)
        for word in ("not", "if", "then", "else"):
            yield from islice(self._of(here.get(word, False), depth + 1), _FEW)

    def _combined(self, here: Json, word: str, depth: int) -> Iterator[Any]:
        rest = {key: one for key, one in here.items() if key not in (word, *DEFINITIONS)}
        if word == "$ref":
            yield from self._all(self._target(here[word]), rest, depth)
        elif word == "allOf":
            first, *more = items_of(here, word) or [True]
            yield from self._all(first, {**rest, **({word: more} if more else {})}, depth)
        else:
            for arm in items_of(here, word):
                yield from self._all(arm, rest, depth)

    def _target(self, ref: str) -> Any:
        try:
            return self._document.target(ref)
        except SchemaError:
            return False

    def _all(self, one: Any, rest: Json, depth: int) -> Iterator[Any]:
        """Yield values for two schemas that both hold: of either, and objects put together."""
        if not isinstance(one, dict) or not rest:
            yield from self._of(rest or one, depth + 1)
            return
        mine = list(islice(self._of(one, depth + 1), _MOST))
        theirs = list(islice(self._of(rest, depth + 1), _FEW))
        for value in mine:
            for other in theirs:
                if isinstance(value, dict) and isinstance(other, dict):
                    yield {**cast("Json", other), **cast("Json", value)}
        yield from mine
        yield from theirs

    def _kind(self, kind: str, here: Json, depth: int) -> Iterator[Any]:
        match kind:
            case "string":
                yield from _texts(here)
            case "integer" | "number":
                yield from _numbers(here, whole=kind == "integer")
            case "boolean":
                yield from (True, False)
            case "null":
                yield None
            case "array":
                yield from self._lists(here, depth)
            case "object":
                yield from self._objects(here, depth)
            case _:
                if "properties" in here or "required" in here:
                    yield from self._objects(here, depth)
                yield from _ANY

    def _lists(self, here: Json, depth: int) -> Iterator[list[Any]]:
        wide = _WIDE[depth > 1]
        low = min(int(_number(here, "minItems", 0)), wide)
        high = min(int(_number(here, "maxItems", low + 2)), wide)
        legacy = isinstance(here.get("items"), list)
        places = items_of(here, "items" if legacy else "prefixItems")
        rest = here.get("additionalItems" if legacy else "items", True)
        firsts = [next(self.of(one, depth + 1), None) for one in places]
        items = list(islice(self.of(rest, depth + 1), 12))
        for length in dict.fromkeys(
            (low, max(low, len(firsts), 1), high, low + 1, high + 1, max(low - 1, 0))
        ):
            fill = [items[i % len(items)] for i in range(length)] if items else []
            yield [*firsts[:length], *fill[len(firsts[:length]) : length]]
            if items and length:
                yield [*firsts[:length], *[items[0]] * (length - len(firsts[:length]))]
        for index, one in enumerate(places):
            for value in islice(self.of(one, depth + 1), 6):
                yield [*firsts[:index], value, *firsts[index + 1 :]]
        for item in items:
            yield [*firsts, *[item] * max(low - len(firsts), 1)]

    def _objects(self, here: Json, depth: int) -> Iterator[Json]:
        properties = named_of(here, "properties")
        required = [name for name in items_of(here, "required") if isinstance(name, str)]
        each = {name: list(islice(self.of(one, depth + 1), 16)) for name, one in properties.items()}
        if any(not each.get(name, [""]) for name in required):
            return  # what must be there can't be
        rest = here.get("additionalProperties", True)
        others = list(islice(self.of(rest, depth + 1), 3)) if rest is not False else []
        least = {name: each.get(name, ["a"])[0] for name in required}
        full = {name: values[0] for name, values in each.items() if values}
        yield least
        yield {**least, **full}
        for name, values in each.items():
            for value in values:
                yield {**least, name: value}
        for value in others:
            yield {**least, _OTHER: value}
        for name in required:
            yield {key: value for key, value in full.items() if key != name}
        most = min(int(_number(here, "maxProperties", 0)), _WIDE[depth > 0])
        if most and others:
            yield {**least, **{f"{_OTHER}_{i}": others[0] for i in range(most - len(least))}}


def _number(here: Json, word: str, default: float) -> float:
    found = here.get(word, default)
    if not isinstance(found, int | float) or isinstance(found, bool) or abs(found) > _LARGE:
        return default
    return found


def _texts(here: Json) -> Iterator[str]:
    low = min(int(_number(here, "minLength", 0)), _LONG)
    high = min(int(_number(here, "maxLength", max(low, 1) + 1)), _LONG)
    bases = [text for text in items_of(here, "examples") if isinstance(text, str)]
    if isinstance(here.get("default"), str):
        bases.append(here["default"])
    if isinstance(pattern := here.get("pattern"), str):
        bases += matching(pattern)
    if here.get("format") in _FORMATS:
        bases.append(_FORMATS[str(here["format"])])
    yield from bases
    for base in bases:
        if base and len(base) < low:
            yield (base * math.ceil(low / len(base)))[:low]
        if base:
            yield (base * math.ceil(high / len(base)))[:high]
    for length in dict.fromkeys((max(low, 1), low, high, low + 1, max(high - 1, low))):
        yield "a" * length
    yield from ("a" * (high + 1), "a" * max(low - 1, 0))
    yield from ("A1", "a b", "\N{LATIN SMALL LETTER E WITH ACUTE}", "0", "2026-01-31")


def _numbers(here: Json, *, whole: bool) -> Iterator[float]:
    step = _number(here, "multipleOf", 1 if whole else 0.5) or 1
    edges = [
        _number(here, word, 0)
        for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if word in here
    ]
    for edge in [*edges, 0]:
        start = math.ceil(edge / step) * step if math.isfinite(edge / step) else edge
        for value in (edge, start, start + step, start - step):
            yield int(value) if float(value).is_integer() else value
    yield from (1, -1, 7, 1000)
    if not whole:
        yield from (1.5, -0.25)


def matching(pattern: str) -> list[str]:
    """Return a few short texts that the regular expression *pattern* may match."""
    try:
        parsed: Any = importlib.import_module("re._parser").parse(pattern)
        return list(dict.fromkeys("".join(islice(_read(parsed, more), _LONG)) for more in (0, 1)))
    except Exception:  # noqa: BLE001 - no promise of that module holds for every pattern
        return []


def _read(parsed: Sequence[tuple[Any, Any]], more: int) -> Iterator[str]:
    for code, value in parsed:
        match str(code):
            case "LITERAL":
                yield chr(value)
            case "NOT_LITERAL":
                yield "a" if value != ord("a") else "b"
            case "ANY":
                yield "a"
            case "IN":
                yield _member(value, more)
            case "BRANCH":
                yield from _read(value[1][min(more, len(value[1]) - 1)], more)
            case "SUBPATTERN":
                yield from _read(value[3], more)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = value
                for _ in range(min(low + more, int(high), _LONG)):
                    yield from _read(inner, more)
            case _:
                pass  # anchors and the like take no letter


def _member(members: Sequence[tuple[Any, Any]], more: int) -> str:
    if str(members[0][0]) == "NEGATE":
        taken = {value for code, value in members[1:] if str(code) == "LITERAL"}
        return next(one for one in "a b1-_" if ord(one) not in taken)
    code, value = members[min(more, len(members) - 1)]
    match str(code):
        case "LITERAL":
            return chr(value)
        case "RANGE":
            return chr(value[0])
        case _:
            return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(value), "a")
