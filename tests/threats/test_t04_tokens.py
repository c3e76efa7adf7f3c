"""T4. A token is checked whole, half a configuration refuses to start, and no tool ever sees the token.

tests/auth proves each check of a JWT; here they are met at the door of a served app.
"""

from __future__ import annotations

import time
from typing import Any

import httpx2
import jwt
import pytest

import remit
from remit.auth import JWT
from remit.testing import agent
from tests.laws.lab import ADDRESS, VALID, Drafts, blog, http

pytestmark = pytest.mark.anyio

SECRET = "a-shared-secret-of-64-bytes-or-more-so-that-any-algorithm-takes-it"
ISSUER = "https://id.example.com"
AUDIENCE = "https://api.example.com/mcp"


def claims(**changed: Any) -> dict[str, Any]:
    made = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "u_asha",
        "scope": "drafts:write",
        "exp": int(time.time()) + 60,
        **changed,
    }
    return {name: value for name, value in made.items() if value is not None}


def token(*, secret: str = SECRET, algorithm: str = "HS256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), secret, algorithm=algorithm)


BAD = {
    "another audience": token(aud="https://other.example.com"),
    "no audience": token(aud=None),
    "another issuer": token(iss="https://evil.example.com"),
    "no issuer": token(iss=None),
    "expired": token(exp=int(time.time()) - 3600),
    "no expiry": token(exp=None),
    "no subject": token(sub=None),
    "another key": token(secret="another-shared-secret-of-32-bytes-or-so"),
    "no algorithm": jwt.encode(claims(), None, algorithm="none"),
    "another algorithm": token(algorithm="HS512"),
    "no token": "",
    "garbage": "a.b.c",
}


async def posted(authorization: str | None) -> tuple[httpx2.Response, Drafts]:
    drafts = Drafts()
    made = agent(blog, principal=None, deps=drafts)
    verifier = JWT(issuer=ISSUER, audience=AUDIENCE, key=SECRET, algorithms=["HS256"])
    served = made.app.mcp_app(auth=verifier, resource_url=f"{ADDRESS}/mcp")
    call = {"name": "save_draft", "arguments": dict(VALID)}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    headers = {"MCP-Protocol-Version": "2025-11-25"}
    if authorization is not None:
        headers["Authorization"] = authorization
    async with (
        served.router.lifespan_context(served),
        http(httpx2.ASGITransport(served), None, **headers) as client,
    ):
        return await client.post("/mcp", json=request), drafts


async def test_a_good_token_is_let_in():
    """The token that has it all reaches the tool, as its subject.

    If this fails, the refusals below prove nothing.
    """
    answer, drafts = await posted(f"Bearer {token()}")
    assert answer.status_code == 200
    assert [row.author for row in drafts.rows.values()] == ["u_asha"]


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
async def test_a_token_that_lacks_one_thing_is_refused_at_the_door(bad: str):
    """401 with the address of the metadata (RFC 9728), and nothing reaches a tool.

    If this fails, a token for another API, an old one or a home-made one is good here.
    """
    answer, drafts = await posted(f"Bearer {bad}")
    assert answer.status_code == 401
    challenge = answer.headers["www-authenticate"]
    assert challenge.startswith("Bearer")
    assert "/.well-known/oauth-protected-resource" in challenge
    assert drafts.rows == {}
    assert SECRET not in answer.text + challenge


async def test_no_token_is_401():
    """Without ``Authorization`` there is no call.

    If this fails, the check is only made of those who show something.
    """
    for authorization in (None, "Basic dTpw", token()):
        answer, drafts = await posted(authorization)
        assert answer.status_code == 401
        assert drafts.rows == {}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"issuer": ISSUER},
        {"audience": AUDIENCE},
        {"issuer": ISSUER, "audience": AUDIENCE},
        {"issuer": "", "audience": AUDIENCE, "key": SECRET},
        {"issuer": ISSUER, "audience": "", "key": SECRET},
        {"issuer": ISSUER, "audience": AUDIENCE, "key": SECRET, "algorithms": ["none"]},
        {"issuer": ISSUER, "audience": AUDIENCE, "key": SECRET, "algorithms": ["HS256", "RS256"]},
        {"issuer": ISSUER, "audience": AUDIENCE, "key": SECRET, "algorithms": []},
    ],
    ids=lambda options: ",".join(options) or "nothing",
)
def test_half_a_verifier_refuses_to_be_made(options: dict[str, Any]):
    """No issuer, no audience, no key or a loose algorithm list: an error where it is made.

    If this fails, the default is *any token*.
    """
    with pytest.raises((remit.DeclarationError, TypeError)):
        JWT(**options)


@pytest.mark.parametrize(
    "options",
    [{"resource_url": "https://a.example/mcp"}, {"issuer": ISSUER}, {"required_scopes": ["a"]}],
)
def test_half_an_auth_configuration_refuses_to_start(options: dict[str, Any]):
    """Settings of a check without the check are an error, not an open server.

    If this fails, a server publishes that it wants tokens, and serves everyone.
    """
    with pytest.raises(remit.DeclarationError, match="auth"):
        blog.mcp_app(**options)


async def test_no_tool_sees_the_token():
    """Nothing that a tool's code gets holds the raw token, so that none can pass it on.

    If this fails, one tool's upstream can act as the user everywhere (token passthrough).
    """
    app, seen = remit.Remit("curious"), list[str]()

    @app.tool(effect="read", public=True)
    def look(call: remit.Call[Any, Any]) -> str:
        seen.append(repr([getattr(call, name) for name in dir(call)]))
        return call.principal.subject

    made = agent(app, principal=None, deps=None)
    verifier = JWT(issuer=ISSUER, audience=AUDIENCE, key=SECRET, algorithms=["HS256"])
    served = made.app.mcp_app(auth=verifier, resource_url=f"{ADDRESS}/mcp")
    raw = token()
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "look", "arguments": {}},
    }
    async with served.router.lifespan_context(served):
        headers = {"MCP-Protocol-Version": "2025-11-25"}
        async with http(httpx2.ASGITransport(served), raw, **headers) as client:
            answer = await client.post("/mcp", json=request)
    assert answer.status_code == 200
    assert len(seen) == 1
    assert raw not in seen[0]
    assert raw.rpartition(".")[2] not in seen[0]
