"""Field reports of the kind unknown-keys: no key vanishes, at any depth."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

import remit
from tests.reports.reach import Using, advertised, hint, issues, ok

pytestmark = pytest.mark.anyio


class Place(BaseModel):
    """Its author declared no policy."""

    topic: str = ""


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: str


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]
    kind: str


@with_config(ConfigDict(extra="allow"))
class OpenDict(TypedDict):
    kind: str


class TypedDictTyped(TypedDict, extra_items=str):
    kind: str


# FR-001 ------------------------------------------------------------------------------------------


def reader() -> tuple[remit.Remit, list[Any]]:
    app, entered = remit.Remit("reader"), list[Any]()

    @app.tool(effect="read")
    def read_doc(topic: str = "", places: list[Place] = [], by: dict[str, Place] = {}) -> str:
        entered.append((topic, places, by))
        return topic

    return app, entered


@pytest.mark.parametrize(
    ("sent", "path", "names", "near"),
    [
        ({"path": "x"}, "(root)", "path", None),
        ({"topics": "x"}, "(root)", "topics", "topic"),
        ({"Topic": "x"}, "(root)", "Topic", "topic"),
        ({"topic": "t", "path": "x", "mode": None}, "(root)", "path,mode", None),
        ({"places": [{}, {"topik": "x"}]}, "places.1", "topik", "topic"),
        ({"by": {"home": {"topic": "t", "a": {"b": 1}}}}, "by.home", "a", None),
        ({"self": 1}, "(root)", "self", None),
        ({"__proto__": {"topic": "x"}}, "(root)", "__proto__", None),
        ({"": "x"}, "(root)", "", None),
    ],
)
async def test_fr_001_an_invented_key_is_named_with_what_is_declared(
    using: Using, sent: dict[str, Any], path: str, names: str, near: str | None
):
    app, entered = reader()
    agent = await using(app)
    outcome = await agent.call("read_doc", sent)
    assert issues(outcome) == [(path, f"unrecognized_keys:{names}")]
    assert "declared: topic" in hint(outcome, path)
    if near:
        assert f"did you mean {near}?" in hint(outcome, path)
    assert entered == []
    assert [row.outcome for row in agent.app.audit.rows()] == ["invalid_arguments"]


async def test_fr_001_the_published_schema_says_that_nothing_else_is_taken(over_mcp: Using):
    agent = await over_mcp(reader()[0])
    async with agent.client() as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema["$defs"]["Place"]["additionalProperties"] is False
    assert Place.model_validate({"x": 1}) == Place(), "the user's own class stays as it was"


# FR-004 ------------------------------------------------------------------------------------------


def keeper() -> tuple[remit.Remit, list[Any]]:
    app, kept = remit.Remit("keeper"), list[Any]()

    @app.tool(effect="read")
    def as_body(body: Annotated[Open, remit.Body]) -> None:
        kept.append(body.model_dump())

    @app.tool(effect="read")
    def as_typed_body(body: Annotated[Typed, remit.Body], beside: int = 0) -> None:
        kept.append({**body.model_dump(), **({"beside": beside} if beside else {})})

    @app.tool(effect="read")
    def inside(
        opens: list[Open] = [],
        typed: Typed | None = None,
        open_dict: OpenDict | None = None,
        typed_dict: TypedDictTyped | None = None,
        loose: dict[str, Any] | None = None,
    ) -> None:
        for value in (*opens, typed, open_dict, typed_dict, loose):
            if value is not None:
                kept.append(value.model_dump() if isinstance(value, BaseModel) else value)

    return app, kept


WITH_OWNER: dict[str, Any] = {"kind": "x", "owner": "me"}


@pytest.mark.parametrize(
    ("tool", "sent"),
    [
        ("as_body", WITH_OWNER),
        ("as_typed_body", WITH_OWNER),
        ("as_typed_body", {**WITH_OWNER, "beside": 3}),
        ("inside", {"opens": [WITH_OWNER]}),
        ("inside", {"typed": WITH_OWNER}),
        ("inside", {"open_dict": WITH_OWNER}),
        ("inside", {"typed_dict": WITH_OWNER}),
        ("inside", {"loose": WITH_OWNER}),
    ],
)
async def test_fr_004_an_open_object_keeps_its_further_keys(
    using: Using, tool: str, sent: dict[str, Any]
):
    """Covers remit's own tools; that a proxied call arrives unchanged belongs to the proxy."""
    app, kept = keeper()
    ok(await (await using(app)).call(tool, sent))
    arrived = sent if "kind" in sent else next(iter(sent.values()))
    assert kept == [arrived[0] if isinstance(arrived, list) else arrived]


@pytest.mark.parametrize("value", [{"deep": [1, None, {"a": False}]}, 5, None, "", [], 1.5, True])
async def test_fr_004_an_open_key_keeps_any_value_as_it_was_sent(using: Using, value: Any):
    app, kept = keeper()
    ok(await (await using(app)).call("as_body", {"kind": "x", "owner": value}))
    assert kept == [{"kind": "x", "owner": value}]
    assert type(kept[0]["owner"]) is type(value)


@pytest.mark.parametrize("owner", [5, None, True, ["me"], {"name": "me"}])
@pytest.mark.parametrize(
    ("tool", "name"), [("as_typed_body", ""), ("inside", "typed"), ("inside", "typed_dict")]
)
async def test_fr_004_a_further_key_of_another_type_is_refused(
    using: Using, tool: str, name: str, owner: Any
):
    app, kept = keeper()
    sent = {"kind": "x", "owner": owner}
    outcome = await (await using(app)).call(tool, {name: sent} if name else sent)
    assert issues(outcome) == [(f"{name}.owner" if name else "owner", "string_type")]
    assert kept == []


def test_fr_004_the_schema_says_what_the_parser_does():
    app, _ = keeper()
    assert advertised(app, "as_body")["additionalProperties"] is True
    assert advertised(app, "as_typed_body")["additionalProperties"] == {"type": "string"}
    defs = app.advertised("inside")["$defs"]
    assert {name: one["additionalProperties"] for name, one in defs.items()} == {
        "Open": True,
        "Typed": {"type": "string"},
        "OpenDict": True,
        "TypedDictTyped": {"type": "string"},
    }
    assert app.advertised("inside")["additionalProperties"] is False


# FR-005 ------------------------------------------------------------------------------------------

HOST = frozenset({"sessionId", "action"})


def hosted(host_keys: frozenset[str] = HOST) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("hosted", host_keys=host_keys), list[Any]()

    @app.tool(effect="read")
    def f(x: int, place: Place | None = None) -> None:
        got.append(x)

    @app.tool(effect="read")
    def act(action: str, x: int = 0) -> None:
        got.append((action, x))

    @app.tool(effect="read")
    def act_in_body(body: Annotated[Action, remit.Body]) -> None:
        got.append(body.action)

    return app, got


class Action(BaseModel):
    action: str


async def test_fr_005_a_host_s_key_is_dropped_and_on_record(using: Using):
    app, got = hosted()
    agent = await using(app)
    ok(await agent.call("f", {"x": 1, "sessionId": "s", "action": {"any": ["thing"]}}))
    assert got == [1]
    (row,) = agent.app.audit.rows()
    assert tuple(row.ignored) == ("action", "sessionId")


@pytest.mark.parametrize(
    ("sent", "path", "name"),
    [
        ({"x": 1, "other": 2}, "(root)", "other"),
        ({"x": 1, "sessionId": "s", "other": 2}, "(root)", "other"),
        ({"x": 1, "sessionid": "s"}, "(root)", "sessionid"),
        ({"x": 1, "place": {"sessionId": "s"}}, "place", "sessionId"),
    ],
)
async def test_fr_005_any_other_key_is_refused_still(
    using: Using, sent: dict[str, Any], path: str, name: str
):
    app, got = hosted()
    outcome = await (await using(app)).call("f", sent)
    assert issues(outcome) == [(path, f"unrecognized_keys:{name}")]
    assert got == []


async def test_fr_005_a_declared_parameter_wins_over_the_list(using: Using):
    app, got = hosted()
    agent = await using(app)
    ok(await agent.call("act", {"action": "go", "sessionId": "s"}))
    ok(await agent.call("act_in_body", {"action": "stay", "sessionId": "s"}))
    assert got == [("go", 0), "stay"]
    assert [tuple(row.ignored) for row in agent.app.audit.rows()] == [("sessionId",)] * 2
    assert issues(await agent.call("act", {"sessionId": "s"})) == [("action", "missing")]


async def test_fr_005_the_list_is_empty_by_itself_and_never_published(using: Using):
    app, got = hosted(frozenset())
    outcome = await (await using(app)).call("f", {"x": 1, "sessionId": "s"})
    assert issues(outcome) == [("(root)", "unrecognized_keys:sessionId")]
    assert got == []
    assert hosted()[0].advertised("f") == app.advertised("f")


# FR-007 ------------------------------------------------------------------------------------------

Depth = Annotated[int, Field(validation_alias=AliasChoices("depth", "maxDepth"), ge=1)]


class Walk(BaseModel):
    depth: Depth = 1


class OpenWalk(BaseModel):
    model_config = ConfigDict(extra="allow")
    depth: Depth = 1


class PlainWalk(BaseModel):
    model_config = ConfigDict(extra="ignore")
    depth: Depth = 1


def walker() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("walker"), list[Any]()

    @app.tool(effect="read")
    def walk(depth: Depth = 1) -> None:
        got.append(depth)

    @app.tool(effect="read")
    def walk_far(depth: Depth) -> None:
        got.append(depth)

    @app.tool(effect="read")
    def nested(
        walk: Walk | None = None, loose: OpenWalk | None = None, plain: PlainWalk | None = None
    ) -> None:
        got.extend(one.model_dump() for one in (walk, loose, plain) if one is not None)

    return app, got


@pytest.mark.parametrize("tool", ["walk", "walk_far"])
@pytest.mark.parametrize("name", ["depth", "maxDepth"])
async def test_fr_007_either_name_binds_the_value(using: Using, tool: str, name: str):
    app, got = walker()
    agent = await using(app)
    ok(await agent.call(tool, {name: 3}))
    assert got == [3]
    assert issues(await agent.call(tool, {name: 0})) == [(name, "greater_than_equal")]


@pytest.mark.parametrize("name", ["depth", "maxDepth"])
@pytest.mark.parametrize("where", ["walk", "loose", "plain"])
async def test_fr_007_either_name_binds_the_value_inside_an_object(
    using: Using, where: str, name: str
):
    app, got = walker()
    ok(await (await using(app)).call("nested", {where: {name: 3}}))
    assert got == [{"depth": 3}]


@pytest.mark.parametrize("second", [3, 4])
@pytest.mark.parametrize("tool", ["walk", "walk_far"])
async def test_fr_007_both_names_at_once_are_ambiguous(using: Using, tool: str, second: int):
    app, got = walker()
    outcome = await (await using(app)).call(tool, {"depth": 3, "maxDepth": second})
    assert issues(outcome) == [("depth", "ambiguous_names")]
    assert "maxDepth" in hint(outcome, "depth")
    assert got == []


@pytest.mark.parametrize("where", ["walk", "loose", "plain"])
async def test_fr_007_both_names_inside_an_object_are_ambiguous_whatever_its_policy(
    using: Using, where: str
):
    app, got = walker()
    outcome = await (await using(app)).call("nested", {where: {"depth": 3, "maxDepth": 4}})
    assert issues(outcome) == [(f"{where}.depth", "ambiguous_names")]
    assert got == []


def test_fr_007_the_other_name_is_published():
    app, _ = walker()
    for tool, path in (("walk", ()), ("walk_far", ())):
        shown = advertised(app, tool, *path)
        assert set(shown["properties"]) == {"depth", "maxDepth"}
        assert shown["properties"]["maxDepth"]["minimum"] == 1
        assert "depth" in shown["properties"]["maxDepth"]["description"]
    assert set(app.advertised("nested")["$defs"]["Walk"]["properties"]) == {"depth", "maxDepth"}
