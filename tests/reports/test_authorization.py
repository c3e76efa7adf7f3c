"""Field reports of the kind authorization: one decision, denied by default, for list and call alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import remit
from remit.outcome import wire
from tests.reports.reach import ASHA, MCP, SURFACES, Using, ok, refused
from tests.reports.tokens import ACCEPT, served

pytestmark = pytest.mark.anyio

READER: dict[str, Any] = {**ASHA, "scope": "read"}
WRITER: dict[str, Any] = {**ASHA, "sub": "u_writer", "scope": "read write"}
BOTH = {"reader": READER, "writer": WRITER}


def scoped(missing: Any = "hide") -> tuple[remit.Remit, list[str]]:
    app, done = remit.Remit("scoped", missing_scope=missing), list[str]()

    @app.tool(effect="read", scopes={"read"})
    def a() -> str:
        done.append("a")
        return "a"

    @app.tool(effect="write", scopes={"write"})
    def b(number: int = 0) -> str:
        """Write what few may know of."""
        done.append("b")
        return "b"

    @app.tool(effect="write", scopes={"read", "write"})
    def both() -> str:
        done.append("both")
        return "both"

    @app.tool(effect="read")
    def anyone() -> str:
        return "anyone"

    return app, done


# FR-075 ------------------------------------------------------------------------------------------


async def test_fr_075_a_scope_is_required_of_each_tool_on_every_surface(using: Using):
    app, done = scoped()
    reader = await using(app, READER)
    assert set(await reader.tools()) == {"a", "anyone"}
    assert ok(await reader.call("a", {})) == "a"
    for tool in ("b", "both"):
        refused(await reader.call(tool, {}), "unknown_tool")
    writer = reader.as_principal(WRITER)
    assert set(await writer.tools()) == {"a", "b", "both", "anyone"}
    assert ok(await writer.call("b", {})) == "b"
    assert done == ["a", "b"]
    rules = {row.tool: row.rule for row in reader.app.audit.rows() if row.outcome != "ok"}
    assert rules == {"b": "scope:write", "both": "scope:write"}


@pytest.mark.parametrize(
    "scope",
    [
        "",
        "Read",
        "read,write",
        "readwrite",
        "read:all",
        "*",
        "write\u00a0read",
        ["read write"],
        ["*"],
    ],
)
async def test_fr_075_a_scope_is_matched_exactly(using: Using, scope: Any):
    app, done = scoped()
    agent = await using(app, {**ASHA, "scope": scope})
    assert set(await agent.tools()) == {"anyone"}
    for tool in ("a", "b", "both"):
        refused(await agent.call(tool, {}), "unknown_tool")
    assert done == []


@pytest.mark.parametrize("scope", [None, 5, {"read": True}, [5]])
async def test_fr_075_claims_of_another_type_are_no_scopes_and_no_principal(
    here: Using, scope: Any
):
    app, done = scoped()
    agent = await here(app, {**ASHA, "scope": scope})
    refused(await agent.call("a", {}), "unauthenticated")
    with pytest.raises(remit.Refused):
        await agent.tools()
    assert done == []


def test_fr_075_the_surfaces_tried_are_every_kind_there_is():
    """HTTP and SDK adapters join this list with the issues that build them."""
    assert {"python", "mcp", "mcp-http"} <= set(SURFACES)
    assert {"mcp-legacy", "mcp-stdio", "mcp-http-legacy"} <= set(MCP)


# FR-076 ------------------------------------------------------------------------------------------

ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"number": 1},
    {"number": "wrong"},
    {"undeclared": 1},
    {"note": "x" * 1_200_000},
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=range(len(ARGUMENTS)))
@pytest.mark.parametrize("key", [None, "k", "k" * 300])
async def test_fr_076_a_hidden_tool_answers_like_none_byte_for_byte(
    over_mcp: Using, arguments: dict[str, Any], key: str | None
):
    app, done = scoped()
    agent = await over_mcp(app, READER)
    meta: Any = None if key is None else {"remit/idempotency-key": key}
    async with agent.client() as client:
        answers = [
            (await client.call_tool(name, arguments, meta=meta)).model_dump_json()
            for name in ("b", "both", "c", "nowhere")
        ]
    assert len(set(answers)) == 1
    assert json.loads(answers[0])["is_error"] is True
    assert done == []


async def test_fr_076_so_does_one_hidden_by_a_rule_without_words(using: Using):
    app = remit.Remit("ruled")

    @app.tool(effect="read", require=remit.Require(lambda call: call.principal.subject == "root"))
    def secret() -> str:
        return "s"

    agent = await using(app)
    hidden, none = await agent.call("secret", {}), await agent.call("nowhere", {})
    assert wire(hidden) == wire(none)
    assert hidden.meta.keys() == none.meta.keys() <= {"call_id"}  # each call has an id of its own
    assert await agent.tools() == []


async def test_fr_076_a_challenge_says_which_scope_and_hides_nothing(using: Using):
    """Covers the result that MCP and Python get; 403 comes with the HTTP surface."""
    app, done = scoped("challenge")
    agent = await using(app, READER)
    assert set(await agent.tools()) == {"a", "b", "both", "anyone"}
    for tool in ("b", "both"):
        outcome = refused(await agent.call(tool, {"number": "wrong"}), "forbidden")
        assert "write" in outcome.message
    assert refused(await agent.call("nowhere", {}), "unknown_tool")
    assert done == []


def test_fr_076_there_is_no_third_policy():
    for wrong in ("", "Hide", "show", None, True):
        with pytest.raises(remit.DeclarationError, match="missing_scope"):
            remit.Remit("app", missing_scope=wrong)  # type: ignore[arg-type]


# FR-077 ------------------------------------------------------------------------------------------


async def callable_of(agent: Any, names: set[str]) -> set[str]:
    """Return which of *names* this agent can call."""
    return {name for name in names if (await agent.call(name, {})).ok}


async def test_fr_077_what_is_listed_is_what_can_be_called(using: Using):
    app, _ = scoped()
    first = await using(app, READER)
    for claims in (READER, WRITER, ASHA, {**ASHA, "scope": "write"}, READER):
        agent = first.as_principal(claims)
        listed = set(await agent.tools())
        assert listed == await callable_of(agent, set(app.tools))


async def test_fr_077_no_list_is_kept_for_another_caller():
    app, _ = scoped()
    async with served(app, BOTH) as (wire_, made):
        for token in ("writer", "reader", "writer", "reader", "reader", "writer"):
            want = {"a", "anyone"} | ({"b", "both"} if token == "writer" else set())
            assert await wire_.tools(token) == want
        answer = await wire_.post("reader", "tools/list", {})
        assert "few may know" not in answer.text
        assert answer.json()["result"]["cacheScope"] == "private"
        assert made.audit.rows() == []


async def test_fr_077_the_list_follows_a_rule_that_changes_its_mind(using: Using):
    app, open_now = remit.Remit("ruled"), [False]

    @app.tool(effect="read", require=remit.Require(lambda _: open_now[0]))
    def sometimes() -> str:
        return "now"

    @app.tool(effect="read", require=remit.Require(lambda call: call.principal.subject == "u_asha"))
    def hers() -> str:
        return "hers"

    asha = await using(app)
    other = asha.as_principal({**ASHA, "sub": "u_other"})
    for state in (False, True, False):
        open_now[0] = state
        for agent, own in ((asha, {"hers"}), (other, set[str]())):
            want = own | ({"sometimes"} if state else set())
            assert set(await agent.tools()) == want
            assert await callable_of(agent, set(app.tools)) == want


# FR-079 ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/mcp2",
        "/MCP",
        "/mcp/other",
        "/mcp/servers/unknown",
        "/mcp%2Fother",
        "/servers//mcp",
        "/%00",
    ],
)
async def test_fr_079_a_path_that_is_no_server_s_gives_no_tool(path: str):
    app, done = scoped()
    async with served(app, BOTH) as (wire_, made):
        headers = {**ACCEPT, "Authorization": "Bearer writer", "Mcp-Method": "tools/list"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        for method in ("POST", "GET", "DELETE"):
            body = {"json": message} if method == "POST" else {}
            answer = await wire_.http.request(method, path, headers=headers, **body)
            assert answer.status_code == 404, answer.text
            assert "anyone" not in answer.text
        assert made.audit.rows() == []
    assert done == []


@pytest.mark.parametrize(
    "name",
    [
        "",
        "A",
        " a",
        "a ",
        "a\x00",
        "a/",
        "a%00",
        "%61",
        "*",
        "a*",
        ".*",
        "\uff41",
        "a,b",
        "blog/a",
        "__init__",
    ],
)
async def test_fr_079_a_name_that_is_almost_a_tool_s_is_no_tool(using: Using, name: str):
    app, done = scoped()
    outcome = refused(await (await using(app, WRITER)).call(name, {}), "unknown_tool")
    assert outcome.issues == []
    assert done == []


def broken(_: remit.Call) -> bool:
    raise LookupError("the policy's store is away")


async def late(_: remit.Call) -> bool:
    raise LookupError("the policy's store is away")


RULES: list[Callable[..., Any]] = [
    broken,
    late,
    lambda _: None,
    lambda _: "yes",
    lambda _: 1,
    lambda _: ["u_asha"],
    lambda _: object(),
    lambda _: (_ for _ in ()),
]


@pytest.mark.parametrize("rule", RULES, ids=range(len(RULES)))
async def test_fr_079_a_rule_that_fails_or_says_anything_but_true_lets_nobody_in(
    using: Using, rule: Any
):
    app, done = remit.Remit("failing"), list[str]()

    @app.tool(effect="write", require=remit.Require(rule))
    def guarded() -> None:
        done.append("guarded")

    agent = await using(app)
    assert await agent.tools() == []
    assert not (await agent.call("guarded", {})).ok
    assert done == []
    assert [row.outcome == "ok" for row in agent.app.audit.rows()] == [False]


@pytest.mark.parametrize(
    "options",
    [
        {"scope": {"read"}},
        {"toolset": "x"},
        {"scopes": {"raed"}},
        {"scopes": "read"},
        {"scopes": {""}},
        {"scopes": ["read"]},
        {"require": lambda _: True},
        {"public": "no"},
        {"public": True, "scopes": {"read"}},
    ],
)
def test_fr_079_an_unknown_or_malformed_filter_is_refused_when_declared(options: dict[str, Any]):
    app = remit.Remit("strict", scopes={"read", "write"})

    def tool() -> None: ...

    with pytest.raises(remit.DeclarationError):
        app.tool(effect="read", **options)(tool)
    assert app.tools == {}
