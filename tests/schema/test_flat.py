"""Unions as one object: each rule by an example that a reader can check."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import remit
from remit.listing import Listed
from remit.schema.document import bounded, pointed
from remit.schema.flattening.flat import flatten, flattened


def variant(kind: Any, policy: Any = False, /, **properties: Any) -> dict[str, Any]:
    """A variant; a property whose name ends with ``_`` is optional."""
    required = ["kind", *(name for name in properties if not name.endswith("_"))]
    fields = {name.rstrip("_"): one for name, one in properties.items()}
    made: dict[str, Any] = {
        "type": "object",
        "properties": {
            "kind": {"const": kind} if isinstance(kind, str) else {"enum": kind},
            **fields,
        },
        "required": required,
    }
    return made if policy is None else {**made, "additionalProperties": policy}


def union(*variants: Any, word: str = "oneOf", **beside: Any) -> dict[str, Any]:
    return {word: [*variants], **beside}


def flat_of(schema: Any) -> dict[str, Any]:
    """What becomes of *schema* as a field."""
    return flatten({"type": "object", "properties": {"v": schema}})["properties"]["v"]


DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def told(schema: dict[str, Any], one: str, other: str) -> dict[str, Any]:
    """*schema*, with what its two variants say of it in words."""
    return {**schema, "description": f'kind "a": {one}\nkind "b": {other}'}


TWO = union(variant("a", text=TEXT), variant("b", number=NUMBER))
FLAT_TWO = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["a", "b"]},
        "text": {"type": "string", "description": 'Required if kind is "a".'},
        "number": {"type": "integer", "description": 'Required if kind is "b".'},
    },
    "required": ["kind"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        (TWO, FLAT_TWO),
        ({"type": "array", "items": TWO}, {"type": "array", "items": FLAT_TWO}),
        ({"prefixItems": [TEXT, TWO]}, {"prefixItems": [TEXT, FLAT_TWO]}),
        (
            {"type": "object", "additionalProperties": TWO},
            {"type": "object", "additionalProperties": FLAT_TWO},
        ),
        (
            {"type": "object", "properties": {"in": TWO}},
            {"type": "object", "properties": {"in": FLAT_TWO}},
        ),
        ({"allOf": [TWO, {"minProperties": 1}]}, {"allOf": [FLAT_TWO, {"minProperties": 1}]}),
        ({"not": TWO}, {"not": TWO}),
        (
            union(*TWO["oneOf"], {"type": "null"}, word="anyOf", default=None),
            {**FLAT_TWO, "type": ["object", "null"], "default": None},
        ),
        (
            union(*TWO["oneOf"], minProperties=2),
            {**FLAT_TWO, "minProperties": 2},
        ),
        (union({"oneOf": TWO["oneOf"][:1]}, TWO["oneOf"][1], word="anyOf"), FLAT_TWO),
        (
            {"anyOf": [TEXT, {"type": "array", "items": TWO}]},
            {"anyOf": [TEXT, {"type": "array", "items": FLAT_TWO}]},
        ),
    ],
    ids=[
        "field",
        "array item",
        "tuple",
        "record value",
        "nested field",
        "intersection",
        "under not",
        "nullable with default",
        "constraint beside",
        "union of unions",
        "within another union",
    ],
)
def test_a_union_is_flat_wherever_it_stands(schema: Any, wanted: Any):
    assert flat_of(schema) == wanted


def test_a_union_at_the_root_keeps_what_stands_beside_it():
    made = flatten({"$schema": DRAFT, "type": "object", "description": "Post.", **TWO})
    assert made == {"$schema": DRAFT, **FLAT_TWO, "description": "Post."}


def test_variants_behind_references_leave_no_definition_and_no_mapping_behind():
    made = flatten(
        {
            "type": "object",
            "properties": {
                "v": {
                    "oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}],
                    "discriminator": {"propertyName": "kind", "mapping": {"a": "#/$defs/A"}},
                }
            },
            "$defs": {"A": TWO["oneOf"][0], "B": TWO["oneOf"][1]},
        }
    )
    assert made == {"type": "object", "properties": {"v": FLAT_TWO}}


def test_recursion_stays_a_reference():
    tree = union(variant("leaf", value=NUMBER), variant("node", under={"$ref": "#/$defs/Tree"}))
    made = flatten(
        {"type": "object", "properties": {"v": {"$ref": "#/$defs/Tree"}}, "$defs": {"Tree": tree}}
    )
    assert made["properties"] == {"v": {"$ref": "#/$defs/Tree"}}
    node = made["$defs"]["Tree"]
    assert node["properties"]["kind"]["enum"] == ["leaf", "node"]
    assert node["properties"]["under"] == {
        "$ref": "#/$defs/Tree",
        "description": 'Required if kind is "node".',
    }


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (
            {"type": "string", "maxLength": 3},
            {"type": "string", "maxLength": 3},
            {"type": "string", "maxLength": 3},
        ),
        (
            {"const": "x"},
            {"enum": ["y", "x"]},
            told({"type": "string", "enum": ["x", "y"]}, '"x".', '"y" or "x".'),
        ),
        ({"type": "string", "maxLength": 3}, {"type": "string"}, {"type": "string"}),
        (
            {"type": "string"},
            {"type": "integer", "minimum": 1},
            told({"type": ["string", "integer"]}, "string.", "integer."),
        ),
        ({"type": "integer"}, {"type": "number"}, {"type": "number"}),
        (
            {"type": ["string", "null"]},
            {"type": "string", "pattern": "a"},
            told({"type": ["string", "null"]}, "string or null.", "string."),
        ),
        (
            {"const": 1},
            {"type": "string"},
            told({"type": ["string", "integer"]}, "integer.", "string."),
        ),
        (
            {"anyOf": [NUMBER, {"type": "null"}]},
            {"type": "boolean"},
            told({"type": ["integer", "boolean", "null"]}, "integer or null.", "boolean."),
        ),
        ({}, {"type": "string"}, {"description": 'kind "b": string.'}),
        ({"minLength": 2}, {"type": "string"}, {"description": 'kind "b": string.'}),
        (
            {"type": "object", "properties": {"x": TEXT}, "additionalProperties": False},
            {"type": "object"},
            told({"type": "object", "additionalProperties": True}, "{x?: string}.", "object."),
        ),
        (
            {"type": "array", "items": TEXT},
            {"type": "array", "items": NUMBER},
            told({"type": "array"}, "list of string.", "list of integer."),
        ),
    ],
    ids=[
        "equal",
        "texts joined",
        "one kind, bare",
        "several kinds",
        "integer with number",
        "null carried",
        "a constant's kind",
        "a union's kinds",
        "anything",
        "nothing provable",
        "objects",
        "arrays",
    ],
)
def test_a_key_of_two_variants_keeps_what_is_provably_shared(one: Any, other: Any, wanted: Any):
    made = flat_of(union(variant("a", x=one), variant("b", x=other)))
    assert made["properties"]["x"] == wanted
    assert sorted(made["required"]) == ["kind", "x"]


@pytest.mark.parametrize(
    ("policies", "wanted"),
    [
        ([False, False], False),
        ([None, None], None),
        ([False, None], True),
        ([False, True], True),
        ([None, True], True),
        ([{"type": "integer"}, {"type": "integer"}], True),
        ([False, {"type": "integer"}], True),
    ],
    ids=str,
)
def test_the_key_policy_is_the_one_that_destroys_no_evidence(policies: Any, wanted: Any):
    """All strict is strict, none strict plain, mixed or keeping open; a typed one is widened."""
    made = flat_of(union(variant("a", policies[0]), variant("b", policies[1])))
    assert made.get("additionalProperties") == wanted


def test_an_open_variant_takes_any_value_under_anothers_key():
    """If this fails, a constraint of one variant refuses what another keeps."""
    made = flat_of(union(variant("a", x=NUMBER), variant("b", True)))
    assert made["properties"]["x"] == {"description": 'kind "a": integer. Required if kind is "a".'}
    typed = flat_of(union(variant("a", x=NUMBER), variant("b", TEXT)))
    assert typed["properties"]["x"]["type"] == ["string", "integer"]


def test_optional_fields_and_several_values_are_said_in_words():
    made = flat_of(
        union(
            variant(
                ["a", "b"], text_={"type": "string", "description": "The text.", "default": "x"}
            ),
            variant("c", text=TEXT),
            variant("d"),
        )
    )
    assert made["properties"]["kind"]["enum"] == ["a", "b", "c", "d"]
    assert made["properties"]["text"] == {
        "type": "string",
        "description": 'kind "a" or "b": The text. Required if kind is "c". Only if kind is "a", "b" or "c".',
    }


def test_descriptions_of_variants_are_kept():
    one = {**variant("a"), "description": "An article."}
    made = flat_of(union(one, variant("b"), description="What to post."))
    assert made["description"] == 'What to post.\nkind "a": An article.'


def test_an_intersection_is_a_variant_and_what_cannot_be_carried_is_reported():
    base = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
    made = flattened(
        {
            "type": "object",
            "properties": {
                "v": union(
                    {
                        "allOf": [{"$ref": "#/$defs/Base"}, variant("a", None, x=TEXT)],
                        "maxProperties": 4,
                    },
                    variant("b", None),
                )
            },
            "$defs": {"Base": base},
        }
    )
    flat = made.schema["properties"]["v"]
    assert sorted(flat["properties"]) == ["id", "kind", "x"]
    assert flat["required"] == ["kind"]
    (entry,) = [one for one in made.report if one.keyword == "maxProperties"]
    assert entry.lossy
    assert entry.pointer == "#/properties/v/oneOf/0"
    assert "left to the contract" in entry.text


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (union(variant("a"), {"type": "string"}, variant("b")), "variant 1 is no object"),
        (
            union(
                {"type": "object", "properties": {"kind": {"const": 1}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": 2}}, "required": ["kind"]},
            ),
            "no property with texts of its own in each variant",
        ),
        (union(variant("a"), variant("a")), "no property with texts of its own in each variant"),
        (
            union(
                variant("a"),
                {"type": "object", "properties": {}},
                discriminator={"propertyName": "kind"},
            ),
            "its discriminator 'kind' is no list of texts",
        ),
        (union(variant("a"), {"$ref": "#/$defs/Gone"}), "leads nowhere"),
        (union(variant("a"), {"$ref": "https://example.org/x.json"}), "leads out of this schema"),
    ],
    ids=["no object", "numbers", "not disjoint", "no texts", "dangling", "remote"],
)
def test_what_cannot_be_flattened_stays_and_is_reported(schema: Any, text: str):
    """And it stops nothing: the union beside it is flat."""
    made = flattened({"type": "object", "properties": {"v": schema, "w": TWO}})
    # Behind a reference its arms may be wider now, so that "exactly one" has become "one at least".
    assert list(made.schema["properties"]["v"].values()) == list(schema.values())
    assert made.schema["properties"]["w"] == FLAT_TWO
    kept = [one for one in made.report if one.action == "kept"]
    assert [one.pointer for one in kept] == ["#/properties/v"]
    assert text in kept[0].text


def test_a_reference_into_a_union_leads_to_a_definition_of_what_was_there():
    """A list of tools often refers to another property's own schema."""
    made = flattened(
        {"type": "object", "properties": {"v": TWO, "same": {"$ref": "#/properties/v/oneOf/0"}}}
    )
    assert made.schema["properties"]["v"] == FLAT_TWO
    ref = made.schema["properties"]["same"]["$ref"]
    assert pointed(made.schema, ref) == TWO["oneOf"][0]


def test_unions_over_one_huge_variant_are_one_object():
    """A hundred unions over it: a copy of each would be larger than a schema may be."""
    huge = variant("a", **{f"p{i}": TEXT for i in range(2_000)})
    schema = {
        "type": "object",
        "properties": {f"v{i}": union({"$ref": "#/$defs/A"}, variant("b")) for i in range(100)},
        "$defs": {"A": huge},
    }
    made = flatten(schema)
    assert made["properties"]["v0"] == made["properties"]["v99"]
    assert len(pointed(made, made["properties"]["v99"]["$ref"])["properties"]) == 2_001
    bounded(made)


def test_a_union_that_would_copy_too_much_stays():
    """A hundred different unions: each copy is counted before it is made."""
    huge = variant("a", **{f"p{i}": TEXT for i in range(2_000)})
    schema = {
        "type": "object",
        "properties": {f"v{i}": union({"$ref": "#/$defs/A"}, variant(f"b{i}")) for i in range(100)},
        "$defs": {"A": huge},
    }
    made = flattened(schema)
    bounded(made.schema)
    assert any("would copy more than a schema may hold" in one.text for one in made.report)
    assert len(made.schema["properties"]["v99"]["oneOf"]) == 2


def test_what_counts_on_a_schema_not_to_be_wider_is_let_go():
    """Exactly one of, and not, over a definition that is wider now, would refuse more than before."""
    tree = union(variant("a", text=TEXT), variant("b", number=NUMBER))
    made = flatten(
        {
            "type": "object",
            "properties": {
                "v": {"oneOf": [{"$ref": "#/$defs/T"}, {"type": "object", "maxProperties": 1}]},
                "w": {"not": {"$ref": "#/$defs/T"}},
                "x": {"if": {"$ref": "#/$defs/T"}, "then": False},
                "y": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            },
            "$defs": {"T": tree},
        }
    )
    assert made["$defs"]["T"] == FLAT_TWO
    assert list(made["properties"]["v"]) == ["anyOf"]
    assert made["properties"]["w"] == {}
    assert made["properties"]["x"] == {}
    assert "oneOf" in made["properties"]["y"]


def test_one_schema_that_is_too_large_costs_a_flat_list_no_other_tool():
    app = remit.Remit("lists", store="sqlite://")

    @app.tool(effect="read")
    async def small(n: int) -> int:
        """Count."""
        return n

    one = Listed.of(app.tools["small"])
    huge = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(60_000)}}
    assert dataclasses.replace(one, input_schema=huge).flat_schema is huge
    assert one.flat_schema == one.input_schema
