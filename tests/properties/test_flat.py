"""Whatever a union accepts, the flat object accepts; flat twice is flat once; nothing dangles."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.schema.document import Document, parts
from remit.schema.flattening.flat import flatten, flattened
from remit.schema.policy import SchemaError

FIELDS = ("a", "b", "c", "kind2")
LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "maxLength": 2, "description": "Short."},
        {"type": "integer"},
        {"type": "integer", "minimum": 1, "default": 1},
        {"type": "number"},
        {"type": ["string", "null"]},
        {"type": "boolean"},
        {"type": "null"},
        {"enum": ["x", "y"]},
        {"const": "x"},
        {"enum": [1, "x", None]},
        {"type": "array", "items": {"type": "integer"}},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"$ref": "#/$defs/Leaf"},
        {"$ref": "#/$defs/Tree"},
        {"allOf": [{"type": "string"}, {"minLength": 1}]},
        {},
    ]
)
POLICIES = st.sampled_from(
    [
        {},
        {"additionalProperties": False},
        {"additionalProperties": True},
        {"additionalProperties": {"type": "integer"}},
        {"additionalProperties": {"type": "string"}},
    ]
)
CONSTRAINTS = st.sampled_from(
    [{}, {}, {}, {"maxProperties": 3}, {"patternProperties": {"^z": {"type": "integer"}}}]
)


@st.composite
def unions(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """A discriminated union, its variants with policies, collisions and unions of their own."""
    names = draw(st.permutations(["v0", "v1", "v2", "v3", "v4"]))
    arms: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(2, 3))):
        values = [names.pop() for _ in range(draw(st.integers(1, 1 if len(names) < 3 else 2)))]
        inner = LEAVES if depth == 0 else st.one_of(LEAVES, unions(depth - 1), placed(depth - 1))
        properties = {name: draw(inner) for name in FIELDS if draw(st.booleans())}
        kind = {"const": values[0]} if len(values) == 1 else {"enum": values}
        required = ["kind", *(name for name in properties if draw(st.booleans()))]
        arms.append(
            {
                "type": "object",
                "properties": {"kind": kind, **properties},
                "required": required,
                **draw(POLICIES),
                **draw(CONSTRAINTS),
            }
        )
        if not names:
            break
    if draw(st.booleans()):
        arms.append({"type": "null"})
    made: dict[str, Any] = {draw(st.sampled_from(["oneOf", "anyOf"])): arms}
    if draw(st.booleans()):
        made["discriminator"] = {"propertyName": "kind", "mapping": {"v0": "#/$defs/Gone"}}
    return made


@st.composite
def placed(draw: st.DrawFn, depth: int) -> dict[str, Any]:
    """A union where unions stand: in lists, records, tuples, intersections, objects."""
    union = draw(unions(max(depth, 0)))
    return draw(
        st.sampled_from(
            [
                {"type": "array", "items": union},
                {"type": "array", "prefixItems": [{"type": "integer"}, union]},
                {"type": "object", "additionalProperties": union},
                {"type": "object", "properties": {"in": union}, "additionalProperties": False},
                {"allOf": [union, {"type": ["object", "null"]}]},
                {"properties": {"b": {"type": "integer"}}, **union},
                {"default": None, "description": "Either.", **union},
            ]
        )
    )


def whole(union: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"v": union},
        "$defs": {
            "Leaf": {"type": "string", "maxLength": 3},
            "Tree": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {
                            "kind": {"const": "node"},
                            "under": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
                        },
                        "required": ["kind"],
                        "additionalProperties": False,
                    },
                    {
                        "type": "object",
                        "properties": {"kind": {"const": "leaf"}, "value": {"type": "integer"}},
                        "required": ["kind", "value"],
                        "additionalProperties": False,
                    },
                ]
            },
        },
    }


SCALARS = st.sampled_from([None, True, 1, 3, 0, 1.5, "x", "y", "", "long text", [], [1], ["x"], {}])


def values(schema: Any, root: dict[str, Any], depth: int = 0) -> st.SearchStrategy[Any]:
    """Values that are likely, not sure, to be valid under *schema*."""
    if not isinstance(schema, dict) or depth > 6:
        return SCALARS
    if "$ref" in schema:
        return values(Document(root).target(schema["$ref"]), root, depth + 1)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    for word in ("oneOf", "anyOf"):
        if word in schema:
            return st.one_of([values(arm, root, depth + 1) for arm in schema[word]])
    if "allOf" in schema:
        return values(schema["allOf"][0], root, depth + 1)
    kind = schema.get("type", "any")
    if "properties" in schema or "additionalProperties" in schema:
        rest = schema.get("additionalProperties")
        extra = SCALARS if not isinstance(rest, dict) else values(rest, root, depth + 1)
        required = {
            name: values(schema["properties"][name], root, depth + 1)
            for name in schema.get("required", ())
        }
        optional = {
            name: values(one, root, depth + 1)
            for name, one in schema.get("properties", {}).items()
            if name not in required
        }
        if rest is not False:
            optional |= {
                name: extra
                for name in ("a", "c", "zz", "more")
                if name not in required | optional.keys()
            }
        return st.fixed_dictionaries(required, optional=optional)
    if "prefixItems" in schema:
        return st.tuples(*(values(one, root, depth + 1) for one in schema["prefixItems"])).map(list)
    if "items" in schema:
        return st.lists(values(schema["items"], root, depth + 1), max_size=2)
    by_kind: dict[Any, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(["", "x", "xy", "long text"]),
        "integer": st.sampled_from([0, 1, 7, 3.0]),
        "number": st.sampled_from([0, 1.5]),
        "boolean": st.booleans(),
        "null": st.none(),
    }
    return by_kind.get(kind if isinstance(kind, str) else kind[0], SCALARS)


def dangling(schema: dict[str, Any]) -> list[str]:
    doc, found, stack = Document(schema), list[str](), [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict) and isinstance(ref := node.get("$ref"), str):
            try:
                doc.target(ref)
            except SchemaError:
                found.append(ref)
        stack.extend(part for _, part in parts(node))
    return found


@settings(max_examples=150, deadline=None)
@given(union=st.one_of(unions(), placed(1)), data=st.data())
def test_what_a_union_accepts_the_flat_object_accepts(union: dict[str, Any], data: st.DataObject):
    """L3. An instance that is valid before is valid after, whatever the variants are.

    If this fails, a call that the contract takes is refused by a schema derived from it.
    """
    schema = whole(union)
    before = copy.deepcopy(schema)
    flat = flatten(schema)
    assert schema == before
    assert json.dumps(flatten(flat), sort_keys=True) == json.dumps(flat, sort_keys=True)
    assert dangling(flat) == []
    assert "mapping" not in json.dumps(flat["properties"]) or "oneOf" in json.dumps(flat)
    jsonschema_rs.meta.validate(flat)
    contract, derived = jsonschema_rs.validator_for(schema), jsonschema_rs.validator_for(flat)
    for _ in range(6):
        value = {"v": data.draw(values(union, schema))}
        if contract.is_valid(value):
            assert derived.is_valid(value), (value, [str(e) for e in derived.iter_errors(value)])


@settings(max_examples=150, deadline=None)
@given(union=unions(0))
def test_a_union_of_objects_is_no_union_any_more(union: dict[str, Any]):
    """It is one object whose discriminator lists every value, and the report says so."""
    made = flattened(whole(union))
    flat = made.schema["properties"]["v"]
    assert "oneOf" not in flat
    assert "anyOf" not in flat
    arms = [
        arm for arm in [*union.get("oneOf", ()), *union.get("anyOf", ())] if "properties" in arm
    ]
    kinds = [
        one
        for arm in arms
        for one in arm["properties"]["kind"].get("enum", [arm["properties"]["kind"].get("const")])
    ]
    assert flat["properties"]["kind"]["enum"] == kinds
    assert "kind" in flat["required"]
    told = [one for one in made.report if one.pointer == "#/properties/v"]
    assert [one.action for one in told if one.keyword in ("oneOf", "anyOf")] == ["rewritten"]
    policies = [
        arm.get("additionalProperties") if "patternProperties" not in arm else True for arm in arms
    ]
    if all(one is False for one in policies):
        assert flat["additionalProperties"] is False
    elif all(one is None for one in policies):
        assert "additionalProperties" not in flat
    else:
        assert flat["additionalProperties"] is True
    for name, one in flat["properties"].items():
        assert "default" not in one, name
