"""How a command fails: a text for people, drawn, and an exit code of the table."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

import click

from remit.cli.drawing import complain, line
from remit.cli.exits import INTERRUPTED, exit_code
from remit.outcome import Refused
from remit.store import StoreError

__all__ = ["CommandError", "UsageError", "complain_of", "near", "refused", "run"]

T = TypeVar("T")


class CommandError(click.ClickException):
    """The command can't do what it was asked; says what, where and the mend.

    Args:
        message: That text; it is drawn when it is shown.
        number: The exit code.
    """

    def __init__(self, message: str, *, number: int = 1) -> None:
        super().__init__(message)
        self.number = number


class UsageError(CommandError):
    """The command line doesn't say something that can be done."""

    def __init__(self, message: str) -> None:
        super().__init__(message, number=2)


def complain_of(refusal: Refused) -> None:
    """Write *refusal* to standard error: its code, its message, its issues."""
    complain(f"refused ({refusal.code}): {line(refusal.message)}")
    for issue in refusal.issues:
        hint = f" ({issue.hint})" if issue.hint else ""
        complain(f"  {line(issue.path)}: {line(issue.code + hint)}")
    if refusal.more:
        complain(f"  and {refusal.more} more")
    if refusal.retry_after is not None:
        complain(f"  try again in {refusal.retry_after:g} seconds")


def refused(refusal: Refused) -> NoReturn:
    """Write *refusal* to standard error and end with its exit code."""
    complain_of(refusal)
    sys.exit(exit_code(refusal.code))


def near(wrong: str, known: list[str]) -> str:
    """Return a hint at the nearest of *known*, or at all of them, or an empty text."""
    import difflib

    found = difflib.get_close_matches(wrong, known, n=1, cutoff=0.5)
    if found:
        return f" Did you mean {found[0]}?"
    return f" There are: {', '.join(sorted(known)[:20])}." if known else ""


def run(work: Coroutine[Any, Any, T], *, refusals: bool = False) -> T:
    """Run *work* to its end, and end the command where the store or a person ends it.

    Args:
        work: What to run.
        refusals: True raises a refusal instead of ending the command with it.

    Raises:
        CommandError: If the store can't be opened, read or written.
        Refused: If *refusals* is true.
    """
    try:
        return asyncio.run(work)
    except StoreError as error:
        raise CommandError(str(error), number=exit_code("store_unavailable")) from None
    except Refused as refusal:
        if refusals:
            raise
        refused(refusal)
    except KeyboardInterrupt:
        complain("interrupted; what was begun is on record")
        sys.exit(INTERRUPTED)
