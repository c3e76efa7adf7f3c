"""Lowering what few people write: each was wrong once, and what is right is plain to see."""

from __future__ import annotations

import time
from typing import Any

import jsonschema_rs
import pytest

from remit.schema import SchemaError, lower
from tests.schema.checkers import CHECKERS
from tests.schema.encoding import encoded
from tests.schema.test_lower import tool

S: dict[str, Any] = {"type": "string"}
I: dict[str, Any] = {"type": "integer"}  # noqa: E741 - beside S
ALL = ("anthropic", "openai", "gemini")
DRAFT4 = "http://json-schema.org/draft-04/schema#"
DRAFT7 = "http://json-schema.org/draft-07/schema#"


def both(kind: str, **more: Any) -> dict[str, Any]:
    return tool(kind={"const": kind}, **more)


KEPT: dict[str, tuple[dict[str, Any], list[Any]]] = {
    # A schema, and values that it takes: they are taken after lowering, sent and led back.
    "a reference into what the root lets go": (
        {
            "type": "object",
            "anyOf": [{"properties": {"y": I}, "required": ["y"]}, {"required": ["z"]}],
            "properties": {"z": {"$ref": "#/anyOf/0/properties/y"}},
        },
        [{"y": 1}, {"z": 2}],
    ),
    "a reference to a root that is folded": (
        {
            "type": "object",
            "properties": {"a": I, "p": {"not": {"$ref": "#"}}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        [{"a": 1, "p": {}}, {"a": 1, "p": "x"}],
    ),
    "a word that draft 7 hasn't": (
        {"$schema": DRAFT7, **tool(v={"type": "object", "properties": {"a": S},
                                      "unevaluatedProperties": False})},
        [{"v": {"a": "x"}}, {"v": {"a": "x", "b": 1}}],
    ),
    "a word that draft 4 hasn't": (
        {"$schema": DRAFT4, **tool(v={"type": "string", "const": "x"})},
        [{"v": "y"}],
    ),
    "places that draft 7 hasn't": (
        {"$schema": DRAFT7, **tool(v={"type": "array", "items": S, "prefixItems": [I]})},
        [{"v": ["x"]}],
    ),
    "a schema with a name of its own": (
        {
            **tool(a={"$id": "https://example.com/a", "$ref": "#/$defs/L", "$defs": {"L": I}}),
            "$defs": {"L": S},
        },
        [{"a": 1}],
    ),
    "open alternatives within an alternative": (
        {
            "type": "object",
            "anyOf": [{"anyOf": [{"type": "object", "additionalProperties": True}]}],
        },
        [{"anything": 1}],
    ),
    "an alternative of patterns": (
        {
            "type": "object",
            "anyOf": [{"patternProperties": {"^x": I}, "additionalProperties": False}],
        },
        [{"x1": 1}],
    ),
    "tuples in one part of an intersection": (
        tool(v={"type": "array", "allOf": [{"items": I}, {"prefixItems": [{"minimum": 3}]}]}),
        [{"v": [3, 1]}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("name", KEPT)
def test_what_is_taken_stays_taken(name: str, provider: str):
    schema, values = KEPT[name]
    made = lower(schema, provider)
    jsonschema_rs.meta.validate(made.schema)
    for value in values:
        assert jsonschema_rs.is_valid(schema, value)
        if made.strict and "b" in value.get("v", ()):
            continue  # a strict mode asks for no key that the contract drops
        sent = encoded(value, made.schema, made.schema) if made.strict else value
        assert jsonschema_rs.is_valid(made.schema, sent), made.schema
        assert made.decode(sent) == value
    if name != "a schema with a name of its own":
        assert CHECKERS[provider](made.schema, strict=made.strict) == []
    assert not made.strict or made.lossless
    if name == "an alternative of patterns":
        assert made.schema["additionalProperties"] is True, "what an arm keeps must come through"


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    "node",
    [
        {"allOf": [{"$ref": "#/$defs/X"}], "description": "Of it."},
        {"anyOf": [{"allOf": [{"$ref": "#/$defs/X"}]}, {"type": "null"}]},
        {"allOf": [{"$ref": "#/$defs/X"}, {"minProperties": 0}]},
        {"type": "object", "oneOf": [{"$ref": "#/$defs/X"}, {"$ref": "#/$defs/Y"}]},
    ],
)
def test_ordinary_recursion_stops_nobody(node: Any, provider: str):
    """As pydantic 1 writes it, and as unions lead back into themselves."""
    schema = {
        **tool(v={"$ref": "#/$defs/X"}),
        "$defs": {
            "X": {
                "type": "object",
                "properties": {"c": node, "k": {"const": "x"}},
                "required": ["k"],
            },
            "Y": {
                "type": "object",
                "properties": {"k": {"const": "y"}, "n": node},
                "required": ["k"],
            },
        },
    }
    made = lower(schema, provider)
    assert CHECKERS[provider](made.schema, strict=made.strict) == []
    value = {"v": {"k": "x", "c": {"k": "x"}}}
    assert jsonschema_rs.is_valid(schema, value)
    if not made.strict:
        assert jsonschema_rs.is_valid(made.schema, value)


UNSAID: dict[str, Any] = {
    "texts in two alternatives": {"anyOf": [{"enum": ["Low"]}, {"enum": ["LOW"]}]},
    "tags of two alternatives": {"oneOf": [both("a"), both("A")]},
}


@pytest.mark.parametrize("name", UNSAID)
def test_capitals_must_not_tell_alternatives_apart_for_anthropic(name: str):
    made = lower(tool(v=UNSAID[name]), "anthropic")
    assert not made.strict
    assert "capitalisation" in made.reasons[0]
    assert lower(tool(v=UNSAID[name]), "openai").strict


LOST: dict[str, Any] = {
    "a pattern too long for words": {"type": "string", "pattern": f"^(?!{'x' * 400})"},
    "values of two kinds": {"allOf": [{"enum": [1, "x"]}, {"enum": [True, "x"]}]},
    "a constant that isn't listed": {"const": "x", "enum": ["y"]},
    "keys beside what refuses them": {
        "allOf": [
            {"type": "object", "properties": {"a": S}, "unevaluatedProperties": False},
            {"properties": {"b": S}},
        ]
    },
}


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("name", LOST)
def test_nothing_that_is_lost_is_called_strict(name: str, provider: str):
    schema = tool(v=LOST[name])
    made = lower(schema, provider)
    if name == "values of two kinds":
        assert made.schema["properties"]["v"]["enum"] == ["x"], "1 is not true"
        return
    assert not made.strict
    with pytest.raises(SchemaError):
        lower(schema, provider, strict=True)


def test_a_bound_that_draft_4_marks_is_said():
    schema = {
        "$schema": DRAFT4,
        **tool(v={"type": "integer", "minimum": 0, "exclusiveMinimum": True}),
    }
    assert lower(schema, "openai").schema["properties"]["v"]["exclusiveMinimum"] == 0
    assert lower(schema, "gemini").schema["properties"]["v"]["description"] == "Greater than 0."


def test_an_object_of_no_type_keeps_what_it_says_for_gemini():
    made = lower(tool(v={"required": ["x"]}, w={"additionalProperties": I}), "gemini")
    assert made.schema["properties"]["v"]["required"] == ["x"]
    assert made.schema["properties"]["w"]["additionalProperties"] == {"type": "integer"}


def test_alternatives_of_one_shape_arent_left_to_the_decoder():
    """Which of them was meant only a bound tells, and the decoder doesn't judge."""
    one = tool(False, a=S, b={"type": "integer", "maximum": 5})
    one["required"] = ["b"]
    other = tool(a={"type": ["string", "null"]}, b={"type": "integer", "minimum": 6})
    made = lower(tool(v={"anyOf": [one, other]}), "openai")
    assert not made.strict
    assert "one shape" in made.reasons[0]
    assert lower(tool(v={"anyOf": [one, tool(c=I)]}), "openai").strict


def test_decoding_takes_no_longer_for_what_leads_back_to_itself():
    node = {
        "type": "object",
        "properties": {"v": I, "next": {"$ref": "#/$defs/T"}},
        "required": ["v"],
        "additionalProperties": False,
    }
    made = lower({**tool(root={"$ref": "#/$defs/T"}), "$defs": {"T": node}}, "openai", strict=True)
    value: Any = {"v": 0, "next": None}
    for depth in range(100):
        value = {"v": depth, "next": value}
    start = time.perf_counter()
    back = made.decode({"root": value})
    assert time.perf_counter() - start < 2, "bounded: milliseconds where nothing else runs"
    for _ in range(100):
        back = back.get("root", back)["next"]
    assert back == {"v": 0}


BIG: dict[str, Any] = {
    "a chain of references": {
        **tool(v={"$ref": "#/$defs/d0"}),
        "$defs": {**{f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(9_000)}, "d9000": S},
    },
    "many intersections": tool(
        v={"type": "object", "allOf": [{"properties": {f"p{i}": S}} for i in range(9_000)]}
    ),
    "many alternatives that require": {
        "type": "object",
        "anyOf": [{"required": [f"p{i}"]} for i in range(9_000)],
    },
    "two long lists": tool(
        v={
            "allOf": [
                {"enum": [f"a{i}" for i in range(9_000)]},
                {"enum": [f"a{i}" for i in range(9_000)]},
            ]
        }
    ),
}


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("name", BIG)
def test_what_is_large_is_taken_or_refused_soon(name: str, provider: str):
    start = time.perf_counter()
    try:
        made = lower(BIG[name], provider)
    except SchemaError:
        pass
    else:
        assert made.schema
    assert time.perf_counter() - start < 5, "bounded: a second where nothing else runs"
