"""Field reports of the kind provider-dialects: what is sent is what the provider takes."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel

import remit
from remit.schema import SchemaError, lower, lowered_names
from tests.reports.reach import ASHA, Using, issues, ok, refused
from tests.schema.checkers import CHECKERS, nodes

pytestmark = pytest.mark.anyio

A: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


def in_every_place(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Tools that hold *node* as a property, a list's item, an alternative and a definition."""
    placed: list[dict[str, Any]] = [
        {"properties": {"v": node}},
        {"properties": {"v": {"type": "array", "items": node}}},
        {"properties": {"v": {"anyOf": [node, {"type": "null"}]}}},
        {"properties": {"v": {"type": "array", "prefixItems": [node]}}},
        {"properties": {"v": {"$ref": "#/$defs/D"}}, "$defs": {"D": node}},
    ]
    root = {"type": "object", "required": ["v"], "additionalProperties": False}
    return [{**root, **one} for one in placed]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_fr_034_each_object_is_closed_and_complete_or_the_tool_is_not_strict(provider: str):
    given = [
        {"properties": {"a": {"type": "string"}}},
        {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
        {**A, "properties": {"a": {"properties": {"b": {"type": "integer"}}}}},
        {**A, "additionalProperties": False},
    ]
    strict = 0
    for node in given:
        for schema in in_every_place(node):
            made = lower(schema, provider)
            strict += made.strict
            assert made.strict or made.reasons
            if not made.strict:
                continue
            for at, one, _ in nodes(made.schema):
                if "object" in (one.get("type"), *(one.get("type") or ())) or "properties" in one:
                    assert one["additionalProperties"] is False, at
                    if provider == "openai":
                        assert one["required"] == list(one["properties"]), at
    assert strict >= 8


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("rest", [{}, True, {"type": "string"}, False, None])
async def test_fr_035_only_a_closed_object_is_strict(provider: str, rest: Any):
    node = dict(A) if rest is None else {**A, "additionalProperties": rest}
    for schema in in_every_place(node):
        if "prefixItems" in str(schema):
            continue
        made = lower(schema, provider)
        assert made.strict is (rest in (None, False) and rest != {})
        if not made.strict:
            with pytest.raises(SchemaError, match="open map"):
                lower(schema, provider, strict=True)


async def test_fr_038_a_root_that_no_provider_takes_is_folded_and_still_judged(using: Using):
    class Card(BaseModel):
        kind: Literal["card"]
        number: str

    class Cash(BaseModel):
        kind: Literal["cash"]

    app = remit.Remit("till", store="sqlite://")
    Pay = Annotated[Card | Cash, Field(discriminator="kind")]

    @app.tool(effect="read")
    async def pay(how: Annotated[Pay, remit.Body]) -> str:
        """Pay."""
        return how.kind

    @app.tool(effect="read")
    async def good(n: int) -> int:
        """Count."""
        return n

    for provider, check in CHECKERS.items():
        for name in ("pay", "good"):
            made = app.lowered(name, provider)
            assert check(made.schema, strict=made.strict) == []
        assert "number" in app.lowered("pay", provider).schema["properties"]
    till = await using(app, ASHA)
    # Folded, the schema would take a number beside cash; the contract doesn't.
    answer = await till.call("pay", {"kind": "cash", "number": "1"})
    assert issues(answer) == [("(root)", "unrecognized_keys:number")] or refused(answer)
    assert ok(await till.call("good", {"n": 2})) == 2
    conditional = {**A, "if": {"required": ["a"]}, "then": {"required": ["b"]}}
    made = lower(conditional, "anthropic")
    assert made.strict is False
    assert CHECKERS["anthropic"](made.schema, strict=False) == []
    assert {entry.keyword for entry in made.report if entry.lossy} == {"if", "then"}


async def test_fr_039_a_union_at_the_root_is_published_as_an_object_and_can_be_called(using: Using):
    class Add(BaseModel):
        action: Literal["add"]
        value: int

    class Drop(BaseModel):
        action: Literal["drop"]

    class Edit(RootModel[Annotated[Add | Drop, Field(discriminator="action")]]):
        """An edit."""

    app = remit.Remit("edits", store="sqlite://")

    @app.tool(effect="read")
    async def edit(edit: Edit) -> str:
        """Edit."""
        return edit.root.action

    schema = app.advertised("edit")
    assert schema["type"] == "object"
    assert set(schema["properties"]) == {"edit"}
    agent = await using(app, ASHA)
    assert ok(await agent.call("edit", {"edit": {"action": "drop"}})) == "drop"
    assert refused(await agent.call("edit", {"action": "drop"}))


async def test_fr_041_names_are_legal_stable_unique_and_lead_back():
    names = ["admin.tools.list", "a/b", "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve"]
    names += ["x" * 65, "x" * 129, "9lives", "save_draft"]
    legal = {
        "openai": r"[A-Za-z0-9_-]{1,64}",
        "anthropic": r"[A-Za-z0-9_-]{1,64}",
        "gemini": r"[A-Za-z_]\w{0,63}",
    }
    for provider, pattern in legal.items():
        made = lowered_names(names, provider)
        assert list(made) == names
        assert all(re.fullmatch(pattern, one, re.ASCII) for one in made.values())
        assert len(set(made.values())) == len(names)
        assert made["save_draft"] == "save_draft"
        # The same whichever tools stand beside it.
        assert all(lowered_names([name], provider) == {name: made[name]} for name in names)


async def test_fr_042_names_that_would_be_one_are_told_apart_or_refused():
    names = ["read-file", "read_file", "read.file"]
    for provider in ("openai", "anthropic", "gemini"):
        made = lowered_names(names, provider)
        assert len(set(made.values())) == 3
        assert made["read_file"] == "read_file"
    cut = ["x" * 64 + "a", "x" * 64 + "b"]
    assert len(set(lowered_names(cut, "openai").values())) == 2
    with pytest.raises(SchemaError, match="two tools are called 'a'"):
        lowered_names(["a", "b", "a"], "openai")
    taken = lowered_names(["read.file"], "openai")["read.file"]
    with pytest.raises(SchemaError, match=r"read\.file.*would all be"):
        lowered_names(["read.file", taken], "openai")
