"""The matrix of undeclared keys: what other servers drop, remit refuses or keeps as declared.

Each row is a way to declare an argument, called with ``authorId: 7`` beside what is declared. On two
of three common servers most rows lose the key and report success; here no row does. The one object
that may drop is the one whose author wrote ``extra="ignore"``, and then the answer says so.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

import remit
from remit.testing import SURFACES
from tests.laws.lab import running

pytestmark = pytest.mark.anyio


class Default(BaseModel):
    title: str


class Forbid(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str


class Ignore(BaseModel):
    model_config = ConfigDict(extra="ignore")
    title: str


class Allow(BaseModel):
    model_config = ConfigDict(extra="allow")
    title: str


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int] = Field(init=False)
    title: str


class A(BaseModel):
    model_config = ConfigDict(extra="forbid")
    kind: Literal["a"]


class B(BaseModel):
    kind: Literal["b"]


class C(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: Literal["c"]


Union = Annotated[A | B | C, Field(discriminator="kind")]


class Plain(TypedDict):
    title: str


class Closed(TypedDict):
    __pydantic_config__ = ConfigDict(extra="forbid")
    title: str


class ByPep728(TypedDict, closed=True):
    title: str


class TypedItems(TypedDict, extra_items=int):
    title: str


@dataclass
class Data:
    title: str


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class ClosedData:
    title: str


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Default


class Folder(BaseModel):
    title: str
    under: list[Folder] = []


OK = {"title": "t"}
EXTRA = {"title": "t", "authorId": 7}

# name, annotation of ``body``, what is sent for it, what happens, additionalProperties of the object
ROWS: list[tuple[str, Any, Any, str, Any]] = [
    ("model without a policy", Default, EXTRA, "body", False),
    ("model, forbid", Forbid, EXTRA, "body", False),
    ("model, ignore", Ignore, EXTRA, "ignored", None),
    ("model, allow", Allow, EXTRA, "kept", True),
    ("typed extras, fitting", Typed, EXTRA, "kept", {"type": "integer"}),
    (
        "typed extras, not fitting",
        Typed,
        {**OK, "authorId": "7"},
        "body.authorId",
        {"type": "integer"},
    ),
    ("union, forbidding arm", Union, {"kind": "a", "authorId": 7}, "body", ...),
    ("union, arm without a policy", Union, {"kind": "b", "authorId": 7}, "body", ...),
    ("union, allowing arm", Union, {"kind": "c", "authorId": 7}, "kept", ...),
    ("TypedDict", Plain, EXTRA, "body", False),
    ("TypedDict, forbid", Closed, EXTRA, "body", False),
    ("TypedDict, closed=True", ByPep728, EXTRA, "body", False),
    ("TypedDict, extra_items=int", TypedItems, EXTRA, "kept", {"type": "integer"}),
    (
        "TypedDict, extra_items, not fitting",
        TypedItems,
        {**OK, "authorId": "7"},
        "body.authorId",
        ...,
    ),
    ("dataclass", Data, EXTRA, "body", False),
    ("pydantic dataclass, forbid", ClosedData, EXTRA, "body", False),
    ("model in a forbidding model", Outer, {"inner": EXTRA}, "body.inner", False),
    ("list of models", list[Default], [OK, EXTRA], "body.1", ...),
    ("dict of models", dict[str, Default], {"x": EXTRA}, "body.x", ...),
    ("tuple of models", tuple[Default, Default], [OK, EXTRA], "body.1", ...),
    ("optional model", Default | None, EXTRA, "body", ...),
    (
        "recursive model",
        Folder,
        {"title": "t", "under": [{**OK, "under": [EXTRA]}]},
        "body.under.0.under.0",
        ...,
    ),
]


def app_of(annotation: Any) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("matrix"), list[Any]()

    def tool(body):
        got.append(body)
        return "saved"

    tool.__annotations__ = {"body": annotation, "return": str}
    app.tool(effect="write", name="save")(tool)
    return app, got


def plain(value: Any) -> Any:
    """What the tool's code can read off what it got."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value


def object_of(schema: dict[str, Any]) -> dict[str, Any]:
    """The advertised object of ``body``, behind its reference."""
    here = schema["properties"]["body"]
    while "$ref" in here:
        here = schema["$defs"][here["$ref"].rsplit("/", 1)[-1]]
    return here


@pytest.mark.parametrize(
    ("annotation", "sent", "what", "additional"),
    [row[1:] for row in ROWS],
    ids=[row[0] for row in ROWS],
)
async def test_an_undeclared_key(
    surface: str, annotation: Any, sent: Any, what: str, additional: Any
):
    """Refused by path and name, or kept as declared; dropped only where that is declared, and then said.

    If this fails, a key is lost and the model is told that the call worked.
    """
    app, got = app_of(annotation)
    if additional is not ...:
        assert object_of(app.advertised("save")).get("additionalProperties") == additional
    async with running(app, surface) as made:
        outcome = await made.call("save", {"body": sent})
        (written,) = made.app.audit.rows()
        if what == "kept":
            assert outcome.ok, outcome
            assert [plain(one) for one in got] == [sent]
            assert outcome.ignored == written.ignored == ()
        elif what == "ignored":
            assert outcome.ok, outcome
            assert [plain(one) for one in got] == [OK]
            assert outcome.ignored == ("body.authorId",)
            assert written.ignored == ("body.authorId",)
        else:
            assert outcome.code == "invalid_arguments"
            (issue,) = outcome.issues
            assert issue.path == what
            assert issue.code == (
                "int_type" if what == "body.authorId" else "unrecognized_keys:authorId"
            )
            assert got == []
            assert written.outcome == "invalid_arguments"


@pytest.mark.parametrize(
    "sent",
    [{"title": "t", "authorId": 7}, {"title": "t", "body": OK, "authorId": 7}],
    ids=["flat", "beside a body"],
)
async def test_an_undeclared_key_at_the_top(surface: str, sent: dict[str, Any]):
    """Beside plain parameters, or beside an argument that is an object, it is refused at the root.

    If this fails, the most common mistake of a model is the one that vanishes.
    """
    app, got = remit.Remit("matrix"), list[Any]()

    @app.tool(effect="write")
    def save(title: str, body: Default | None = None) -> str:
        got.append(title)
        return "saved"

    assert app.advertised("save")["additionalProperties"] is False
    async with running(app, surface) as made:
        outcome = await made.call("save", sent)
        assert [(i.path, i.code) for i in outcome.issues] == [
            ("(root)", "unrecognized_keys:authorId")
        ]
        assert got == []


@pytest.mark.parametrize(
    ("annotation", "what"),
    [
        (Default, "refused"),
        (Forbid, "refused"),
        (Ignore, "ignored"),
        (Allow, "kept"),
        (Plain, "refused"),
        (Data, "refused"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
async def test_a_body_that_is_the_whole_argument_object(surface: str, annotation: Any, what: str):
    """Merged with plain parameters, a body's policy is the policy of the whole.

    If this fails, the same class behaves otherwise at the root than below it.
    """
    app, got = remit.Remit("matrix"), list[Any]()

    def tool(body, note):
        got.append(plain(body))
        return "saved"

    tool.__annotations__ = {"body": Annotated[annotation, remit.Body], "note": str, "return": str}
    app.tool(effect="write", name="save")(tool)
    async with running(app, surface) as made:
        outcome = await made.call("save", {**EXTRA, "note": "n"})
        if what == "kept":
            assert outcome.ok
            assert got == [EXTRA]
        elif what == "ignored":
            assert outcome.ok
            assert got == [OK]
            assert outcome.ignored == ("authorId",)
        else:
            assert [(i.path, i.code) for i in outcome.issues] == [
                ("(root)", "unrecognized_keys:authorId")
            ]
            assert got == []


@pytest.mark.parametrize("surface", [s for s in SURFACES if s.startswith("mcp")])
async def test_what_was_ignored_is_said_to_the_model(surface: str):
    """Over MCP the text that a model reads names the dropped path, not the metadata alone.

    If this fails, the one declared way to drop is silent after all.
    """
    app, _ = app_of(Ignore)
    async with running(app, surface) as made, made.client() as client:
        result = await client.call_tool("save", {"body": EXTRA})
        assert not result.is_error
        assert "body.authorId" in "".join(block.text for block in result.content)
