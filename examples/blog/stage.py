"""What the demo stands on: a folder, two servers in their own processes, and real MCP clients."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import sysconfig
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

__all__ = ["REMIT", "Agent", "Answer", "Stage"]

ROOT: Final = Path(__file__).parents[2]
REMIT: Final = str(Path(sysconfig.get_path("scripts")) / "remit")
ISSUER: Final = "https://sign-in.blog.example"
AUDIENCE: Final = "https://blog.example/mcp"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model is told, and whether it is a refusal."""

    told: dict[str, Any]
    refused: bool


@dataclass(frozen=True, slots=True)
class Agent:
    """A model's side of one MCP connection."""

    name: str
    client: Client

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        """Call *tool* and return the answer as the model would read it."""
        result = await self.client.call_tool(tool, dict(arguments))
        texts = [block.text for block in result.content if block.type == "text"]
        return Answer(json.loads(texts[0]), refused=bool(result.is_error))


class Stage:
    """The blog and its naive twin, each served on a loopback port of its own.

    Args:
        folder: Where every file of the demo lies.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = Ed25519PrivateKey.generate()  # the sign-in service's; here it lives for seconds
        self.port, self.naive_port = _free_port(), _free_port()
        self.env = {
            **os.environ,
            "REMIT_STORE": f"sqlite:///{folder / 'remit.db'}",
            "BLOG_DRAFTS": str(folder / "drafts.db"),
            "NAIVE_POSTS": str(folder / "posts.db"),
        }

    @contextmanager
    def served(self) -> Iterator[None]:
        """Run both servers until the block ends."""
        public = self.folder / "sign-in.pem"
        public.write_bytes(
            self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        )
        blog = [
            *(REMIT, "serve", "examples.blog:blog", "--port", str(self.port)),
            *("--issuer", ISSUER, "--audience", AUDIENCE, "--key-file", str(public)),
        ]
        naive = [sys.executable, str(Path(__file__).with_name("naive.py")), str(self.naive_port)]
        with self._running(blog) as one, self._running(naive) as other:
            self._ready(one, self.port)
            self._ready(other, self.naive_port)
            yield

    def remit(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command ``remit``, as a person at the server does."""
        return subprocess.run(
            [REMIT, *words], cwd=ROOT, env=self.env, capture_output=True, text=True, check=False
        )

    # What really is in the tables: no answer is believed without a look.

    @property
    def drafts(self) -> dict[str, dict[str, Any]]:
        """The blog's drafts and posts by id."""
        return {row["id"]: row for row in _rows(self.folder / "drafts.db", "drafts")}

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests that were filed with remit, in any state."""
        return _rows(self.folder / "remit.db", "requests")

    @property
    def posts(self) -> list[dict[str, Any]]:
        """The naive blog's posts."""
        return _rows(self.folder / "posts.db", "posts")

    # Who calls.

    @asynccontextmanager
    async def agent(self, name: str, subject: str, **claims: Any) -> AsyncIterator[Agent]:
        """Connect an agent that the sign-in service has given a token of *subject*."""
        now = int(time.time())
        standard = {"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 300}
        token = jwt.encode({**standard, "client_id": "demo-agent", **claims}, self.key, "EdDSA")
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(_mcp(self.port), http_client=http)) as client,
        ):
            yield Agent(name, client)

    def knock(self) -> int:
        """Return the HTTP status that a caller without a token gets."""
        return httpx2.post(_mcp(self.port), json={}).status_code

    @asynccontextmanager
    async def naive_agent(self, name: str) -> AsyncIterator[Agent]:
        """Connect an agent to the naive blog."""
        async with Client(_mcp(self.naive_port)) as client:
            yield Agent(name, client)

    # Processes.

    @contextmanager
    def _running(self, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _ready(self, process: subprocess.Popen[bytes], port: int) -> None:
        until = time.monotonic() + 20
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"did not start:\n{(self.folder / 'log').read_text()}")
            time.sleep(0.05)


def _mcp(port: int) -> str:
    return f"http://127.0.0.1:{port}/mcp"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _rows(file: Path, table: str) -> list[dict[str, Any]]:
    database = sqlite3.connect(file)
    database.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]  # noqa: S608 - ours
    finally:
        database.close()
