"""A host that parses by class hands on what was sent, and the contract judges that (L1, L2)."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from langchain_core.tools import StructuredTool
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

import remit
from remit.schema.forwarding import forwarding
from remit.schema.policy import SchemaError

pytestmark = pytest.mark.anyio

CLAIMS = {"sub": "u_asha"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Save something.",
    "properties": {
        "title": {"type": "string", "maxLength": 5},
        "n": {"type": "integer", "default": 3},
        "copy": {"type": "string"},
        "weird-key": {"type": "boolean"},
        "class": {"type": "string"},
    },
    "required": ["title"],
    "additionalProperties": False,
}
SENT: list[dict[str, Any]] = [
    {},
    {"title": "t"},
    {"title": "far too long for it", "authorId": 7},
    {"n": "5"},
    {"n": 5.0},
    {"n": True},
    {"title": None},
    {"copy": "x", "json": 1, "dict": {}, "schema": [], "model_dump": 2, "model_fields": 3},
    {
        "weird-key": False,
        "class": "c",
        "_private": 1,
        "__dunder": 2,
        "": 3,
        "ünï": {"a": [1, None]},
    },
    {"shown": 1, "self": 2, "cls": 3, "kwargs": {"x": 1}},
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("sent", SENT, ids=str)
def test_what_comes_out_is_what_went_in(sent: dict[str, Any]):
    """In every mode in which a host may dump it: no key added, dropped, renamed or retyped.

    If this fails, the host judges before the contract does.
    """
    made = forwarding(SCHEMA, "Save").model_validate(sent)
    text = json.dumps(sent)
    for dumped in (
        made.model_dump(),
        made.model_dump(exclude_unset=True, by_alias=True),
        made.model_dump(mode="json", exclude_none=False),
        made.model_dump(exclude_defaults=True),
        dict(made),
    ):
        assert json.dumps(dumped) == text
    assert json.loads(made.model_dump_json()) == sent


def test_it_shows_the_schema_that_it_was_made_from():
    """Key policy, bounds and default included, alone and inside another schema; as a copy."""
    made = forwarding(SCHEMA, "Save")
    assert made.model_json_schema() == SCHEMA
    assert made.model_json_schema(mode="serialization") == SCHEMA
    made.model_json_schema()["properties"].clear()
    assert made.model_json_schema() == SCHEMA
    assert TypeAdapter(made).json_schema() == SCHEMA
    assert made.__name__ == "Save"
    assert made.__doc__ == "Save something."


def test_definitions_stay_within_reach_inside_another_schema():
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string"}},
    }
    made = forwarding(schema, "Refs")
    assert made.model_json_schema() == schema
    assert "$ref" not in str(made.__pydantic_core_schema__)
    inside = TypeAdapter(dict[str, made]).json_schema()
    assert inside["$defs"]["Refs"]["properties"] == {"a": {"type": "string"}}


def test_the_schema_that_is_given_is_never_changed():
    before = json.dumps(SCHEMA)
    forwarding(SCHEMA, "Save").model_validate({"title": "t"})
    assert json.dumps(SCHEMA) == before


@pytest.mark.parametrize("name", ["model_dump", "model_dump_json", "model_copy", "dict"])
def test_a_property_that_hides_what_hosts_call_is_refused(name: str):
    """It could only come as code, or break the host."""
    with pytest.raises(SchemaError, match=f"properties.{name}: '{name}' is a name that a host's"):
        forwarding({"type": "object", "properties": {name: {}}}, "Bad")


@pytest.mark.parametrize("sent", [[], "x", 7, None])
def test_only_what_is_no_object_is_refused(sent: Any):
    with pytest.raises(ValueError, match="model_type"):
        forwarding(SCHEMA, "Save").model_validate(sent)


# Through a real host that parses by class. --------------------------------------------------------


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: str = "x"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: str = "x"


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")
    leaf: Strict | None = None
    under: list[Tree] = []


EXTRA = {"a": "x", "authorId": 7}
CLEAN = {"a": "x"}


def hosted(app: remit.Remit, tool: str) -> StructuredTool:
    """The tool as LangChain has it: its class parses, its coroutine gets what the class made."""

    async def called(**arguments: Any) -> remit.Outcome:
        return await app.call(tool, arguments, claims=CLAIMS)

    return StructuredTool(
        name=tool,
        description=app.tools[tool].description or tool,
        coroutine=called,
        args_schema=forwarding(app.advertised(tool), tool),
    )


def app_of(annotation: Any) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("hosted", store="sqlite://"), list[Any]()

    def save(value, copy="kept", n=3):
        """Save a value."""
        got.append((value, copy, n))
        return "saved"

    save.__annotations__ = {"value": annotation, "copy": str, "n": int, "return": str}
    app.tool(effect="write")(save)
    return app, got


@pytest.mark.parametrize(
    ("annotation", "holding", "path"),
    [
        (Strict, lambda it: it, "value"),
        (Strict | None, lambda it: it, "value"),
        (list[Strict], lambda it: [CLEAN, it], "value.1"),
        (dict[str, Strict], lambda it: {"k": it}, "value.k"),
        (tuple[Strict, Strict], lambda it: [CLEAN, it], "value.1"),
        (Tree, lambda it: {"under": [{"leaf": it}]}, "value.under.0.leaf"),
    ],
    ids=["field", "nullable", "array item", "record value", "tuple", "recursion"],
)
async def test_a_strict_object_refuses_through_a_host_that_parses_by_class(
    annotation: Any, holding: Any, path: str
):
    """The undeclared key reaches the contract, which refuses it by path and name; nothing runs.

    If this fails, the host's class has deleted the key, and the model is told that all went well.
    """
    app, got = app_of(annotation)
    tool = hosted(app, "save")
    async with app:
        refused = await tool.ainvoke({"value": holding(EXTRA)})
        assert (refused.code, got) == ("invalid_arguments", [])
        assert [(one.path, one.code) for one in refused.issues] == [
            (path, "unrecognized_keys:authorId")
        ]
        top = await tool.ainvoke({"value": holding(CLEAN), "authorId": 7})
        assert [one.code for one in top.issues] == ["unrecognized_keys:authorId"]
        assert got == []
        clean = await tool.ainvoke({"value": holding(CLEAN), "copy": "mine"})
        assert clean.ok, clean
        rows = list(app.audit.rows())
    assert [one[1:] for one in got] == [("mine", 3)]
    assert [row.outcome for row in rows] == ["invalid_arguments", "invalid_arguments", "ok"]


async def test_an_open_object_keeps_its_keys_through_such_a_host():
    app, got = app_of(Open)
    async with app:
        outcome = await hosted(app, "save").ainvoke({"value": EXTRA})
    assert outcome.ok, outcome
    assert got[0][0].model_dump() == EXTRA


async def test_values_and_absence_reach_the_contract_as_they_were_sent():
    """A text for a number is refused, not turned; a missing argument is remit's to refuse."""
    app, got = app_of(str)
    tool = hosted(app, "save")
    async with app:
        turned = await tool.ainvoke({"value": "v", "n": "5"})
        missing = await tool.ainvoke({"n": 5})
    assert [(one.path, one.code) for one in turned.issues] == [("n", "int_type")]
    assert [(one.path, one.code) for one in missing.issues] == [("value", "missing")]
    assert got == []


async def test_a_merged_tool_comes_through_such_a_host():
    app, got = remit.Remit("merged", store="sqlite://"), list[Any]()

    @app.tool(effect="write")
    def save(
        note: str, body: Annotated[Strict, remit.Body], n: Annotated[int, Field(ge=1)] = 1
    ) -> str:
        """Save a body with a note."""
        got.append((note, body.a, n))
        return "saved"

    tool = hosted(app, "save")
    async with app:
        refused = await tool.ainvoke({"note": "n", "a": "x", "authorId": 7})
        assert [one.code for one in refused.issues] == ["unrecognized_keys:authorId"]
        clean = await tool.ainvoke({"note": "n", "a": "y"})
    assert clean.ok, clean
    assert got == [("n", "y", 1)]
