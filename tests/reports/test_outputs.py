"""Field reports of the kind outputs: what leaves is what was declared, or nothing does."""

from __future__ import annotations

import logging
import types
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, NaiveDatetime
from typing_extensions import TypedDict

import remit
from remit.testing import agent as agent_of
from tests.reports.reach import ASHA, Using, issues, ok, refused, sent

pytestmark = pytest.mark.anyio

SECRET = "s3cret-of-the-row"


def app_of(returns: Any, give: Callable[[], Any]) -> remit.Remit:
    """Return an app whose one tool declares *returns* and gives back what *give* makes."""
    app = remit.Remit("outputs")

    def give_it() -> Any:
        return give()

    give_it.__annotations__["return"] = returns
    app.tool(effect="read")(give_it)
    return app


async def is_masked(agent: Any, caplog: pytest.LogCaptureFixture, *named: str) -> None:
    """Assert that the tool's answer is an error without a word of the value, and the log says more."""
    with caplog.at_level(logging.ERROR, logger="remit"):
        outcome = refused(await agent.call("give_it", {}), "internal")
    assert outcome.reference
    assert SECRET not in sent(outcome)
    assert "object at" not in sent(outcome)
    assert outcome.reference in caplog.text
    assert all(word in caplog.text for word in named), caplog.text
    assert [row.outcome for row in agent.app.audit.rows()] == ["internal"]


# FR-043 ------------------------------------------------------------------------------------------


class Counted(TypedDict):
    n: int


class Row(BaseModel):
    n: int
    label: str = ""


def circular() -> list[Any]:
    made: list[Any] = [SECRET]
    made.append(made)
    return made


class Unprintable:
    def __repr__(self) -> str:
        return SECRET


@pytest.mark.parametrize(
    ("returns", "give", "named"),
    [
        (Counted, lambda: {"wrong": SECRET}, "n"),
        (Counted, lambda: {"n": SECRET}, "n"),
        (Counted, lambda: {"n": 1.5}, "n"),
        (Counted, lambda: {SECRET}, "dict_type"),
        (Counted, lambda: None, "dict_type"),
        (Counted, Unprintable, "dict_type"),
        (Counted, circular, "dict_type"),
        (Row, lambda: {"n": 1, "label": Unprintable()}, "label"),
        (list[int], lambda: [1, SECRET], "1"),
        (list[Counted], lambda: [{"n": 1}, {"m": 1}], "1.n"),
        (int, lambda: SECRET, "int_type"),
        (str, lambda: 5, "string_type"),
        (str, lambda: None, "string_type"),
        (None, lambda: SECRET, "none_required"),
        (Any, Unprintable, ""),
        (dict[str, Any], lambda: {"a": Unprintable()}, ""),
        (list[Any], circular, ""),
        (dict[str, Any], lambda: {"a": {1: {SECRET: object()}}}, ""),
    ],
)
async def test_fr_043_what_does_not_fit_its_declaration_is_an_error(
    using: Using, caplog: pytest.LogCaptureFixture, returns: Any, give: Any, named: str
):
    agent = await using(app_of(returns, give))
    await is_masked(agent, caplog, named)


async def test_fr_043_the_error_is_marked_and_carries_no_structure(over_mcp: Using):
    agent = await over_mcp(app_of(Counted, lambda: {"wrong": SECRET}))
    async with agent.client() as client:
        result = await client.call_tool("give_it", {})
    assert result.is_error is True
    assert result.structured_content is None
    assert SECRET not in result.model_dump_json()


async def test_fr_043_a_row_leaves_as_its_declared_fields_alone(using: Using):
    class Private(Row):
        token: str = SECRET

    agent = await using(app_of(Row, lambda: Private(n=1)))
    outcome = await agent.call("give_it", {})
    assert ok(outcome) == {"n": 1, "label": ""}
    assert SECRET not in sent(outcome)


@pytest.mark.parametrize(
    ("returns", "value"),
    [(None, None), (str, ""), (list[int], []), (dict[str, int], {}), (str | None, None)],
)
async def test_fr_043_empty_and_null_and_nothing_stay_apart(using: Using, returns: Any, value: Any):
    data = ok(await (await using(app_of(returns, lambda: value))).call("give_it", {}))
    assert data == value
    assert type(data) is type(value)


# FR-045 ------------------------------------------------------------------------------------------


class Numpy(float):
    """A float of another library, such as numpy.float64, is a float's subclass."""


class Mean(BaseModel):
    mean: float
    of: dict[str, float] = {}


NAN = float("nan")


@pytest.mark.parametrize(
    ("returns", "give", "path"),
    [
        (float, lambda: NAN, "(root)"),
        (float, lambda: float("inf"), "(root)"),
        (float, lambda: Numpy("nan"), "(root)"),
        (Mean, lambda: {"mean": NAN}, "mean"),
        (Mean, lambda: Mean(mean=float("-inf")), "mean"),
        (Mean, lambda: {"mean": 1.0, "of": {"a": NAN}}, "of.a"),
        (dict[str, float], lambda: {"a": 1.0, "mean": NAN}, "mean"),
        (list[float | None], lambda: [1.0, NAN], "1"),
        (Decimal, lambda: Decimal("NaN"), "(root)"),
        (dict[str, Decimal], lambda: {"mean": Decimal("Infinity")}, "mean"),
    ],
)
async def test_fr_045_a_number_that_is_none_is_an_error_that_says_where(
    using: Using, caplog: pytest.LogCaptureFixture, returns: Any, give: Any, path: str
):
    agent = await using(app_of(returns, give))
    await is_masked(agent, caplog, path, "finite_number")


@pytest.mark.parametrize(
    "give",
    [
        lambda: {"mean": NAN},
        lambda: {"mean": [1, {"of": float("inf")}]},
        lambda: {"mean": Numpy("nan")},
    ],
)
async def test_fr_045_nor_does_an_undeclared_value_turn_into_null(
    using: Using, caplog: pytest.LogCaptureFixture, give: Any
):
    agent = await using(app_of(dict[str, Any], give))
    await is_masked(agent, caplog, "mean")


# FR-047 ------------------------------------------------------------------------------------------

MOMENT = datetime(2026, 12, 1, 9, 30, 15, 250000)  # noqa: DTZ001 - naive is the point


class Times(BaseModel):
    at: datetime | None = None
    naive: NaiveDatetime | None = None
    day: date | None = None
    clock: time | None = None
    span: timedelta | None = None


@pytest.mark.parametrize("returns", [datetime, list[datetime], Times, dict[str, datetime]])
async def test_fr_047_a_naive_moment_is_refused_where_date_time_was_promised(
    using: Using, caplog: pytest.LogCaptureFixture, returns: Any
):
    made = {list[datetime]: [MOMENT], Times: {"at": MOMENT}, dict[str, datetime]: {"at": MOMENT}}
    agent = await using(app_of(returns, lambda: made.get(returns, MOMENT)))
    await is_masked(agent, caplog, "timezone_aware")


@pytest.mark.parametrize(
    "value",
    [
        {"at": MOMENT.replace(tzinfo=UTC)},
        {"at": MOMENT.replace(microsecond=0, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))},
        {"at": MOMENT.replace(tzinfo=UTC), "naive": MOMENT},
        {"day": date(2026, 2, 28), "clock": time(23, 59, 59), "span": timedelta(days=2, hours=3)},
        {"clock": time(9, 30, tzinfo=UTC), "span": timedelta(seconds=-1)},
        {"span": timedelta(0)},
    ],
)
async def test_fr_047_what_leaves_fits_the_advertised_schema(using: Using, value: dict[str, Any]):
    app = app_of(Times, lambda: value)
    data = ok(await (await using(app)).call("give_it", {}))
    check = jsonschema_rs.validator_for(app.tools["give_it"].output_schema, validate_formats=True)
    assert check.is_valid(data), [str(error) for error in check.iter_errors(data)]
    if "at" in value:
        assert datetime.fromisoformat(data["at"]) == value["at"]
    if "naive" in value:
        assert data["naive"] == "2026-12-01T09:30:15.250000"


@pytest.mark.parametrize(
    ("name", "text", "fits"),
    [
        ("at", "2026-12-01T09:30:15Z", True),
        ("at", "2026-12-01T09:30:15+05:30", True),
        ("at", "2026-12-01T09:30:15", False),
        ("at", "2026-12-01 09:30:15Z", False),
        ("at", "2026-12-01", False),
        ("at", "1764581415", False),
        ("naive", "2026-12-01T09:30:15", True),
        ("naive", "2026-12-01T09:30:15Z", False),
        ("day", "2026-12-01", True),
        ("day", "2026-12-01T00:00:00", False),
        ("clock", "09:30:15", True),
        ("clock", "9:30", False),
        ("span", "PT90S", True),
        ("span", "90", False),
    ],
)
async def test_fr_047_what_comes_in_is_held_to_the_same_policy(
    using: Using, name: str, text: str, fits: bool
):
    app, got = remit.Remit("times"), list[Any]()

    @app.tool(effect="read")
    def take(times: Times) -> Times:
        got.append(times)
        return times

    agent = await using(app)
    assert jsonschema_rs.is_valid(app.advertised("take"), {"times": {name: text}}) is fits
    outcome = await agent.call("take", {"times": {name: text}})
    assert outcome.ok is fits, outcome
    assert len(got) == fits
    if not fits:
        assert [path for path, _ in issues(outcome)] == [f"times.{name}"]


# FR-048 ------------------------------------------------------------------------------------------


async def test_fr_048_both_flags_are_said_and_read_by_the_sdk_s_own_spelling(over_mcp: Using):
    """Covers the MCP SDK with its own client and objects; other SDKs come with their adapters."""
    app = app_of(Row, lambda: Row(n=1))

    @app.tool(effect="read")
    def takes(count: int, title: str = "") -> None: ...

    agent = await over_mcp(app)
    async with agent.client() as client:
        fine = await client.call_tool("give_it", {})
        wrong = await client.call_tool("give_it", {"x": 1})
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert (fine.is_error, wrong.is_error) == (False, True)
    assert fine.model_fields_set >= {"is_error", "content", "structured_content"}
    assert "is_error" in wrong.model_fields_set
    assert fine.structured_content == {"n": 1, "label": ""}
    assert set(tools["takes"].input_schema["properties"]) == {"count", "title"}
    assert tools["takes"].input_schema["required"] == ["count"]


def test_fr_048_a_result_of_an_unknown_shape_is_a_hard_error():
    kit = agent_of(app_of(int, lambda: 1), principal=ASHA, surface="mcp")
    block = types.SimpleNamespace(text="{}")
    for shape in (
        {"content": [block], "structured_content": {"result": 1}, "meta": None},
        {"isError": False, "content": [block], "structured_content": {"result": 1}, "meta": None},
        {"is_error": True, "content": [block], "structured_content": None, "meta": None},
    ):
        result: Any = types.SimpleNamespace(**shape)
        with pytest.raises((AttributeError, KeyError)):
            kit._outcome("give_it", result)
