"""``remit completion``: the script that makes a shell complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from remit.cli.drawing import put
from remit.cli.failing import CommandError

__all__ = ["completion"]

VARIABLE = "_REMIT_COMPLETE"  # click's own name for a program that is called remit

# Not the docstring: click's mark for lines that stay as they are is a backspace.
_TEXT = """Print the completion script for SHELL.

\b
  bash:  eval "$(remit completion bash)"   in ~/.bashrc
  zsh:   eval "$(remit completion zsh)"    in ~/.zshrc
  fish:  remit completion fish > ~/.config/fish/completions/remit.fish

Completing the tools of MODULE:APP imports that module, as calling them does.
"""


@click.command(help=_TEXT, short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, *, shell: str) -> None:
    """Print the completion script for *shell*."""
    made = get_completion_class(shell)
    if made is None:  # pragma: no cover - click ships the three
        raise CommandError(f"click has no completion for {shell}")
    put(made(ctx.find_root().command, {}, "remit", VARIABLE).source())
