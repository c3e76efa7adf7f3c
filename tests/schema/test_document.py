"""A schema's size is known before it is walked, and a reference leads somewhere or is named."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from remit.schema.document import MAX_DEPTH, MAX_NODES, Document, bounded, parts, pointed, pointer
from remit.schema.policy import SchemaError


def deep(levels: int) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"type": "object", "properties": {"x": made}}
    return made


def wide(keys: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"k{i}": {"type": "string"} for i in range(keys)}}


def circular() -> dict[str, Any]:
    made: dict[str, Any] = {"type": "object"}
    made["properties"] = {"again": made}
    return made


def shared(doublings: int) -> dict[str, Any]:
    """One Python object in twice as many places at each level: small in memory, huge as JSON."""
    made: dict[str, Any] = {"type": "string"}
    for _ in range(doublings):
        made = {"anyOf": [made, made]}
    return made


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (wide(100_000), "more than 50000 values"),
        (deep(1_000), "nests deeper than 128"),
        (deep(100_000), "nests deeper than 128"),
        (circular(), "nests deeper than 128"),
        (shared(40), "more than 50000 values"),
        ([], "is a JSON object, not list"),
        ({"properties": {1: {}}}, "a key of the schema is no text"),
        ({"const": {1, 2}}, "holds a set, which is no JSON"),
    ],
    ids=["wide", "deep", "deeper", "circular", "shared", "list", "key", "set"],
)
def test_a_schema_of_hostile_size_or_form_is_refused_in_little_memory(schema: Any, text: str):
    """If this fails, one schema from somebody else takes down everyone's server."""
    tracemalloc.start()
    try:
        with pytest.raises(SchemaError, match=text):
            bounded(schema)
        assert tracemalloc.get_traced_memory()[1] < 32 * 2**20
    finally:
        tracemalloc.stop()


def test_the_largest_that_is_taken_is_taken():
    assert bounded(wide(MAX_NODES // 2 - 2))
    assert bounded(deep((MAX_DEPTH - 2) // 2))


@pytest.mark.parametrize(
    ("ref", "found"),
    [
        ("#", None),
        ("#/$defs/a", {"type": "string"}),
        ("#/$defs/x~1y~0z", {"const": 1}),
        ("#/$defs/with%20space", {"const": 2}),
        ("#/allOf/1", {"minimum": 1}),
    ],
)
def test_a_reference_leads_to_its_place(ref: str, found: Any):
    """RFC 6901: escapes, percent-encoding in a fragment, and positions in a list."""
    doc = {
        "$defs": {"a": {"type": "string"}, "x/y~z": {"const": 1}, "with space": {"const": 2}},
        "allOf": [{}, {"minimum": 1}],
    }
    assert pointed(doc, ref) == (doc if found is None else found)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        ("#/$defs/none", "leads nowhere"),
        ("#/allOf/9", "leads nowhere"),
        ("#/allOf/-1", "leads nowhere"),
        ("https://example.org/s.json", "leads out of this schema"),
        ("other.json#/a", "leads out of this schema"),
        ("#anchor", "leads out of this schema"),
    ],
)
def test_a_reference_that_leads_nowhere_is_named(ref: str, text: str):
    with pytest.raises(SchemaError, match=text):
        pointed({"allOf": [{}]}, ref)


def test_a_chain_of_references_is_followed_to_its_end_or_said_to_have_none():
    doc = Document(
        {
            "$defs": {
                "a": {"$ref": "#/$defs/b"},
                "b": {"type": "integer"},
                "x": {"$ref": "#/$defs/y"},
                "y": {"$ref": "#/$defs/x"},
            }
        }
    )
    assert doc.resolved({"$ref": "#/$defs/a"}) == {"type": "integer"}
    with pytest.raises(SchemaError, match="leads back to itself"):
        doc.resolved({"$ref": "#/$defs/x"})


def test_data_that_looks_like_a_schema_is_no_part():
    node = {
        "properties": {"default": {"type": "string"}},
        "default": {"properties": {"no": {}}},
        "enum": [{"items": {}}],
        "dependencies": {"a": ["b"], "c": {"type": "object"}},
        "items": False,
    }
    assert {pointer(steps) for steps, _ in parts(node)} == {
        "#/properties/default",
        "#/dependencies/c",
        "#/items",
    }
    assert list(parts(True)) == []
