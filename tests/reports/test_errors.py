"""Field reports of the kind errors: what went wrong and what to do, and nothing that was sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretBytes, SecretStr
from pydantic_core import PydanticCustomError

import remit
from remit.auth import JWT
from remit.outcome import MAX_ISSUES, wire
from tests.reports import desk
from tests.reports.reach import ASHA, Using, hint, issues, ok, refused, sent

pytestmark = pytest.mark.anyio

SECRET = "hunter2-correct-horse"


def everywhere(outcome: remit.Outcome, agent: Any, caplog: pytest.LogCaptureFixture) -> str:
    """Return all that left and all that was kept of the calls so far, as text to search."""
    logged = [
        f"{record.getMessage()} {record.exc_text or ''} {vars(record)}" for record in caplog.records
    ]
    rows = [repr(row) for row in agent.app.audit.rows()]
    return "\n".join([sent(outcome), repr(outcome), str(outcome), *logged, *rows])


# FR-057 ------------------------------------------------------------------------------------------


class Holder(remit.Principal):
    api_key: SecretStr = SecretStr("")


@dataclass
class Config:
    """What a careless author gives as deps: its own repr shows all."""

    dsn: str


HOLDER: dict[str, Any] = {**ASHA, "api_key": SECRET}


async def test_fr_057_no_public_object_shows_a_secret_it_holds(using: Using):
    app, seen = remit.Remit("holder", principal=Holder), list[Any]()

    @app.tool(effect="read", scopes=set())
    def look(call: remit.Call[Holder, Config], word: str = SECRET) -> None:
        assert (call.deps.dsn, call.principal.api_key.get_secret_value()) == (SECRET, SECRET)
        seen.extend([call, call.principal])

    @app.after_call
    def watch(event: remit.Event) -> None:
        seen.append(event)

    agent = await using(app, HOLDER, deps=Config(SECRET))
    ok(await agent.call("look", {}, idempotency_key=SECRET))
    objects = [
        *seen,
        app,
        agent.app,
        agent.app.tools["look"],
        agent.app.approvals,
        agent.app.audit,
        agent.app.audit.rows()[0],
        remit.Remit("stored", store=f"postgresql://app:{SECRET}@db.invalid/app"),
        JWT(issuer="https://id.example", audience="remit", key=SECRET * 3, algorithms=["HS256"]),
    ]
    assert len(objects) > 10
    for one in objects:
        for text in (repr(one), str(one), f"{one}", f"{one!r}"):
            assert SECRET not in text, type(one)


@pytest.mark.parametrize("missing", ["hide", "challenge"])
async def test_fr_057_a_forbidden_tool_s_refusal_names_no_tool_and_no_setting(
    using: Using, missing: Any
):
    app = remit.Remit(
        "vaults", missing_scope=missing, store=f"postgresql://app:{SECRET}@db.invalid/a"
    )

    @app.tool(effect="read", scopes={"vault:read"})
    def open_vault() -> str:
        """Read what only few may know of."""
        return SECRET

    @app.tool(effect="read", scopes={"cellar:read"})
    def open_cellar() -> str:
        return SECRET

    @app.tool(effect="read", require=remit.Require(lambda _: False, otherwise="Ask an editor."))
    def edit() -> str:
        return SECRET

    agent = await using(app)
    for tool in ("open_vault", "edit"):
        outcome = await agent.call(tool, {})
        assert not outcome.ok
        text = sent(outcome)
        assert not [
            word
            for word in (
                SECRET,
                "open_cellar",
                "cellar:read",
                "open_vault",
                "few may know",
                "sqlite",
            )
            if word in text
        ]


# FR-058 ------------------------------------------------------------------------------------------

Password = Annotated[SecretStr, Field(min_length=50)]


class Login(BaseModel):
    user: str
    password: Password
    pin: SecretBytes | None = None


class Deep(BaseModel):
    login: Login
    logins: list[Login] = []
    by: dict[str, Login] = {}


def vault() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("vault"), list[Any]()

    @app.tool(effect="write")
    def login(who: str, password: Password, pin: SecretBytes | None = None) -> None:
        got.append(password)

    @app.tool(effect="write")
    def body(it: Annotated[Login, remit.Body]) -> None:
        got.append(it)

    @app.tool(effect="write")
    def deep(it: Deep) -> None:
        got.append(it)

    return app, got


LONG = SECRET * 3


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "code"),
    [
        ("login", {"who": "u", "password": SECRET}, "password", "too_short"),
        ("login", {"password": LONG}, "who", "missing"),
        ("login", {"who": "u", "password": [LONG]}, "password", "string_type"),
        ("login", {"who": "u", "password": {LONG: 1}}, "password", "string_type"),
        ("login", {"who": "u", "password": LONG, "pin": [LONG]}, "pin", "bytes_type"),
        (
            "login",
            {"who": "u", "password": LONG, "passwd": LONG},
            "(root)",
            "unrecognized_keys:passwd",
        ),
        ("login", {"who": {"a": LONG}, "password": LONG}, "who", "string_type"),
        ("body", {"user": "u", "password": SECRET}, "password", "too_short"),
        ("body", {"password": LONG}, "user", "missing"),
        (
            "deep",
            {"it": {"login": {"user": "u", "password": SECRET}}},
            "it.login.password",
            "too_short",
        ),
        ("deep", {"it": {"login": {"password": LONG}}}, "it.login.user", "missing"),
        ("deep", {"it": {"login": LONG}}, "it.login", "model_type"),
        ("deep", {"it": [{"login": {"password": LONG}}]}, "it", "model_type"),
        (
            "deep",
            {
                "it": {
                    "by": {"home": {"user": 1, "password": LONG}},
                    "login": {"user": "u", "password": LONG},
                }
            },
            "it.by.home.user",
            "string_type",
        ),
        (
            "deep",
            {"it": {"logins": [LONG], "login": {"user": "u", "password": LONG}}},
            "it.logins.0",
            "model_type",
        ),
    ],
)
async def test_fr_058_a_secret_is_in_nothing_that_leaves_or_is_kept(
    using: Using,
    caplog: pytest.LogCaptureFixture,
    tool: str,
    arguments: dict[str, Any],
    path: str,
    code: str,
):
    app, got = vault()
    events = list[Any]()
    app.after_call(events.append)
    agent = await using(app)
    with caplog.at_level(logging.DEBUG, logger="remit"):
        outcome = await agent.call(tool, arguments)
    found = issues(outcome)
    assert (path, code) in found, found
    text = everywhere(outcome, agent, caplog) + repr(events)
    assert SECRET not in text
    if path.rsplit(".", maxsplit=1)[-1] in ("password", "pin"):
        assert "received" not in hint(outcome, path), "not even its length"
    assert got == []


def test_fr_058_the_schema_tells_which_values_are_secret():
    app, _ = vault()
    password = app.advertised("login")["properties"]["password"]
    assert password["writeOnly"] is True
    assert password["minLength"] == 50


# FR-059 ------------------------------------------------------------------------------------------


def says_value(value: Any) -> Any:
    raise ValueError(f"can't take {value!r}")


def asserts_value(value: Any) -> Any:
    raise AssertionError(f"can't take {value!r}")


def custom(value: Any) -> Any:
    raise PydanticCustomError("bad_word", "can't take {value}", {"value": value})


def custom_limit(value: Any) -> Any:
    raise PydanticCustomError("string_too_short", "short: {min_length}", {"min_length": value})


def custom_expected(value: Any) -> Any:
    raise PydanticCustomError("literal_error", "not {expected}", {"expected": value})


def named_after(value: Any) -> Any:
    raise PydanticCustomError("bad " + str(value), "no")  # type: ignore[arg-type]


CHECKS = (says_value, asserts_value, custom, custom_limit, custom_expected, named_after)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", [AfterValidator, BeforeValidator])
async def test_fr_059_a_validator_s_words_and_context_stay_inside(
    using: Using, caplog: pytest.LogCaptureFixture, check: Any, kind: Any
):
    app, got = remit.Remit("checked"), list[Any]()
    checked = Annotated[str, kind(check)]

    @app.tool(effect="write")
    def take(word: checked, words: list[checked] = []) -> None:  # type: ignore[valid-type]
        got.append(word)

    agent = await using(app)
    with caplog.at_level(logging.DEBUG, logger="remit"):
        outcome = await agent.call("take", {"word": SECRET, "words": [SECRET]})
    assert [path for path, _ in issues(outcome)] == ["word", "words.0"]
    assert SECRET not in everywhere(outcome, agent, caplog)
    assert "can't take" not in sent(outcome)
    assert got == []


async def test_fr_059_nor_does_pydantic_s_own_text_leave(using: Using):
    app, _ = vault()
    outcome = await (await using(app)).call("login", {"who": 5, "password": SECRET})
    text = sent(outcome)
    assert not [
        word
        for word in (
            "input_value",
            "input_type",
            "errors.pydantic.dev",
            "validation error",
            "Input should",
        )
        if word in text
    ]


# FR-060 ------------------------------------------------------------------------------------------


def writer() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("writer"), list[Any]()

    @app.tool(effect="write")
    def write(content: str, count: int = 1, tags: list[str] = []) -> None:
        got.append(content)

    return app, got


@pytest.mark.parametrize(
    ("arguments", "path", "code", "words"),
    [
        ({}, "content", "missing", ["required", "received", "0 keys"]),
        ({"count": 2}, "content", "missing", ["required", "received", "1 key"]),
        ({"content": "x", "count": "abc"}, "count", "int_type", ["an integer", "text of length 3"]),
        ({"content": 7}, "content", "string_type", ["a text", "received an integer"]),
        ({"content": None}, "content", "string_type", ["a text", "received null"]),
        ({"content": ["a", "b"]}, "content", "string_type", ["a text", "array of 2"]),
        ({"content": "x", "tags": "a"}, "tags", "list_type", ["a JSON array", "text of length 1"]),
        (
            {"content": "x", "kontent": 1},
            "(root)",
            "unrecognized_keys:kontent",
            ["content", "count"],
        ),
    ],
)
async def test_fr_060_a_refusal_says_what_came_by_its_shape(
    using: Using, arguments: dict[str, Any], path: str, code: str, words: list[str]
):
    """Shapes only: the report would echo short values, and law L8 takes none."""
    app, got = writer()
    outcome = await (await using(app)).call("write", arguments)
    assert issues(outcome) == [(path, code)]
    assert all(word in hint(outcome, path) for word in words), hint(outcome, path)
    assert got == []


# FR-061 ------------------------------------------------------------------------------------------


class Narrow(BaseModel):
    words: list[Annotated[str, Field(max_length=3)]]
    count: int = 0


@pytest.mark.parametrize(
    ("arguments", "more"),
    [
        ({"it": {"words": [SECRET * 60] * 30}}, 25),
        ({"it": {"words": [SECRET * 60] * 600}}, 595),
        ({"it": {"words": "x" * 40_000}}, 0),
        ({"it": {"words": [], **{f"k{i:04}" * 20: 1 for i in range(500)}}}, 0),
    ],
)
async def test_fr_061_one_refusal_holds_five_issues_and_a_count(
    using: Using, arguments: dict[str, Any], more: int
):
    app, got = remit.Remit("narrow"), list[Any]()

    @app.tool(effect="write")
    def take(it: Narrow) -> None:
        got.append(it)

    outcome = refused(await (await using(app)).call("take", arguments))
    assert len(outcome.issues) == min(MAX_ISSUES, more + 1)
    assert outcome.more == more
    assert len(json.dumps(wire(outcome)).encode()) < 4_096
    assert SECRET not in sent(outcome)
    assert got == []


# FR-063 ------------------------------------------------------------------------------------------


def failing() -> remit.Remit:
    app = remit.Remit("failing")

    @app.tool(effect="read")
    def takes(number: int) -> int:
        if number < 0:
            raise RuntimeError(SECRET)
        return number

    @app.tool(effect="read", scopes={"vault:read"})
    def hidden() -> None: ...

    @app.tool(effect="read", require=remit.Require(lambda _: False, otherwise="Switched off."))
    def disabled() -> None: ...

    return app


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("takes", {}, "invalid_arguments"),
        ("takes", {"number": "5"}, "invalid_arguments"),
        ("nowhere", {}, "unknown_tool"),
        ("hidden", {}, "unknown_tool"),
        ("disabled", {}, "forbidden"),
        ("takes", {"number": -1}, "internal"),
    ],
)
async def test_fr_063_what_a_model_can_act_on_is_a_result_marked_as_an_error(
    over_mcp: Using, tool: str, arguments: dict[str, Any], code: str
):
    """Covers MCP and, below, the command; HTTP statuses come with the HTTP surface."""
    agent = await over_mcp(failing())
    async with agent.client() as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error is True
    shown = json.loads(result.content[0].text)
    assert (shown["ok"], shown["code"]) == (False, code)
    assert shown["message"]


@pytest.mark.parametrize(
    "params",
    [
        {"name": "takes", "arguments": [1]},
        {"name": "takes", "arguments": "number=1"},
        {"arguments": {"number": 1}},
        {"name": 5, "arguments": {}},
    ],
)
async def test_fr_063_a_malformed_envelope_alone_is_a_protocol_error(
    here: Using, params: dict[str, Any]
):
    agent = await here(failing(), None)
    served = agent.app.mcp_app(stateless=True, json_response=True)
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": str(params.get("name", "")),
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {**params, "_meta": envelope},
    }
    transport = httpx2.ASGITransport(served)
    async with (
        served.router.lifespan_context(served),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http,
    ):
        answer = (await http.post("/mcp", json=message, headers=headers)).json()
    assert "result" not in answer, answer
    assert answer["error"]["code"] < 0, answer
    assert SECRET not in json.dumps(answer)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code"),
    [
        (["add", "--json", '{"number": "x"}'], 2, "invalid_arguments"),
        (["add", "--json", '{"numbr": 1}'], 2, "invalid_arguments"),
        (["nowhere", "--claims", '{"sub": "u"}'], 4, "unknown_tool"),
        (["vault", "--claims", '{"sub": "u"}'], 4, "unknown_tool"),
        (["vault"], 5, "unauthenticated"),
        (["broken"], 1, "internal"),
        (["closed"], 1, "closed"),
    ],
)
def test_fr_063_the_command_ends_with_a_code_for_each(
    shell: Callable[..., Any], arguments: list[str], exit_code: int, code: str
):
    ended = shell(*arguments)
    assert ended.exit_code == exit_code, ended.output
    assert code in ended.output
    assert desk.SECRET not in ended.stdout


# FR-064 ------------------------------------------------------------------------------------------


async def test_fr_064_raising_is_the_one_way_to_fail_and_sets_the_flag(over_mcp: Using):
    """Covers tools of the author's own; that a relayed flag is kept belongs to the proxy, and
    naming tools which return their errors as text to the linter.
    """
    agent = await over_mcp(desk.app)
    async with agent.client() as client:
        flags = {
            name: (await client.call_tool(name, {})).is_error
            for name in ("add", "broken", "closed", "says_error")
        }
    assert flags == {"add": False, "broken": True, "closed": True, "says_error": False}
    assert [row.outcome for row in agent.app.audit.rows()] == ["ok", "internal", "closed", "ok"]


async def test_fr_064_a_code_of_success_can_not_be_refused_with(here: Using):
    """A refusal whose code reads as success would be taken for one."""
    app = remit.Remit("liar")
    codes = iter(["ok", "awaiting_approval"])

    @app.tool(effect="read")
    def lie() -> None:
        raise remit.Refused(next(codes), "All is well.")

    agent = await here(app)
    for _ in range(2):
        outcome = await agent.call("lie", {})
        assert not outcome.ok
        assert outcome.code not in ("ok", "awaiting_approval")
    assert {row.outcome for row in agent.app.audit.rows()}.isdisjoint({"ok", "awaiting_approval"})


def test_fr_064_the_command_writes_errors_to_stderr_and_ends_in_failure(shell: Callable[..., Any]):
    for tool in ("broken", "closed"):
        ended = shell(tool)
        assert ended.exit_code != 0
        assert ended.stderr
    fine = shell("add")
    assert (fine.exit_code, fine.stderr) == (0, "")


# FR-065 ------------------------------------------------------------------------------------------


class Closed(Exception):
    pass


class VeryClosed(Closed):
    pass


def shop(fail: Callable[[], BaseException]) -> remit.Remit:
    app = remit.Remit("shop")

    @app.tool(effect="write", errors={Closed: remit.Refused("closed", "The customer is closed.")})
    def sell(customer_no: int) -> None:
        raise fail()

    return app


@pytest.mark.parametrize(
    ("fail", "code", "message"),
    [
        (
            lambda: remit.Refused("closed", "Customer 12 is closed"),
            "closed",
            "Customer 12 is closed",
        ),
        (lambda: remit.Refused("closed"), "closed", ""),
        (lambda: Closed(SECRET), "closed", "The customer is closed."),
        (lambda: VeryClosed(SECRET), "closed", "The customer is closed."),
    ],
)
async def test_fr_065_the_author_s_own_words_pass(using: Using, fail: Any, code: str, message: str):
    agent = await using(shop(fail))
    outcome = refused(await agent.call("sell", {"customer_no": 12}), code)
    assert outcome.message == message
    assert SECRET not in sent(outcome)
    assert [row.outcome for row in agent.app.audit.rows()] == [code]


@pytest.mark.parametrize(
    "fail",
    [
        lambda: RuntimeError(SECRET),
        lambda: KeyError(SECRET),
        lambda: OSError(2, SECRET),
        lambda: ExceptionGroup(SECRET, [Closed(SECRET)]),
        lambda: SystemExit(SECRET),
        lambda: TimeoutError(SECRET),
        lambda: StopIteration(SECRET),
    ],
)
async def test_fr_065_any_other_exception_is_masked_and_logged_under_its_reference(
    using: Using, caplog: pytest.LogCaptureFixture, fail: Any
):
    agent = await using(shop(fail))
    with caplog.at_level(logging.ERROR, logger="remit"):
        outcome = refused(await agent.call("sell", {"customer_no": 12}), "internal")
    assert SECRET not in sent(outcome)
    assert outcome.reference
    assert outcome.reference in outcome.message
    logged = [record for record in caplog.records if outcome.reference in record.getMessage()]
    assert len(logged) == 1
    assert SECRET in caplog.text, "the operator reads what happened"


async def test_fr_065_public_words_are_bounded_and_hold_nothing_unseen(using: Using):
    words = f"Closed\u202e\u200b {'x' * 50_000}"
    agent = await using(shop(lambda: remit.Refused("closed", words, retry_after=30)))
    outcome = refused(await agent.call("sell", {"customer_no": 12}), "closed")
    assert len(outcome.message) <= 1_000
    assert outcome.message.startswith("Closed")
    assert outcome.retry_after == 30
    assert not {"\u202e", "\u200b"} & set(outcome.message)


def test_fr_065_the_mapping_is_checked_where_it_is_declared():
    app = remit.Remit("shop")

    def sell() -> None: ...

    wrong: list[Any] = [
        {"Closed": remit.Refused("closed")},
        {Closed: "closed"},
        {Closed: remit.Refused("internal")},
    ]
    for errors in wrong:
        with pytest.raises(remit.DeclarationError, match="errors"):
            app.tool(effect="read", errors=errors)(sell)
    with pytest.raises(ValueError, match="succeeded"):
        remit.Refused("ok")
    assert MCPError not in app.tools
