"""One argument object from two: plain parameters and a body that stands beside them.

The merged object takes the *body's* key policy, since every key that no parameter binds is judged
by the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from remit.schema.policy import SchemaError

__all__ = ["ambiguous", "merged", "rooted"]

Json = dict[str, Any]


def _resolved(doc: Json, node: Json) -> Json:
    seen = 0
    while "$ref" in node and seen < 32:
        node = doc.get("$defs", {})[node["$ref"].rsplit("/", 1)[-1]]
        seen += 1
    return node


def merged(fields: Json, body: Json) -> Json:
    """Return the schema of an object with the keys of *fields* and of *body*.

    Raises:
        SchemaError: If the body is no object, or declares a key that *fields* declares too.
    """
    made = _with_fields(fields, body, _resolved(body, body))
    if defs := {**fields.get("$defs", {}), **body.get("$defs", {})}:
        made["$defs"] = defs
    return made


def _with_fields(fields: Json, doc: Json, node: Json) -> Json:
    for word in ("oneOf", "anyOf"):
        if word in node:
            arms = [_with_fields(fields, doc, _resolved(doc, arm)) for arm in node[word]]
            rest = {k: v for k, v in node.items() if k in ("description", "title")}
            return {"type": "object", **rest, word: arms}
    if node.get("type") != "object":
        raise SchemaError(
            (), "a body is an object: a model, a TypedDict, a dataclass, or a union of them"
        )
    own, ours = node.get("properties", {}), fields.get("properties", {})
    if both := own.keys() & ours.keys():
        raise SchemaError((), f"the body and a parameter both declare {min(both)!r}; rename one")
    made = {k: v for k, v in node.items() if k not in ("$defs", "properties", "required")}
    made["properties"] = {**ours, **own}
    if required := [*fields.get("required", ()), *node.get("required", ())]:
        made["required"] = required
    return made


def rooted(schema: Json) -> tuple[Json, bool]:
    """Return *schema* with an object at its root, and whether it had to be put under ``result``."""
    target = _resolved(schema, schema)
    if target.get("type") == "object":
        # A recursive model's root is a reference, which readers of tool lists don't follow.
        return ({**target, "$defs": schema["$defs"]} if target is not schema else schema), False
    inner = {k: v for k, v in schema.items() if k != "$defs"}
    made: Json = {
        "type": "object",
        "properties": {"result": inner},
        "required": ["result"],
        "additionalProperties": False,
    }
    if "$defs" in schema:
        made["$defs"] = schema["$defs"]
    return made, True


def ambiguous(doc: Json) -> Iterator[tuple[str, str]]:
    """Yield each union of *doc* in which one object may fit two alternatives, and what both share.

    Without a discriminator pydantic picks one of them by a rule of its own, so that the code would
    get another class than the caller meant.
    """
    yield from _unions(doc, doc, "#")


def _unions(doc: Json, node: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, list):
        for i, item in enumerate(cast("Sequence[Any]", node)):
            yield from _unions(doc, item, f"{pointer}/{i}")
        return
    if not isinstance(node, dict):
        return
    here = cast("Json", node)
    listed: list[Json] = [arm for arm in here.get("anyOf", ()) if isinstance(arm, dict)]
    arms = [_resolved(doc, arm) for arm in listed]
    objects = [arm for arm in arms if arm.get("type") == "object"]
    for i, one in enumerate(objects):
        for other in objects[i + 1 :]:
            if not _disjoint(doc, one, other) and not _disjoint(doc, other, one):
                yield pointer, ", ".join(sorted(one.get("required", ()))) or "an empty object"
    for key, item in here.items():
        if key not in ("default", "examples", "enum", "const"):
            yield from _unions(doc, item, f"{pointer}/{key}")


def _disjoint(doc: Json, one: Json, other: Json) -> bool:
    """Tell whether what *one* requires keeps every instance of it out of *other*."""
    for name in one.get("required", ()):
        below = other.get("properties", {}).get(name)
        if below is None:
            if other.get("additionalProperties") is False:
                return True
            continue
        mine = _resolved(doc, one["properties"][name])
        theirs = _resolved(doc, below)
        if name in other.get("required", ()) and _apart(mine, theirs):
            return True
    return False


def _apart(mine: Json, theirs: Json) -> bool:
    values, others = _constants(mine), _constants(theirs)
    if values is not None and others is not None:
        return not any(value in others for value in values)
    kinds = (mine.get("type"), theirs.get("type"))
    if None in kinds or kinds[0] == kinds[1]:
        return False
    return set(kinds) != {"integer", "number"}


def _constants(node: Json) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    return node.get("enum")
