"""The command's root: what every subcommand shares, and how each failure leaves."""

from __future__ import annotations

import io
import os
import sys
from importlib.metadata import version
from typing import Any

import click

from remit.cli.approvals import approvals
from remit.cli.audit import audit
from remit.cli.call import call
from remit.cli.completion import completion
from remit.cli.diff import diff
from remit.cli.drawing import complain, log_to_stderr
from remit.cli.exits import INTERRUPTED
from remit.cli.failing import CommandError
from remit.cli.lock import lock
from remit.cli.serve import serve
from remit.cli.tools import tools

__all__ = ["command"]


class _Root(click.Group):
    """A group whose errors are drawn: they repeat what the command line held."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command and end the process with its exit code."""
        if extra.get("standalone_mode") is False:
            return super().main(*args, **extra)
        extra["standalone_mode"] = False
        for stream in (sys.stdout, sys.stderr):
            # A terminal that lacks a character must not end a command whose work is done.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **extra)
        except click.ClickException as error:
            sys.exit(_explained(error))
        except BrokenPipeError:
            # Whoever read the output has gone; Python would complain again when it flushes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except click.Abort:
            complain("interrupted")
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _explained(error: click.ClickException) -> int:
    """Write what is wrong to standard error, drawn, and return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        complain(error.format_message())
        return 2
    if isinstance(error, click.UsageError) and error.ctx is not None:
        complain(error.ctx.get_usage())
        complain(f"Try '{error.ctx.command_path} --help' for help.")
    complain(f"Error: {error.format_message()}")
    return error.number if isinstance(error, CommandError) else error.exit_code


@click.group(cls=_Root)
@click.version_option(version("remit"), prog_name="remit")
def command() -> None:
    """Give an agent its remit, and nothing more.

    MODULE:APP names a module and the remit.Remit in it, e.g. blog:blog; the current directory is
    looked in first.
    """
    log_to_stderr()


_COMMANDS: tuple[click.Command, ...] = (
    *(serve, call, tools, approvals, audit),
    *(lock, diff, completion),
)
for _one in _COMMANDS:
    command.add_command(_one)
