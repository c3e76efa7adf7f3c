"""``python -m benchmarks``: measure, print, and write benchmarks/results.md."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks import deriving, http, inprocess, listing, schemas

_INTRODUCTION = """\
Medians of rounds that take every contender in turn ({about}). Ratios hold across machines better
than times do; `make bench` takes them anew.
"""

RESULTS = Path(__file__).with_name("results.md")


def _table(title: str, note: str, found: Mapping[str, float], unit: str) -> str:
    """Return one section of the page."""
    rows = "\n".join(f"| {name} | {value:.2f} |" for name, value in found.items())
    return f"## {title}\n\n{note}\n\n| what | {unit} |\n|---|---|\n{rows}\n"


async def main() -> None:
    """Run every benchmark once and write the results down."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    about = f"{python}, {os.cpu_count()} cores, {sys.platform}"
    parts = [
        "# Benchmark results\n",
        _INTRODUCTION.format(about=about),
        _table(
            "A call in this process",
            "Ratio to *bare*: pydantic's parse, an awaited function and a dump. Budget: at most 5\n"
            "with the row handed to the writer.",
            await inprocess.measured(),
            "ratio to bare",
        ),
        _table(
            "MCP over streamable HTTP, 8 clients",
            "Calls per second, ratio to the SDK's bare low-level server with JSON responses.\n"
            "remit checks a token and writes an audit row for each call, and the others do not.\n"
            "Budget: at least 0.95, and at least 2 × FastMCP.",
            await http.measured(),
            "ratio to low-level",
        ),
        _table(
            "tools/list of 500 tools",
            "Server time for one answer, by protocol era. Budget: 0.1 ms of ours.",
            await listing.measured(),
            "milliseconds",
        ),
        _table(
            "Declaring tools",
            "Ratio to pydantic's own build of the same validators and schemas, and\n"
            "of the time per tool to a tenth as many. Budget: at most 1.5, and linear growth.",
            deriving.measured(),
            "ratio, and milliseconds",
        ),
        _table(
            "Deriving from a class of 230 kB of JSON Schema",
            "anthropic's MessageCreateParams: ratio to pydantic's own writing of its schema.",
            schemas.measured(),
            "ratio to json_schema()",
        ),
        _table(
            "Refusing a hostile schema",
            "Budget: one second, and bounded memory.",
            schemas.hostile(),
            "seconds, and MiB",
        ),
    ]
    text = "\n".join(parts)
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    asyncio.run(main())
