"""What a strict mode sends, decoded, is what the contract means: no key comes, goes or changes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.schema import SchemaError, lower
from remit.schema.document import Document
from tests.schema.checkers import CHECKERS
from tests.schema.encoding import closed, encoded

PROVIDERS = ("plain", "anthropic", "openai", "gemini")
STRICT = ("anthropic", "openai")
NAMES = ("a", "b", "c")
LEAVES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "integer"},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "null"},
    {"type": ["string", "null"]},
    {"type": ["string", "null"], "default": None},
    {"type": ["integer", "null"], "default": 3},
    {"type": ["integer", "array"], "items": {"type": "string"}},
    {"enum": ["x", "y"]},
    {"enum": ["x", None, 1]},
    {"const": "x"},
    {"const": 3, "description": "Three."},
    {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"$ref": "#/$defs/Leaf"},
    {"$ref": "#/$defs/Leaf", "description": "A leaf here."},
    {"$ref": "#/$defs/Tree"},
    {"allOf": [{"$ref": "#/$defs/Pair"}], "description": "Both."},
    {"allOf": [{"type": "string"}, {"enum": ["x", "z"]}]},
    {"type": "string", "default": "x"},
    {"type": "object"},
    {
        "type": ["object", "null"],
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
    {"allOf": [{"$ref": "#/$defs/Tree"}], "description": "A tree here."},
    {"anyOf": [{"allOf": [{"$ref": "#/$defs/Tree"}, {"$ref": "#/$defs/Pair"}]}, {"type": "null"}]},
    {"anyOf": [{"enum": ["x", "y"]}, {"enum": ["X"]}, {"type": "null"}], "default": None},
    {"enum": [True, 1, "x"]},
    {},
]
BOUNDED: list[dict[str, Any]] = [
    {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[xy]"},
    {"type": "string", "format": "uri"},
    {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
    {"type": "number", "multipleOf": 0.5},
    {"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": True},
]
POLICIES: list[dict[str, Any]] = [
    *[{"additionalProperties": False}] * 4,
    {},
    {"additionalProperties": True},
    {"additionalProperties": {"type": "integer"}},
]
DEFINITIONS: dict[str, Any] = {
    "Leaf": {"type": "string", "enum": ["x", "leaf"]},
    "Pair": {
        "type": "object",
        "properties": {"l": {"type": "integer"}, "r": {"type": "integer"}},
        "required": ["l"],
        "additionalProperties": False,
    },
    "Tree": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "under": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
            "next": {"$ref": "#/$defs/Tree"},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}


@st.composite
def nodes(draw: st.DrawFn, depth: int, leaves: list[dict[str, Any]]) -> dict[str, Any]:
    """A schema: a leaf, an object, a list, or a union that a property tells apart."""
    kind = draw(st.sampled_from(["leaf", "leaf", "object", "list", "union"])) if depth else "leaf"
    if kind == "leaf":
        return draw(st.sampled_from(leaves))
    if kind == "object":
        return draw(objects(depth, leaves))
    if kind == "list":
        return {"type": "array", "items": draw(nodes(depth - 1, leaves))}
    arms = [draw(objects(depth - 1, leaves)) for _ in range(2)]
    for value, arm in zip("uv", arms, strict=True):
        arm["properties"]["kind"] = {"const": value}
        arm["required"].append("kind")
    if draw(st.booleans()):
        arms.append({"type": "null"})
    return {draw(st.sampled_from(["oneOf", "anyOf"])): arms}


@st.composite
def objects(draw: st.DrawFn, depth: int, leaves: list[dict[str, Any]]) -> dict[str, Any]:
    names = [name for name in NAMES if draw(st.booleans())] or ["a"]
    return {
        "type": "object",
        "properties": {name: draw(nodes(max(depth - 1, 0), leaves)) for name in names},
        "required": [name for name in names if draw(st.booleans())],
        **draw(st.sampled_from(POLICIES)),
    }


def tools(leaves: list[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return objects(3, leaves).map(lambda made: closed({**made, "$defs": DEFINITIONS}))


def values(schema: Any, root: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that are valid under *schema*, but for bounds, which they often keep."""
    scalars = st.sampled_from([None, True, 1, 1.5, "x", "xy", [], ["x"], {"a": None}])
    if not isinstance(schema, dict) or depth > 9:
        return scalars if depth <= 9 else st.nothing()
    if "$ref" in schema:
        return values(Document(root).target(schema["$ref"]), root, depth + 1)
    if "allOf" in schema:
        return values(schema["allOf"][-1 if "enum" in schema["allOf"][-1] else 0], root, depth)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return st.one_of([values(arm, root, depth + 1) for arm in schema[word]])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return st.one_of([_of(kind, schema, root, depth) for kind in kinds]) if kinds else scalars


def _of(kind: str, schema: Any, root: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if kind == "object":
        known = {k: values(v, root, depth + 1) for k, v in schema.get("properties", {}).items()}
        needed = {k: v for k, v in known.items() if k in schema.get("required", ())}
        optional = {k: v for k, v in known.items() if k not in needed} if depth < 6 else {}
        made = st.fixed_dictionaries(needed, optional=optional)
        if schema.get("additionalProperties", schema.get("properties") is None) is False:
            return made
        more = st.dictionaries(st.sampled_from(["z", "q"]), st.integers(0, 3), max_size=1)
        return st.builds(lambda own, other: {**other, **own}, made, more)
    if kind == "array":
        most = 3 if depth < 6 else 0
        return st.lists(values(schema.get("items", {}), root, depth + 1), max_size=most)
    return {
        "string": st.sampled_from(["x", "xy", "y", "", "é", "https://a.example/b"]),
        "integer": st.integers(-1, 9),
        "number": st.sampled_from([0, 1.5, 2.0, -3]),
        "boolean": st.booleans(),
        "null": st.none(),
    }[kind]


@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_what_is_meant_can_be_sent_and_comes_back(provider: str, data: st.DataObject):
    # Where null is the default, left out comes back as null, which is the same to the contract.
    leaves = [leaf for leaf in LEAVES if leaf.get("default", "") is not None]
    schema = data.draw(tools([*leaves, *BOUNDED]))
    made = lower(schema, provider)
    assert provider == "plain" or CHECKERS[provider](made.schema, strict=made.strict) == []
    meant = data.draw(values(schema, schema))
    if not jsonschema_rs.is_valid(schema, meant):
        return
    sent = encoded(meant, made.schema, made.schema) if made.strict else meant
    assert jsonschema_rs.is_valid(made.schema, sent), (made.schema, sent)
    assert made.decode(sent) == meant


@pytest.mark.parametrize("provider", STRICT)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_whatever_a_strict_mode_emits_decodes_to_what_the_contract_takes(
    provider: str, data: st.DataObject
):
    """Without bounds, which only words say, each emission means something to the contract."""
    schema = data.draw(tools(LEAVES))
    try:
        made = lower(schema, provider, strict=True)
    except SchemaError as why:
        assert not lower(schema, provider).strict
        assert why.text
        return
    sent = data.draw(values(made.schema, made.schema))
    before = json.dumps(sent)
    back = made.decode(sent)
    assert json.dumps(sent) == before
    assert only_nulls_went(sent, back)
    if jsonschema_rs.is_valid(made.schema, sent):
        assert jsonschema_rs.is_valid(schema, back), (schema, made.schema, sent, back)


def only_nulls_went(sent: Any, back: Any) -> bool:
    if isinstance(sent, dict) and isinstance(back, dict):
        gone = sent.keys() - back.keys()
        kept = [name for name in sent if name in back]
        return (
            back.keys() <= sent.keys()
            and all(sent[name] is None for name in gone)
            and kept == list(back)
            and all(only_nulls_went(sent[name], back[name]) for name in back)
        )
    if isinstance(sent, list) and isinstance(back, list):
        return len(sent) == len(back) and all(map(only_nulls_went, sent, back))
    return type(sent) is type(back) and sent == back


JUNK = st.recursive(
    st.sampled_from([None, True, 0, -1.5, "", "x", "object", "#", "#/$defs/a", "#/properties/a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "properties", "required", "additionalProperties", "items", "enum"),
                    *("prefixItems", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "a"),
                    *("format", "pattern", "minimum", "maxItems", "title", "default", "not", "if"),
                    *("discriminator", "$id", "$schema", "unevaluatedProperties", "examples"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.parametrize("provider", PROVIDERS)
@given(body=st.dictionaries(st.sampled_from(["properties", "anyOf", "$defs", "allOf"]), JUNK))
@settings(max_examples=200, deadline=None)
def test_a_schema_that_is_none_is_refused_or_taken_but_breaks_nothing(
    provider: str, body: dict[str, Any]
):
    try:
        made = lower({**body, "type": "object"}, provider, fold_case=True)
    except SchemaError:
        return
    assert made.decode({"a": {"a": None}}) is not None
    assert made.schema["type"] == "object"
