"""Streamable HTTP: who gets in, who they are then, and the app inside another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.routing import Mount

import remit
from remit.auth import JWT, Dev
from remit.surfaces.mcp import hosting, server

pytestmark = pytest.mark.anyio

ERAS = ("2026-07-28", "legacy")
ADDRESS = "http://127.0.0.1:8000"
RESOURCE = f"{ADDRESS}/mcp"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    return request.param


KEY = Dev(audience=RESOURCE)


def declared(**options: Any) -> remit.Remit:
    app = remit.Remit("blog", version="1", store="sqlite://", **options)

    @app.tool(effect="read", scopes={"posts:read"})
    async def whoami(call: remit.Call, delay: int = 0) -> dict[str, str]:
        """Say who calls."""
        for _ in range(delay):
            await asyncio.sleep(0)
        return {"subject": call.principal.subject, "client": call.client, "all": repr(call)}

    @app.tool(effect="read", public=True)
    async def ping(call: remit.Call[remit.Principal | None]) -> str:
        """Answer anyone."""
        return "pong"

    @app.tool(effect="read", public=True)
    async def counted(call: remit.Call[remit.Principal | None], to: int) -> int:
        """Count, and say so."""
        for n in range(to):
            await call.progress(n + 1, to)
        return to

    return app


async def start(app: remit.Remit) -> None:
    """Keep *app* open when its lifespan ends, for what was recorded."""
    await app.start()


def token(subject: str = "u_asha", **options: Any) -> str:
    return KEY.token(subject, **{"scopes": ["posts:read"], "client": "desk", **options})


@asynccontextmanager
async def http(
    asgi: Any, lifespan: Any = None, **headers: str
) -> AsyncIterator[httpx2.AsyncClient]:
    """Yield an HTTP client of *asgi*, whose lifespan runs meanwhile."""
    running = lifespan() if lifespan else asgi.router.lifespan_context(asgi)
    transport = httpx2.ASGITransport(asgi)
    async with running, httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers) as made:  # fmt: skip
        yield made


@asynccontextmanager
async def connected(
    made: httpx2.AsyncClient, era: str, url: str = RESOURCE
) -> AsyncIterator[Client]:
    async with Client(streamable_http_client(url, http_client=made), mode=era) as client:
        yield client


def bearer(raw: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {raw}"}


LIST: dict[str, Any] = {
    "headers": {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/list",
    },
    "json": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        },
    },
}


async def listed(made: httpx2.AsyncClient, path: str = "/mcp", **headers: str) -> Any:
    return await made.post(path, json=LIST["json"], headers={**LIST["headers"], **headers})


# Who gets in. -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stateless", [True, False])
@pytest.mark.parametrize("json_response", [True, False])
async def test_a_caller_is_who_its_token_says(
    era: str, stateless: bool, json_response: bool
) -> None:
    app = declared()
    await start(app)
    asgi = app.mcp_app(auth=KEY.verifier, stateless=stateless, json_response=json_response)
    async with http(asgi, **bearer(token())) as made, connected(made, era) as client:
        got = await client.call_tool("whoami", {})
        assert [one.name for one in (await client.list_tools()).tools] == ["whoami", "ping", "counted"]  # fmt: skip
    assert got.structured_content is not None
    assert got.structured_content["subject"] == "u_asha"
    assert token().split(".")[2] not in got.structured_content["all"]
    (row,) = app.audit.rows()
    assert (row.principal, row.client, row.surface) == ("u_asha", "desk", "mcp")
    await app.close()


async def test_no_token_is_told_where_to_get_one() -> None:
    async with http(declared().mcp_app(auth=KEY.verifier)) as made:
        got = await listed(made)
        assert got.status_code == 401
        asked = got.headers["WWW-Authenticate"]
        where = f"{ADDRESS}/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{where}"' in asked
        said = (await made.get(where)).json()
    assert said["resource"] == RESOURCE
    assert said["authorization_servers"] == [KEY.verifier.issuer]
    assert said["scopes_supported"] == ["posts:read"]
    assert said["bearer_methods_supported"] == ["header"]


@pytest.mark.parametrize(
    "value",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        f"Basic {token()}",
        f"Bearer {Dev(audience=RESOURCE).token('u_asha')}",
        f"Bearer {token()[:-4]}",
    ],
    ids=["empty", "bare", "no token", "nonsense", "basic", "another key", "cut off"],
)
async def test_anything_but_a_valid_token_is_401(value: str) -> None:
    async with http(declared().mcp_app(auth=KEY.verifier)) as made:
        assert (await listed(made, Authorization=value)).status_code == 401


async def test_two_tokens_are_none() -> None:
    async with http(declared().mcp_app(auth=KEY.verifier)) as made:
        headers = [*LIST["headers"].items(), *(2 * list(bearer(token()).items()))]
        assert (await made.post("/mcp", json=LIST["json"], headers=headers)).status_code == 401


async def test_a_token_for_another_server_is_401() -> None:
    """The same issuer and key; the token was made for somebody else's API."""
    here = JWT(
        issuer=KEY.verifier.issuer,
        audience=f"{ADDRESS}/other",
        key=KEY.public,
        algorithms=["EdDSA"],
    )
    async with http(declared().mcp_app(auth=here)) as made:
        assert (await listed(made, **bearer(token()))).status_code == 401


async def test_a_scope_that_every_token_needs() -> None:
    asgi = declared().mcp_app(auth=KEY.verifier, required_scopes=["mcp"])
    async with http(asgi) as made:
        got = await listed(made, **bearer(token()))
        assert got.status_code == 403
        assert "insufficient_scope" in got.headers["WWW-Authenticate"]
        assert (await listed(made, **bearer(token(scopes=["mcp"])))).status_code == 200


class Odd:
    """A verifier that does what verifiers shouldn't."""

    issuer, audience = "https://i.example", RESOURCE

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def verify(self, token: str, /) -> Mapping[str, Any] | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("s3cret"), {}, {"sub": ""}, {"sub": 7}, {"sub": None}, [], "u_asha", True, False],
    ids=repr,
)
async def test_a_verifier_that_fails_has_verified_nothing(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with http(declared().mcp_app(auth=Odd(answer))) as made:
        got = await listed(made, **bearer("x"))
    assert got.status_code == 401
    assert "s3cret" not in got.text + caplog.text


async def test_without_auth_everyone_is_nobody(era: str) -> None:
    asgi = declared().mcp_app()
    async with http(asgi, **bearer(token())) as made, connected(made, era) as client:
        assert [one.name for one in (await client.list_tools()).tools] == ["ping", "counted"]
        refused = await client.call_tool("whoami", {})
        assert '"unauthenticated"' in refused.content[0].text  # type: ignore[union-attr]
        assert (await client.call_tool("ping", {})).structured_content == {"result": "pong"}
        assert (await made.get("/.well-known/oauth-protected-resource/mcp")).status_code == 404


async def test_a_fixed_identity_is_never_used_over_http(era: str) -> None:
    made_by_hand = server(declared(), claims={"sub": "u_operator", "scope": "posts:read"})
    asgi = made_by_hand.streamable_http_app(stateless_http=True, json_response=True)
    async with http(asgi) as made, connected(made, era) as client:
        refused = await client.call_tool("whoami", {})
    assert '"unauthenticated"' in refused.content[0].text  # type: ignore[union-attr]


@pytest.mark.slow
async def test_fifty_principals_at_once_stay_themselves(era: str) -> None:
    app = declared()
    await start(app)
    async with http(app.mcp_app(auth=KEY.verifier)) as made:
        transport = made._transport

        async def one(n: int) -> None:
            mine = httpx2.AsyncClient(
                transport=transport, base_url=ADDRESS, headers=bearer(token(f"u_{n}"))
            )
            async with connected(mine, era) as client:
                for delay in range(4):
                    got = await client.call_tool("whoami", {"delay": delay * 3})
                    assert got.structured_content is not None
                    assert got.structured_content["subject"] == f"u_{n}"

        await asyncio.gather(*(one(n) for n in range(50)))
    assert len(app.audit.rows(limit=1000)) == 200
    await app.close()


async def test_a_session_is_its_principals_and_outlives_a_token() -> None:
    """Owned by client, issuer and subject: a refreshed token goes on, another person's finds nothing."""
    initialize = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    tools = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with http(declared().mcp_app(auth=KEY.verifier, stateless=False)) as made:
        begun = await made.post("/mcp", json=initialize, headers={**accept, **bearer(token())})
        session = {
            **accept,
            "Mcp-Session-Id": begun.headers["mcp-session-id"],
            "MCP-Protocol-Version": "2025-11-25",
        }
        refreshed = token(seconds=7200)
        assert refreshed != token()
        for raw, status in (
            (refreshed, 200),
            (token("u_ben"), 404),
            (token(client="other"), 404),
            (token(), 200),
        ):
            got = await made.post("/mcp", json=tools, headers={**session, **bearer(raw)})
            assert got.status_code == status, raw


# Host and Origin. ---------------------------------------------------------------------------------


async def test_host_and_origin_are_always_checked() -> None:
    for auth in (KEY.verifier, None):
        async with http(declared().mcp_app(auth=auth), **bearer(token())) as made:
            assert (await listed(made)).status_code == 200
            assert (await listed(made, Host="evil.example")).status_code == 421
            assert (await listed(made, Host="127.0.0.1.evil.example")).status_code == 421
            assert (await listed(made, Origin="https://evil.example")).status_code == 403
            assert (await listed(made, Origin="null")).status_code == 403
            assert (await listed(made, Origin="http://localhost:5173")).status_code == 200


async def test_the_public_address_is_a_host_of_its_own() -> None:
    asgi = declared().mcp_app(auth=KEY.verifier, resource_url="https://api.example.com/mcp")
    async with http(asgi, **bearer(token())) as made:
        assert (await listed(made, Host="api.example.com")).status_code == 200
        got = await listed(made, Host="api.example.com", Origin="https://api.example.com")
        assert got.status_code == 200
        assert (await listed(made, Host="api.example.com.evil.example")).status_code == 421


async def test_named_hosts_are_those_and_no_others() -> None:
    asgi = declared().mcp_app(allowed_hosts=["blog.example:*"], allowed_origins=[])
    async with http(asgi) as made:
        assert (await listed(made, Host="blog.example:8443")).status_code == 200
        assert (await listed(made, Host="127.0.0.1:8000")).status_code == 421
        got = await listed(made, Host="blog.example:8443", Origin="http://127.0.0.1:8000")
        assert got.status_code == 403


# Half a configuration. ----------------------------------------------------------------------------


class Bare:
    async def verify(self, token: str, /) -> Mapping[str, Any] | None:
        return None


class NoUrls(Bare):
    issuer, audience = "our-idp", "our-api"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"resource_url": RESOURCE}, "auth, which checks them, is missing"),
        ({"issuer": "https://i.example"}, "auth, which checks them, is missing"),
        ({"required_scopes": ["a"]}, "auth, which checks them, is missing"),
        ({"auth": object()}, "auth has no verify"),
        ({"auth": Bare()}, "resource_url="),
        ({"auth": NoUrls()}, "resource_url="),
        ({"auth": Bare(), "resource_url": RESOURCE}, "issuer="),
        ({"auth": NoUrls(), "resource_url": RESOURCE}, "issuer="),
        ({"auth": KEY.verifier, "resource_url": "http://api.example.com/mcp"}, "resource_url="),
        ({"auth": KEY.verifier, "resource_url": "https://u:p@api.example.com/"}, "resource_url="),
        ({"auth": KEY.verifier, "issuer": "http://id.example.com"}, "issuer="),
        ({"auth": KEY.verifier, "required_scopes": "a b"}, "required_scopes is a list"),
        ({"allowed_hosts": "api.example.com"}, "allowed_hosts is a list"),
        ({"allowed_hosts": ["*"]}, "only the port can be any"),
        ({"allowed_origins": ["https://*.example.com"]}, "only the port can be any"),
        ({"path": "mcp"}, "path begins with a slash"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
@pytest.mark.parametrize("kind", ["mcp_app", "serve"])
def test_half_a_configuration_refuses_to_start(
    kind: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(remit.DeclarationError) as caught:
        getattr(declared(), kind)(**options)
    assert said in str(caught.value)


def test_a_misspelt_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="alowed_hosts"):
        declared().mcp_app(alowed_hosts=["x"])  # type: ignore[call-arg]


# Running. -----------------------------------------------------------------------------------------


async def test_one_app_with_a_health_check() -> None:
    async with http(declared().serve(auth=KEY.verifier)) as made:
        healthy = await made.get("/healthz")
        assert (healthy.status_code, healthy.json()) == (200, {"status": "ok"})
        assert (await listed(made)).status_code == 401
        assert (await listed(made, **bearer(token()))).status_code == 200


async def test_inside_another_app(era: str) -> None:
    app = declared()
    tools = app.mcp_app(auth=KEY.verifier, path="/", resource_url=f"{ADDRESS}/tools/")
    outer = Starlette(routes=[Mount("/tools", app=tools), *tools.metadata], lifespan=tools.lifespan)
    async with http(outer, **bearer(token())) as made:
        async with connected(made, era, f"{ADDRESS}/tools/") as client:
            got = await client.call_tool("whoami", {})
            assert got.structured_content is not None
            assert got.structured_content["subject"] == "u_asha"
        del made.headers["Authorization"]
        refused = await listed(made, "/tools/")
        where = refused.headers["WWW-Authenticate"].split('resource_metadata="')[1].split('"')[0]
        assert (await made.get(where)).json()["resource"] == f"{ADDRESS}/tools/"


async def test_inside_another_app_that_runs_no_lifespan_the_error_says_what_to_do() -> None:
    outer = Starlette(routes=[Mount("/", app=declared().mcp_app())])
    async with http(outer) as made:
        with pytest.raises(RuntimeError, match=r"lifespan=tools\.lifespan"):
            await listed(made)


async def test_it_starts_the_app_and_closes_what_it_started() -> None:
    entered: list[str] = []

    @asynccontextmanager
    async def deps() -> AsyncIterator[str]:
        entered.append("in")
        yield "deps"
        entered.append("out")

    app = declared(lifespan=deps)
    asgi = app.mcp_app()
    async with http(asgi) as made:
        assert (await listed(made)).status_code == 200
        assert entered == ["in"]
    assert entered == ["in", "out"]
    async with http(asgi) as made:
        assert (await listed(made)).status_code == 200
    assert entered == ["in", "out"] * 2, "it starts again, as a reloading server does"
    async with app:
        async with http(asgi):
            assert entered[4:] == ["in"]
        assert entered[4:] == ["in"], "who opened it closes it"


async def test_what_was_approved_elsewhere_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "SWEEP", 0.01)
    app, ran = declared(), asyncio.Event()

    @app.tool(effect="write", scopes={"posts:read"}, approval=remit.Approval(approvers={"editor"}))
    async def publish(call: remit.Call) -> str:
        """Publish."""
        ran.set()
        return "published"

    asgi = app.mcp_app(auth=KEY.verifier)
    async with http(asgi, **bearer(token())) as made, connected(made, "2026-07-28") as client:
        got = await client.call_tool("request_publish", {})
        assert got.meta is not None
        assert got.meta["remit/code"] == "awaiting_approval"
        (request,) = await app.approvals.waiting()
        assert not ran.is_set()
        editor = {"sub": "u_editor", "roles": ["editor"]}
        await app.approvals.decide(
            request.id, "approve", approver=editor, digest=request.digest, run=False
        )
        await asyncio.wait_for(ran.wait(), 5)


async def test_progress_streams_where_streams_are_on(era: str) -> None:
    heard: list[float] = []

    async def listener(done: float, total: float | None, text: str | None) -> None:
        heard.append(done)

    asgi = declared().mcp_app(json_response=False, stateless=False)
    async with http(asgi) as made, connected(made, era) as client:
        got = await client.call_tool("counted", {"to": 3}, progress_callback=listener)
        assert got.structured_content == {"result": 3}
    assert heard == [1, 2, 3]


async def test_what_is_no_call_never_reaches_a_tool() -> None:
    """Arguments of another shape, and headers that don't match the body, are the protocol's to refuse."""
    async with http(declared().mcp_app()) as made:
        for params in ({"arguments": []}, {"arguments": "{}"}, {"name": 7}):
            body = json.loads(json.dumps(LIST["json"]))
            body["method"] = "tools/call"
            body["params"] |= {"name": "ping", **params}
            headers = {**LIST["headers"], "Mcp-Method": "tools/call", "Mcp-Name": "ping"}
            got = await made.post("/mcp", json=body, headers=headers)
            assert got.status_code == 400, params
            assert "error" in got.json()
