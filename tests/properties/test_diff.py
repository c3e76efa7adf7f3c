"""No value that breaks goes unsaid, and nothing is called narrower without a value that shows it."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.schema import diff
from remit.schema.comparing.examples import examples
from remit.schema.document import Document, parts
from tests.properties.test_lower import BOUNDED, LEAVES, POLICIES, tools, values

X = {"$ref": "#/$defs/Leaf"}
TRICKY: list[dict[str, Any]] = [
    {"type": ["object", "null"], "properties": {"a": X, "b": X}, "additionalProperties": False},
    {"type": ["array", "null"], "items": X},
    {"type": "array", "items": {"type": "string"}, "contains": X},
    {"type": "object", "propertyNames": X, "additionalProperties": True},
    {"type": "object", "additionalProperties": True, "required": ["z"]},
    {"type": "object", "patternProperties": {"^z": X}, "additionalProperties": False},
    {"enum": [True, 1, 0]},
    {"not": X},
    {"anyOf": [X, {"type": "array", "items": X}]},
    {"if": X, "then": {"maxLength": 1}, "type": ["string", "integer"]},
]
NODES = [leaf for leaf in (*LEAVES, *BOUNDED, *TRICKY) if leaf != {"type": "object"}]
BREAKS = {"narrowed", "unknown"}
GROWS = {"widened", "authority", "unknown"}


def places(schema: Any) -> list[Any]:
    """Each schema inside *schema*, itself included."""
    found = [schema]
    for node in found:
        found += [one for _, one in parts(node) if isinstance(one, dict)]
    return found


@st.composite
def edited(draw: st.DrawFn, schema: dict[str, Any]) -> dict[str, Any]:
    """*schema* with one to three edits, of the kinds that people make."""
    made = copy.deepcopy(schema)
    for _ in range(draw(st.integers(1, 3))):
        node = draw(st.sampled_from(places(made)))
        properties = node.get("properties")
        edit = draw(st.sampled_from(["leaf", "word", "policy", "required", "drop", "add", "arm"]))
        if edit == "leaf" and properties:
            properties[draw(st.sampled_from([*properties]))] = draw(st.sampled_from(NODES))
        elif edit == "word":
            words = ["maxLength", "minimum", "maxItems", "enum", "type", "description", "pattern"]
            match draw(st.sampled_from(words)):
                case "enum":
                    node["enum"] = draw(st.sampled_from([["x"], ["x", "y", 1], [None]]))
                case "type" if "properties" not in node:
                    node["type"] = draw(st.sampled_from(["string", "integer", ["string", "null"]]))
                case "description":
                    node["description"] = draw(st.sampled_from(["One.", "Two."]))
                case "pattern":
                    node["pattern"] = draw(st.sampled_from(["^x", "^[xy]+$"]))
                case word:
                    node[word] = draw(st.integers(0, 4))
        elif edit == "policy" and properties:
            node.pop("additionalProperties", None)
            node |= draw(st.sampled_from([one for one in POLICIES if one]))
        elif edit == "required" and properties:
            names = draw(st.lists(st.sampled_from([*properties]), unique=True))
            node["required"] = names
        elif edit == "drop" and properties and len(properties) > 1:
            gone = draw(st.sampled_from([*properties]))
            del properties[gone]
            node["required"] = [one for one in node.get("required", []) if one != gone]
        elif edit == "add" and properties:
            properties[draw(st.sampled_from(["d", "status", "user_id"]))] = draw(
                st.sampled_from(NODES)
            )
        elif edit == "arm":
            for word in ("anyOf", "oneOf"):
                if isinstance(node.get(word), list):
                    node[word].append(draw(st.sampled_from(NODES)))
    return made


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    old = draw(tools(NODES))
    new = draw(edited(old)) if draw(st.booleans()) else draw(tools(NODES))
    return (old, new) if draw(st.booleans()) else (new, old)


def valid(schema: Any, value: Any) -> bool:
    return jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(value)


@given(pair=pairs(), data=st.data())
@settings(max_examples=300, deadline=None)
def test_what_breaks_is_said_and_what_is_said_to_break_does(pair: Any, data: st.DataObject):
    old, new = pair
    if not (jsonschema_rs.meta.is_valid(old) and jsonschema_rs.meta.is_valid(new)):
        return
    found = diff(old, new)
    kinds = {one.kind for one in found}
    for one in found:
        if one.kind == "narrowed":
            assert valid(old, one.witness), one
            assert not valid(new, one.witness), one
    tried = [data.draw(values(old, old)), data.draw(values(new, new))]
    tried += [*examples(old, Document(old))][:15]
    for value in tried:
        before, after = valid(old, value), valid(new, value)
        if before and not after:
            assert kinds & BREAKS, (old, new, value, found)
        if after and not before:
            # A required key that came or went is said once, by its worse half.
            whole = ("new and required", "is gone, and refused")
            said = kinds & GROWS or any(text in one.text for one in found for text in whole)
            assert said, (old, new, value, found)


@given(schema=tools(NODES), data=st.data())
@settings(max_examples=100, deadline=None)
def test_the_same_in_another_order_is_the_same(schema: Any, data: st.DataObject):
    def shuffled(node: Any) -> Any:
        if isinstance(node, list):
            return [shuffled(one) for one in node]
        if not isinstance(node, dict):
            return node
        return {key: shuffled(node[key]) for key in data.draw(st.permutations([*node]))}

    assert diff(schema, shuffled(schema)) == []
