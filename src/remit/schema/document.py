"""A JSON Schema as data: its size, its parts, and where its references lead.

Schemas come from other people too, so that every walk is bounded before it begins: no input makes a
derivation take more than a second, and a reference that leads nowhere is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from urllib.parse import unquote

from remit.schema.policy import SchemaError

__all__ = [
    "MAX_DEPTH",
    "MAX_NODES",
    "Document",
    "Json",
    "Pointer",
    "bounded",
    "parts",
    "pointed",
    "pointer",
    "untyped",
]

Json = dict[str, Any]
Pointer = tuple[str, ...]

MAX_NODES: Final = 50_000  # the largest of the providers' own classes has 12,000
MAX_DEPTH: Final = 128  # 19 is the deepest of 3,458 real tools; pydantic-core stops at 255

ONE: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "additionalItems",
    "items",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
)
MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
NAMED: Final = (
    "properties",
    "patternProperties",
    "dependentSchemas",
    "dependencies",
    "$defs",
    "definitions",
)
"""Keywords that hold a schema, a list of schemas, and schemas by name (2020-12, and draft 7's)."""


_TYPING: Final = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})


def pointer(steps: Pointer) -> str:
    """Return *steps* as a JSON Pointer in a URI fragment's form, ``#/a/b`` (RFC 6901)."""
    told = (step.replace("~", "~0").replace("/", "~1") for step in steps)
    return "#" + "".join(f"/{step}" for step in told)


def pointed(document: Any, ref: str) -> Any:
    """Return what the local reference *ref* (``#``, ``#/…``) leads to in *document*.

    Raises:
        SchemaError: If it leads nowhere, or out of the document.
    """
    if ref != "#" and not ref.startswith("#/"):
        text = f"the reference {ref!r} leads out of this schema; put what it names under $defs"
        raise SchemaError((), text)
    node = document
    for step in unquote(ref).split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = cast("Json", node)[key]
        elif (
            isinstance(node, list)
            and key.isdecimal()
            and int(key) < len(many := cast("Sequence[Any]", node))
        ):
            node = many[int(key)]
        else:
            raise SchemaError((), f"the reference {ref!r} leads nowhere in this schema")
    return node


def parts(node: Any) -> Iterator[tuple[Pointer, Any]]:
    """Yield the schemas directly inside the schema *node*, each with the steps to it.

    Data that looks like schemas, such as a default, is none.
    """
    if not isinstance(node, dict):
        return
    here = cast("Json", node)
    for word, value in here.items():
        if word in ONE and isinstance(value, dict | bool):
            yield (word,), value
        elif word in MANY and isinstance(value, list):
            for index, item in enumerate(cast("Sequence[Any]", value)):
                yield (word, str(index)), item
        elif word in NAMED and isinstance(value, dict):
            for name, item in cast("Json", value).items():
                if isinstance(item, dict | bool):  # draft 7's dependencies may be lists of names
                    yield (word, name), item


def untyped(schema: Any) -> list[str]:
    """Return the JSON Pointers of *schema*'s properties, at any depth, that say no type.

    A type, a list or a single value, a union, an intersection and a reference all say one.
    """
    found: list[str] = []
    stack: list[tuple[Any, Pointer]] = [(schema, ())]
    while stack:
        node, at = stack.pop()
        for steps, part in parts(node):
            below = (*at, *steps)
            if steps[0] == "properties" and (
                not isinstance(part, dict) or _TYPING.isdisjoint(cast("Json", part))
            ):
                found.append(pointer(below))
            stack.append((cast("Any", part), below))
    return sorted(found)


def bounded(schema: Any) -> Json:
    """Return *schema* if it is an object schema of a size that can be worked with.

    Raises:
        SchemaError: If it has more than `MAX_NODES` values, nests deeper than `MAX_DEPTH`, contains
            itself as a Python object, or isn't JSON.
    """
    if not isinstance(schema, Mapping):
        raise SchemaError((), f"a tool's schema is a JSON object, not {type(schema).__name__}")
    seen = 0
    stack: list[tuple[Any, int]] = [(cast("Any", schema), 1)]
    while stack:
        value, depth = stack.pop()
        seen += 1
        if depth > MAX_DEPTH:
            raise SchemaError((), f"the schema nests deeper than {MAX_DEPTH}; flatten it")
        if seen > MAX_NODES:
            text = f"the schema has more than {MAX_NODES} values; split the tool, or use $defs"
            raise SchemaError((), text)
        if isinstance(value, Mapping):
            below = cast("Mapping[object, Any]", value)
            if not all(isinstance(key, str) for key in below):
                raise SchemaError((), "a key of the schema is no text, which JSON can't carry")
            stack.extend((item, depth + 1) for item in below.values())
        elif isinstance(value, list | tuple):
            stack.extend((item, depth + 1) for item in cast("Sequence[Any]", value))
        elif value is not None and not isinstance(value, str | bool | int | float):
            raise SchemaError((), f"the schema holds a {type(value).__name__}, which is no JSON")
    return cast("Json", schema)


class Document:
    """One bounded schema, for walks that follow its references.

    Attributes:
        root: The schema itself; never modified.
    """

    def __init__(self, schema: Any) -> None:
        self.root: Json = bounded(schema)
        self._found: dict[str, Any] = {}

    def target(self, ref: str) -> Any:
        """Return what *ref* leads to; see `pointed`."""
        if ref not in self._found:
            self._found[ref] = pointed(self.root, ref)
        return self._found[ref]

    def resolved(self, node: Any) -> Any:
        """Return *node*, or what its chain of bare references ends in.

        Raises:
            SchemaError: If the chain has no end, or leads nowhere.
        """
        chain: set[str] = set()
        while isinstance(node, dict) and isinstance(ref := cast("Json", node).get("$ref"), str):
            if ref in chain:
                raise SchemaError((), f"the reference {ref!r} leads back to itself")
            chain.add(ref)
            node = self.target(ref)
        return cast("Any", node)
