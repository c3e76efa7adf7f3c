"""Field reports of the kind input-values: a value arrives as it was meant, or the call is refused."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import MISSING, BaseModel, Field
from typing_extensions import NotRequired, TypedDict

import remit
from remit import idempotency
from tests.reports.reach import ASHA, EDITOR, Using, hint, issues, ok, refused
from tests.reports.tokens import served

pytestmark = pytest.mark.anyio

TEXTS = ['{"m":1}', "5", "null", "[1]", '"q"', "true", " {} ", "NaN", ""]


def repaired(row: Any) -> tuple[str, ...]:
    return tuple(row.repaired)


# FR-008 ------------------------------------------------------------------------------------------


def saver() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("saver"), list[Any]()

    @app.tool(effect="write")
    def save(data: str) -> None:
        got.append(data)

    @app.tool(effect="write")
    def save_maybe(data: str | None = None) -> None:
        got.append(data)

    @app.tool(effect="write")
    def save_either(data: str | dict[str, Any]) -> None:
        got.append(data)

    @app.tool(effect="write")
    def save_any(data: str | int | bool | list[int] | None) -> None:
        got.append(data)

    @app.tool(effect="write")
    def save_short(data: Annotated[str, Field(max_length=100)]) -> None:
        got.append(data)

    @app.tool(effect="write", repair={"json_text", "digits", "null_omitted"})
    def save_repairing(data: str | dict[str, Any]) -> None:
        got.append(data)

    @app.tool(effect="write")
    def save_inside(data: list[str]) -> None:
        got.extend(data)

    return app, got


@pytest.mark.parametrize(
    "tool",
    ["save", "save_maybe", "save_either", "save_any", "save_short", "save_repairing"],
)
async def test_fr_008_a_text_that_holds_json_stays_text(using: Using, tool: str):
    app, got = saver()
    agent = await using(app)
    for text in TEXTS:
        ok(await agent.call(tool, {"data": text}))
    assert got == TEXTS
    assert {type(one) for one in got} == {str}
    assert {repaired(row) for row in agent.app.audit.rows()} == {()}


async def test_fr_008_texts_in_a_list_stay_texts_too(using: Using):
    app, got = saver()
    ok(await (await using(app)).call("save_inside", {"data": TEXTS}))
    assert got == TEXTS


@pytest.mark.parametrize("value", [5, True, 1.5, None, {"m": 1}, [1]])
async def test_fr_008_and_what_is_no_text_is_refused(using: Using, value: Any):
    app, got = saver()
    assert issues(await (await using(app)).call("save", {"data": value})) == [
        ("data", "string_type")
    ]
    assert got == []


# FR-009 ------------------------------------------------------------------------------------------


class User(BaseModel):
    name: str
    tags: list[str] = []


def users(*, repair: bool) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("users"), list[Any]()

    @app.tool(effect="write", repair={"json_text"} if repair else set())
    def f(person: User, xs: list[str]) -> None:
        got.append((person, xs))

    return app, got


GOOD: dict[str, Any] = {"person": {"name": "a"}, "xs": ["p"]}
AS_TEXT: dict[str, Any] = {"person": '{"name":"a"}', "xs": '["p"]'}


async def test_fr_009_declared_repair_takes_json_text_and_says_so(using: Using):
    app, got = users(repair=True)
    agent = await using(app)
    ok(await agent.call("f", AS_TEXT))
    ok(await agent.call("f", {**GOOD, "person": {"name": "a", "tags": '["t"]'}}))
    ok(await agent.call("f", GOOD))
    assert got == [
        (User(name="a"), ["p"]),
        (User(name="a", tags=["t"]), ["p"]),
        (User(name="a"), ["p"]),
    ]
    assert [sorted(repaired(row)) for row in agent.app.audit.rows()] == [
        ["person:json_text", "xs:json_text"],
        ["person.tags:json_text"],
        [],
    ]


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"xs": "not json"}, "xs"),
        ({"xs": '{"a":1}'}, "xs"),
        ({"xs": '["p"'}, "xs"),
        ({"xs": '["p", NaN]'}, "xs"),
        ({"xs": '"p"'}, "xs"),
        ({"xs": "[5]"}, "xs"),
        ({"person": '"{}"'}, "person"),
        ({"person": json.dumps('{"name":"a"}')}, "person"),
        ({"person": '{"name":"a","name":"b"}'}, "person"),
        ({"person": "null"}, "person"),
        ({"person": '{"name":"a","admin":true}'}, "person"),
        ({"person": {"name": '"a"', "tags": "p,q"}}, "person.tags"),
    ],
)
async def test_fr_009_what_no_lossless_repair_mends_is_refused(
    using: Using, changed: dict[str, Any], path: str
):
    app, got = users(repair=True)
    agent = await using(app)
    outcome = refused(await agent.call("f", {**GOOD, **changed}))
    assert [issue.path.startswith(path) for issue in outcome.issues] == [True]
    assert got == []
    assert [(row.outcome, repaired(row)) for row in agent.app.audit.rows()] == [
        ("invalid_arguments", ())
    ]


async def test_fr_009_an_unknown_key_inside_the_decoded_text_is_named(using: Using):
    app, got = users(repair=True)
    outcome = await (await using(app)).call("f", {**GOOD, "person": '{"name":"a","admin":true}'})
    assert issues(outcome) == [("person", "unrecognized_keys:admin")]
    assert got == []


async def test_fr_009_without_it_the_refusal_says_to_send_json_and_no_text(using: Using):
    app, got = users(repair=False)
    outcome = await (await using(app)).call("f", AS_TEXT)
    assert {path for path, _ in issues(outcome)} == {"person", "xs"}
    assert hint(outcome, "xs").startswith("a JSON array, not a text")
    assert hint(outcome, "person").startswith("a JSON object, not a text")
    assert got == []


# FR-012 ------------------------------------------------------------------------------------------


class Filter(BaseModel):
    country: str = "any"
    city: str | None = "any"


def searcher(*, repair: bool) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("searcher"), list[Any]()

    @app.tool(effect="read", repair={"null_omitted"} if repair else set())
    def search(
        q: str,
        country: str = "any",
        city: str | None = "any",
        where: Filter | None = None,
        filters: list[Filter] = [],
        words: list[str] = [],
        either: dict[str, str] = {},
    ) -> None:
        got.append((q, country, city, where, filters, words, either))

    return app, got


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ({"country": None}, "country"),
        ({"where": {"country": None}}, "where.country"),
        ({"filters": [{}, {"country": None}]}, "filters.1.country"),
    ],
)
async def test_fr_012_null_for_what_may_be_left_out_is_refused_with_that_advice(
    using: Using, sent: dict[str, Any], path: str
):
    app, got = searcher(repair=False)
    outcome = await (await using(app)).call("search", {"q": "a", **sent})
    assert issues(outcome) == [(path, "string_type")]
    assert "omit this key" in hint(outcome, path)
    assert got == []


async def test_fr_012_declared_repair_leaves_the_key_out_and_says_so(using: Using):
    app, got = searcher(repair=True)
    agent = await using(app)
    sent = {"country": None, "where": {"country": None}, "filters": [{}, {"country": None}]}
    ok(await agent.call("search", {"q": "a", **sent}))
    assert got == [("a", "any", "any", Filter(), [Filter(), Filter()], [], {})]
    (row,) = agent.app.audit.rows()
    assert sorted(repaired(row)) == [
        "country:null_omitted",
        "filters.1.country:null_omitted",
        "where.country:null_omitted",
    ]


async def test_fr_012_null_where_it_is_declared_stays_null(using: Using):
    for repair in (False, True):
        app, got = searcher(repair=repair)
        agent = await using(app)
        ok(await agent.call("search", {"q": "a", "city": None, "where": {"city": None}}))
        assert got == [("a", "any", None, Filter(city=None), [], [], {})]
        assert [repaired(row) for row in agent.app.audit.rows()] == [()]


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ({"q": None}, "q"),
        ({"q": "a", "words": ["x", None]}, "words.1"),
        ({"q": "a", "filters": [None]}, "filters.0"),
        ({"q": "a", "either": {"k": None}}, "either.k"),
    ],
)
async def test_fr_012_no_repair_strips_a_required_value_or_an_item(
    using: Using, sent: dict[str, Any], path: str
):
    for repair in (False, True):
        app, got = searcher(repair=repair)
        outcome = refused(await (await using(app)).call("search", sent))
        assert [issue.path for issue in outcome.issues] == [path]
        assert got == []


# FR-013 ------------------------------------------------------------------------------------------

UNSET: Any = object()


class Patch(BaseModel):
    note: str | None | MISSING = MISSING


def patcher() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("patcher"), list[Any]()

    def told(note: Any) -> str:
        return "unset" if note is UNSET or note is MISSING else repr(note)

    @app.tool(effect="write")
    def own_default(id: int, note: str | None = UNSET) -> None:
        got.append(told(note))

    @app.tool(effect="write")
    def sentinel(id: int, note: str | None | MISSING = MISSING) -> None:
        got.append(told(note))

    @app.tool(effect="write")
    def body(patch: Annotated[Patch, remit.Body], id: int) -> None:
        got.append(told(patch.note))
        assert ("note" in patch.model_fields_set) is (patch.note is not MISSING)

    @app.tool(effect="write")
    def inside(id: int, patch: Patch) -> None:
        got.append(told(patch.note))

    approval = remit.Approval(approvers={"editor"}, expires=timedelta(days=1))

    @app.tool(effect="write", name="request_own_default", approval=approval)
    def request_own(id: int, note: str | None = UNSET) -> None:
        got.append(told(note))

    @app.tool(effect="write", name="request_sentinel", approval=approval)
    def request_missing(id: int, note: str | None | MISSING = MISSING) -> None:
        got.append(told(note))

    @app.tool(effect="write", name="request_body", approval=approval)
    def request_body(patch: Annotated[Patch, remit.Body], id: int) -> None:
        got.append(told(patch.note))

    return app, got


THREE: list[dict[str, Any]] = [{}, {"note": None}, {"note": ""}]


@pytest.mark.parametrize("tool", ["own_default", "sentinel", "body", "inside"])
@pytest.mark.parametrize("keyed", [False, True])
async def test_fr_013_unset_null_and_empty_are_three_things(using: Using, tool: str, keyed: bool):
    """Covers remit's own tools; that ``null`` is forwarded belongs to the proxy."""
    app, got = patcher()
    agent = await using(app)
    for count, sent in enumerate(THREE):
        arguments = {"id": 1, **({"patch": sent} if tool == "inside" else sent)}
        key = f"k{count}" if keyed else None
        ok(await agent.call(tool, arguments, idempotency_key=key))
    assert got == ["unset", "None", "''"]


@pytest.mark.parametrize("tool", ["own_default", "sentinel", "body"])
async def test_fr_013_one_key_for_two_of_them_is_a_conflict(here: Using, tool: str):
    app, got = patcher()
    agent = await here(app)
    ok(await agent.call(tool, {"id": 1}, idempotency_key="k"))
    refused(await agent.call(tool, {"id": 1, "note": None}, idempotency_key="k"), "conflict")
    refused(await agent.call(tool, {"id": 1, "note": ""}, idempotency_key="k"), "conflict")
    ok(await agent.call(tool, {"id": 1}, idempotency_key="k"))
    assert got == ["unset"]


@pytest.mark.parametrize("tool", ["request_own_default", "request_sentinel", "request_body"])
async def test_fr_013_a_person_approves_the_very_one_of_the_three(here: Using, tool: str):
    app, got = patcher()
    agent = await here(app)
    for sent in THREE:
        outcome = await agent.call(tool, {"id": 1, **sent})
        assert outcome.code == "awaiting_approval", outcome
    waiting = await agent.app.approvals.waiting()
    assert [one.arguments for one in waiting] == [{"id": 1, **sent} for sent in THREE]
    for one in waiting:
        await agent.app.approvals.decide(one.id, "approve", approver=EDITOR, digest=one.digest)
    assert got == ["unset", "None", "''"]


# FR-014 ------------------------------------------------------------------------------------------


def lister(*, repair: bool) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("lister"), list[Any]()

    @app.tool(effect="read", repair={"empty_omitted"} if repair else set())
    def pods(
        namespace: Annotated[str, Field(pattern="^[a-z]+$")] = "main",
        labelSelector: Annotated[str, Field(pattern="^[a-z]+=[a-z]+$")] | None = None,  # noqa: N803
        limit: int = 10,
        text: str = "default",
        maybe: str | None = None,
        names: list[str] = [],
    ) -> None:
        got.append((namespace, labelSelector, limit, text, maybe, names))

    @app.tool(effect="read", repair={"empty_omitted"} if repair else set())
    def pod(name: Annotated[str, Field(min_length=1)]) -> None:
        got.append(name)

    return app, got


async def test_fr_014_an_empty_text_that_fits_nowhere_is_refused_with_advice_to_omit(using: Using):
    app, got = lister(repair=False)
    outcome = await (await using(app)).call(
        "pods", {"namespace": "", "labelSelector": "", "limit": ""}
    )
    assert {path for path, _ in issues(outcome)} == {"namespace", "labelSelector", "limit"}
    for path in ("namespace", "labelSelector", "limit"):
        assert "omit this key" in hint(outcome, path)
    assert got == []


async def test_fr_014_declared_repair_omits_what_cannot_be_empty_and_nothing_else(using: Using):
    app, got = lister(repair=True)
    agent = await using(app)
    empty = ("namespace", "labelSelector", "limit", "text", "maybe")
    ok(await agent.call("pods", {**dict.fromkeys(empty, ""), "names": ["", "a"]}))
    assert got == [("main", None, 10, "", "", ["", "a"])]
    (row,) = agent.app.audit.rows()
    assert sorted(repaired(row)) == [
        "labelSelector:empty_omitted",
        "limit:empty_omitted",
        "namespace:empty_omitted",
    ]


async def test_fr_014_a_required_value_is_never_emptied(using: Using):
    for repair in (False, True):
        app, got = lister(repair=repair)
        outcome = await (await using(app)).call("pod", {"name": ""})
        assert issues(outcome) == [("name", "string_too_short")]
        assert "omit" not in hint(outcome, "name")
        assert got == []


# FR-015 ------------------------------------------------------------------------------------------


class State(enum.Enum):
    ACTIVE = "on"
    CLEARED = "off"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


def setter(*, repair: bool) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("setter"), list[Any]()

    @app.tool(effect="write", repair={"enum_case"} if repair else set())
    def put(
        status: Literal["active", "cleared"] = "active",
        state: State = State.ACTIVE,
        rank: Rank = Rank.LOW,
        twins: Literal["ab", "AB", "c"] = "c",
    ) -> None:
        got.append((status, state, rank, twins))

    return app, got


@pytest.mark.parametrize(
    ("sent", "path", "allowed", "code"),
    [
        ({"status": "Active"}, "status", ["active", "cleared"], "literal_error"),
        ({"status": "open"}, "status", ["active", "cleared"], "literal_error"),
        ({"status": "active "}, "status", ["active", "cleared"], "literal_error"),
        ({"state": "ACTIVE"}, "state", ["on", "off"], "enum"),
        ({"state": "On"}, "state", ["on", "off"], "enum"),
        ({"rank": "LOW"}, "rank", ["1", "2"], "enum"),
        ({"rank": 3}, "rank", ["1", "2"], "enum"),
        ({"rank": True}, "rank", ["1", "2"], "enum"),
    ],
)
async def test_fr_015_the_refusal_says_which_values_are_right(
    using: Using, sent: dict[str, Any], path: str, allowed: list[str], code: str
):
    app, got = setter(repair=False)
    outcome = await (await using(app)).call("put", sent)
    assert issues(outcome) == [(path, code)]
    assert all(value in hint(outcome, path) for value in allowed)
    assert got == []


async def test_fr_015_case_is_folded_only_where_declared_and_only_to_one_value(using: Using):
    app, got = setter(repair=True)
    agent = await using(app)
    ok(await agent.call("put", {"status": "Active", "state": "OFF", "twins": "AB"}))
    assert got == [("active", State.CLEARED, Rank.LOW, "AB")]
    (row,) = agent.app.audit.rows()
    assert sorted(repaired(row)) == ["state:enum_case", "status:enum_case"]


@pytest.mark.parametrize(
    "sent", [{"status": "open"}, {"state": "ACTIVE"}, {"twins": "Ab"}, {"rank": "low"}]
)
async def test_fr_015_folding_guesses_nothing_and_knows_no_names(
    using: Using, sent: dict[str, Any]
):
    app, got = setter(repair=True)
    refused(await (await using(app)).call("put", sent))
    assert got == []


def test_fr_015_the_schema_is_the_same_with_and_without_folding():
    plain, folding = (setter(repair=repair)[0].advertised("put") for repair in (False, True))
    assert plain == folding
    assert plain["properties"]["status"]["enum"] == ["active", "cleared"]
    assert plain["$defs"]["State"]["enum"] == ["on", "off"]


# FR-019 ------------------------------------------------------------------------------------------


def payer() -> tuple[remit.Remit, list[Any]]:
    app, paid = remit.Remit("payer"), list[Any]()

    @app.tool(effect="write")
    def pay(amount: int, to: dict[str, str] = {}) -> None:
        paid.append((amount, to))

    return app, paid


@pytest.mark.parametrize(
    "raw",
    [
        '{"amount":1,"amount":1000000}',
        '{"amount":1,"amount":1}',
        b'{"amount":1,"\\u0061mount":1000000}',
        '{"amount":1,"to":{"iban":"a","iban":"b"}}',
        '{"amount":1,"to":{"iban":"a"},"to":{"iban":"b"}}',
    ],
)
async def test_fr_019_a_key_that_stands_twice_is_refused_where_remit_reads(
    here: Using, raw: str | bytes
):
    """Covers raw text from Python; policy and lock files come with what reads them."""
    app, paid = payer()
    agent = await here(app)
    outcome = await agent.call("pay", raw)
    assert issues(outcome) == [("(root)", "duplicate_key")]
    assert paid == []


async def test_fr_019_the_record_is_of_the_value_that_was_used(using: Using):
    """Over MCP the SDK reads the wire: record and key are made of the value that came out of it."""
    app, paid = payer()
    agent = await using(app)
    ok(await agent.call("pay", {"amount": 5}))
    assert paid == [(5, {})]
    (row,) = agent.app.audit.rows()
    assert row.arguments_digest == idempotency.digest({"amount": 5})


async def test_fr_019_over_http_the_value_that_ran_is_the_value_on_record():
    app, paid = payer()
    async with served(app, {"asha": ASHA}) as (wire, made):
        answer = await wire.post_text("asha", "pay", '{"amount":1,"amount":1000000}')
        (row,) = made.audit.rows()
        if answer.json()["result"]["isError"]:
            assert paid == []
        else:
            ((amount, _),) = paid
            assert row.arguments_digest == idempotency.digest({"amount": amount})


def test_fr_019_the_command_refuses_a_key_that_stands_twice(shell: Callable[..., Any]):
    ended = shell("add", "--json", '{"number":1,"number":1000000}')
    assert ended.exit_code == 2
    assert "duplicate_key" in ended.output
    assert "1000001" not in ended.output


# FR-020 ------------------------------------------------------------------------------------------


@dataclass
class Cfg:
    value: float = 1.5
    label: str = "d"
    tags: list[Any] = field(default_factory=list)


class Td(TypedDict):
    must: NotRequired[str]
    inner: NotRequired[Cfg]


async def test_fr_020_left_out_fields_of_nested_types_have_their_own_defaults(using: Using):
    app, got = remit.Remit("cfg"), list[Any]()

    @app.tool(effect="read")
    def f(dc: Cfg | None = None, td: Td | None = None, many: list[Cfg] = []) -> None:
        for one in (dc, *many):
            if one is not None:
                one.tags.append("mark")
        got.append((dc, td, many))

    agent = await using(app)
    for _ in range(3):
        ok(await agent.call("f", {"dc": {}}))
    ok(await agent.call("f", {"dc": {"label": "x"}, "td": {}}))
    ok(await agent.call("f", {"td": {"inner": {"value": 2}}, "many": [{}, {}]}))
    fresh = Cfg(1.5, "d", ["mark"])
    assert got == [
        *[(fresh, None, [])] * 3,
        (Cfg(1.5, "x", ["mark"]), {}, []),
        (None, {"inner": Cfg(2.0, "d", [])}, [fresh, fresh]),
    ]
    assert issues(await agent.call("f", {"dc": {"label": None}})) == [("dc.label", "string_type")]
    assert issues(await agent.call("f", {"td": {"must": None}})) == [("td.must", "string_type")]


# FR-021 ------------------------------------------------------------------------------------------


def timer() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("timer"), list[Any]()

    @app.tool(effect="read")
    def wait(seconds: float = 0, price: Decimal = Decimal(0), any_of: dict[str, Any] = {}) -> None:
        got.append((seconds, price, any_of))

    return app, got


@pytest.mark.parametrize(
    "raw",
    [
        '{"seconds": NaN}',
        '{"seconds": Infinity}',
        '{"seconds": -Infinity}',
        '{"seconds": 1e400}',
        '{"any_of": {"a": [1, NaN]}}',
        '{"price": NaN}',
        '{"undeclared": NaN}',
    ],
)
async def test_fr_021_text_that_is_no_json_number_is_refused(here: Using, raw: str):
    app, got = timer()
    agent = await here(app)
    for text in (raw, raw.encode()):
        assert issues(await agent.call("wait", text)) == [("(root)", "finite_number")]
    ok(await agent.call("wait", '{"seconds": 1}'))
    assert got == [(1.0, Decimal(0), {})]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("path", ["seconds", "price", "any_of.a.0"])
async def test_fr_021_a_float_that_is_no_number_is_refused_by_the_validator(
    here: Using, number: float, path: str
):
    app, got = timer()
    sent: dict[str, Any] = {path: number}
    if "." in path:
        sent = {"any_of": {"a": [number]}}
    assert issues(await (await here(app)).call("wait", sent)) == [(path, "finite_number")]
    assert got == []


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-inf", "sNaN", "nan"])
@pytest.mark.parametrize("name", ["seconds", "price"])
async def test_fr_021_nor_does_a_text_name_one(using: Using, name: str, value: str):
    app, got = timer()
    outcome = refused(await (await using(app)).call("wait", {name: value}))
    assert [issue.path for issue in outcome.issues] == [name]
    assert got == []


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_fr_021_over_http_it_is_refused_and_the_server_goes_on(number: str):
    app, got = timer()
    async with served(app, {"asha": ASHA}) as (wire, _):
        for arguments in (f'{{"seconds": {number}}}', f'{{"any_of": {{"a": [{number}]}}}}'):
            answer = (await wire.post_text("asha", "wait", arguments)).json()
            assert "error" in answer or answer["result"]["isError"] is True
        assert (await wire.call("asha", "wait", {"seconds": 2}))["isError"] is False
    assert got == [(2.0, Decimal(0), {})]


def test_fr_021_the_command_refuses_it_too(shell: Callable[..., Any]):
    ended = shell("add", "--json", '{"number": NaN}')
    assert ended.exit_code == 2
    assert "finite_number" in ended.output


async def test_fr_021_a_session_survives_it(over_mcp: Using):
    app, got = timer()
    agent = await over_mcp(app)
    async with agent.client() as client:
        for value in ("NaN", -1e308 * 10):
            result = await client.call_tool("wait", {"seconds": value})
            assert result.is_error is True
        assert (await client.call_tool("wait", {"seconds": 2})).is_error is False
    assert got == [(2.0, Decimal(0), {})]
    assert {row.principal for row in agent.app.audit.rows()} == {ASHA["sub"]}
