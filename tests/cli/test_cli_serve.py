"""`remit serve`: nothing half configured starts, and what does start serves through the one path."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.conftest import AUTHOR, DESK, EDITOR, Remit
from tests.needs import ROOT

COMMAND = [sys.executable, "-c", "from remit.cli import main; main()"]
WHOLE = ["--issuer", "https://id.example", "--audience", "https://api.example/mcp"]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--issuer", "https://id.example"], "--audience, --jwks-url or --key-file"),
        (["--audience", "a", "--jwks-url", "https://id.example/jwks"], "give --issuer too"),
        (["--key-file", "key.pem"], "give --issuer, --audience too"),
        (["--algorithm", "RS256"], "--issuer, --audience, --jwks-url or --key-file"),
        (WHOLE, "--jwks-url or --key-file"),
        ([*WHOLE, "--key-file", "k", "--jwks-url", "https://x"], "give one"),
        ([*WHOLE, "--key-file", "nowhere.pem"], "can't be read"),
        ([*WHOLE, "--jwks-url", "http://id.example/jwks"], "can't be used"),
        ([*WHOLE, "--jwks-url", "https://id.example/jwks", "--algorithm", "none"], "can't be used"),
        ([*WHOLE[:2], "--audience", "api", "--jwks-url", "https://id.example/jwks"], "--url"),
        (["--url", "https://api.example/mcp"], "give --issuer, --audience"),
        ([*WHOLE, "--jwks-url", "https://x/j", "--allow-host", "*.example"], "allowed_hosts"),
        (["--host", "0.0.0.0"], "no token would be checked"),  # noqa: S104
        (["--host", "example.com"], "no token would be checked"),
        (["--dev", "--host", "0.0.0.0"], "this machine only"),  # noqa: S104
        (["--dev", "--host", "::"], "this machine only"),
        (["--dev", *WHOLE], "makes its own key"),
        (["--dev", "--stdio"], "give one"),
        (["--stdio", *WHOLE], "one fixed principal"),
        (["--claims", AUTHOR], "own token"),
        (["--dev", "--claims", '{"iss": "me"}'], "signs iss itself"),
        (["--dev", "--claims", '{"exp": 99999999999}'], "signs exp itself"),
        (["--dev", "--claims", '{"sub": ""}'], "nobody to desk"),
        (["--dev", "--claims", '{"scope": 7}'], "desk"),
        (["--stdio", "--claims", "nowhere.json"], "No such file"),
    ],
)
def test_half_a_configuration_refuses_to_start(remit: Remit, options: list[str], hint: str) -> None:
    result = remit("serve", DESK, "--port", "0", *options)
    assert result.exit_code == 2, result.output
    assert hint in result.stderr


def test_a_port_that_is_taken_says_so(remit: Remit) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = remit("serve", DESK, "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 1
    assert "--port 0" in result.stderr


@contextmanager
def serving(*options: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run the server in a process of its own; what it prints goes to a file."""
    out = folder / "printed.txt"
    with out.open("wb") as printed:
        process = subprocess.Popen(
            [*COMMAND, "serve", DESK, "--port", "0", *options],
            cwd=ROOT,
            stdout=printed,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            yield process, out
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=10)


def printed(process: subprocess.Popen[bytes], out: Path, pattern: str) -> re.Match[str]:
    """Wait until *pattern* is printed and the server answers."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        found = re.search(pattern, out.read_text(), re.DOTALL)
        if found and "Application startup complete" in out.read_text():
            return found
        assert process.poll() is None, out.read_text()
        time.sleep(0.05)
    raise AssertionError(out.read_text())


@asynccontextmanager
async def connected(url: str, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


@pytest.mark.slow
def test_the_first_hour(remit: Remit, tmp_path: Path) -> None:
    """--dev: the printed configuration connects, and a decision made beside the server is run."""
    with serving("--dev", "--claims", '{"sub": "asha"}', folder=tmp_path) as (process, out):
        found = printed(process, out, r'\{\n  "mcpServers".*?\n\}')
        text = out.read_text()
        assert "no production set-up" in text
        assert "claude mcp add --transport http desk http://127.0.0.1:" in text
        config = json.loads(found.group())["mcpServers"]["desk"]
        assert f'--header "Authorization: {config["headers"]["Authorization"]}"' in text

        async def story() -> Any:
            async with connected(config["url"], config["headers"]) as client:
                names = {tool.name for tool in (await client.list_tools()).tools}
                assert {"ping", "echo", "request_publish"} <= names
                echoed = await client.call_tool("echo", {"title": "t"})
                assert not echoed.is_error
                return await client.call_tool("request_publish", {"note": "n"})

        filed = asyncio.run(story())
        short = json.loads(filed.content[0].text)["request"]
        assert httpx2.post(config["url"], json={}).status_code == 401
        assert httpx2.get(config["url"].replace("/mcp", "/healthz")).status_code == 200

        decided = remit(
            *("approvals", "approve", DESK, short, "--digest", short, "--yes", "--claims", EDITOR)
        )
        assert decided.exit_code == 0, decided.output
        until = time.monotonic() + 15
        while "done" not in (
            shown := remit("approvals", "show", DESK, short, "--claims", EDITOR).stdout
        ):
            assert time.monotonic() < until, shown
            time.sleep(0.1)
    assert process.returncode in (0, -signal.SIGTERM)
    tail = remit("audit", "tail", DESK, "--json").stdout
    rows = [json.loads(line) for line in tail.splitlines()]
    assert [(row["kind"], row["outcome"]) for row in rows][-3:] == [
        ("call", "awaiting_approval"),
        ("decision", "approved"),
        ("run", "ok"),
    ]
    assert {row["principal"] for row in rows if row["tool"]} == {"asha"}


@pytest.mark.slow
def test_without_auth_only_public_tools_can_be_called(tmp_path: Path) -> None:
    with serving(folder=tmp_path) as (process, out):
        url = printed(process, out, r"MCP at (\S+),").group(1)
        assert "only public tools can be called: ping, wait" in out.read_text()

        async def story() -> None:
            async with connected(url, {}) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == ["ping", "wait"]
                assert not (await client.call_tool("ping", {})).is_error

        asyncio.run(story())


@pytest.mark.slow
def test_on_stdio_the_principal_is_the_one_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "me.json"
    file.write_text(AUTHOR)
    parameters = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "serve", DESK, "--stdio", "--claims", str(file)],
        cwd=ROOT,
        env=dict(os.environ),
    )

    async def story() -> None:
        async with Client(stdio_client(parameters)) as client:
            assert "echo" in {tool.name for tool in (await client.list_tools()).tools}
            answered = await client.call_tool("echo", {"title": "t", "sub": "eve"})
            assert answered.is_error
            assert not (await client.call_tool("echo", {"title": "t"})).is_error

    asyncio.run(story())


@pytest.mark.slow
def test_call_in_a_process_of_its_own() -> None:
    called = subprocess.run(
        [*COMMAND, "call", DESK, "echo", "--title", "-n", "--claims", AUTHOR],
        cwd=ROOT,
        capture_output=True,
        check=False,
        text=True,
    )
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["data"]["said"]["title"] == "-n"
    assert called.stderr == ""


@pytest.mark.slow
def test_an_interrupted_call_is_on_record(remit: Remit) -> None:
    process = subprocess.Popen(
        [*COMMAND, "call", DESK, "wait", "--seconds", "60"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 30
    while not running(remit):
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "on record" in err
    assert "Traceback" not in err
    row = json.loads(remit("audit", "tail", DESK, "--json", "-n", "1").stdout)
    assert (row["tool"], row["outcome"]) == ("wait", "outcome_unknown")


def running(remit: Remit) -> bool:
    """Tell whether a tool's code has begun: its intent is kept before it."""
    from remit.store import Store, tables

    store = Store.open(os.environ["REMIT_STORE"])
    try:
        return bool(store.read_sync(lambda c: c.execute(tables.effects.select()).fetchall()))
    finally:
        store.close()


@pytest.mark.slow
def test_bytes_that_are_no_text_are_refused_by_the_judge() -> None:
    line = [*COMMAND, "call", DESK, "echo", "--claims", AUTHOR, "--title", b"\xff\xfe"]
    called = subprocess.run(line, cwd=ROOT, capture_output=True, check=False)
    assert called.returncode == 2, called.stderr
    assert json.loads(called.stdout)["issues"] == [{"path": "title", "code": "string_unicode"}]


@pytest.mark.slow
def test_a_reader_that_has_gone_is_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        listed = subprocess.run(
            [*COMMAND, "tools", DESK, "--json"],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)
    assert listed.stderr == b""
    assert listed.returncode == 1
