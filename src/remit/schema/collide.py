"""What the variants of a union provably share about a key that several of them have.

A flat object stands in for every variant and can't tell which one the caller meant. So it says of a
key only what holds in each variant that may have it: a constraint of one never leaks onto another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from remit.schema.document import Json
from remit.schema.places import Places, items_of

__all__ = ["ALL", "ANNOTATIONS", "Joined", "Shared", "kind_of", "listed", "typed"]

ANNOTATIONS: Final = frozenset(
    {
        *("title", "description", "default", "examples", "example", "deprecated"),
        *("readOnly", "writeOnly", "$comment", "discriminator"),
    }
)
"""Keywords that say something to people and judge nothing."""

ALL: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
"""JSON's kinds of value; a number may be an integer, which is a kind of its own here."""

_ORDER: Final = ("string", "integer", "number", "boolean", "array", "object", "null")
_DEPTH: Final = 64  # references and unions deep, after which nothing is provable
_Texts = list[str | None]


@dataclass(frozen=True, slots=True)
class Joined:
    """What several schemas share.

    Attributes:
        rule: How it was found.
        schema: The shared schema, without annotations; nothing if *same* is given.
        same: If all schemas are equal: the parts of one of them, which all must hold.
    """

    rule: Literal["equal", "texts", "kinds", "anything", "nothing"]
    schema: Json
    same: tuple[Any, ...] = ()


class Shared:
    """Reads the schemas of one document for what they have in common, each of them once."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._kinds: dict[int, frozenset[str]] = {}
        self._texts: dict[int, _Texts | None] = {}
        self._told: dict[int, str] = {}

    def joined(self, given: Sequence[tuple[Any, ...]]) -> Joined:
        """Return what accepts whatever any of *given* accepts, and says what it can.

        Equal schemas stay as they are, lists of texts are joined, and of the rest the kinds of
        JSON value remain.

        Args:
            given: Per variant that may have the key the schemas that all hold there.
        """
        given = [parts for parts in given if self.kinds(parts)]
        if not given:
            return Joined("nothing", {"not": {}})
        if len({self._judging(parts) for parts in given}) == 1:
            return Joined("equal", {}, given[0])
        if len({self._judging(self._ends(parts)) for parts in given}) == 1:
            return Joined("equal", {}, self._ends(given[0]))
        texts = [self.texts(parts) for parts in given]
        if all(texts):
            return Joined("texts", listed(value for one in texts for value in one or ()))
        kinds = frozenset[str]().union(*map(self.kinds, given))
        if kinds == ALL:
            return Joined("anything", {})
        return Joined("kinds", typed(kinds))

    def kinds(self, parts: Sequence[Any]) -> frozenset[str]:
        """Return the kinds of value that may be valid under all of *parts*."""
        found = ALL
        for part in parts:
            found &= self._kinds_of(part, 0)
        return found

    def texts(self, parts: Sequence[Any]) -> _Texts | None:
        """Return the texts, and null, that *parts* list as all they accept; otherwise None."""
        return _common(self._texts_of(part, 0) for part in parts)

    def text_of(self, node: Any) -> str:
        """Return *node* as a text that equal schemas share."""
        if not isinstance(node, dict):
            return json.dumps(node)
        here = cast("Json", node)
        if (told := self._told.get(id(here))) is None:
            told = self._told[id(here)] = json.dumps(here, sort_keys=True)
        return told

    def _judging(self, parts: Sequence[Any]) -> tuple[str, ...]:
        """Return *parts* as texts, but for what they say to people at their top."""
        told: dict[str, None] = {}
        for part in parts:
            if isinstance(part, dict) and not ANNOTATIONS.isdisjoint(cast("Json", part)):
                here = cast("Json", part)
                bare = [(key, self.text_of(here[key])) for key in here if key not in ANNOTATIONS]
                told["{" + ", ".join(f'"{key}": {one}' for key, one in sorted(bare)) + "}"] = None
            else:
                told[self.text_of(part)] = None
        return tuple(told)

    def _ends(self, parts: Sequence[Any]) -> tuple[Any, ...]:
        """Return *parts* with bare references followed."""
        made: list[Any] = []
        for part in parts:
            here = part
            for _ in range(_DEPTH):
                if not isinstance(here, dict) or cast("Json", here).keys() - ANNOTATIONS != {
                    "$ref"
                }:
                    break
                target = self._places.target(str(cast("Json", here)["$ref"]))
                here = part if target is None else target
            made.append(here)
        return tuple(made)

    def _kinds_of(self, node: Any, depth: int) -> frozenset[str]:
        if not isinstance(node, dict):
            return ALL if node is not False else frozenset()
        here = cast("Json", node)
        if (known := self._kinds.get(id(here))) is not None:
            return known
        if depth > _DEPTH:
            return ALL
        self._kinds[id(here)] = ALL  # what it leads back to proves nothing
        found = ALL
        if isinstance(here.get("$ref"), str):
            target = self._places.target(here["$ref"])
            found &= ALL if target is None else self._kinds_of(target, depth + 1)
        if not ("$ref" in here and self._places.legacy):
            found &= self._said(here)
            for part in items_of(here, "allOf"):
                found &= self._kinds_of(part, depth + 1)
            for word in ("anyOf", "oneOf"):
                if isinstance(here.get(word), list):
                    arms = (self._kinds_of(part, depth + 1) for part in items_of(here, word))
                    found &= frozenset[str]().union(*arms)
        self._kinds[id(here)] = found
        return found

    def _said(self, here: Json) -> frozenset[str]:
        """Return the kinds that *here* names itself, by type or by value."""
        found = ALL
        names = frozenset(map(str, items_of(here, "type") or [here.get("type")]))
        if names <= ALL:  # a name that JSON Schema doesn't have proves nothing
            found = names | {"integer"} if "number" in names else names
        if (values := _values(here)) is not None:
            found &= frozenset(map(kind_of, values))
        return found

    def _texts_of(self, node: Any, depth: int) -> _Texts | None:
        if not isinstance(node, dict) or depth > _DEPTH:
            return None
        here = cast("Json", node)
        if id(here) in self._texts:
            return self._texts[id(here)]
        self._texts[id(here)] = None
        found: list[_Texts | None] = []
        if isinstance(here.get("$ref"), str):
            found.append(self._texts_of(self._places.target(here["$ref"]), depth + 1))
        if not ("$ref" in here and self._places.legacy):
            values = _values(here)
            if values is not None and all(one is None or isinstance(one, str) for one in values):
                found.append(list(cast("_Texts", values)))
            if here.get("type") == "null":
                found.append([None])
            found += [self._texts_of(part, depth + 1) for part in items_of(here, "allOf")]
            for word in ("anyOf", "oneOf"):
                arms = [self._texts_of(part, depth + 1) for part in items_of(here, word)]
                if arms and all(arm is not None for arm in arms):
                    found.append([value for arm in arms for value in arm or ()])
        told = _common(found)
        if told is not None:
            kinds = self._kinds_of(here, depth)
            told = [one for one in told if kind_of(one) in kinds]
        self._texts[id(here)] = told
        return told


def listed(values: Iterable[str | None]) -> Json:
    """Return the schema of these texts, and null if it is among them."""
    each = list(dict.fromkeys(values))
    kinds = {kind_of(one) for one in each}
    return {**typed(frozenset(kinds)), "enum": each}


def typed(kinds: frozenset[str]) -> Json:
    """Return the bare type of *kinds*; of an object also that it keeps every key."""
    names = [one for one in _ORDER if one in kinds and not (one == "integer" and "number" in kinds)]
    made: Json = {"type": names[0] if len(names) == 1 else names}
    if "object" in kinds:
        # Silence would mean that other keys are dropped, and no key is declared any more.
        made["additionalProperties"] = True
    return made


def _common(found: Iterable[_Texts | None]) -> _Texts | None:
    known = [one for one in found if one is not None]
    if not known:
        return None
    return [value for value in dict.fromkeys(known[0]) if all(value in one for one in known[1:])]


def _values(here: Json) -> list[Any] | None:
    if "const" in here:
        return [here["const"]]
    return items_of(here, "enum") if isinstance(here.get("enum"), list) else None


def kind_of(value: Any) -> str:
    """Return which kind of JSON value *value* is; 3.0 is an integer, as JSON Schema has it."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"  # JSON's 3.0 is an integer too
        case list():
            return "array"
        case _:
            return "object"
