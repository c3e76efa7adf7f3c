"""MCP over streamable HTTP: eight keep-alive sockets against real servers on loopback, in turn."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks import servers

CLIENTS = 8
KINDS = ("low-level", "low-level-auth", "remit", "fastmcp")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _captured(path: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and body that the SDK's own client sends for one tools/call."""
    seen: list[tuple[dict[str, str], bytes]] = []
    served: Any = servers.app("low-level")

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await served(scope, receive, send)
            return
        message = await receive()
        if b"tools/call" in message.get("body", b""):
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            seen.append((headers, message["body"]))
        sent = False

        async def again() -> Any:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return message

        await served(scope, again, send)

    async with (
        served.router.lifespan_context(served),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(watched)) as http,
        Client(
            streamable_http_client(f"http://127.0.0.1:8000{path}", http_client=http),
            mode="2026-07-28",
        ) as client,
    ):
        await client.call_tool("echo", servers.RAW)
    return seen[-1]


async def _until_up(port: int) -> None:
    for _ in range(200):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    text = f"no server came up on port {port}"
    raise RuntimeError(text)


async def _one(port: int, request: bytes, until: float) -> int:
    """Send *request* again and again through one socket; return how many answers came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count = 0
    try:
        while time.perf_counter() < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            lowered = head.lower()
            if not lowered.startswith(b"http/1.1 200"):
                text = f"port {port} answered {head[:120]!r}"
                raise RuntimeError(text)
            length = int(lowered.split(b"content-length:")[1].split(b"\r\n")[0])
            body = await reader.readexactly(length)
            if count == 0:
                result = json.loads(body)["result"]
                assert not result.get("isError"), result
            count += 1
    finally:
        writer.close()
    return count


async def measured(*, count: int = 7, seconds: float = 1.0) -> dict[str, float]:
    """Return calls per second as median ratios to the bare low-level server."""
    headers, body = await _captured("/mcp")
    ports = {kind: _free_port() for kind in KINDS}
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.servers", kind, str(port)],
            env={**os.environ, "FASTMCP_LOG_LEVEL": "ERROR"},
        )
        for kind, port in ports.items()
    ]
    try:
        rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for port in ports.values():
            await _until_up(port)
        for index in range(count + 1):
            for kind, port in ports.items():
                lines = {**headers, "host": f"127.0.0.1:{port}", "content-length": str(len(body))}
                if kind in ("remit", "low-level-auth"):
                    lines["authorization"] = f"Bearer {servers.TOKEN}"
                head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
                request = f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body
                until = time.perf_counter() + seconds
                sockets = (_one(port, request, until) for _ in range(CLIENTS))
                answers = await asyncio.gather(*sockets)
                if index:
                    rates[kind].append(sum(answers) / seconds)
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(10)
    found = {
        kind: statistics.median(a / b for a, b in zip(rates[kind], rates["low-level"], strict=True))
        for kind in KINDS
    }
    found["remit / fastmcp"] = statistics.median(
        a / b for a, b in zip(rates["remit"], rates["fastmcp"], strict=True)
    )
    found["calls per second, low-level"] = statistics.median(rates["low-level"])
    return found
