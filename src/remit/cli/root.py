"""The command's root: what every subcommand shares, and how each failure leaves."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from typing import Any

import click

from remit.cli.approvals import approvals
from remit.cli.audit import audit
from remit.cli.call import call
from remit.cli.completion import completion
from remit.cli.drawing import complain, log_to_stderr
from remit.cli.exits import INTERRUPTED
from remit.cli.failing import CommandError
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
        except click.exceptions.NoArgsIsHelpError as error:
            complain(error.format_message())
            sys.exit(2)
        except click.UsageError as error:
            if error.ctx is not None:
                complain(error.ctx.get_usage())
                complain(f"Try '{error.ctx.command_path} --help' for help.")
            complain(f"Error: {error.format_message()}")
            sys.exit(2)
        except CommandError as error:
            complain(f"Error: {error.format_message()}")
            sys.exit(error.number)
        except click.ClickException as error:
            complain(f"Error: {error.format_message()}")
            sys.exit(error.exit_code)
        except click.Abort:
            complain("interrupted")
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=_Root)
@click.version_option(version("remit"), prog_name="remit")
def command() -> None:
    """Give an agent its remit, and nothing more.

    MODULE:APP names a module and the remit.Remit in it, e.g. blog:blog; the current directory is
    looked in first.
    """
    log_to_stderr()


for subcommand in (serve, call, tools, approvals, audit, completion):
    command.add_command(subcommand)
