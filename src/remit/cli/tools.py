"""``remit tools``: what an app declares, or what one principal may know of."""

from __future__ import annotations

from typing import Any

import click

from remit.app import Remit
from remit.cli.claims import CLAIMS_HELP, claims_from
from remit.cli.drawing import put, put_json, put_table
from remit.cli.failing import run
from remit.cli.loading import load
from remit.contract import Tool
from remit.manifest import manifest

__all__ = ["tools"]


@click.command()
@click.argument("target", metavar="MODULE:APP")
@click.option("--claims", metavar="FILE|JSON", help=f"{CLAIMS_HELP} Lists only what they may call.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the manifest: all that each surface shows."
)
def tools(target: str, *, claims: str | None, as_json: bool) -> None:
    """List the tools of the app MODULE:APP.

    Without claims all declared tools are listed; with them those that this principal may know of,
    by the decision that a call would meet.
    """
    app = load(target)
    held = claims_from(claims)
    shown = list(app.tools.values()) if held is None else run(_visible(app, held))
    if as_json:
        put_json(manifest(app, shown), indent=2)
        return
    if not shown:
        put("no tools" if held is None else "no tools for this principal")
        return
    put_table(("TOOL", "EFFECT", "SCOPES", "APPROVAL", "DESCRIPTION"), [_row(t) for t in shown])


async def _visible(app: Remit, claims: dict[str, Any]) -> list[Tool]:
    try:
        listed = await app.visible(claims, surface="cli")
        return [app.tools[one.name] for one in listed]
    finally:
        await app.close()


def _row(tool: Tool) -> tuple[str, str, str, str, str]:
    effect = f"{tool.effect}, external" if tool.external else tool.effect
    scopes = "public" if tool.public else " ".join(sorted(tool.scopes)) or "any signed-in principal"
    asks = "" if tool.approval is None else " or ".join(sorted(tool.approval.approvers))
    return tool.name, effect, scopes, asks, tool.description.strip().partition("\n")[0]
