"""The command `remit`: serve an app, call its tools, decide requests, read the audit log.

It stands where a surface stands: it translates a command line into the app's own calls, and their
outcomes into text, JSON and exit codes. It decides nothing about a call.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the process's own arguments, and end the process with its exit code."""
    try:
        from remit.cli.root import command
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(f"remit: the command needs {error.name}: pip install 'remit[cli]'\n")
        sys.exit(1)
    command.main(prog_name="remit")
