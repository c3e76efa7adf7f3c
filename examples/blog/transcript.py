"""What the demo prints: who calls what, what comes back, and whether that is as promised."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

try:
    from rich.console import Console
except ImportError:  # the demo then prints plain text
    Console = None

__all__ = ["Transcript"]


class Transcript:
    """Prints the story, and remembers what did not hold."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        self._console = Console(highlight=False, soft_wrap=True) if Console else None

    def part(self, title: str) -> None:
        """Begin a part of the story."""
        self._put("")
        self._put(f"── {title} ".ljust(96, "─"), "bold cyan")

    def says(self, text: str) -> None:
        """Tell what is going on."""
        self._put(text)

    def runs(self, command: Sequence[str]) -> None:
        """Show a command that a person types."""
        self._put("")
        self._put(f"  $ {shlex.join(command)}", "bold")

    def call(self, who: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """Show a call as it is sent, long texts by their length."""
        self._put("")
        self._put(f"  {who} → {tool} {_json(arguments)}", "bold")

    def answer(self, answer: Any, *, refused: bool) -> None:
        """Show what came back."""
        self._put(f"  ← {_json(answer)}", "yellow" if refused else "green")

    def shows(self, text: str, *, held: bool) -> None:
        """State *text* as a fact that was looked up, or as one that failed."""
        if held:
            self._put(f"    ✓ {text}", "dim")
        else:
            self.broken.append(text)
            self._put(f"    ✗ NOT SO: {text}", "bold red")

    def happens(self, text: str, *, held: bool) -> None:
        """State, as a fact that was looked up, something that remit is there to prevent."""
        self._put(f"    ! {text}" if held else f"    ! NO LONGER SO: {text}", "bold red")
        if not held:
            self.broken.append(text)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Print rows under their columns."""
        lines = [[name.upper() for name in columns], *([str(cell) for cell in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for number, line in enumerate(lines):
            cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            self._put(f"  {'  '.join(cells)}".rstrip(), None if number else "bold")

    def _put(self, text: str, style: str | None = None) -> None:
        if self._console:
            self._console.print(text, style=style, markup=False)
        else:
            print(text)


def _json(value: Any) -> str:
    """Return *value* as JSON, with long texts cut where a reader loses interest."""

    def short(part: Any) -> Any:
        if isinstance(part, str) and len(part) > 160:
            return f"{part[:40]}… ({len(part)} characters)"
        if isinstance(part, Mapping):
            return {key: short(item) for key, item in part.items()}
        return [short(item) for item in part] if isinstance(part, list) else part

    return json.dumps(short(value), ensure_ascii=False)
