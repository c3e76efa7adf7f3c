r"""Text for a terminal: whatever comes from data is drawn so that it can do nothing but be read.

Control characters, ANSI sequences, invisible and bidi characters are written as ``\u{...}``, and
nothing from data is ever read as rich's markup (OWASP LLM01:2026: hidden text, terminal escapes).
"""

from __future__ import annotations

import json
import logging
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from remit.outcome import visible

__all__ = [
    "block",
    "complain",
    "json_text",
    "line",
    "log_to_stderr",
    "moment",
    "put",
    "put_json",
    "put_table",
]

_BEYOND = re.compile(r"[^\n\x20-\x7e]")
_WHOLE: Final = 24  # characters of a cell that are not folded: a code, a time, most names
_WIDE: Final = 160  # columns of a table that no terminal holds: a log or a pipe


def line(value: object) -> str:
    """Return *value* as one line in which every character shows."""
    return visible(str(value)).replace("\n", "\\u{000a}").replace("\t", "\\u{0009}")


def block(value: object) -> str:
    """Return *value* as text whose lines stay lines and in which every other character shows."""
    return visible(str(value))


def json_text(value: Any, *, indent: int | None = None) -> str:
    """Return *value* as JSON that any parser reads back and that no terminal obeys."""
    made = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    return _BEYOND.sub(_escaped, made)


def _escaped(found: re.Match[str]) -> str:
    # Outside ASCII, JSON has characters only inside texts, where \uXXXX means the same.
    one = found.group()
    if visible(one) == one:
        return one
    return "\\u007f" if one == "\x7f" else json.dumps(one)[1:-1]


def put(text: str = "", *, error: bool = False) -> None:
    """Write *text*, which must be drawn already, as a line."""
    click.echo(text, err=error)


def put_json(value: Any, *, indent: int | None = None) -> None:
    """Write *value* as JSON."""
    put(json_text(value, indent=indent))


def complain(text: str) -> None:
    """Write *text*, whatever is in it, to standard error."""
    put(block(text), error=True)


def put_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table; long cells are folded, never cut, and empty columns left out."""
    drawn_rows = [[line(cell) for cell in row] for row in rows]
    widths = [max((len(row[i]) for row in drawn_rows), default=0) for i in range(len(columns))]
    shown = [i for i, width in enumerate(widths) if width]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for i in shown:
        # Codes, names and times stay whole; the last column holds words, which may be folded.
        least = None if i == len(columns) - 1 else min(widths[i], _WHOLE)
        table.add_column(columns[i], overflow="fold", min_width=least)
    for row in drawn_rows:
        table.add_row(*(Text(row[i]) for i in shown))
    width = None if sys.stdout.isatty() else max(_WIDE, shutil.get_terminal_size().columns)
    console = Console(file=sys.stdout, width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as drawn:
        console.print(table)
    put("\n".join(text.rstrip() for text in drawn.get().splitlines()))


def moment(seconds: float | None) -> str:
    """Return a time in UTC as RFC 3339 writes it; empty for None."""
    if seconds is None:
        return ""
    made = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    return made.replace("+00:00", "Z")


class _Stderr(logging.Handler):
    """Writes log records to standard error as it is at that moment, drawn."""

    def emit(self, record: logging.LogRecord) -> None:
        complain(self.format(record))


def log_to_stderr(name: str = "remit") -> None:
    """Show the log *name* on standard error: an exception's text may hold what a caller sent."""
    log = logging.getLogger(name)
    if not any(isinstance(handler, _Stderr) for handler in log.handlers):
        handler = _Stderr()
        handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        log.addHandler(handler)
