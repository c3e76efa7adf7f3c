"""Which exit code a command ends with: one table, which the help and the documents show.

Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["EXITS", "INTERRUPTED", "Exit", "exit_code", "exit_table"]


@dataclass(frozen=True, slots=True)
class Exit:
    """One exit code.

    Attributes:
        number: What the process ends with.
        outcomes: The outcome codes that lead to it.
        text: What a script can take it for.
    """

    number: int
    outcomes: tuple[str, ...]
    text: str


INTERRUPTED: Final = 130  # what shells give a process that SIGINT ended: 128 + 2

EXITS: Final = (
    Exit(0, ("ok",), "done"),
    Exit(
        1,
        ("internal", "store_unavailable", "input_required"),
        "failed inside, or refused by the tool with a code of its own",
    ),
    Exit(
        2,
        ("invalid_arguments", "invalid_decision"),
        "the arguments don't fit, or the command line can't be read",
    ),
    # Not 0: `remit call … && next` must not go on as if the thing were done.
    Exit(3, ("awaiting_approval",), "nothing has happened yet: a person decides"),
    Exit(4, ("not_found", "unknown_tool"), "there is no such tool or record for you"),
    Exit(5, ("unauthenticated", "forbidden"), "not with this identity"),
    Exit(6, ("conflict", "in_progress", "superseded"), "another state than the call expects"),
    Exit(7, ("rate_limited", "too_large"), "less, or later"),
    Exit(
        8, ("timeout", "outcome_unknown", "cancelled"), "broken off: check before you call it again"
    ),
)

_NUMBERS: Final[Mapping[str, int]] = {
    outcome: exit_.number for exit_ in EXITS for outcome in exit_.outcomes
}


def exit_code(outcome: str) -> int:
    """Return the exit code for an outcome's code; 1 for a code of a tool's own."""
    return _NUMBERS.get(outcome, 1)


def exit_table() -> str:
    """Return the table as lines of text."""
    rows = [(str(e.number), f"{e.text} ({', '.join(e.outcomes)})") for e in EXITS]
    rows.append((str(INTERRUPTED), "interrupted from the keyboard"))
    return "\n".join(f"  {number:<4} {text}" for number, text in rows)
