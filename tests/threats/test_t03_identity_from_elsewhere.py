"""T3. Principal, roles and tenant come from nothing but the verified ``Authorization`` of this request.

tests/laws/test_l04 tries arguments; here are ``_meta``, the client's own name, headers and sessions.
"""

from __future__ import annotations

import json
from typing import Any

import mcp_types
import pytest

import remit
from tests.laws.lab import ASHA, DRAFT, MCP, RAVI, VALID, Lab, http, served

pytestmark = pytest.mark.anyio

FORGED: Any = {
    "sub": "u_editor",
    "principal": {"subject": "u_editor"},
    "remit/principal": "u_editor",
    "claims": {"sub": "u_editor", "roles": ["editor"]},
    "authorization": "Bearer x",
    "roles": ["editor"],
}


@pytest.mark.parametrize("surface", MCP)
async def test_metadata_and_the_clients_name_are_no_identity(lab: Lab):
    """What a client says of itself or writes into ``_meta`` changes nothing about who calls.

    If this fails, whoever writes the client chooses the user.
    """
    info = mcp_types.Implementation(name="u_editor", version="roles=editor")
    async with lab.asha.client(client_info=info) as client:
        result = await client.call_tool("save_draft", dict(VALID), meta=FORGED)
    assert not result.is_error
    (row,) = lab.drafts.rows.values()
    assert row.author == "u_asha"
    (written,) = lab.audit()
    assert (written.principal, written.client) == ("u_asha", "agent-host")


@pytest.mark.parametrize("surface", MCP)
async def test_metadata_makes_nobody_somebody(lab: Lab):
    """Without a verified identity ``_meta`` supplies none.

    If this fails, the token is optional.
    """
    async with lab.agent(None).client() as client:
        result = await client.call_tool("save_draft", dict(VALID), meta=FORGED)
    assert result.is_error
    assert json.loads(result.content[0].text)["code"] == "unauthenticated"
    assert lab.drafts.rows == {}


HEADERS = {
    "X-User": "u_editor",
    "X-Forwarded-User": "u_editor",
    "X-Remote-User": "u_editor",
    "X-Remit-Principal": "u_editor",
    "X-Tenant": "other",
    "Cookie": "user=u_editor",
    "Forwarded": "for=127.0.0.1;by=u_editor",
}


def call_of(name: str, arguments: dict[str, Any], number: int = 1) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("surface", ["mcp-http-legacy"])
async def test_other_headers_are_no_identity(lab: Lab):
    """Headers but ``Authorization``, a cookie or the query name nobody, beside a token or without one.

    If this fails, whoever reaches the port past the proxy is whom the header says.
    """
    async with (
        served(lab.app, {"t": ASHA}) as transport,
        http(transport, "t", **HEADERS) as asha,
        http(transport, None, **HEADERS) as nobody,
    ):
        version = {"MCP-Protocol-Version": "2025-11-25"}
        said = await asha.post("/mcp", json=call_of("save_draft", dict(VALID)), headers=version)
        assert said.status_code == 200
        for url in ("/mcp", "/mcp?access_token=t", "/mcp?user=u_editor"):
            said = await nobody.post(url, json=call_of("save_draft", dict(VALID)), headers=version)
            assert said.status_code == 401
    assert [row.author for row in lab.drafts.rows.values()] == ["u_asha"]


@pytest.mark.parametrize("surface", ["mcp-http-legacy"])
async def test_a_session_is_no_identity(lab: Lab):
    """Whoever holds another's session id is still who its own token says, or gets no answer at all.

    If this fails, the identity of the first request is that of all that follow.
    """
    hello = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    lab.drafts.add()
    async with (
        served(lab.app, {"asha": ASHA, "ravi": RAVI}, stateless=False) as transport,
        http(transport, "asha") as asha,
        http(transport, "ravi") as ravi,
        http(transport, None) as nobody,
    ):
        session = (await asha.post("/mcp", json=hello)).headers["mcp-session-id"]
        used = {"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
        read = call_of("read_draft", {"draft_id": DRAFT})
        assert (await asha.post("/mcp", json=read, headers=used)).status_code == 200
        assert (await ravi.post("/mcp", json=read, headers=used)).status_code in (403, 404)
        assert (await nobody.post("/mcp", json=read, headers=used)).status_code == 401
    assert lab.drafts.ran == ["read_draft"]
    assert {row.principal for row in lab.audit()} == {"u_asha"}


async def test_what_the_token_says_is_no_parameter(lab: Lab):
    """The call and its principal are absent from the schema, and to supply them is an unknown key.

    If this fails, a handler's own parameter can be filled from outside.
    """
    for name in lab.app.tools:
        properties = set(lab.app.advertised(name)["properties"])
        assert not properties & {"call", "principal", "claims", "author", "context", "ctx"}
    for key in ("call", "principal", "draft"):
        refused = await lab.asha.call("save_draft", {**VALID, key: {"subject": "u_editor"}})
        assert refused.issues[0].code == f"unrecognized_keys:{key}"
    assert lab.drafts.rows == {}


async def test_a_claim_that_is_no_field_stays_out(lab: Lab):
    """Claims that the principal doesn't declare reach no tool, and can't overwrite one that it does.

    If this fails, a token from a generous issuer brings along what nobody asked for.
    """
    made = lab.agent({**ASHA, "subject": "u_editor", "author": "u_editor", "admin": True})
    assert (await made.call("save_draft", VALID)).ok
    assert [row.author for row in lab.drafts.rows.values()] == ["u_asha"]
    assert not hasattr(remit.Principal.model_validate({"sub": "a", "admin": True}), "admin")
