"""Lowering by hand: each row of the providers' table, and each loss that their own helpers have."""

from __future__ import annotations

import time
from typing import Any

import pytest

from remit.schema import SchemaError, lower, lowered_names, planned
from remit.schema.lowering.lowered import Lowered
from tests.schema.checkers import CHECKERS

STRICT = ("anthropic", "openai")
ALL = (*STRICT, "gemini")


def tool(required: bool = True, /, **properties: Any) -> dict[str, Any]:
    """A closed object with these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required else [],
        "additionalProperties": False,
    }


def one(schema: Any, provider: str, **options: Any) -> tuple[Any, Lowered]:
    """Lower a tool whose one required argument is *schema*; return what that became."""
    made = lower(tool(v=schema), provider, **options)
    assert CHECKERS[provider](made.schema, strict=made.strict) == []
    return made.schema["properties"]["v"], made


def actions(made: Lowered) -> dict[str, str]:
    return {entry.keyword: entry.action for entry in made.report if entry.pointer != "#"}


BOUNDS: list[tuple[dict[str, Any], str, set[str]]] = [
    # The keywords, in words, and who takes them as keywords.
    ({"type": "string", "minLength": 3, "maxLength": 80}, "3 to 80 characters.", {"openai"}),
    ({"type": "string", "maxLength": 1}, "At most 1 character.", {"openai"}),
    ({"type": "string", "minLength": 2, "maxLength": 2}, "Exactly 2 characters.", {"openai"}),
    ({"type": "integer", "minimum": 1, "maximum": 9}, "From 1 to 9.", {"openai", "gemini"}),
    ({"type": "number", "exclusiveMinimum": 0}, "Greater than 0.", {"openai"}),
    ({"type": "number", "exclusiveMaximum": 5}, "Less than 5.", {"openai"}),
    ({"type": "integer", "multipleOf": 5}, "A multiple of 5.", {"openai"}),
    (
        {"type": "string", "pattern": "^d_[a-z]+$"},
        "Matches the regular expression ^d_[a-z]+$",
        set(STRICT),
    ),
    ({"type": "string", "pattern": "^(?!x)"}, "Matches the regular expression ^(?!x)", set()),
    ({"type": "string", "pattern": r"\bx"}, r"Matches the regular expression \bx", {"openai"}),
    ({"type": "string", "format": "uri"}, "Format: uri.", {"anthropic"}),
    ({"type": "string", "format": "date"}, "Format: date.", {*ALL}),
    ({"type": "string", "format": "email"}, "Format: email.", {*STRICT}),
    ({"type": "string", "format": "card-number"}, "Format: card-number.", set()),
    ({"type": "array", "items": {"type": "string"}, "minItems": 1}, "At least 1 item.", {*ALL}),
    (
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "At least 2 items.",
        {"openai", "gemini"},
    ),
    (
        {"type": "array", "items": {"type": "string"}, "maxItems": 4},
        "At most 4 items.",
        {"openai", "gemini"},
    ),
    (
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        "No item twice.",
        set(),
    ),
    ({"type": "string", "default": "x"}, 'Default: "x".', {"anthropic"}),
    ({"type": "string", "examples": ["a", "b"]}, 'For example "a", "b".', set()),
    ({"type": "string", "deprecated": True}, "Deprecated.", set()),
]


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(("schema", "words", "takers"), BOUNDS)
def test_a_bound_is_sent_where_it_is_taken_and_said_in_words_where_not(
    provider: str, schema: dict[str, Any], words: str, takers: set[str]
):
    sent, made = one({**schema, "description": "What it is"}, provider)
    assert made.strict is (provider in STRICT)
    assert made.lossless
    bounds = schema.keys() - {"type", "items"}
    if provider in takers:
        assert {word: sent[word] for word in bounds} == {word: schema[word] for word in bounds}
        assert sent["description"] == "What it is"
        assert {actions(made)[word] for word in bounds} == {"kept"}
    else:
        assert not bounds & sent.keys()
        assert sent["description"] == f"What it is. {words}"
        assert {actions(made)[word] for word in bounds} == {"described"}


REFUSED: list[tuple[Any, set[str], str]] = [
    # What a strict mode can't have, who refuses it, and the reason's words.
    ({"type": "object", "additionalProperties": {"type": "integer"}}, {*STRICT}, "open map"),
    ({"type": "object"}, {*STRICT}, "open map"),
    ({"type": "object", "additionalProperties": {}}, {*STRICT}, "open map"),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
     {*STRICT}, "open map"),
    ({}, {*STRICT}, "no type"),
    ({"type": "array"}, {*STRICT}, "list of anything"),
    ({"type": "array", "prefixItems": [{"type": "string"}]}, {*STRICT}, "tuple"),
    ({"type": "array", "items": [{"type": "string"}]}, {*STRICT}, "tuple"),
    ({"enum": [[1], [2]]}, {*STRICT}, "list or an object"),
    ({"enum": ["Low", "low"]}, {"anthropic"}, "capitalisation"),
    ({"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}}, {*STRICT},
     "contains"),
    ({"type": "string", "not": {"const": "x"}}, {*STRICT}, "not"),
    ({"type": "object", "properties": {"a": {"type": "string"}}, "patternProperties": {"^x": {}}},
     {*STRICT}, "patternProperties"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, {*STRICT}, "several alternatives"),
    ({"type": "float"}, {*STRICT}, "no type of JSON Schema"),
]  # fmt: skip


@pytest.mark.parametrize("provider", STRICT)
@pytest.mark.parametrize(("schema", "refusers", "text"), REFUSED)
def test_what_a_strict_mode_would_lose_is_sent_whole_and_not_strict(
    provider: str, schema: Any, refusers: set[str], text: str
):
    sent, made = one(schema, provider)
    if provider not in refusers:
        assert made.strict
        return
    assert made.strict is False
    assert sent == schema, "what isn't strict is sent as it is"
    assert any(reason.startswith("#/properties/v") and text in reason for reason in made.reasons)
    with pytest.raises(SchemaError) as raised:
        lower(tool(v=schema), provider, strict=True)
    assert raised.value.path.startswith("properties.v")
    assert text in raised.value.text


def test_an_optional_property_is_null_for_openai_and_left_out_again():
    schema = tool(
        False, title={"type": "string"}, tags={"type": "array", "items": {"type": "string"}}
    )
    made = lower(schema, "openai", strict=True)
    assert made.schema["required"] == ["title", "tags"]
    assert made.schema["properties"]["title"]["type"] == ["string", "null"]
    assert {"type": "null"} in made.schema["properties"]["tags"]["anyOf"]
    assert made.decode({"title": None, "tags": None}) == {}
    assert made.decode({"title": "", "tags": []}) == {"title": "", "tags": []}
    assert "required" not in lower(schema, "anthropic", strict=True).schema


def test_null_that_the_contract_takes_is_never_taken_away():
    clears = tool(False, note={"type": ["string", "null"], "default": None})
    made = lower(clears, "openai", strict=True)
    assert made.decode({"note": None}) == {"note": None}
    matters = tool(False, note={"type": ["string", "null"]})
    assert not lower(matters, "openai").strict, "null and left out aren't the same"


def test_a_key_that_no_lowering_knows_stays_for_the_contract_to_refuse():
    made = lower(tool(False, a={"type": "string"}), "openai")
    assert made.decode({"a": None, "authorId": None, "x": 1}) == {"authorId": None, "x": 1}


def test_recursion_is_kept_refused_or_cut_by_provider():
    tree = {
        **tool(root={"$ref": "#/$defs/Node"}),
        "$defs": {
            "Node": {
                **tool(
                    name={"type": "string"},
                    under={"type": "array", "items": {"$ref": "#/$defs/Node"}},
                ),
            },
            "Ring": {**tool(next={"$ref": "#/$defs/Ring"})},
        },
    }
    openai = lower(tree, "openai", strict=True)
    assert openai.schema["$defs"]["Node"]["properties"]["under"]["items"] == {
        "$ref": "#/$defs/Node"
    }
    assert lower(tree, "anthropic").strict is False
    assert "leads back" in lower(tree, "anthropic").reasons[0]
    gemini = lower(tree, "gemini")
    assert gemini.lossless
    ring = {**tree, "properties": {"root": {"$ref": "#/$defs/Ring"}}}
    cut = lower(ring, "gemini")
    assert CHECKERS["gemini"](cut.schema, strict=False) == []
    assert [entry.keyword for entry in cut.report if entry.lossy] == ["$ref"]
    assert not cut.lossless


def test_what_stands_beside_a_reference_is_said():
    """anthropic's and openai's own helpers lose the description here."""
    schema = {
        **tool(v={"$ref": "#/$defs/Name", "description": "Of the author.", "maxLength": 5}),
        "$defs": {"Name": {"type": "string", "minLength": 1}},
    }
    for provider in STRICT:
        made = lower(schema, provider, strict=True)
        said = made.schema["properties"]["v"]
        assert "Of the author." in said["description"]
        assert "5" in str(said), "the bound beside the reference counts too"
        assert CHECKERS[provider](made.schema, strict=True) == []


def test_a_list_of_types_is_a_union_where_it_must_be():
    sent, made = one({"type": ["string", "null"], "maxLength": 3}, "anthropic", strict=True)
    assert [arm["type"] for arm in sent["anyOf"]] == ["string", "null"]
    assert sent["anyOf"][0]["description"] == "At most 3 characters."
    assert made.decode({"v": None}) == {"v": None}


def test_const_is_one_listed_value_for_gemini():
    assert one({"const": "x"}, "gemini")[0] == {"type": "string", "enum": ["x"]}
    sent, made = one({"const": True}, "gemini")
    assert sent == {"type": "boolean", "description": "Only true."}
    assert made.lossless


def test_geminis_sum_of_lengths_stays_under_what_it_takes():
    lists = {
        f"l{i}": {"type": "array", "items": {"type": "string"}, "maxItems": 500} for i in range(3)
    }
    made = lower(tool(**lists), "gemini")
    assert CHECKERS["gemini"](made.schema, strict=False) == []
    assert made.schema["properties"]["l0"]["maxItems"] == 500
    assert made.schema["properties"]["l2"]["description"] == "At most 500 items."


def test_case_is_repaired_only_where_that_is_asked_for_and_is_on_record():
    schema = tool(level={"enum": ["Low", "High risk"]}, name={"type": "string"})
    plain = lower(schema, "anthropic", strict=True)
    assert plain.decode({"level": "high Risk", "name": "LOW"})["level"] == "high Risk"
    folding = lower(schema, "anthropic", strict=True, fold_case=True)
    back = folding.decoded({"level": "high Risk", "name": "LOW"})
    assert back.arguments == {"level": "High risk", "name": "LOW"}
    assert back.repaired == ("level",)
    assert folding.decoded({"level": "Low", "name": ""}).repaired == ()
    assert folding.decode({"level": "medium", "name": ""})["level"] == "medium"
    assert lower(schema, "openai", fold_case=True).decode({"level": "low"}) == {"level": "low"}


def test_a_text_that_tells_alternatives_apart_is_never_repaired():
    arms = [tool(kind={"const": kind}, n={"type": "integer"}) for kind in ("Draft", "Post")]
    made = lower(tool(v={"anyOf": arms}), "anthropic", strict=True, fold_case=True)
    sent = {"v": {"kind": "post", "n": 1}}
    assert made.decoded(sent).arguments == sent


def test_a_union_at_the_root_becomes_one_object():
    arms = [tool(kind={"const": "a"}, x={"type": "integer"}), tool(kind={"const": "b"})]
    for provider in ALL:
        made = lower({"type": "object", "oneOf": arms}, provider)
        assert made.schema["properties"]["kind"]["enum"] == ["a", "b"]
        assert CHECKERS[provider](made.schema, strict=made.strict) == []


def test_gemini_and_plain_have_no_strict_mode_to_ask_for():
    for provider in ("gemini", "plain"):
        with pytest.raises(SchemaError, match="strict"):
            lower(tool(v={"type": "string"}), provider, strict=True)
    with pytest.raises(ValueError, match="take one of plain, anthropic, openai, gemini"):
        lower(tool(), "claude")


def test_a_schema_isnt_changed_and_what_is_made_is_ones_own():
    schema = tool(v={"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}})
    before = str(schema)
    made = lower(schema, "anthropic")
    made.schema["properties"].clear()
    assert str(schema) == before


# Hostile sizes. ----------------------------------------------------------------------------------


def bomb(depth: int) -> dict[str, Any]:
    """Definitions, each of which holds the next twice, with words beside that ask for a copy."""
    definitions: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, depth):
        ref = {"$ref": f"#/$defs/d{level - 1}", "description": "x"}
        definitions[f"d{level}"] = tool(l=ref, r=ref)
    return {**tool(v={"$ref": f"#/$defs/d{depth - 1}", "description": "y"}), "$defs": definitions}


def chain(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        node = tool(v=node)
    return node


HOSTILE = {
    "100,000 values": tool(**{f"p{i}": {"type": "string"} for i in range(50_000)}),
    "1,000 deep": chain(1_000),
    "a reference bomb": bomb(40),
    "an endless reference": {
        **tool(v={"$ref": "#/$defs/A"}),
        "$defs": {"A": {"$ref": "#/$defs/A"}},
    },
    "an endless intersection": {
        **tool(v={"$ref": "#/$defs/A"}),
        "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"type": "object"}]}},
    },
    "a reference to nowhere": tool(v={"$ref": "#/$defs/Gone"}),
    "a reference out of it": tool(v={"$ref": "https://evil.example/s.json"}),
}


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_refused_soon(provider: str, name: str):
    start = time.perf_counter()
    if name == "an endless intersection" and provider == "gemini":
        assert not lower(HOSTILE[name], provider).lossless, "Gemini's recursion is cut, openly"
    else:
        with pytest.raises(SchemaError):
            lower(HOSTILE[name], provider, strict=provider in STRICT)
    assert time.perf_counter() - start < 5, "bounded: a second where nothing else runs"


def test_a_reference_bomb_never_stops_a_strict_request():
    made = lower(bomb(40), "openai")
    assert made.strict is False
    assert "larger" in made.reasons[0]


# A request's budget. -----------------------------------------------------------------------------


def lowered(count: int, **properties: Any) -> dict[str, Lowered]:
    return {f"t{i}": lower(tool(False, **properties), "anthropic") for i in range(count)}


def test_anthropics_request_takes_twenty_strict_tools_and_24_optional_parameters():
    plan = planned(lowered(25), "anthropic")
    assert plan.strict == tuple(f"t{i}" for i in range(20))
    assert list(plan.demoted) == [f"t{i}" for i in range(20, 25)]
    assert "21 tools" in plan.demoted["t20"]
    many = {f"p{i}": {"type": "string"} for i in range(10)}
    plan = planned(lowered(4, **many), "anthropic")
    assert plan.strict == ("t0", "t1")
    assert "30 optional parameters" in plan.demoted["t2"]
    assert "24" in plan.demoted["t2"]
    unions = {f"p{i}": {"type": ["string", "null"]} for i in range(9)}
    assert planned(lowered(2, **unions), "anthropic").strict == ("t0",)


def test_the_tools_that_matter_most_are_strict_first():
    many = {f"p{i}": {"type": "string"} for i in range(10)}
    plan = planned(lowered(4, **many), "anthropic", priority=["t3"])
    assert plan.strict == ("t0", "t3")
    with pytest.raises(KeyError, match="t9"):
        planned(lowered(4), "anthropic", priority=["t9"])


def test_openais_sizes_are_counted_over_the_request():
    wide = {f"p{i}": {"type": "string"} for i in range(2_000)}
    each = {f"t{i}": lower(tool(**wide), "openai") for i in range(3)}
    assert planned(each, "openai").strict == ("t0", "t1")
    deep = {"t": lower(chain(11), "openai")}
    assert "11 levels" in planned(deep, "openai").demoted["t"]
    values = {"t": lower(tool(v={"enum": [f"value {i}" for i in range(1_001)]}), "openai")}
    assert "1001 enum values" in planned(values, "openai").demoted["t"]
    long = {"t": lower(tool(v={"enum": ["x" * 60 + str(i) for i in range(300)]}), "openai")}
    assert "15000 letters" in planned(long, "openai").demoted["t"]


def test_a_tool_left_out_of_the_budget_is_sent_as_the_contract_has_it():
    made = lower(tool(False, v={"type": "string", "maxLength": 3}), "anthropic")
    relaxed = made.relaxed()
    assert relaxed.strict is False
    assert relaxed.schema["properties"]["v"] == {"type": "string", "maxLength": 3}
    assert relaxed.decode({"v": None}) == {"v": None}


# Names. ------------------------------------------------------------------------------------------


def test_a_name_that_a_provider_takes_stays():
    names = ["save_draft", "save-draft", "x" * 64]
    assert lowered_names(names, "openai") == {name: name for name in names}
    assert lowered_names(["a.b"], "plain") == {"a.b": "a.b"}
    assert lowered_names(["save-draft"], "gemini")["save-draft"].startswith("save_draft_")
