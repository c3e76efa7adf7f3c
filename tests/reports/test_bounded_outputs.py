"""Field reports of the kind bounded-outputs: the whole answer has a ceiling, and stays whole JSON."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import remit
from remit import content
from remit.projection import MAX_RESULT_BYTES
from tests.reports.reach import Using, ok, refused, sent

pytestmark = pytest.mark.anyio

SMALL = 8192
ENVELOPE = 512  # what JSON-RPC and HTTP put around a result


class Item(BaseModel):
    id: int
    text: str


class Tree(BaseModel):
    name: str
    kids: list[Tree] = []


def app_of(returns: Any, give: Callable[[], Any], *, most: int = SMALL) -> remit.Remit:
    """Return an app whose one tool gives back what *give* makes."""
    app = remit.Remit("bounded")

    def give_it(note: str = "", numbers: list[int] = []) -> Any:
        return give()

    give_it.__annotations__["return"] = returns
    app.tool(effect="read", max_result_bytes=most)(give_it)
    return app


def size(result: Any) -> int:
    """Return the bytes of the whole MCP result as it is encoded, text, structure and metadata."""
    return len(result.model_dump_json(by_alias=True, exclude_none=True).encode())


def rows(count: int, text: str = "row") -> list[dict[str, Any]]:
    return [{"id": i, "text": text} for i in range(count)]


async def answer(agent: Any, arguments: dict[str, Any] | None = None) -> Any:
    """Return the one result of the tool, as the SDK's client reads it from the wire."""
    async with agent.client() as client:
        return await client.call_tool("give_it", arguments or {})


def raising(error: BaseException) -> Callable[[], Any]:
    def give() -> Any:
        raise error

    return give


BIG = "x" * 5_000_000


@pytest.mark.parametrize(
    ("returns", "give"),
    [
        (list[Item], lambda: rows(120_000, "a row of forty characters, more or less")),
        (dict[str, list[Item]], lambda: {"rows": rows(9_000), "others": rows(9_000)}),
        (remit.Page[Item], lambda: {"items": rows(50_000)}),
        (str, lambda: BIG),
        (Item, lambda: {"id": 1, "text": BIG}),
        (Any, lambda: {"free": [BIG, {"a": BIG}]}),
        (list[content.Text], lambda: [content.Text(text="block " * 50)] * 300),
        (content.Text, lambda: content.Text(text=BIG)),
        (str, raising(RuntimeError(BIG))),
        (str, raising(remit.Refused("closed", BIG))),
        (str, raising(remit.Refused("closed", "\N{GRINNING FACE}" * 1_000_000))),
        (dict[str, str], lambda: {f"k{i}" * 20: "v" for i in range(9_000)}),
    ],
)
async def test_fr_049_every_answer_is_within_the_limit(
    over_mcp: Using, caplog: pytest.LogCaptureFixture, returns: Any, give: Any
):
    caplog.set_level(
        logging.CRITICAL
    )  # five megabytes of exception are the operator's, not this test's
    for most in (SMALL, MAX_RESULT_BYTES):
        agent = await over_mcp(app_of(returns, give, most=most))
        assert size(await answer(agent)) <= most


@pytest.mark.parametrize(
    "arguments",
    [
        {"note": 5, "numbers": ["y" * 40] * 20_000},
        {"z" * 900_000: 1},
        {f"key{i:06}" * 4: 1 for i in range(20_000)},
        {"numbers": {"deep": ["w" * 900_000]}},
    ],
)
async def test_fr_049_so_is_a_refusal_of_a_large_input(over_mcp: Using, arguments: dict[str, Any]):
    agent = await over_mcp(app_of(str, lambda: ""))
    result = await answer(agent, arguments)
    assert result.is_error is True
    assert size(result) <= SMALL


async def test_fr_049_the_notice_says_how_much_there_was_and_how_to_ask_for_less(
    over_mcp: Using,
):
    agent = await over_mcp(app_of(list[Item], lambda: rows(5_000)))
    result = await answer(agent)
    kept = len(result.structured_content["result"])
    assert 0 < kept < 5_000
    notice = " ".join(block.text for block in result.content[1:])
    assert "Ask for less" in notice
    whole = len(json.dumps(rows(5_000), separators=(",", ":")))
    assert str(whole) in notice, "the original size"
    assert str(kept) in notice or str(SMALL) in notice, "the kept part"


async def test_fr_049_what_cannot_be_cut_is_refused_with_its_size_and_the_way_out(using: Using):
    give: Any = lambda: [content.Text(text="block " * 50)] * 300  # noqa: E731
    outcome = refused(
        await (await using(app_of(list[content.Text], give))).call("give_it", {}), "too_large"
    )
    assert str(SMALL) in outcome.message
    assert "Ask for less" in outcome.message
    assert any(char.isdigit() for char in outcome.message.replace(str(SMALL), ""))


# FR-051 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returns", "give"),
    [
        (list[Item], lambda: rows(5_000)),
        (Item, lambda: {"id": 1, "text": BIG}),
        (remit.Page[Item], lambda: {"items": rows(5_000)}),
        (list[Item], lambda: rows(500, '"quoted\\" \N{GRINNING FACE}\n')),
        (list[Item], lambda: rows(3)),
        (list[Item], list),
    ],
)
async def test_fr_051_text_and_structure_hold_the_same_and_agree_on_what_was_cut(
    over_mcp: Using, returns: Any, give: Any
):
    agent = await over_mcp(app_of(returns, give))
    result = await answer(agent)
    assert result.is_error is False
    assert size(result) <= SMALL
    assert json.loads(result.content[0].text) == result.structured_content
    cut = len(json.dumps(give() or [])) > SMALL
    assert bool(result.meta.get("remit/more")) is cut
    assert (len(result.content) > 1) is cut
    if returns is remit.Page[Item]:
        assert result.structured_content["more"] is cut


# FR-052 ------------------------------------------------------------------------------------------


class Short(BaseModel):
    text: Annotated[str, Field(min_length=100_000)]


def deep(levels: int, width: int) -> dict[str, Any]:
    node: dict[str, Any] = {"name": "leaf" * width}
    for _ in range(levels):
        node = {"name": "n" * width, "kids": [node]}
    return node


@pytest.mark.parametrize(
    ("returns", "give"),
    [
        (str, lambda: BIG),
        (list[str], lambda: [BIG]),
        (str, lambda: "\N{GRINNING FACE}" * 100_000),
        (str, lambda: "a" + "\N{GRINNING FACE}" * 100_000),
        (list[str], lambda: ["é" * n for n in range(3_000)]),
        (Item, lambda: {"id": 1, "text": "\N{FAMILY}\u200d\N{GIRL}" * 20_000}),
        (dict[str, Any], lambda: {"a": {"b": ["\u0000\u001f" * 9_000, {"c": '\\"' * 9_000}]}}),
        (Tree, lambda: deep(20, 2_000)),
    ],
)
async def test_fr_052_json_stays_whole_wherever_it_is_cut(using: Using, returns: Any, give: Any):
    agent = await using(app_of(returns, give))
    outcome = await agent.call("give_it", {})
    data = ok(outcome)
    assert outcome.more is True
    text = json.dumps(data, ensure_ascii=False)
    assert len(text.encode()) <= SMALL
    assert json.loads(text) == data
    assert not [char for char in text if 0xD800 <= ord(char) <= 0xDFFF]


@pytest.mark.parametrize(
    ("returns", "give"),
    [
        (Short, lambda: {"text": BIG}),
        (dict[str, str], lambda: {f"k{i}" * 20: "v" for i in range(9_000)}),
        (Tree, lambda: deep(60, 2_000)),
    ],
)
async def test_fr_052_or_is_refused_whole(using: Using, returns: Any, give: Any):
    outcome = refused(await (await using(app_of(returns, give))).call("give_it", {}), "too_large")
    assert len(sent(outcome).encode()) < 2_000


async def test_fr_052_the_mark_is_for_machines_and_absent_where_nothing_was_cut(using: Using):
    cut = await (await using(app_of(list[Item], lambda: rows(5_000)))).call("give_it", {})
    whole = await (await using(app_of(list[Item], lambda: rows(5)))).call("give_it", {})
    assert (cut.ok, cut.more) == (True, True)
    assert (whole.ok, whole.more) == (True, False)
    assert ok(whole) == rows(5)
    assert ok(cut) == rows(5_000)[: len(ok(cut))], "the first rows, each whole"
