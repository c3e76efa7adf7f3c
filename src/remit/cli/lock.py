"""``remit lock``: write down what an app declares, for people to review."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from remit.cli.drawing import complain, line, put
from remit.cli.failing import CommandError
from remit.cli.loading import load
from remit.manifest import locked, written

__all__ = ["LOCK", "lock"]

LOCK: Final = "remit.lock"


@click.command()
@click.argument("target", metavar="MODULE:APP")
@click.option("--output", "path", default=LOCK, metavar="FILE", help=f"Instead of {LOCK}.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the file isn't up to date.")
def lock(target: str, *, path: str, check: bool) -> None:
    """Write the declarations of MODULE:APP to remit.lock.

    The file is the whole contract of each tool: what it takes and returns, who may call it, which
    records it names, who must agree. Keep it with the code, so that a change of it is reviewed;
    `remit diff` says what a change means.
    """
    text = written(locked(load(target), target))
    file = Path(path)
    try:
        before = file.read_text("utf-8") if file.exists() else None
        if not check and text != before:
            # In full or not at all: a lock cut short would look like tools that are gone.
            made = file.with_name(f"{file.name}.new")
            made.write_text(text, "utf-8")
            made.replace(file)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} can't be read or written: {error}") from None
    count = text.count('"input_schema"')
    tools = f"{count} tool{'' if count == 1 else 's'}"
    if check and text != before:
        state = "isn't there" if before is None else "isn't up to date"
        why = f"`remit diff {line(path)} {line(target)}` says why, " if before is not None else ""
        complain(f"{path} {state}; {why}`remit lock` writes it")
        sys.exit(1)
    put(f"{line(path)}: {tools}, {'up to date' if text == before else 'written'}")
