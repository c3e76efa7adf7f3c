"""L3. The advertised schema is true.

What it accepts and what the parser accepts are the same, but for checks that JSON Schema can't state.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

import remit
from remit.testing import Agent
from tests.laws.lab import DRAFT, VALID, Lab, running
from tests.schema.encoding import encoded

pytestmark = pytest.mark.anyio


class Colour(Enum):
    RED = "red"
    ONE = 1


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: Literal["dog"]


class Tree(BaseModel):
    name: str
    under: list[Tree] = []


class Address(TypedDict, total=False):
    street: str
    number: int


@dataclass
class Point:
    x: float
    y: float = 0.0


app = remit.Remit("types")


@app.tool(effect="read")
def take(
    pet: Annotated[Cat | Dog, Field(discriminator="kind")] | None = None,
    tree: Tree | None = None,
    address: Address | None = None,
    point: Point | None = None,
    colour: Colour | None = None,
    flag: Literal[True, 0] | None = None,
    price: Annotated[Decimal, Field(ge=0)] | None = None,
    on: date | None = None,
    key: UUID | None = None,
    pair: tuple[int, str] | None = None,
    unique: set[int] | None = None,
    count: Annotated[int, Field(ge=1, le=10, multiple_of=2)] | None = None,
    names: dict[str, Annotated[str, Field(min_length=2)]] | None = None,
) -> str:
    return "taken"


VALUES: dict[str, list[Any]] = {
    "pet": [
        {"kind": "cat"},
        {"kind": "cat", "lives": 3},
        {"kind": "cat", "lives": "3"},
        {"kind": "cat", "tail": 1},
        {"kind": "dog", "tail": 1},
        {"kind": "cow"},
        {},
        None,
    ],
    "tree": [
        {"name": "a", "under": [{"name": "b", "under": []}]},
        {"name": "a", "under": [{"name": "b", "nme": 1}]},
        {"under": []},
    ],
    "address": [{}, {"street": "s"}, {"street": "s", "zip": 1}, {"number": 1.5}],
    "point": [{"x": 1}, {"x": 1, "y": 2.5}, {"x": "1"}, {"x": 1, "z": 3}, {"y": 1}],
    "colour": ["red", "RED", 1, 1.0, True, "1"],
    "flag": [True, False, 1, 0, 0.0, "true"],
    "price": [
        1,
        1.5,
        "1.50",
        "1e3",
        "a",
        -1,
        True,
    ],  # a bound on a number as text has no JSON Schema
    "on": ["2026-12-01", "2026-13-01", "0", 0, "2026-12-01T00:00:00"],
    "key": ["6f1c2f4e-0a55-4a2e-9a8e-9a2b1c3d4e5f", "6f1c2f4e0a554a2e9a8e9a2b1c3d4e5f", "{}", 5],
    "pair": [[1, "a"], [1], [1, "a", 2], ["a", 1]],
    "unique": [[1, 2], [1, 1], [], ["1"]],
    "count": [2, 3, 0, 12, 2.0, "2", True],
    "names": [{"a": "bb"}, {"a": "b"}, {"a": None}, []],
}
CASES = [(name, value) for name, values in VALUES.items() for value in values]


async def advertised(made: Agent, name: str) -> dict[str, Any]:
    """The schema of a tool as this surface shows it."""
    if made.surface in ("python", "cli"):
        listed = await made.app.visible(made.claims, surface=made.surface)
        return dict(next(one.input_schema for one in listed if one.name == name))
    async with made.client() as client:
        return next(
            tool.input_schema for tool in (await client.list_tools()).tools if tool.name == name
        )


@pytest.mark.slow
async def test_schema_and_parser_agree_on_every_value(surface: str):
    """For each value an independent validator says of the advertised schema what the call says.

    If this fails, a model is shown a shape that is refused, or one that is wider than what is taken.
    """
    async with running(app, surface) as made:
        schema = await advertised(made, "take")
        assert schema == app.advertised("take")
        judge = jsonschema_rs.validator_for(schema)
        apart = list[str]()
        for name, value in CASES:
            arguments = {name: value}
            outcome = await made.app.call("take", arguments, claims=made.claims)
            if judge.is_valid(arguments) != outcome.ok:
                apart.append(
                    f"{name}={value!r}: schema {judge.is_valid(arguments)}, call {outcome.ok}"
                )
        assert apart == []


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        (dict(VALID), True),
        ({**VALID, "title": "   "}, False),
        ({**VALID, "authorId": "u_ravi"}, False),
        ({**VALID, "draft_id": DRAFT}, True),
        ({**VALID, "draft_id": "../etc/passwd"}, False),
        ({**VALID, "draft_id": None}, True),
        ({**VALID, "draft": {}}, False),
    ],
)
async def test_the_blogs_schema_says_what_the_blog_takes(
    lab: Lab, arguments: dict[str, Any], fits: bool
):
    """The schema on the wire closes the object, names the record by its id, and shows no record.

    If this fails, nothing warns a model before the call.
    """
    lab.drafts.add()
    schema = await advertised(lab.asha, "save_draft")
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"title", "body", "tags", "draft_id"}
    assert jsonschema_rs.validator_for(schema).is_valid(arguments) is fits
    assert (await lab.asha.call("save_draft", arguments)).ok is fits


async def test_the_output_schema_holds_for_what_is_answered(lab: Lab):
    """What leaves fits the advertised output schema, which closes the object, too.

    If this fails, a client that checks drops the answer.
    """
    lab.drafts.add(title="x" * 160)
    listed = await lab.app.visible(lab.asha.claims, surface=lab.surface)
    outputs = {one.name: one.output_schema for one in listed}
    for tool, arguments in (
        ("read_draft", {"draft_id": DRAFT}),
        ("list_my_drafts", {}),
        ("request_publish", {"draft_id": DRAFT}),
    ):
        outcome = await lab.asha.call(tool, arguments)
        assert outcome.ok, outcome
        jsonschema_rs.validator_for(dict(outputs[tool] or {})).validate(outcome.data)
    assert lab.drafts.rows[DRAFT].status == "draft"


async def test_the_four_hints_say_what_was_declared(lab: Lab):
    """Reading is read-only, filing a request destroys nothing, and all four hints are said.

    If this fails, a host that asks its user before dangerous tools asks for the wrong ones.
    """
    if lab.surface in ("python", "cli"):
        hints = {
            o.name: o.annotations for o in await lab.app.visible(lab.asha.claims, surface="python")
        }
        found = {
            n: (h.read_only, h.destructive, h.idempotent, h.open_world) for n, h in hints.items()
        }
    else:
        async with lab.asha.client() as client:
            tools = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        found = {
            n: (a.read_only_hint, a.destructive_hint, a.idempotent_hint, a.open_world_hint)
            for n, a in tools.items()
        }
    assert found == {
        "save_draft": (False, False, False, False),
        "read_draft": (True, False, True, False),
        "list_my_drafts": (True, False, True, False),
        "request_publish": (False, False, False, False),
    }


class Line(BaseModel):
    sku: Annotated[str, Field(pattern="^[A-Z][0-9]+$", max_length=6)]
    count: Annotated[int, Field(ge=1)] = 1
    note: str | None = None


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Invoice(BaseModel):
    kind: Literal["invoice"]
    days: int = 30


def shop() -> remit.Remit:
    made = remit.Remit("shop")

    @made.tool(effect="read")
    def order(
        lines: list[Line],
        pay: Annotated[Card | Invoice, Field(discriminator="kind")],
        tags: tuple[str, ...] = (),
        due: date | None = None,
        tree: Tree | None = None,
    ) -> dict[str, Any]:
        """Say what was understood."""
        said = [line.model_dump(mode="json") for line in lines]
        return {
            "lines": said,
            "pay": pay.model_dump(exclude_unset=True),
            "tags": list(tags),
            "due": None if due is None else due.isoformat(),
            "tree": None if tree is None else tree.model_dump(exclude_unset=True),
        }

    @made.tool(effect="read")
    def plain(lines: list[Line], due: date | None = None, size: int = 3) -> dict[str, Any]:
        """Say what was understood, without what leads back to itself."""
        said = [line.model_dump(mode="json") for line in lines]
        return {"lines": said, "due": None if due is None else due.isoformat(), "size": size}

    return made


MEANT: list[tuple[str, dict[str, Any]]] = [
    ("order", {"lines": [], "pay": {"kind": "invoice"}}),
    ("order", {"lines": [{"sku": "A1"}], "pay": {"kind": "card", "number": "4"}, "tags": ["x"]}),
    (
        "order",
        {
            "lines": [{"sku": "A1", "count": 2}, {"sku": "B2", "note": None}],
            "pay": {"kind": "invoice", "days": 0},
            "due": "2026-01-31",
            "tree": {"name": "a", "under": [{"name": "b"}, {"name": "c", "under": []}]},
        },
    ),
    ("plain", {"lines": [{"sku": "A1", "note": "n"}]}),
    ("plain", {"lines": [], "size": 0, "due": None}),
]


@pytest.mark.parametrize("provider", ["plain", "anthropic", "openai", "gemini"])
async def test_what_a_model_sends_under_a_lowered_schema_means_what_it_meant(
    surface: str, provider: Any
):
    """Encoded as the provider's schema asks, decoded and called: the same as called directly.

    A key whose default is null may come as null; whoever must tell the two apart declares MISSING.

    If this fails, a tool does something else for one provider than for another.
    """
    made = shop()
    strict = 0
    async with running(made, surface) as agent:
        for tool, meant in MEANT:
            lowered = made.lowered(tool, provider)
            strict += lowered.strict
            sent = encoded(meant, lowered.schema, lowered.schema) if lowered.strict else meant
            assert jsonschema_rs.is_valid(lowered.schema, sent)
            direct = await agent.call(tool, meant)
            arrived = await agent.call(tool, lowered.decode(sent))
            assert direct.ok, direct
            assert arrived.ok, arrived
            assert arrived.data == direct.data
            # A key that was made up comes through the decoder to its judge.
            wrong = await agent.call(tool, lowered.decode({**sent, "authorId": "u_eve"}))
            assert [issue.code for issue in wrong.issues] == ["unrecognized_keys:authorId"]
    assert (strict > 0) is (provider in ("anthropic", "openai"))
