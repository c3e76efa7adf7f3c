"""The key-policy record: a strict object keeps its word wherever it stands, and under a flat list.

Servers that parse with a schema derived from the contract delete what that schema doesn't declare
before the contract can object. Here every position is called once with an undeclared key and once
without, over every surface, and over MCP with the unions flattened for its readers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from mcp import Client
from pydantic import BaseModel, ConfigDict, Field

import remit
from remit.testing import SURFACES, Agent, agent
from tests.laws.lab import ASHA

pytestmark = pytest.mark.anyio


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: str = "x"


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: str = "x"


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)
    a: str = "x"


class Tree(BaseModel):
    model_config = ConfigDict(extra="forbid")
    leaf: Strict | None = None
    under: list[Tree] = []


class Article(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["article"]
    detail: Strict


class Link(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["link"]
    detail: Open


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: Literal["loose"]


Item = Annotated[Article | Link, Field(discriminator="kind")]
Mixed = Annotated[Article | Loose, Field(discriminator="kind")]


class WithDefault(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Strict = Strict()


class Holder(BaseModel):
    model_config = ConfigDict(extra="forbid")
    item: Item | None = None
    items: list[Item] = []
    by_name: dict[str, Item] = {}


EXTRA = {"a": "x", "authorId": 7}
CLEAN = {"a": "x"}

# position, annotation of ``value``, what holds the object, where the refusal is
STRICT: list[tuple[str, Any, Any, str]] = [
    ("field", Strict, lambda it: it, "value"),
    ("optional", Strict | None, lambda it: it, "value"),
    ("default", WithDefault, lambda it: {"inner": it}, "value.inner"),
    ("array item", list[Strict], lambda it: [CLEAN, it], "value.1"),
    ("record value", dict[str, Strict], lambda it: {"k": it}, "value.k"),
    ("tuple", tuple[Strict, Strict], lambda it: [CLEAN, it], "value.1"),
    ("union member", Item, lambda it: {"kind": "article", "detail": it}, "value.detail"),
    (
        "behind recursion",
        Tree,
        lambda it: {"under": [{"under": [{"leaf": it}]}]},
        "value.under.0.under.0.leaf",
    ),
    (
        "union in a list in an object",
        Holder,
        lambda it: {"items": [{"kind": "article", "detail": it}]},
        "value.items.0.detail",
    ),
    (
        "union in a record",
        Holder,
        lambda it: {"by_name": {"k": {"kind": "article", "detail": it}}},
        "value.by_name.k.detail",
    ),
    (
        "nullable union",
        Holder,
        lambda it: {"item": {"kind": "article", "detail": it}},
        "value.item.detail",
    ),
    (
        "strict variant beside an open one",
        Mixed,
        lambda it: {"kind": "article", "detail": CLEAN, **it},
        "value",
    ),
]

# position, annotation of ``value``, what is sent and must come through whole
KEEPING: list[tuple[str, Any, Any]] = [
    ("open", Open, EXTRA),
    ("typed", Typed, EXTRA),
    ("open in a list", list[Open], [EXTRA, CLEAN]),
    ("typed in a record", dict[str, Typed], {"k": EXTRA}),
    ("open variant's field", Item, {"kind": "link", "detail": EXTRA}),
    (
        "open variant beside a strict one",
        Mixed,
        {"kind": "loose", "authorId": 7, "deep": {"x": [1]}},
    ),
]

ROUTES = [*SURFACES, "mcp, flat", "mcp-legacy, flat"]


def app_of(annotation: Any, effect: Any = "write") -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("policies"), list[Any]()

    def tool(value):
        """Keep a value."""
        got.append(value)
        return "saved"

    tool.__annotations__ = {"value": annotation, "return": str}
    app.tool(effect=effect, name="save")(tool)
    return app, got


class Flat:
    """An agent on a server that lists its unions flat; it calls what that list shows."""

    def __init__(self, app: remit.Remit, era: str) -> None:
        self.app, self._era = app, era

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
        claims = dict(ASHA)
        async with Client(self.app.mcp(claims=claims, flat=True), mode=self._era) as client:
            (shown,) = [one for one in (await client.list_tools()).tools if one.name == tool]
            assert not unions_of_objects(shown.input_schema)
            answer = await client.call_tool(tool, dict(arguments))
            # What the contract takes, the list that the model read must have allowed.
            assert answer.is_error or jsonschema_rs.is_valid(shown.input_schema, arguments)
            return answer.meta["remit/code"], str(answer.content)


def unions_of_objects(node: Any) -> bool:
    """Whether a union of objects is left anywhere in *node*."""
    if isinstance(node, list):
        return any(map(unions_of_objects, node))
    if not isinstance(node, dict):
        return False
    arms = [*node.get("oneOf", ()), *node.get("anyOf", ())]
    objects = [one for one in arms if one.get("type") == "object" or "$ref" in one]
    return len(objects) > 1 or any(map(unions_of_objects, node.values()))


@asynccontextmanager
async def opened(app: remit.Remit, route: str) -> AsyncIterator[Agent | Flat]:
    surface, _, flat = route.partition(", ")
    if flat:
        own = app.replaced(store="sqlite://")
        async with own:
            yield Flat(own, "legacy" if surface.endswith("legacy") else "2026-07-28")
        return
    made = agent(app, principal=ASHA, surface=surface, store="sqlite://")
    async with made.app:
        yield made


async def outcome_of(made: Agent | Flat, arguments: Mapping[str, Any]) -> tuple[str, str]:
    if isinstance(made, Flat):
        return await made.call("save", arguments)
    outcome = await made.call("save", arguments)
    return outcome.code, "" if outcome.ok else str(outcome.issues)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize(
    ("annotation", "holding", "path"), [row[1:] for row in STRICT], ids=[row[0] for row in STRICT]
)
async def test_a_strict_object_refuses_an_undeclared_key_wherever_it_stands(
    route: str, effect: str, annotation: Any, holding: Any, path: str
):
    """One undeclared key is refused by path and name, and nothing runs; without it the call works.

    If this fails, a key is deleted on the way and the model is told that its argument was fine.
    """
    app, got = app_of(annotation, effect)
    async with opened(app, route) as made:
        code, said = await outcome_of(made, {"value": holding(EXTRA)})
        assert code == "invalid_arguments"
        assert path in said
        assert "unrecognized_keys:" in said
        assert "authorId" in said
        assert got == []
        clean = {} if annotation is Mixed else CLEAN
        code, said = await outcome_of(made, {"value": holding(clean)})
        assert code == "ok", said
        assert len(got) == 1


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("annotation", "sent"), [row[1:] for row in KEEPING], ids=[row[0] for row in KEEPING]
)
async def test_an_open_or_typed_object_keeps_its_keys(route: str, annotation: Any, sent: Any):
    """What a declared policy keeps reaches the code, each key with its value.

    If this fails, a derived schema deletes what the contract would have kept.
    """
    app, got = app_of(annotation)
    async with opened(app, route) as made:
        code, said = await outcome_of(made, {"value": sent})
    assert code == "ok", said
    (value,) = got
    assert plain(value) == sent


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(exclude_unset=True)
    if isinstance(value, list):
        return [plain(one) for one in value]
    return {key: plain(one) for key, one in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("route", ROUTES)
async def test_a_union_as_body_beside_parameters_is_judged_by_its_own_variants(route: str):
    """A merged tool takes the body's policy; a key of another variant is refused by the body.

    If this fails, parameters beside a body open a way around its policy.
    """
    app, got = remit.Remit("policies"), list[Any]()

    @app.tool(effect="write")
    def save(note: str, item: Annotated[Item, remit.Body]) -> str:
        """Keep an item with a note."""
        got.append((note, item))
        return "saved"

    clean = {"note": "n", "kind": "article", "detail": CLEAN}
    async with opened(app, route) as made:
        for wrong in (
            {**clean, "authorId": 7},
            {**clean, "detail": EXTRA},
            {**clean, "url": "https://example.org"},
        ):
            code, _ = await outcome_of(made, wrong)
            assert code == "invalid_arguments"
        assert got == []
        code, said = await outcome_of(made, clean)
    assert code == "ok", said
    assert got == [("n", Article(kind="article", detail=Strict()))]
