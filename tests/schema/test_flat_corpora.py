"""Flattening other people's schemas: it accepts all that they accept, and stays a schema."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from remit.schema.flattening.flat import flattened
from remit.schema.policy import SchemaError
from tests.needs import shared

SUITE = shared("corpora/json-schema-test-suite.jsonl")
TOOLS = shared("corpora/tools.jsonl")


def rebased(node: Any) -> Any:
    """Move every reference to the root under the property that now holds it."""
    if isinstance(node, list):
        return [rebased(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: rebased(one) for key, one in node.items()}
    if isinstance(ref := node.get("$ref"), str) and (ref == "#" or ref.startswith("#/")):
        made["$ref"] = f"#/properties/v{ref[1:]}"
    return made


def suite() -> Iterator[tuple[dict[str, Any], dict[str, Any], str]]:
    """Each valid row as an object schema with a valid instance."""
    for line in SUITE.read_text().split("\n")[:-1]:
        row = json.loads(line)
        if row["valid"]:
            schema = {"type": "object", "properties": {"v": rebased(row["schema"])}}
            yield schema, {"v": row["instance"]}, f"{row['file']}: {row['group']}: {row['test']}"


def test_what_the_test_suite_says_is_valid_stays_valid():
    """Every row that flattening takes; a union that stays as it is counts as taken."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for schema, instance, name in suite():
        try:
            made = flattened(schema)
        except SchemaError:
            counts["refused"] += 1
            continue
        try:
            before = jsonschema_rs.is_valid(schema, instance)
        except (ValueError, jsonschema_rs.ReferencingError):
            counts["not readable alone"] += 1
            continue
        if not before:
            counts["changed by wrapping"] += 1
            continue
        counts["taken"] += 1
        counts["flattened"] += any(one.action == "rewritten" for one in made.report)
        if not jsonschema_rs.is_valid(made.schema, instance):
            wrong.append(name)
    assert wrong == []
    print(dict(counts))
    assert counts["taken"] > 1000, counts
    assert counts["refused"] < 10, counts


def test_every_real_tool_schema_comes_through_and_stays_a_schema():
    counts: Counter[str] = Counter()
    for line in TOOLS.read_text().split("\n")[:-1]:
        row = json.loads(line)
        schema = row.get("inputSchema")
        if not isinstance(schema, dict):
            continue
        made = flattened(schema)
        counts["taken"] += 1
        counts["flattened"] += any(one.action == "rewritten" for one in made.report)
        counts["kept"] += any(one.action == "kept" for one in made.report)
        if jsonschema_rs.meta.is_valid(schema):
            jsonschema_rs.meta.validate(made.schema)
        if not made.report:
            assert made.schema == schema, row["name"]
    print(dict(counts))
    assert counts["taken"] > 3400, counts
    assert counts["flattened"] >= 1, counts
