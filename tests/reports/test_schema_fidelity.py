"""Field reports of the kind schema-fidelity: what the schema says is what the parser does."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, Optional
from uuid import uuid4

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

import remit
from remit.schema.derive import inlined
from tests.reports.reach import ASHA, RAVI, Using, hint, issues, ok, refused

pytestmark = pytest.mark.anyio


def pointers(schema: Any) -> Iterator[str]:
    """Yield every reference of *schema*: ``$ref`` and a discriminator's mapping."""
    if isinstance(schema, list):
        for item in schema:
            yield from pointers(item)
    elif isinstance(schema, dict):
        if isinstance(ref := schema.get("$ref"), str):
            yield ref
        mapping = (schema.get("discriminator") or {}).get("mapping", {})
        yield from mapping.values()
        for item in schema.values():
            yield from pointers(item)


def dangling(schema: dict[str, Any]) -> list[str]:
    """Return the references of *schema* that lead nowhere."""
    return [
        ref
        for ref in pointers(schema)
        if not ref.startswith("#/$defs/")
        or ref.removeprefix("#/$defs/") not in schema.get("$defs", {})
    ]


# FR-022 ------------------------------------------------------------------------------------------


class Add(BaseModel):
    action: Literal["add"]
    value: int


class Drop(BaseModel):
    action: Literal["drop", "erase"]
    name: str


AddOrDrop = Annotated[Add | Drop, Field(discriminator="action")]


def operator() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("operator"), list[Any]()

    @app.tool(effect="write")
    def op(step: AddOrDrop | None = None, steps: list[AddOrDrop] = []) -> None:
        got.extend([step, *steps] if step is not None else steps)

    @app.tool(effect="write")
    def op_body(step: Annotated[AddOrDrop, remit.Body], twice: bool = False) -> None:
        got.append(step)

    return app, got


@pytest.mark.parametrize("tool", ["op", "op_body"])
def test_fr_022_no_reference_dangles_inlined_or_not(tool: str):
    schema = operator()[0].advertised(tool)
    assert dangling(schema) == []
    flat = inlined(schema)
    assert list(pointers(flat)) == []
    assert "$defs" not in flat
    jsonschema_rs.validator_for(schema)
    jsonschema_rs.validator_for(flat)


async def test_fr_022_each_branch_gives_its_own_class(using: Using):
    app, got = operator()
    agent = await using(app)
    add, erase = {"action": "add", "value": 1}, {"action": "erase", "name": "n"}
    ok(await agent.call("op", {"step": add}))
    ok(await agent.call("op", {"steps": [erase, add]}))
    ok(await agent.call("op", {"step": None}))
    ok(await agent.call("op_body", {**erase, "twice": True}))
    want = [Add(**add), Drop(**erase), Add(**add), Drop(**erase)]
    assert got == want
    assert [type(one) for one in got] == [type(one) for one in want]


@pytest.mark.parametrize(
    ("tool", "sent", "path"),
    [
        ("op", {"step": {"action": "burn", "value": 1}}, "step"),
        ("op", {"steps": [{"action": "add", "value": 1}, {"action": "Add"}]}, "steps.1"),
        ("op_body", {"action": "burn"}, "(root)"),
    ],
)
async def test_fr_022_an_unknown_tag_is_refused_with_the_allowed_ones(
    using: Using, tool: str, sent: dict[str, Any], path: str
):
    app, got = operator()
    outcome = refused(await (await using(app)).call(tool, sent))
    (issue,) = outcome.issues
    assert issue.code == "union_tag_invalid"
    assert issue.path.removesuffix(".action") in (path, "action")
    assert all(tag in issue.hint for tag in ("add", "drop", "erase"))
    assert "burn" not in issue.hint
    assert got == []


async def test_fr_022_a_missing_tag_and_another_branch_s_key_are_refused(using: Using):
    app, got = operator()
    agent = await using(app)
    outcome = refused(await agent.call("op", {"step": {"value": 1}}))
    assert "action" in outcome.issues[0].hint
    outcome = await agent.call("op", {"step": {"action": "add", "value": 1, "name": "n"}})
    assert issues(outcome) == [("step", "unrecognized_keys:name")]
    assert got == []


# FR-023 ------------------------------------------------------------------------------------------


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Inner(BaseModel):
    colour: Colour
    sizes: list[Annotated[int, Field(ge=1)]] = []


class Outer(BaseModel):
    inner: Inner
    others: dict[str, Inner] = {}
    colour: Annotated[Colour, Field(description="Which colour.")] = Colour.RED


class Tree(BaseModel):
    inner: Inner
    kids: list[Tree] = []


def painter() -> remit.Remit:
    app = remit.Remit("painter")

    @app.tool(effect="write")
    def paint(outer: Outer, colour: Colour, step: AddOrDrop | None = None) -> None:
        assert isinstance(outer.inner.colour, Colour)

    @app.tool(effect="write")
    def grow(tree: Tree) -> None:
        pass

    return app


INNER = st.fixed_dictionaries(
    {"colour": st.sampled_from(["red", "blue", "RED", 1])},
    optional={"sizes": st.lists(st.integers(-1, 3), max_size=2), "x": st.none()},
)
TREE = st.recursive(
    st.fixed_dictionaries({"inner": INNER}, optional={"kids": st.just([])}),
    lambda kid: st.fixed_dictionaries({"inner": INNER, "kids": st.lists(kid, max_size=2)}),
    max_leaves=4,
)
OUTER = st.fixed_dictionaries(
    {"inner": INNER},
    optional={
        "others": st.dictionaries(st.text(max_size=2), INNER, max_size=2),
        "colour": st.sampled_from(["red", "green", None]),
    },
)
STEP = st.fixed_dictionaries(
    {"action": st.sampled_from(["add", "drop", "erase", "burn"])},
    optional={"value": st.integers(), "name": st.text(max_size=2)},
)
PAINT = st.fixed_dictionaries(
    {"outer": OUTER, "colour": st.sampled_from(["red", "green"])},
    optional={"step": st.none() | STEP},
)
CALLS = st.tuples(st.just("paint"), PAINT) | st.tuples(
    st.just("grow"), st.fixed_dictionaries({"tree": TREE})
)
PAINTER = painter()
BOTH = {
    name: (jsonschema_rs.validator_for(full), jsonschema_rs.validator_for(inlined(full)))
    for name, full in ((name, PAINTER.advertised(name)) for name in PAINTER.tools)
}


@given(CALLS)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_fr_023_inlined_or_not_the_same_instances_are_accepted(sent: tuple[str, Any]):
    tool, value = sent
    full, flat = BOTH[tool]
    parser = PAINTER.tools[tool].parser
    try:
        parser.parse(value, None or json.dumps(value).encode())
    except remit.Refused:
        accepted = False
    else:
        accepted = True
    assert full.is_valid(value) == flat.is_valid(value) == accepted


async def test_fr_023_a_client_that_drops_the_definitions_can_read_the_inlined_one(
    over_mcp: Using,
):
    agent = await over_mcp(PAINTER)
    async with agent.client() as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert dangling(tools["paint"]) == []
    flat = {k: v for k, v in inlined(tools["paint"]).items() if k != "$defs"}
    assert list(pointers(flat)) == []
    colour = flat["properties"]["outer"]["properties"]["colour"]
    assert colour["enum"] == ["red", "blue"]
    assert colour["description"] == "Which colour."


def test_fr_023_true_recursion_alone_keeps_its_references():
    flat = inlined(PAINTER.advertised("grow"))
    assert set(pointers(flat["properties"])) == {"#/$defs/Tree"}
    assert dangling(flat) == []


# FR-024 ------------------------------------------------------------------------------------------


class Node(BaseModel):
    name: str
    children: list[Node] = []


def forester() -> tuple[remit.Remit, list[Any]]:
    app, depths = remit.Remit("forester"), list[Any]()

    def depth(node: Node) -> int:
        count = 1
        while node.children:
            node, count = node.children[0], count + 1
        return count

    @app.tool(effect="read")
    def give(levels: int) -> Node:
        node = Node(name="leaf")
        for _ in range(levels - 1):
            node = Node(name="n", children=[node])
        return node

    @app.tool(effect="read")
    def take(node: Node) -> int:
        depths.append(depth(node))
        return depths[-1]

    @app.tool(effect="read")
    def take_body(node: Annotated[Node, remit.Body]) -> int:
        depths.append(depth(node))
        return depths[-1]

    @app.tool(effect="read")
    def plain() -> str:
        return "here"

    return app, depths


def nested(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"name": "leaf"}
    for _ in range(levels - 1):
        node = {"name": "n", "children": [node]}
    return node


async def test_fr_024_a_recursive_model_takes_no_tool_off_the_list(over_mcp: Using):
    agent = await over_mcp(forester()[0])
    async with agent.client() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"give", "take", "take_body", "plain"}
    for tool in tools.values():
        assert tool.input_schema["type"] == "object"
        assert dangling(tool.input_schema) == []
        if tool.output_schema is not None:
            assert tool.output_schema["type"] == "object"
            assert dangling(tool.output_schema) == []


async def test_fr_024_a_deep_value_arrives_and_leaves_whole(using: Using):
    app, depths = forester()
    agent = await using(app)
    assert ok(await agent.call("take", {"node": nested(50)})) == 50
    assert ok(await agent.call("take_body", nested(50))) == 50
    assert depths == [50, 50]
    data, levels = ok(await agent.call("give", {"levels": 50})), 1
    while data["children"]:
        data, levels = data["children"][0], levels + 1
    assert levels == 50


async def test_fr_024_one_that_is_too_deep_is_refused_and_the_rest_goes_on(using: Using):
    app, depths = forester()
    agent = await using(app)
    for levels in (66, 80):
        outcome = await agent.call("take", {"node": nested(levels)})
        assert issues(outcome) == [("(root)", "too_deep")]
    assert depths == []
    assert ok(await agent.call("plain", {})) == "here"


async def test_fr_024_nor_does_any_depth_raise_recursion_error(here: Using):
    app, depths = forester()
    agent = await here(app)
    for levels in (500, 5_000):
        outcome = await agent.call("take", {"node": nested(levels)})
        assert issues(outcome) == [("(root)", "too_deep")]
        text = '{"node":' + '{"name":"n","children":[' * levels + "]}" * levels + "}"
        assert issues(await agent.call("take", text)) == [("(root)", "too_deep")]
    refused(await agent.call("give", {"levels": 3_000}), "internal")
    assert depths == []
    assert ok(await agent.call("plain", {})) == "here"


# FR-026 ------------------------------------------------------------------------------------------


class Person(BaseModel):
    name: str


class Company(BaseModel):
    vat: str
    staff: list[Person] = []


def registry() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("registry"), list[Any]()

    @app.tool(effect="read")
    def enter(
        either: Person | Company | None = None,
        people: list[Person] = [],
        by: dict[str, Person | Company] = {},
        maybe: Optional[Person] = None,
        preset: Person = Person(name="preset"),  # noqa: B008
        pair: tuple[Person, Company] | None = None,
    ) -> None:
        got.append((either, people, by, maybe, preset, pair))

    return app, got


async def test_fr_026_the_code_gets_instances_wherever_a_model_is_declared(using: Using):
    app, got = registry()
    agent = await using(app)
    p, c = {"name": "p"}, {"vat": "v", "staff": [{"name": "s"}]}
    ok(await agent.call("enter", {"either": p}))
    ok(await agent.call("enter", {"either": c, "people": [p], "by": {"a": p, "b": c}}))
    ok(await agent.call("enter", {"maybe": p, "preset": p, "pair": [p, c]}))
    person, company = Person(**p), Company.model_validate(c)
    preset = Person(name="preset")
    assert got == [
        (person, [], {}, None, preset, None),
        (company, [person], {"a": person, "b": company}, None, preset, None),
        (None, [], {}, person, person, (person, company)),
    ]
    assert type(got[1][0].staff[0]) is Person


async def test_fr_026_what_fits_both_or_neither_is_refused(using: Using):
    app, got = registry()
    agent = await using(app)
    for sent in ({"name": "p", "vat": "v"}, {}, {"name": 5}, {"name": "p", "x": 1}):
        refused(await agent.call("enter", {"either": sent}))
    assert got == []


def test_fr_026_a_union_that_an_object_may_fit_twice_is_refused_when_declared():
    class Cat(BaseModel):
        name: str

    class Dog(BaseModel):
        name: str
        breed: str = ""

    app = remit.Remit("zoo")
    for annotation in (Cat | Dog, list[Cat | Dog], dict[str, Dog | Cat], Optional[Cat | Dog]):

        def keep(pet: Any) -> None: ...

        keep.__annotations__["pet"] = annotation
        with pytest.raises(remit.DeclarationError, match=r"keep.*discriminator"):
            app.tool(effect="read")(keep)
    assert app.tools == {}


# FR-027 ------------------------------------------------------------------------------------------


class Aliased(BaseModel):
    model_config = ConfigDict(validate_by_name=True, populate_by_name=True)
    x: Annotated[int, Field(alias="externalX", ge=1)]
    dump: Annotated[str, Field(alias="model_dump")] = ""


def aliasing() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("aliasing"), list[Any]()

    @app.tool(effect="read")
    def f(x: Annotated[int, Field(alias="externalX", ge=1)]) -> None:
        got.append(x)

    @app.tool(effect="read")
    def g(
        class_: Annotated[str, Field(alias="class")],
        from_: Annotated[int, Field(validation_alias="from")] = 0,
        model_dump: str = "",
        schema: str = "",
        model_config: str = "",
        self_: Annotated[str, Field(alias="self")] = "",
        p0: str = "",
        _hidden: str = "",
    ) -> None:
        got.append((class_, from_, model_dump, schema, model_config, self_, p0, _hidden))

    @app.tool(effect="read")
    def deep(one: Aliased, many: list[Aliased] = []) -> None:
        got.extend((it.x, it.dump) for it in (one, *many))

    @app.tool(effect="read")
    def body(one: Annotated[Aliased, remit.Body], beside: int = 0) -> None:
        got.append((one.x, one.dump))

    return app, got


@pytest.mark.parametrize(
    ("tool", "sent", "want"),
    [
        ("f", {"externalX": 1}, 1),
        ("g", {"class": "c", "from": 2}, ("c", 2, "", "", "", "", "", "")),
        (
            "g",
            {
                "class": "c",
                "model_dump": "d",
                "schema": "s",
                "model_config": "m",
                "self": "me",
                "p0": "p",
                "_hidden": "h",
            },
            ("c", 0, "d", "s", "m", "me", "p", "h"),
        ),
        ("deep", {"one": {"externalX": 1, "model_dump": "d"}}, (1, "d")),
        ("body", {"externalX": 1, "model_dump": "d"}, (1, "d")),
    ],
)
async def test_fr_027_the_published_name_reaches_the_parameter(
    using: Using, tool: str, sent: dict[str, Any], want: Any
):
    app, got = aliasing()
    assert jsonschema_rs.is_valid(app.advertised(tool), sent)
    ok(await (await using(app)).call(tool, sent))
    assert got == [want]


@pytest.mark.parametrize(
    ("tool", "sent", "path", "name"),
    [
        ("f", {"x": 1}, "(root)", "x"),
        ("f", {"externalX": 1, "x": 1}, "(root)", "x"),
        ("g", {"class": "c", "class_": "c"}, "(root)", "class_"),
        ("deep", {"one": {"x": 1}}, "one", "x"),
        ("deep", {"one": {"externalX": 1, "x": 1}}, "one", "x"),
        (
            "deep",
            {"one": {"externalX": 1}, "many": [{"externalX": 1, "dump": ""}]},
            "many.0",
            "dump",
        ),
        ("body", {"x": 1}, "(root)", "x"),
        ("body", {"externalX": 1, "x": 1}, "(root)", "x"),
    ],
)
async def test_fr_027_the_python_name_is_no_key(
    using: Using, tool: str, sent: dict[str, Any], path: str, name: str
):
    app, got = aliasing()
    assert not jsonschema_rs.is_valid(app.advertised(tool), sent)
    outcome = await (await using(app)).call(tool, sent)
    assert (path, f"unrecognized_keys:{name}") in issues(outcome)
    assert got == []
    assert Aliased(x=2).x == 2, "the user's own class still takes both"


# FR-030 ------------------------------------------------------------------------------------------


class Job(BaseModel):
    id: str = Field(default_factory=lambda: uuid4().hex)
    log: list[str] = []


def jobs() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("jobs"), list[Any]()

    @app.tool(effect="read")
    def start(
        job_id: str = Field(default_factory=lambda: uuid4().hex),
        acc: list[str] = Field(default_factory=list),
        annotated: Annotated[list[str], Field(max_length=3)] = [],
        plain: list[str] = [],
        table: dict[str, list[str]] = {"k": []},
        job: Job = Field(default_factory=Job),
        preset: Job = Job(id="preset"),  # noqa: B008
        limit: int = Field(default=5, ge=1),
    ) -> None:
        values = [job_id, acc, annotated, plain, table, job, preset, limit]
        assert not [one for one in values if isinstance(one, FieldInfo)]
        found = (list(acc), list(annotated), list(plain), len(table["k"]), list(job.log))
        got.append((job_id, job.id, found, list(preset.log), limit))
        for one in (acc, annotated, plain, table["k"], job.log, preset.log):
            one.append("leak")

    return app, got


async def test_fr_030_each_call_has_defaults_of_its_own(using: Using):
    app, got = jobs()
    agent = await using(app)
    for one in (agent, agent.as_principal(RAVI), agent):
        ok(await one.call("start", {}))
    assert len({job_id for job_id, *_ in got}) == 3
    assert len({inner for _, inner, *_ in got}) == 3
    assert [rest for _, _, *rest in got] == [[([], [], [], 0, []), [], 5]] * 3


# FR-031 ------------------------------------------------------------------------------------------

Deps = dict[str, str]


class Asker(remit.Principal):
    """This module's annotations are postponed, as the report has it."""


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class Desk:
    def ask(self, q: Annotated[str, Field(description="d")], ctx: remit.Call[Asker, Deps]) -> str:
        return f"{q} {ctx.principal.subject}"

    @staticmethod
    def fixed(q: str, ctx: remit.Call[Asker, Deps]) -> str:
        return f"{q} {ctx.principal.subject}"

    @classmethod
    def classy(cls, q: str, ctx: remit.Call) -> str:
        return f"{q} {ctx.principal.subject}"

    def __call__(self, q: str, ctx: remit.Call) -> str:
        return f"{q} {ctx.principal.subject}"


def two(ctx: remit.Call[Asker, Deps], q: str, fixed: int) -> str:
    assert fixed == 1
    return f"{q} {ctx.principal.subject}"


def askers() -> tuple[remit.Remit, list[str]]:
    app = remit.Remit("askers", principal=Asker)

    class Local(BaseModel):
        q: str

    @app.tool(effect="read")
    def top(q: Annotated[str, Field(description="d")], ctx: remit.Call[Asker, Deps]) -> str:
        return f"{q} {ctx.principal.subject}"

    @app.tool(effect="read")
    def closure(body: Annotated[Local, remit.Body], ctx: remit.Call) -> str:
        return f"{body.q} {ctx.principal.subject}"

    @app.tool(effect="read")
    @logged
    def decorated(q: str, ctx: remit.Call[Asker, Deps]) -> str:
        return f"{q} {ctx.principal.subject}"

    @app.tool(effect="read")
    async def awaited(ctx: remit.Call[Asker, Deps], q: str) -> str:
        return f"{q} {ctx.principal.subject}"

    app.tool(effect="read", name="method")(Desk().ask)
    app.tool(effect="read", name="static")(Desk.fixed)
    app.tool(effect="read", name="classy")(Desk.classy)
    app.tool(effect="read", name="callable")(Desk())
    app.tool(effect="read", name="partial")(functools.partial(two, fixed=1))
    return app, list(app.tools)


async def test_fr_031_the_call_is_injected_and_never_published(using: Using):
    app, names = askers()
    assert len(names) == 9
    agent = await using(app)
    for name in names:
        properties = app.advertised(name)["properties"]
        if name == "partial":
            properties = {k: v for k, v in properties.items() if k != "fixed"}
        assert set(properties) == {"q"}, name
        assert ok(await agent.call(name, {"q": "hi"})) == f"hi {ASHA['sub']}", name
        outcome = await agent.call(name, {"q": "hi", "ctx": {"principal": {"sub": "x"}}})
        assert issues(outcome) == [("(root)", "unrecognized_keys:ctx")], name
    assert app.advertised("top")["properties"]["q"]["description"] == "d"


def test_fr_031_what_is_bound_already_is_no_argument():
    """What functools.partial has fixed is the author's: a caller can't send it (rule identity)."""
    app, _ = askers()
    assert set(app.advertised("partial")["properties"]) == {"q"}


def test_fr_031_a_name_that_is_not_there_at_run_time_is_refused_when_declared():
    app = remit.Remit("askers")

    def lost(ok: int, q: NotImported, ctx: remit.Call) -> str:  # type: ignore[name-defined]  # noqa: F821
        return ""

    with pytest.raises(remit.DeclarationError, match="NotImported") as caught:
        app.tool(effect="read")(lost)
    assert "lost" in str(caught.value)
    assert "'q'" in str(caught.value), "names the parameter"
    assert app.tools == {}


# FR-033 ------------------------------------------------------------------------------------------


class Window(BaseModel):
    low: Annotated[int, Field(ge=1, le=9)]
    name: Annotated[str, Field(pattern="^[a-z]+$", max_length=8)]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")
    mode: Literal["fast", "slow"] = "fast"
    window: Window | None = None


def shaped() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("shaped"), list[Any]()

    @app.tool(effect="write")
    def shape(
        settings: Settings,
        names: list[str] | None = None,
        table: dict[str, Window] | None = None,
        step: AddOrDrop | None = None,
        ratio: Annotated[float, Field(gt=0, description="Of the whole.")] = 0.5,
    ) -> Settings:
        got.append((settings, names, table, step, ratio))
        return settings

    return app, got


async def test_fr_033_the_listed_schema_is_the_canonical_one(over_mcp: Using):
    """Covers remit's own tools over MCP; a remote server's schema comes with the proxy."""
    app, _ = shaped()
    agent = await over_mcp(app)
    async with agent.client() as client:
        (tool,) = (await client.list_tools()).tools
    canonical = app.advertised("shape")
    assert tool.input_schema == json.loads(json.dumps(canonical))
    assert canonical["required"] == ["settings"]
    assert canonical["properties"]["ratio"] == {
        "type": "number",
        "exclusiveMinimum": 0,
        "description": "Of the whole.",
        "default": 0.5,
    }
    settings, window = (canonical["$defs"][name] for name in ("Settings", "Window"))
    assert settings["properties"]["mode"]["enum"] == ["fast", "slow"]
    assert settings["properties"]["window"]["anyOf"] == [
        {"$ref": "#/$defs/Window"},
        {"type": "null"},
    ]
    assert window["properties"]["low"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert window["properties"]["name"]["pattern"] == "^[a-z]+$"
    assert window["required"] == ["low", "name"]


async def test_fr_033_optional_objects_and_lists_take_objects_and_lists(using: Using):
    app, got = shaped()
    agent = await using(app)
    window = {"low": 1, "name": "w"}
    sent = {"settings": {"window": window}, "names": ["n"], "table": {"k": window}}
    assert jsonschema_rs.is_valid(app.advertised("shape"), sent)
    assert ok(await agent.call("shape", sent)) == {"mode": "fast", "window": window}
    assert got == [(Settings(window=Window(**window)), ["n"], {"k": Window(**window)}, None, 0.5)]
    for wrong, path in (
        ({"settings": {"window": {"low": 0, "name": "w"}}}, "settings.window.low"),
        ({"settings": {"window": {"low": 1, "name": "W"}}}, "settings.window.name"),
        ({"settings": {"mode": "Fast"}}, "settings.mode"),
        ({"settings": {}, "ratio": 0}, "ratio"),
    ):
        assert not jsonschema_rs.is_valid(app.advertised("shape"), wrong)
        outcome = await agent.call("shape", wrong)
        assert [found for found, _ in issues(outcome)] == [path]
        assert hint(outcome, path)
    assert len(got) == 1
