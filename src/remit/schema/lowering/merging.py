"""Two schemas that both hold, as one set of keywords."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from remit.schema.collide import ANNOTATIONS
from remit.schema.document import Json
from remit.schema.places import items_of

__all__ = ["merged"]


def merged(one: Any, other: Any) -> tuple[Json, list[str]]:
    """Return a schema that accepts whatever both accept, and the keywords it lets go of.

    What *other* says to people comes before what *one* says.
    """
    if not isinstance(one, dict) or not isinstance(other, dict):
        if one is False or other is False:
            return {"not": {}}, []
        return dict(cast("Json", one if isinstance(one, dict) else other or {})), []
    mine, theirs = cast("Json", one), cast("Json", other)
    made, lost = dict(mine), list[str]()
    for word, value in theirs.items():
        if word not in made or _told(made[word]) == _told(value) or word in ANNOTATIONS:
            made[word] = value
        elif (both := _both(word, made[word], value)) is not None:
            made[word] = both
        else:
            lost.append(word)
    if _leaks(mine, theirs) or _leaks(theirs, mine):
        lost.append("additionalProperties")
    for part, rest in ((mine, theirs), (theirs, mine)):
        if "items" in part and "prefixItems" in rest and "prefixItems" not in part:
            lost.append("items")  # which held for the first places too
    return made, lost


def _both(word: str, one: Any, other: Any) -> Any:
    """Return one value of *word* that says what both do, or None."""
    if word == "additionalProperties":
        return _policy(one, other)
    if word in _LISTS and isinstance(one, list) and isinstance(other, list):
        return _LISTS[word](one, other)
    if word in _STRICTER and _is_number(one) and _is_number(other):
        return _STRICTER[word](one, other)
    if word == "properties" and isinstance(one, dict) and isinstance(other, dict):
        return _properties(cast("Json", one), cast("Json", other))
    return _types(one, other) if word == "type" else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _policy(one: Any, other: Any) -> Any:
    if one is False or other is False:
        return False
    if one is True or one == {}:
        return other
    return one if other is True or other == {} else None


def _joined(one: Any, other: Any) -> list[Any]:
    return [*{_told(item): item for item in (*one, *other)}.values()]


def _shared(one: Any, other: Any) -> list[Any]:
    also = {*map(_told, other)}
    return [item for item in one if _told(item) in also]


def _told(value: Any) -> str:
    return json.dumps(value, sort_keys=True)  # in which 1 is not true


def _properties(mine: Json, theirs: Json) -> Json:
    made = dict(mine)
    for name, one in theirs.items():
        if name not in made or made[name] == one or made[name] in (True, {}):
            made[name] = one
        elif one not in (True, {}):
            made[name] = {"allOf": [made[name], one]}
    return made


def _types(one: Any, other: Any) -> Any:
    each: list[Any] = items_of({"": one}, "") or [one]
    also: list[Any] = items_of({"": other}, "") or [other]
    found = [kind for kind in each if kind in also]
    found += [
        "integer"
        for some, rest in ((each, also), (also, each))
        if "integer" in some and "number" in rest and "integer" not in rest
    ]
    return found[0] if len(found) == 1 else found


def _leaks(one: Json, other: Json) -> bool:
    """Tell whether *one* holds other keys to a rule that keys of *other* would escape."""
    rules = [one.get(word) for word in ("additionalProperties", "unevaluatedProperties")]
    if all(rule is None or rule is True or rule == {} for rule in rules):
        return False
    own: Any = one.get("properties")
    more: Any = other.get("properties")
    declared = cast("Json", own) if isinstance(own, dict) else {}
    return isinstance(more, dict) and not cast("Json", more).keys() <= declared.keys()


_LISTS: Final[Mapping[str, Callable[[Any, Any], list[Any]]]] = {
    "required": _joined,
    "allOf": _joined,
    "enum": _shared,
}
_STRICTER: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum"), min),
}
