"""Lowering other people's schemas: accepted by the provider's rules, or refused with a path."""

from __future__ import annotations

import importlib
import json
import warnings
from collections import Counter
from typing import Any

import jsonschema_rs
import pytest
from pydantic import TypeAdapter

from remit.schema import SchemaError, flattened, lower
from tests.schema.checkers import CHECKERS
from tests.schema.encoding import closed, encoded
from tests.schema.test_flat_corpora import TOOLS, suite

NO_OBJECT = "refused: a tool's arguments are an object, not 'dict'; put "[: 9 + 50]
PROVIDERS = ("anthropic", "openai", "gemini")
LARGE = (
    "anthropic.types.beta.message_create_params:MessageCreateParams",
    "openai.types.responses:ResponseStreamEvent",
    "openai.types.responses:Response",
    "anthropic.types.beta:BetaMessage",
    "openai.types.responses.response_create_params:ResponseCreateParams",
    "openai.types.responses:ResponseInputItem",
    "openai.types.realtime:RealtimeServerEvent",
    "pydantic_ai.messages:ModelMessage",
    "openapi_pydantic:OpenAPI",
    "mcp_types:ClientRequest",
)


def large(name: str) -> dict[str, Any]:
    """Return pydantic's own schema of a class, under a property if it is no object."""
    module, cls = name.split(":")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = TypeAdapter(getattr(importlib.import_module(module), cls)).json_schema()
    if schema.get("type") == "object":
        return schema
    definitions = schema.pop("$defs", {})
    return {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def counted(schemas: list[tuple[str, dict[str, Any]]], provider: str) -> Counter[str]:
    """Lower each of *schemas*, and check it; how many were strict, lossless, refused, and why."""
    counts: Counter[str] = Counter()
    for name, schema in schemas:
        try:
            made = lower(schema, provider)
        except SchemaError as why:
            counts["refused"] += 1
            counts[f"refused: {why.text[:50]}"] += 1
            continue
        assert CHECKERS[provider](made.schema, strict=made.strict) == [], name
        if jsonschema_rs.meta.is_valid(schema):
            jsonschema_rs.meta.validate(made.schema)
        counts["accepted"] += 1
        counts["strict"] += made.strict
        counts["lossless"] += made.lossless
        told = {one.keyword for one in made.report if one.action == "refused" or one.lossy}
        counts.update(f"not strict for {word}" for word in told)
    return counts


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_real_tool_is_accepted_by_the_providers_rules_or_refused(provider: str):
    rows = [json.loads(line) for line in TOOLS.read_text().split("\n")[:-1]]
    schemas = [(row["server"], row["name"], row["inputSchema"]) for row in rows]
    for gitlab in (True, False):
        some = [
            (name, schema)
            for server, name, schema in schemas
            if gitlab or "gitlab" not in str(server).lower()
        ]
        counts = counted(some, provider)
        print(provider, "with GitLab" if gitlab else "without", len(some), dict(counts))
        # The benchmarks' "type": "dict" is no JSON Schema; all that is one is taken.
        assert counts["refused"] == counts[NO_OBJECT]
        assert counts["accepted"] > 1500
        assert counts["lossless"] >= counts["accepted"] - 2


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_largest_classes_are_accepted_by_the_providers_rules(provider: str, name: str):
    counts = counted([(name, large(name))], provider)
    print(provider, name, dict(counts))
    assert counts["accepted"] == 1


@pytest.mark.parametrize("name", LARGE)
def test_the_largest_classes_come_through_flattening(name: str):
    schema = large(name)
    made = flattened(schema)
    counts = Counter(one.action for one in made.report)
    print(name, dict(counts))
    jsonschema_rs.meta.validate(made.schema)
    assert flattened(made.schema).schema == made.schema
    assert any("$defs" in one.pointer or "properties" in one.pointer for one in made.report)


@pytest.mark.parametrize("provider", ["plain", *PROVIDERS])
@pytest.mark.parametrize("strict", ["auto", False])
def test_what_the_test_suite_says_is_valid_stays_valid(provider: str, strict: Any):
    """Every row that a lowering takes: as the model would send it, and decoded again."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for given, instance, name in suite():
        schema = closed(given)
        try:
            made = lower(schema, provider, strict=strict)
            before = jsonschema_rs.is_valid(schema, instance)
        except (SchemaError, ValueError, jsonschema_rs.ReferencingError):
            counts["refused, or not readable alone"] += 1
            continue
        if not before:
            counts["changed by wrapping"] += 1
            continue
        counts["taken"] += 1
        counts["strict"] += made.strict
        sent = encoded(instance, made.schema, made.schema) if made.strict else instance
        if not jsonschema_rs.is_valid(made.schema, sent) or made.decode(sent) != instance:
            wrong.append(name)
    print(provider, dict(counts))
    assert wrong == []
    assert counts["taken"] > 900, counts
    assert made.provider == provider
    if strict == "auto" and provider in ("anthropic", "openai"):
        assert counts["strict"] > 70, counts
