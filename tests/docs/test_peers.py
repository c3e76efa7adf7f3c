"""What the README says of MCPServer and FastMCP is what the installed versions of them do.

Each of these is one measurement. One that no longer holds is a sentence to take back: remit needs
no fault of theirs.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

DSN = "postgres://app:s3cret@10.0.4.12:5432/blog"


class Draft(BaseModel):
    title: str


class Shown(BaseModel):
    id: int


class Kept(Shown):
    password: str


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Peer:
    """One server with the small task's tools, and a client in its own process."""

    def __init__(self, name: str) -> None:
        if name == "mcp":
            from mcp import Client
            from mcp.server import MCPServer as Server

            self.options: dict[str, Any] = {}
        else:
            from fastmcp import Client
            from fastmcp import FastMCP as Server

            self.options = {"raise_on_error": False}
        self.client, self.server = Client, Server("peer")
        for tool in (flat, nested, optional, boom, shown, big):
            self.server.tool()(tool)

    async def call(self, tool: str, arguments: Mapping[str, Any] = {}) -> tuple[bool, str]:
        async with self.client(self.server) as client:
            said = await client.call_tool(tool, dict(arguments), **self.options)
        return bool(said.is_error), said.content[0].text

    async def schema(self, tool: str) -> dict[str, Any]:
        async with self.client(self.server) as client:
            listed: Any = await client.list_tools()
        (one,) = [one for one in getattr(listed, "tools", listed) if one.name == tool]
        return one.input_schema


def flat(title: str, n: int = 0) -> str:
    return f"{title} {n!r}"


def nested(body: Draft) -> str:
    return body.title


def optional(note: str | None) -> str:
    return repr(note)


def boom() -> str:
    raise RuntimeError(f"connect ECONNREFUSED {DSN}")


def shown() -> Shown:
    return Kept(id=1, password="hunter2")


def big() -> str:
    return "x" * 3_000_000


@pytest.fixture(params=["mcp", "fastmcp"])
def peer(request: pytest.FixtureRequest) -> Peer:
    logging.getLogger(request.param).setLevel(logging.CRITICAL)
    return Peer(request.param)


def is_fastmcp(peer: Peer) -> bool:
    return type(peer.server).__name__ == "FastMCP"


async def test_l1_an_undeclared_key(peer: Peer):
    error, text = await peer.call("flat", {"title": "t", "authorId": 7})
    assert (error, "authorId" in text) == ((True, True) if is_fastmcp(peer) else (False, False))
    assert await peer.call("nested", {"body": {"title": "t", "authorId": 7}}) == (False, "t")


async def test_l1_a_text_for_a_number(peer: Peer):
    assert await peer.call("flat", {"title": "t", "n": "10"}) == (False, "t 10")


async def test_l2_a_text_that_reads_like_json(peer: Peer):
    read = "'null'" if is_fastmcp(peer) else "None"
    assert await peer.call("optional", {"note": "null"}) == (False, read)


async def test_l3_the_schema_of_an_object_that_drops_keys(peer: Peer):
    schema = await peer.schema("nested")
    body = schema["properties"]["body"] if is_fastmcp(peer) else schema["$defs"]["Draft"]
    assert "additionalProperties" not in body


async def test_l8_an_exception_and_a_rejected_value(peer: Peer):
    error, text = await peer.call("boom")
    assert error
    assert (DSN in text) is is_fastmcp(peer)
    error, text = await peer.call("flat", {"title": "t", "n": "hunter2"})
    assert error
    assert "hunter2" in text


async def test_l9_what_leaves(peer: Peer):
    assert ("hunter2" in (await peer.call("shown"))[1]) is not is_fastmcp(peer)
    assert await peer.call("big") == (False, "x" * 3_000_000)


async def test_l12_two_tools_of_one_name(peer: Peer):
    peer.server.tool(name="twin")(lambda: "first")
    peer.server.tool(name="twin")(lambda: "second")
    assert await peer.call("twin") == (False, "second" if is_fastmcp(peer) else "first")
