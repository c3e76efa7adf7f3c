"""What one schema says by itself: to people, and to a judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, cast

from remit.schema.collide import ANNOTATIONS
from remit.schema.document import NAMED, Document, Json, Pointer, parts, pointer
from remit.schema.places import DEFINITIONS, items_of, named_of
from remit.schema.policy import SchemaError

__all__ = [
    "NAMES",
    "OBJECT",
    "alone",
    "bare",
    "has_reference",
    "is_kind",
    "judging",
    "named_in",
    "paired",
    "policies",
    "policy",
    "same",
    "short",
    "split",
]

NAMES: Final = frozenset({"$schema", "$id", "$comment", "$anchor", *DEFINITIONS, *ANNOTATIONS})
"""Keywords that judge nothing where they stand."""

OBJECT: Final = ("properties", "required", "additionalProperties")
"""Keywords that mean something only with one another, of objects."""

_LIST: Final = ("items", "prefixItems", "additionalItems")
_UNIONS: Final = ("anyOf", "oneOf", "allOf", "$ref")
_OF_KIND: Final = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding"}),
    "number": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    ),
    "array": frozenset(
        {
            *("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"),
            *("contains", "minContains", "maxContains", "unevaluatedItems"),
        }
    ),
    "object": frozenset(
        {
            *("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
            *("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"),
            *("dependencies", "unevaluatedProperties"),
        }
    ),
}
_SHOWN: Final = 60  # letters of a value in a sentence


def judging(node: Json) -> Json:
    """Return *node* without what it says to people, and names."""
    return {word: one for word, one in node.items() if word not in NAMES}


def bare(node: Any) -> Any:
    """Return *node* without what it says to people, at any depth."""
    if not isinstance(node, dict):
        return node
    made: Json = judging(cast("Json", node))
    for steps, one in parts(node):
        if steps[0] not in made:
            continue
        if len(steps) == 1:
            made[steps[0]] = bare(one)
        else:
            made[steps[0]] = here = made[steps[0]].copy()
            listed = steps[0] not in NAMED
            here[int(steps[1]) if listed else steps[1]] = bare(one)
    return made


def has_reference(node: Any) -> bool:
    """Tell whether *node* refers to another schema, at any depth."""
    stack: list[Any] = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, dict) and "$ref" in here:
            return True
        stack += [one for _, one in parts(here)]
    return False


def is_kind(kind: str, node: Json) -> bool:
    """Tell whether *node* is about objects, or lists, alone."""
    words = ("properties",) if kind == "object" else ("items", "prefixItems")
    return node.get("type") == kind or ("type" not in node and any(w in node for w in words))


def policy(node: Json) -> str:
    """Return what *node*, an object, does with keys that it doesn't declare."""
    rest = node.get("additionalProperties")
    if rest is None:
        return "plain"
    if rest is False or rest == {"not": {}}:
        return "strict"
    return "open" if rest is True or rest == {} else "typed"


def policies(schema: Any) -> dict[str, str]:
    """Return by JSON Pointer what each object of *schema* does with undeclared keys."""
    found: dict[str, str] = {}
    stack: list[tuple[Any, tuple[str, ...]]] = [(schema, ())]
    while stack:
        node, at = stack.pop()
        if isinstance(node, dict) and is_kind("object", cast("Json", node)):
            found[pointer(at)] = policy(cast("Json", node))
        stack += [(part, (*at, *steps)) for steps, part in parts(node)]
    return dict(sorted(found.items()))


def named_in(node: Any, document: Document) -> dict[str, str]:
    """Return each property that *node* may hold at any depth, with the pointer to it from there."""
    found: dict[str, str] = {}
    seen: set[int] = set()
    stack: list[tuple[Any, Pointer]] = [(node, ())]
    while stack:
        here, at = stack.pop()
        if not isinstance(here, dict) or id(cast("Json", here)) in seen:
            continue
        seen.add(id(cast("Json", here)))
        for steps, part in parts(here):
            if steps[0] in DEFINITIONS:
                continue
            if steps[0] == "properties":
                found.setdefault(steps[1], pointer((*at, *steps)))
            stack.append((part, (*at, *steps)))
        if isinstance(ref := cast("Json", here).get("$ref"), str):
            try:
                stack.append((document.target(ref), at))
            except SchemaError:
                continue
    return found


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are one; ``...`` stands for none."""
    if one is ... or other is ...:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def short(value: Any) -> str:
    """Return *value* for a sentence."""
    if value is ...:
        return "nothing"
    told = json.dumps(value, ensure_ascii=False)
    return told if len(told) <= _SHOWN else f"{told[: _SHOWN - 1]}…"


def alone(node: Json) -> Json:
    """Return *node* without what refers to other schemas, and what means nothing without that."""
    made = dict(node)
    for words in (OBJECT, _LIST):
        if any(has_reference({word: node[word]}) for word in words if word in node):
            made = {word: one for word, one in made.items() if word not in words}
    return {word: one for word, one in made.items() if not has_reference({word: one})}


def split(node: Json) -> Json:
    """Return *node*, whose type is a list that names objects or lists, as a union by type."""
    kinds = items_of(node, "type")
    if not {"object", "array"} & {*map(str, kinds)} or any(word in node for word in _UNIONS):
        return node
    arms: list[Json] = []
    for kind in kinds:
        own = _OF_KIND.get("number" if kind == "integer" else kind, frozenset())
        away = frozenset[str]().union(*_OF_KIND.values()) - own
        arms.append({**{w: one for w, one in node.items() if w not in away}, "type": kind})
    return {"anyOf": arms}


def paired(old: Sequence[Json], new: Sequence[Json]) -> dict[int, int]:
    """Return which of *new* each alternative of *old* became: by its whole, its tags, its kind."""
    made: dict[int, int] = {}
    for key in (_text, _tags, _type):
        left = {i: key(one) for i, one in enumerate(old) if i not in made}
        right = {i: key(one) for i, one in enumerate(new) if i not in made.values()}
        for index, said in left.items():
            found = [i for i, other in right.items() if other == said]
            if said and len(found) == 1 and [*left.values()].count(said) == 1:
                made[index] = found[0]
    return made


def _text(node: Json) -> str:
    return json.dumps(bare(node), sort_keys=True)


def _tags(node: Json) -> str:
    tags = {
        name: [one[word] for word in ("const", "enum") if word in one]
        for name in named_of(node, "properties")
        if (one := named_of(node["properties"], name)) and ("const" in one or "enum" in one)
    }
    return json.dumps(tags, sort_keys=True) if tags else ""


def _type(node: Json) -> str:
    return json.dumps(node.get("type", ""))
