"""What the demo stands on: two servers in processes of their own, tokens, and a real MCP client."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import jwt
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

__all__ = ["ROOT", "Answer", "Signed", "free_port", "rows", "serving", "signed_in", "token"]

ROOT: Final = Path(__file__).parents[2]
ISSUER: Final = "https://sign-in.blog.example"
KEY: Final = secrets.token_hex(32)  # what a company's sign-in service holds; here for a few seconds


def token(audience: str, subject: str, **claims: Any) -> str:
    """Return what the sign-in service gives to the agent of *subject*."""
    now = int(time.time())
    standard = {"iss": ISSUER, "aud": audience, "sub": subject, "iat": now, "exp": now + 300}
    return jwt.encode({**standard, "client_id": "demo-agent", **claims}, KEY, "HS256")


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def serving(*command: str, port: int, log: Path, **env: str) -> Iterator[None]:
    """Run *command* until the block ends, and begin once it listens on *port*.

    Raises:
        RuntimeError: If it doesn't come up; with what it had to say.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        until = time.monotonic() + 15
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{' '.join(command)} did not start:\n{log.read_text()}")
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def rows(file: Path, table: str) -> list[dict[str, Any]]:
    """Return what really is in *table*: no answer is believed without a look at it."""
    database = sqlite3.connect(file)
    database.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]  # noqa: S608
    finally:
        database.close()


class Answer(dict[str, Any]):
    """What a model is told: the outcome's JSON, and whether it is a refusal."""

    refused = False


class Signed:
    """An agent that acts for one signed-in person."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call *tool* and return the answer as the model would read it."""
        try:
            result = await self.client.call_tool(tool, dict(arguments))
        except MCPError as error:
            answer = Answer(code=error.code, message=error.message)
            answer.refused = True
            return answer
        text = next(block.text for block in result.content if block.type == "text")
        answer = Answer(json.loads(text))
        answer.refused = bool(result.is_error)
        return answer


@asynccontextmanager
async def signed_in(url: str, bearer: str = "") -> AsyncIterator[Signed]:
    """Connect a real MCP client over HTTP, with *bearer* as its token."""
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield Signed(client)
