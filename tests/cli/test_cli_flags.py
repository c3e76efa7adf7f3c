"""Flags and JSON say the same: whatever flags can say reads back as it was (FR-126)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.cli import call, flags
from tests.cli import desk

SCHEMA = desk.app.advertised("echo")
FLAGS = {".".join(flag.path): flag for flag in flags.flags(SCHEMA)[0]}

INTEGERS = st.integers(-(2**70), 2**70)
# argv can't hold NUL; lone surrogates stand there for bytes that are no text.
TEXTS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
POINTS = st.fixed_dictionaries(
    {"x": INTEGERS},
    optional={"y": st.floats(allow_nan=False, allow_infinity=False), "label": TEXTS},
)
VALUES = st.fixed_dictionaries(
    {"title": TEXTS},
    optional={
        "count": INTEGERS,
        "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "loud": st.booleans(),
        "tags": st.lists(TEXTS, min_size=1),
        "sizes": st.lists(INTEGERS, min_size=1),
        "color": st.sampled_from(["red", "green"]),
        "level": st.sampled_from([1, 2, "3"]),
        "either": INTEGERS | st.booleans(),
        "draft_id": TEXTS,
        "deep": st.fixed_dictionaries({"point": POINTS}, optional={"on": st.booleans()}),
    },
)


def rendered(value: dict[str, Any], path: tuple[str, ...] = ()) -> list[str]:
    """Return the command line that says *value*."""
    argv: list[str] = []
    for key, item in value.items():
        flag = FLAGS.get(".".join((*path, key)))
        if isinstance(item, dict):
            argv += rendered(item, (*path, key))
            continue
        assert flag is not None, key
        if flag.kind == "switch":
            argv.append(flag.on[-1] if item else flag.off[-1])
            continue
        for one in item if isinstance(item, list) else [item]:
            argv += [flag.on[-1], one if isinstance(one, str) else json.dumps(one)]
    return argv


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_what_flags_say_reads_back_as_it_was(value: dict[str, Any]) -> None:
    text, _ = call._read(
        desk.app,
        "desk:app",
        "echo",
        tuple(rendered(value)),
        call._Asked(None, None, None, False),
    )
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(value, sort_keys=True)


def test_numbers_go_on_digit_for_digit() -> None:
    count = FLAGS["count"]
    for text in ("1", "-0", "1.0", "1e400", "123456789012345678901234567890"):
        assert flags.json_of([flags.Given(count, (text,))]) == f'{{"count": {text}}}'
    for text in ("01", "+1", "1_0", " 1", "0x1", "NaN", "Infinity", "null", "١"):
        assert json.loads(flags.json_of([flags.Given(count, (text,))])) == {"count": text}


@pytest.mark.parametrize(
    ("schema", "kind", "many"),
    [
        ({"type": "string"}, "text", False),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "text", False),
        ({"type": ["integer", "null"]}, "scalar", False),
        ({"const": 3}, "scalar", False),
        ({"type": "boolean"}, "switch", False),
        ({"const": True}, "scalar", False),
        ({"type": "array", "items": {"type": "boolean"}}, "scalar", True),
        ({"allOf": [{"$ref": "#/$defs/S"}]}, "text", False),
        ({}, None, False),
        ({"type": "array"}, None, False),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, None, False),
        ({"type": "array", "items": {"type": "object"}}, None, False),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            None,
            False,
        ),
        ({"type": "object", "additionalProperties": {"type": "string"}}, None, False),
        ({"type": "null"}, None, False),
        ({"$ref": "#/$defs/Tree"}, None, False),
    ],
)
def test_which_values_a_flag_can_say(schema: Any, kind: str | None, many: bool) -> None:
    tree = {"type": "object", "properties": {"below": {"$ref": "#/$defs/Tree"}}}
    root = {
        "type": "object",
        "properties": {"a": schema},
        "$defs": {"S": {"type": "string"}, "Tree": tree},
    }
    found, rest = flags.flags(root)
    assert [(flag.kind, flag.many) for flag in found] == ([] if kind is None else [(kind, many)])
    assert bool(rest) is (kind is None)


def test_keys_that_no_flag_can_spell_are_left_to_json() -> None:
    names = ["a b", "", "a=b", "-a", "é", "a/b", "x.y"]
    root = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    found, rest = flags.flags(root)
    assert [flag.path[0] for flag in found] == ["é", "x.y"]
    assert sorted(rest) == sorted(["a b", "", "a=b", "-a", "a/b"])


def test_a_spelling_means_one_key() -> None:
    text, nested = {"type": "string"}, {"type": "object", "properties": {"b": {"type": "string"}}}
    keys = {
        "a_b": text,
        "a-b": text,
        "a.b": text,
        "a": nested,
        "no-c": text,
        "c": {"type": "boolean"},
    }
    found, rest = flags.flags({"type": "object", "properties": keys})
    spelled = [one for flag in found for one in (*flag.on, *flag.off)]
    assert len(spelled) == len(set(spelled))
    assert {flag.on[-1]: flag.path for flag in found}["--a.b"] == ("a.b",)
    assert rest == ["a.b"]


def test_alternatives_of_a_body_are_flags_together() -> None:
    arms = [
        {
            "type": "object",
            "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}},
            "required": ["kind", "n"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "b"}, "n": {"type": "string"}},
            "required": ["kind"],
        },
    ]
    found, _ = flags.flags({"type": "object", "oneOf": arms})
    shown = {flag.path[0]: (flag.kind, flag.choices, flag.required) for flag in found}
    assert shown == {"kind": ("text", ("a", "b"), True), "n": ("text", (), False)}
