"""What a change means, by pairs that a reader can judge: one line each, and its right class."""

from __future__ import annotations

import builtins
import time
from typing import Any

import jsonschema_rs
import pytest

from remit.schema import Change, SchemaError, diff

S: dict[str, Any] = {"type": "string"}
I: dict[str, Any] = {"type": "integer"}  # noqa: E741 - beside S
LIST: dict[str, Any] = {"type": "array", "items": S}


def obj(policy: Any = False, /, required: tuple[str, ...] = (), **properties: Any) -> Any:
    made: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        made["required"] = list(required)
    return made if policy is None else {**made, "additionalProperties": policy}


def cat(*kinds: str, **more: Any) -> Any:
    return {"oneOf": [obj(False, ("kind",), kind={"const": kind}, **more) for kind in kinds]}


def tree(**of_node: Any) -> Any:
    node = obj(
        False, name={**S, **of_node}, under={"type": "array", "items": {"$ref": "#/$defs/N"}}
    )
    return {**obj(False, top={"$ref": "#/$defs/N"}), "$defs": {"N": node}}


PAIRS: list[tuple[str, Any, Any, set[tuple[str, str]]]] = [
    ("nothing", obj(a=S), obj(a=S), set()),
    ("a reference for what it leads to", obj(a=S),
     {**obj(a={"$ref": "#/$defs/A"}), "$defs": {"A": S}}, set()),
    ("another name for a definition", tree(), {
        **obj(top={"$ref": "#/$defs/M"}),
        "$defs": {"M": obj(name=S, under={"type": "array", "items": {"$ref": "#/$defs/M"}})},
    }, set()),
    ("null as a type, or as an alternative", obj(a={"type": ["string", "null"]}),
     obj(a={"anyOf": [S, {"type": "null"}]}), set()),
    ("required in another order", obj(False, ("a", "b"), a=S, b=S),
     obj(False, ("b", "a"), a=S, b=S), set()),
    # Words.
    ("a description", obj(a=S), obj(a={**S, "description": "New."}),
     {("meaning", "#/properties/a/description")}),
    ("a default", obj(a={**S, "default": "x"}), obj(a={**S, "default": "y"}),
     {("meaning", "#/properties/a/default")}),
    ("a default that is gone", obj(a={**S, "default": "x"}), obj(a=S),
     {("meaning", "#/properties/a/default")}),
    ("a title, deep", obj(a={"type": "array", "items": obj(b={**S, "title": "B"})}),
     obj(a={"type": "array", "items": obj(b={**S, "title": "C"})}),
     {("meaning", "#/properties/a/items/properties/b/title")}),
    ("words beside a reference", {**obj(a={"$ref": "#/$defs/A"}), "$defs": {"A": S}},
     {**obj(a={"$ref": "#/$defs/A", "description": "Of it."}), "$defs": {"A": S}},
     {("meaning", "#/properties/a/description")}),
    # Properties.
    ("one more", obj(a=S), obj(a=S, b=S), {("widened", "#/properties/b")}),
    ("one more, of a plain object", obj(None, a=S), obj(None, a=S, b=S),
     {("widened", "#/properties/b")}),
    ("one more that is required", obj(a=S), obj(False, ("b",), a=S, b=S),
     {("narrowed", "#/properties/b")}),
    ("one less, refused", obj(a=S, b=S), obj(a=S), {("narrowed", "#/properties/b")}),
    ("one less, dropped", obj(None, a=S, b=S), obj(None, a=S), {("meaning", "#/properties/b")}),
    ("one less, kept", obj(True, a=S, b=S), obj(True, a=S), {("widened", "#/properties/b")}),
    ("required now", obj(a=S), obj(False, ("a",), a=S), {("narrowed", "#/properties/a")}),
    ("optional now", obj(False, ("a",), a=S), obj(a=S), {("widened", "#/properties/a")}),
    ("who acts", obj(a=S), obj(a=S, authorId=S), {("authority", "#/properties/authorId")}),
    ("a state", obj(a=S), obj(a=S, published={"type": "boolean"}),
     {("authority", "#/properties/published")}),
    ("a state that is required", obj(a=S), obj(False, ("status",), a=S, status=S),
     {("authority", "#/properties/status"), ("narrowed", "#/properties/status")}),
    ("a key that was kept is declared", obj(True, a=S), obj(True, a=S, b=I),
     {("narrowed", "#/properties/b")}),
    # Key policies.
    ("strict to open", obj(a=S), obj(True, a=S), {("authority", "#/additionalProperties")}),
    ("strict to plain", obj(a=S), obj(None, a=S), {("authority", "#/additionalProperties")}),
    ("plain to open", obj(None, a=S), obj(True, a=S), {("authority", "#/additionalProperties")}),
    ("plain to strict", obj(None, a=S), obj(a=S), {("narrowed", "#/additionalProperties")}),
    ("open to strict, deep", obj(a=obj(True, b=S)), obj(a=obj(b=S)),
     {("narrowed", "#/properties/a/additionalProperties")}),
    ("open to plain", obj(True, a=S), obj(None, a=S), {("meaning", "#/additionalProperties")}),
    ("open to typed", obj(True, a=S), obj(I, a=S), {("narrowed", "#/additionalProperties")}),
    ("typed otherwise", obj(I, a=S), obj({"type": "number"}, a=S),
     {("widened", "#/additionalProperties/type")}),
    # Bounds.
    ("longer", obj(a={**S, "maxLength": 3}), obj(a={**S, "maxLength": 5}),
     {("widened", "#/properties/a/maxLength")}),
    ("shorter", obj(a={**S, "maxLength": 5}), obj(a={**S, "maxLength": 3}),
     {("narrowed", "#/properties/a/maxLength")}),
    ("a lower bound that moved down", obj(a={**I, "minimum": 3}), obj(a={**I, "minimum": 1}),
     {("widened", "#/properties/a/minimum")}),
    ("a bound that excludes itself", obj(a={**I, "minimum": 3}),
     obj(a={**I, "exclusiveMinimum": 3}), {("narrowed", "#/properties/a/minimum")}),
    ("the same bound of integers", obj(a={**I, "minimum": 4}), obj(a={**I, "exclusiveMinimum": 3}),
     set()),
    ("a coarser step", obj(a={**I, "multipleOf": 3}), obj(a={**I, "multipleOf": 6}),
     {("narrowed", "#/properties/a/multipleOf")}),
    ("a pattern that begins", obj(a=S), obj(a={**S, "pattern": "^d_[a-z]{3}$"}),
     {("narrowed", "#/properties/a/pattern")}),
    ("a pattern that ends", obj(a={**S, "pattern": "^d_[a-z]{3}$"}), obj(a=S),
     {("widened", "#/properties/a/pattern")}),
    ("patterns that nobody can compare", obj(a={**S, "pattern": "^(a|b)*$"}),
     obj(a={**S, "pattern": "^(b|a)*$"}), {("unknown", "#/properties/a/pattern")}),
    ("a format", obj(a=S), obj(a={**S, "format": "date"}), {("narrowed", "#/properties/a/format")}),
    ("fewer items", obj(a=LIST), obj(a={**LIST, "maxItems": 2}),
     {("narrowed", "#/properties/a/maxItems")}),
    ("items once each", obj(a=LIST), obj(a={**LIST, "uniqueItems": True}),
     {("narrowed", "#/properties/a/uniqueItems")}),
    ("items of another kind", obj(a=LIST), obj(a={"type": "array", "items": I}),
     {("narrowed", "#/properties/a/items/type"), ("widened", "#/properties/a/items/type")}),
    ("a place of a tuple", obj(a={"type": "array", "prefixItems": [S, S], "items": False}),
     obj(a={"type": "array", "prefixItems": [S, I], "items": False}),
     {("narrowed", "#/properties/a/prefixItems/1/type"),
      ("widened", "#/properties/a/prefixItems/1/type")}),
    # Kinds and values.
    ("null too", obj(a=S), obj(a={"type": ["string", "null"]}),
     {("widened", "#/properties/a/type")}),
    ("no null any more", obj(a={"type": ["string", "null"]}), obj(a=S),
     {("narrowed", "#/properties/a/type")}),
    ("integers, then numbers", obj(a=I), obj(a={"type": "number"}),
     {("widened", "#/properties/a/type")}),
    ("one more value", obj(a={"enum": ["x"]}), obj(a={"enum": ["x", "y"]}),
     {("widened", "#/properties/a/enum")}),
    ("one value less", obj(a={"enum": ["x", "y"]}), obj(a={"enum": ["x"]}),
     {("narrowed", "#/properties/a/enum")}),
    ("another value", obj(a={"const": "x"}), obj(a={"const": "y"}),
     {("narrowed", "#/properties/a/const"), ("widened", "#/properties/a/const")}),
    # Unions and recursion.
    ("one more variant", obj(v=cat("a", "b")), obj(v=cat("a", "b", "c")),
     {("widened", "#/properties/v/oneOf/2")}),
    ("one variant less", obj(v=cat("a", "b", "c")), obj(v=cat("a", "b")),
     {("narrowed", "#/properties/v/oneOf/2")}),
    ("variants in another order", obj(v=cat("a", "b")), obj(v=cat("b", "a")), set()),
    ("inside a variant", obj(v=cat("a", "b", n=I)), obj(v=cat("a", "b", n={**I, "minimum": 1})),
     {("narrowed", "#/properties/v/oneOf/0/properties/n/minimum"),
      ("narrowed", "#/properties/v/oneOf/1/properties/n/minimum")}),
    ("a union where there was none", obj(v=S), obj(v={"anyOf": [S, I]}),
     {("widened", "#/properties/v/anyOf/1")}),
    ("in what leads back to itself", tree(), tree(maxLength=3),
     {("narrowed", "#/properties/top/properties/name/maxLength")}),
    # What only a whole says.
    ("what is forbidden", obj(a={**S, "not": {"const": "x"}}),
     obj(a={**S, "not": {"const": "y"}}),
     {("narrowed", "#/properties/a/not"), ("widened", "#/properties/a/not")}),
    ("a key for a key", obj(a=S, b=S), {**obj(a=S, b=S), "dependentRequired": {"a": ["b"]}},
     {("narrowed", "#/dependentRequired")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "right"), [one[1:] for one in PAIRS], ids=[one[0] for one in PAIRS]
)
def test_a_change_has_its_right_class(old: Any, new: Any, right: set[tuple[str, str]]):
    found = diff(old, new)
    assert {(one.kind, one.pointer) for one in found} == right, found
    judges = [jsonschema_rs.validator_for(one, validate_formats=True) for one in (old, new)]
    for one in found:
        if one.kind == "narrowed":
            assert judges[0].is_valid(one.witness)
            assert not judges[1].is_valid(one.witness)
        else:
            assert one.witness is None


X: dict[str, Any] = {"$ref": "#/$defs/X"}
AROUND: dict[str, Any] = {
    "a nullable object": {
        "type": ["object", "null"],
        "properties": {"a": X},
        "additionalProperties": False,
    },
    "a nullable list": {"type": ["array", "null"], "items": X},
    "a list that contains": {"type": "array", "items": S, "contains": X},
    "names of keys": {"type": "object", "propertyNames": X},
    "a key's companion": {"type": "object", "dependentSchemas": {"a": {"properties": {"b": X}}}},
    "a condition": {"type": "object", "if": {"required": ["a"]}, "then": {"properties": {"a": X}}},
    "a map of no type": {"additionalProperties": X},
    "a pattern of keys": {"type": "object", "patternProperties": {"^a": X}},
    "a tuple": {"type": "array", "prefixItems": [X]},
    "several": {"type": "array", "items": {"anyOf": [X, I]}},
    "both": {"allOf": [X, {"minLength": 1}]},
}


@pytest.mark.parametrize("name", AROUND)
def test_what_a_reference_leads_to_is_never_overlooked(name: str):
    """The words around it are the same, and yet it takes less."""
    old, new = (
        {**obj(p=AROUND[name]), "$defs": {"X": {**S, "maxLength": most}}} for most in (5, 3)
    )
    assert {"narrowed", "unknown"} & {one.kind for one in diff(old, new)}
    assert diff(new, new) == []
    grown = {one.kind for one in diff(new, old)}
    assert {"widened", "unknown"} & grown
    assert "narrowed" not in grown


def test_what_is_forbidden_by_reference_is_never_overlooked():
    old, new = ({**obj(p={"not": X}), "$defs": {"X": {**S, "maxLength": most}}} for most in (3, 5))
    assert {"narrowed", "unknown"} & {one.kind for one in diff(old, new)}


BREAKS: dict[str, tuple[Any, Any]] = {
    "required and not declared": ({"type": "object"}, {"type": "object", "required": ["x"]}),
    "required and not declared, inside": (
        obj(a={"type": "object"}),
        obj(a={"type": "object", "required": ["x"]}),
    ),
    "one is not true": (obj(a={"const": 1}), obj(a={"const": True})),
    "nought is not false": (obj(a={"enum": [0, 1]}), obj(a={"enum": [False, True]})),
    "a key of a nullable object": (
        obj(p={**AROUND["a nullable object"], "properties": {"a": I, "r": S}}),
        obj(p={**AROUND["a nullable object"], "properties": {"r": S}}),
    ),
    "another draft": (
        {"$schema": "http://json-schema.org/draft-07/schema#", **obj(a={"prefixItems": [I]})},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **obj(a={"prefixItems": [I]})},
    ),
    "a reference to the whole": tuple(  # type: ignore[dict-item]
        {
            "type": "object",
            "properties": {
                "n": {"type": "integer", "maximum": most},
                "p": {"type": "object", "patternProperties": {"^x": {"not": {"$ref": "#"}}}},
            },
        }
        for most in (3, 5)
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_is_never_overlooked(name: str):
    old, new = BREAKS[name]
    assert {"narrowed", "unknown"} & {one.kind for one in diff(old, new)}
    assert diff(old, old) == []


MORE: dict[str, tuple[Any, Any]] = {
    "in a nullable object": (
        obj(p={"type": ["object", "null"], "properties": {"a": S}, "additionalProperties": False}),
        obj(
            p={
                "type": ["object", "null"],
                "properties": {"a": S, "user_id": S},
                "additionalProperties": False,
            }
        ),
    ),
    "beside patterns": (
        obj(p={**obj(a=S), "patternProperties": {"^x": S}}),
        obj(p={**obj(a=S, user_id=S), "patternProperties": {"^x": S}}),
    ),
    "in one more intersection": (
        {"type": "object", "allOf": [{"properties": {"a": S}}]},
        {"type": "object", "allOf": [{"properties": {"a": S}}, {"properties": {"user_id": S}}]},
    ),
    "in a new alternative": (obj(v=cat("a")), obj(v={"oneOf": [*cat("a")["oneOf"], *cat("b", user_id=S)["oneOf"]]})),
    "in a new object": (obj(a=S), obj(a=S, options=obj(user_id=S))),
    "behind a reference": (
        obj(a=S),
        {**obj(a=S, options={"$ref": "#/$defs/O"}), "$defs": {"O": obj(is_admin={"type": "boolean"})}},
    ),
    "keys beside patterns": (
        obj(p={"type": "object", "properties": {"a": S}, "patternProperties": {"^x": S}}),
        obj(p={**obj(True, a=S), "patternProperties": {"^x": S}}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_more_authority_is_found_wherever_it_stands(name: str):
    old, new = MORE[name]
    assert "authority" in {one.kind for one in diff(old, new)}


def test_words_beside_each_reference_are_read():
    def two(said: str) -> Any:
        return {**obj(a=X, b={**X, "description": said}), "$defs": {"X": S}}

    assert [one.pointer for one in diff(two("A."), two("B."))] == ["#/properties/b/description"]
    assert diff(obj(a=obj(b={**S, "default": 0})), obj(a=obj(b={**S, "default": False})))


SAME: dict[str, tuple[Any, Any]] = {
    "intersections in another order": (
        obj(a={"allOf": [{"minLength": 1}, {"maxLength": 3}]}),
        obj(a={"allOf": [{"maxLength": 3}, {"minLength": 1}]}),
    ),
    "closed in other words": (obj(a=S), obj({"not": {}}, a=S)),
    "a constant as a list": (obj(a={"const": "x"}), obj(a={"enum": ["x"]})),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_only_written_otherwise_is_no_change(name: str):
    old, new = SAME[name]
    assert diff(old, new) == []
    assert diff(new, old) == []


def nested(levels: int, node: Any) -> Any:
    for _ in range(levels):
        node = {"type": "array", "items": node, "minItems": 100_000}
    return node


SLOW: dict[str, tuple[Any, Any]] = {
    "a pattern of patterns": (
        obj(a={**S, "pattern": "((a{1000}){1000}){1000}"}),
        obj(a={**S, "pattern": "((b{1000}){1000}){1000}"}),
    ),
    "many keys": (
        obj(a={"type": "object", "additionalProperties": True, "maxProperties": 10**8}),
        obj(a={"type": "object", "additionalProperties": True, "maxProperties": 10**7}),
    ),
    "long lists of long lists": (obj(a=nested(4, S)), obj(a=nested(4, I))),
    "a number that no float holds": (
        obj(a={"type": "integer", "minimum": 10**400}),
        obj(a={"type": "integer", "minimum": 10**401}),
    ),
    "a thousand alternatives": tuple(  # type: ignore[dict-item]
        obj(a={"anyOf": [{**S, "pattern": f"^{word}{i}+$"} for i in range(1_000)]})
        for word in ("a", "b")
    ),
    "a thousand properties": tuple(  # type: ignore[dict-item]
        obj(**{f"p{i}": {**S, "maxLength": most} for i in range(1_000)}) for most in (5, 3)
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_hostile_pair_is_told_soon(name: str):
    old, new = SLOW[name]
    start = time.perf_counter()
    assert {"narrowed", "unknown"} & {one.kind for one in diff(old, new)}
    assert time.perf_counter() - start < 20, "bounded: seconds where nothing else runs"


def test_there_are_pairs_enough():
    assert len(PAIRS) >= 40


# Tools. ------------------------------------------------------------------------------------------


def tool(**changed: Any) -> Any:
    base = {
        "title": "Save",
        "description": "Save it.",
        "effect": "write",
        "external": False,
        "idempotent": False,
        "public": False,
        "scopes": ["a", "b"],
        "require": {"otherwise": "Ask."},
        "approval": {
            "approvers": ["editor"],
            "expires_seconds": 60.0,
            "self_approval": False,
            "versioned": True,
        },
        "limit": "60/minute",
        "timeout": 30.0,
        "resources": {"id": {"many": False, "otherwise": ""}},
        "input_schema": obj(False, ("id",), id=S),
        "output_schema": obj(False, ("n",), n=I, m=I),
    }
    return {"tools": {"save": {**base, **changed}}}


GATE = tool()["tools"]["save"]["approval"]
TOOLS: list[tuple[str, Any, Any, set[tuple[str, str]]]] = [
    ("nothing", tool(), tool(), set()),
    ("a description", tool(), tool(description="x"), {("meaning", "#/description")}),
    ("an effect lowered", tool(), tool(effect="read"), {("authority", "#/effect")}),
    ("an effect raised", tool(), tool(effect="irreversible"), {("authority", "#/effect")}),
    ("external no more", tool(external=True), tool(), {("authority", "#/external")}),
    ("public", tool(), tool(public=True), {("authority", "#/public")}),
    ("public no more", tool(public=True), tool(), {("narrowed", "#/public")}),
    ("a scope less", tool(), tool(scopes=["a"]), {("authority", "#/scopes")}),
    ("a scope more", tool(), tool(scopes=["a", "b", "c"]), {("narrowed", "#/scopes")}),
    ("no rule", tool(), tool(require=None), {("authority", "#/require")}),
    ("a rule", tool(require=None), tool(), {("narrowed", "#/require")}),
    ("nobody agrees", tool(), tool(approval=None), {("authority", "#/approval")}),
    ("somebody agrees", tool(approval=None), tool(), {("narrowed", "#/approval")}),
    ("more may agree", tool(), tool(approval={**GATE, "approvers": ["author", "editor"]}),
     {("authority", "#/approval/approvers")}),
    ("the requester agrees", tool(), tool(approval={**GATE, "self_approval": True}),
     {("authority", "#/approval/self_approval")}),
    ("a request waits longer", tool(), tool(approval={**GATE, "expires_seconds": 99.0}),
     {("authority", "#/approval/expires_seconds")}),
    ("not bound to a version", tool(), tool(approval={**GATE, "versioned": False}),
     {("authority", "#/approval/versioned")}),
    ("no limit", tool(), tool(limit=None), {("authority", "#/limit")}),
    ("another limit", tool(), tool(limit="1/second"), {("unknown", "#/limit")}),
    ("a record no longer checked", tool(), tool(resources={}), {("authority", "#/resources/id")}),
    ("a record checked now", tool(resources={}), tool(), {("narrowed", "#/resources/id")}),
    ("an argument", tool(), tool(input_schema=obj(False, ("id",), id=S, owner=S)),
     {("authority", "#/input_schema/properties/owner")}),
    ("a result less", tool(), tool(output_schema=obj(False, ("n",), n=I)),
     {("narrowed", "#/output_schema/properties/m")}),
    ("a result more", tool(), tool(output_schema=obj(False, ("n",), n=I, m=I, o=I)),
     {("widened", "#/output_schema/properties/o")}),
    ("a result that may be missing", tool(), tool(output_schema=obj(False, (), n=I, m=I)),
     {("narrowed", "#/output_schema/properties/n")}),
    ("a result that may be null", tool(),
     tool(output_schema=obj(False, ("n",), n={"type": ["integer", "null"]}, m=I)),
     {("narrowed", "#/output_schema/properties/n/type")}),
    ("a result that is never null any more",
     tool(output_schema=obj(False, ("n",), n={"type": ["integer", "null"]}, m=I)), tool(),
     {("widened", "#/output_schema/properties/n/type")}),
    ("a tool that is gone", tool(), {"tools": {}}, {("narrowed", "#")}),
    ("a new tool that writes", {"tools": {}}, tool(approval=None),
     {("widened", "#"), ("authority", "#/effect")}),
    ("a new tool that reads", {"tools": {}}, tool(approval=None, effect="read"),
     {("widened", "#")}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "right"), [one[1:] for one in TOOLS], ids=[one[0] for one in TOOLS]
)
def test_a_change_of_a_tool_has_its_right_class(old: Any, new: Any, right: set[tuple[str, str]]):
    found = diff(old, new)
    assert {(one.kind, one.pointer) for one in found} == right, found
    assert {one.tool for one in found} <= {"save"}


def test_a_tool_to_which_nobody_must_agree_any_more_is_followed_by_its_new_name():
    old = {"tools": {"request_publish": tool()["tools"]["save"]}}
    new = {"tools": {"publish": tool(approval=None)["tools"]["save"]}}
    kinds = {(one.tool, one.kind, one.pointer) for one in diff(old, new)}
    assert ("publish", "authority", "#/approval") in kinds
    assert ("request_publish", "narrowed", "#") in kinds


def test_any_servers_list_of_tools_can_be_compared():
    def listed(**changed: Any) -> Any:
        one = {
            "name": "get",
            "description": "Get.",
            "inputSchema": obj(a=S),
            "annotations": {"readOnlyHint": False, "destructiveHint": True},
            **changed,
        }
        return {"tools": [one]}

    assert diff(listed(), listed()) == []
    found = diff(listed(), listed(annotations={"readOnlyHint": True, "destructiveHint": False}))
    assert {(one.kind, one.pointer) for one in found} == {
        ("authority", "#/annotations/readOnlyHint"),
        ("authority", "#/annotations/destructiveHint"),
    }
    assert (
        diff(listed(), listed(inputSchema=obj(a=I)))[0].pointer == "#/inputSchema/properties/a/type"
    )


def test_a_schema_and_a_list_of_tools_are_no_pair():
    with pytest.raises(ValueError, match=r"the other is a schema"):
        diff(obj(a=S), tool())


def test_a_hostile_schema_is_refused():
    with pytest.raises(SchemaError, match=r"save: .*50000 values"):
        diff(tool(), tool(input_schema=obj(**{f"p{i}": S for i in range(30_000)})))
    deep: Any = S
    for _ in range(500):
        deep = obj(a=deep)
    with pytest.raises(SchemaError, match="nests deeper"):
        diff(obj(a=S), deep)


def test_without_the_judge_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    ours = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "jsonschema_rs":
            raise ImportError(name)
        return ours(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"pip install 'remit\[diff\]'"):
        diff(obj(a=S), obj(a=I))


def test_a_change_reads_well():
    (one,) = diff(obj(a={**S, "maxLength": 5}), obj(a={**S, "maxLength": 3}))
    assert one == Change(
        "", "#/properties/a/maxLength", "narrowed", "maxLength: 5 → 3", {"a": "aaaaa"}
    )
