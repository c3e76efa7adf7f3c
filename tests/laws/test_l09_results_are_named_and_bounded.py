"""L9. Results are named and bounded.

Only declared output fields leave. Strings are clipped, lists are cut with a ``more`` flag, the whole
result has a ceiling; JSON stays whole.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict
from typing_extensions import TypedDict

import remit
from remit.projection import MAX_RESULT_BYTES
from tests.laws.lab import DRAFT, SECRET, VALID, Lab, received, running

pytestmark = pytest.mark.anyio

BIG = 30_000_000


class Public(BaseModel):
    name: str


class Private(Public):
    password: str = SECRET


class OpenPrivate(Public):
    model_config = ConfigDict(extra="allow")


@dataclass
class Row:
    name: str
    password: str = SECRET


class Named(TypedDict):
    name: str


async def test_a_result_is_a_summary_and_not_the_row(lab: Lab):
    """Five fields leave, by name; the title is clipped, the body is a number.

    If this fails, a column that is added next quarter is in the conversation.
    """
    sent = {"title": "x" * 160, "body": "y" * 20_000}
    said = await received(lab.asha, "save_draft", sent)
    outcome = await lab.asha.call("save_draft", sent)
    assert sorted(outcome.data) == ["body_chars", "draft_id", "status", "tags", "title"]
    assert len(outcome.data["title"]) == 80
    assert outcome.data["body_chars"] == 20_000
    assert SECRET not in said
    assert "yyy" not in said
    assert lab.drafts.rows[outcome.data["draft_id"]].title == "x" * 160


@pytest.mark.parametrize(
    ("declared", "value", "data"),
    [
        (Public, Private(name="a"), {"name": "a"}),
        (Public, OpenPrivate(name="a", password=SECRET), {"name": "a"}),  # type: ignore[call-arg]
        (Public, Row("a"), {"name": "a"}),
        (Public, {"name": "a", "password": SECRET}, {"name": "a"}),
        (list[Public], [Private(name="a"), Row("b")], [{"name": "a"}, {"name": "b"}]),
        (dict[str, Public], {"x": Private(name="a")}, {"x": {"name": "a"}}),
        (tuple[Public, int], (Private(name="a"), 1), [{"name": "a"}, 1]),
        (Public | None, Private(name="a"), {"name": "a"}),
        (
            remit.Page[Public],
            {"items": [Private(name="a")], "total": SECRET},
            {"items": [{"name": "a"}], "more": False, "next": None},
        ),
        (Named, {"name": "a", "password": SECRET}, {"name": "a"}),
        (list[Named], [{"name": "a", "password": SECRET}], [{"name": "a"}]),
    ],
    ids=[
        "subclass",
        "extras",
        "dataclass",
        "dict",
        "list",
        "dict of",
        "tuple",
        "optional",
        "page",
        "TypedDict",
        "list of TypedDict",
    ],
)
async def test_only_declared_fields_leave(surface: str, declared: Any, value: Any, data: Any):
    """A returned subclass, row or dictionary leaves its further fields behind, at any depth.

    If this fails, ``-> Public`` sends the password.
    """
    app = remit.Remit("results")

    def read():
        return value

    read.__annotations__ = {"return": declared}
    app.tool(effect="read")(read)
    async with running(app, surface) as made:
        said = await received(made, "read", {})
        assert SECRET not in said
        assert (await made.call("read", {})).data == data


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (float, float("nan")),
        (float, float("inf")),
        (list[float], [1.0, float("-inf")]),
        (Decimal, Decimal("NaN")),
        (datetime, datetime(2026, 12, 1, 9, 0)),  # noqa: DTZ001 - that it is naive is the point
        (int, "7"),
        (int, SECRET),
        (int, True),
        (int, 1.5),
        (str, 7),
        (str, None),
        (str, b"bytes"),
        (Public, None),
        (Public, {"nme": "a"}),
        (Public, {"name": 7}),
        (Public, object()),
        (None, "something"),
        (dict[str, Any], {"when": object()}),
        (dict[str, Any], {"n": float("nan")}),
        (str, "\ud800"),
    ],
    ids=lambda value: getattr(value, "__name__", None) or type(value).__name__,
)
async def test_what_does_not_fit_the_declaration_does_not_leave(
    surface: str, declared: Any, value: Any
):
    """NaN, a naive time, a wrong type: an error with a reference, never a null, a repr or a guess.

    If this fails, the client gets what the schema says it can't, or nothing, and calls it a success.
    """
    app = remit.Remit("results")

    def read():
        return value

    def stand() -> str:
        return "standing"

    read.__annotations__ = {"return": declared}
    app.tool(effect="read")(read)
    app.tool(effect="read")(stand)
    async with running(app, surface) as made:
        said = await received(made, "read", {})
        assert '"internal"' in said.replace("\\", "")
        assert SECRET not in said
        assert (await made.call("stand", {})).data == "standing"
        assert [row.outcome for row in made.app.audit.rows()] == ["internal", "ok"]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (None, None),
        (str, ""),
        (list[int], []),
        (dict[str, int], {}),
        (int | None, None),
        (bool, False),
        (int, 0),
        (int, 2**70),
        (datetime, datetime(2026, 12, 1, 9, 0, tzinfo=UTC)),
        (Any, {"a": [1, 1.5, True, None, "x"]}),
    ],
    ids=repr,
)
async def test_nothing_null_and_empty_stay_apart(surface: str, declared: Any, value: Any):
    """No content, null, zero and empty come back as what they are.

    If this fails, *none found* and *not looked* are the same answer.
    """
    app = remit.Remit("results")

    def read():
        return value

    read.__annotations__ = {"return": declared}
    app.tool(effect="read")(read)
    async with running(app, surface) as made:
        outcome = await made.call("read", {})
        assert outcome.ok, outcome
        expected = "2026-12-01T09:00:00Z" if isinstance(value, datetime) else value
        assert outcome.data == expected
        assert type(outcome.data) is type(expected)


class Article(BaseModel):
    title: str
    text: str


def of_size(kind: str, size: int) -> tuple[Any, Any]:
    match kind:
        case "text":
            return str, "ä" * (size // 2)
        case "field":
            return Article, Article(title="t", text="x" * size)
        case "list":
            return list[str], ["x" * 100] * (size // 100)
        case "page":
            return remit.Page[str], {"items": ["x" * 100] * (size // 100)}
        case "escapes":
            return str, '"\\\n' * (size // 3)
        case "nested":
            return list[list[str]], [["x" * 1000] * 30] * (size // 30_000)
        case _:
            return dict[str, int], {f"key{i:08}": i for i in range(size // 20)}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "field", "list", "page", "escapes", "nested", "keys"])
async def test_thirty_megabytes_are_bounded(surface: str, kind: str):
    """A huge result is cut whole and says so, or is refused with what to ask for; nothing breaks.

    If this fails, one result fills the model's context, or ends the session.
    """
    app = remit.Remit("huge")
    # The projection knows no surface: each is tried with all thirty once.
    declared, value = of_size(kind, BIG if kind == "text" or surface == "python" else BIG // 20)

    def read():
        return value

    def stand() -> str:
        return "standing"

    read.__annotations__ = {"return": declared}
    app.tool(effect="read")(read)
    app.tool(effect="read")(stand)
    async with running(app, surface) as made:
        outcome = await made.call("read", {})
        if surface.startswith("mcp"):
            said = await received(made, "read", {})
            assert len(said.encode()) <= MAX_RESULT_BYTES
        if kind == "keys":
            assert outcome.code == "too_large"
            assert "less" in outcome.message
        else:
            assert outcome.ok, outcome
            assert outcome.more is True
            assert len(json.dumps(outcome.data)) <= MAX_RESULT_BYTES
            assert json.loads(json.dumps(outcome.data)) == outcome.data
        if kind == "page":
            assert outcome.data["more"] is True
        assert (await made.call("stand", {})).data == "standing"


async def test_a_cut_list_says_that_there_is_more(lab: Lab):
    """Twenty drafts and *at least twenty* are two answers, and the next page can be asked for.

    If this fails, the model takes a part for the whole.
    """
    for i in range(25):
        lab.drafts.add(id=f"d_asha{i:04}", title=f"number {i}")
    first = await lab.asha.call("list_my_drafts", {})
    assert len(first.data["items"]) == 20
    assert first.data["more"] is True
    rest = await lab.asha.call("list_my_drafts", {"cursor": first.data["next"]})
    assert len(rest.data["items"]) == 5
    assert (rest.data["more"], rest.data["next"]) == (False, None)
    assert {item["draft_id"] for item in first.data["items"] + rest.data["items"]} == set(
        lab.drafts.rows
    )


async def test_a_ceiling_can_be_lower(surface: str):
    """A tool may declare a lower ceiling; what a caller gets stays under it.

    If this fails, the bound is advice.
    """
    app = remit.Remit("small")

    @app.tool(effect="read", max_result_bytes=4096)
    def read() -> list[str]:
        return ["x" * 50] * 1000

    async with running(app, surface) as made:
        outcome = await made.call("read", {})
        assert outcome.more is True
        if surface.startswith("mcp"):
            assert len((await received(made, "read", {})).encode()) <= 4096


async def test_tools_that_share_a_results_class_keep_ceilings_of_their_own(surface: str):
    """What is made of a class is made once; a tool's own bound is not part of it.

    If this fails, the first tool that returns a class decides for all of them.
    """
    app = remit.Remit("shared")

    class Lines(BaseModel):
        lines: list[str]

    def lines() -> Lines:
        return Lines(lines=["x" * 50] * 1000)

    app.tool(effect="read", name="all")(lines)
    app.tool(effect="read", name="some", max_result_bytes=4096)(lines)
    assert app.tools["all"].projection.validator is app.tools["some"].projection.validator

    async with running(app, surface) as made:
        assert len((await made.call("all", {})).data["lines"]) == 1000
        assert len((await made.call("some", {})).data["lines"]) < 100


async def test_a_clip_leaves_arguments_alone(surface: str):
    """``Clip`` shortens what leaves, never what came.

    If this fails, a handler stores a clipped text.
    """
    app, got = remit.Remit("clip"), list[str]()

    @app.tool(effect="write")
    def keep(text: Annotated[str, remit.Clip(10)]) -> Annotated[str, remit.Clip(10)]:
        got.append(text)
        return text

    async with running(app, surface) as made:
        outcome = await made.call("keep", {"text": "x" * 50})
        assert outcome.data == "x" * 9 + "…"
        assert got == ["x" * 50]


async def test_a_refusal_is_bounded_too(lab: Lab):
    """An error's text, names and hints are cut like a result.

    If this fails, a caller gets its own megabyte back, or an author's exception text.
    """
    lab.drafts.add()
    said = await received(
        lab.asha, "save_draft", {**VALID, **{f"key{i}" * 20: 1 for i in range(2000)}}
    )
    assert len(said) < 8192
    said = await received(lab.asha, "x" * 5000, {})
    assert len(said) < 2048
    assert lab.drafts.rows[DRAFT].title == "Asha's draft"
