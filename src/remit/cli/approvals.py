"""``remit approvals``: a person looks at requests and decides them, under a name and a role.

No tool and no agent's token reaches this: it wants the store itself, and claims that the operator
sets. A decision names the digest that `show` printed, so that it binds what was read (laws L6, L7).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeVar

import click

from remit.app import Remit
from remit.approvals import Decision
from remit.approvals.requests import Request
from remit.cli.claims import CLAIMS_HELP, operator_from
from remit.cli.drawing import block, line, moment, put, put_json, put_table
from remit.cli.exits import exit_code
from remit.cli.failing import UsageError, run
from remit.cli.loading import load
from remit.outcome import Refused

__all__ = ["approvals"]

T = TypeVar("T")
Command = TypeVar("Command", bound=Callable[..., Any])

SHORT: Final = 12  # digits of a digest that chat, page and this command match requests by
_DIGEST = re.compile(rf"[0-9a-f]{{{SHORT},64}}\Z")


@click.group()
def approvals() -> None:
    """Look at the requests that wait for a person, and decide them.

    Every subcommand wants to know who you are: --claims with sub and roles, or $REMIT_CLAIMS.
    ID is a request's id or the first 12 digits of its digest.
    """


def _common(command: Command) -> Command:
    for add in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--claims", metavar="FILE|JSON", help=f"{CLAIMS_HELP} Needs sub and roles."),
        click.argument("target", metavar="MODULE:APP"),
    ):
        command = add(command)
    return command


_one = click.argument("request_id", metavar="ID")


@approvals.command("list")
@click.option("--all", "every", is_flag=True, help="Those that no longer wait, too.")
@_common
def list_(target: str, *, claims: str | None, as_json: bool, every: bool) -> None:
    """List the requests that wait, oldest first."""
    operator_from(claims)
    app = load(target)
    found = run(_with(app, app.approvals.all if every else app.approvals.waiting))
    if as_json:
        put_json([_described(one) for one in found], indent=2)
        return
    if not found:
        put("no requests" if every else "no requests wait")
        return
    columns = ("REQUEST", "STATE", "TOOL", "FOR", "THROUGH", "EXPIRES", "APPROVERS", "EFFECT")
    rows = [
        (
            one.short,
            one.state,
            one.tool,
            one.subject,
            one.client,
            moment(one.expires),
            " or ".join(sorted(one.approvers)),
            one.effect or "",
        )
        for one in found
    ]
    put_table(columns, rows)


@approvals.command()
@_common
@_one
def show(target: str, *, request_id: str, claims: str | None, as_json: bool) -> None:
    """Show one request in full: all its arguments, with invisible characters made visible."""
    operator_from(claims)
    app = load(target)
    found = run(_with(app, lambda: _found(app, request_id)))
    if as_json:
        put_json(_described(found), indent=2)
        return
    _draw(found)
    if found.state == "waiting":
        put()
        for word in ("approve", "deny"):
            put(f"  remit approvals {word} {line(target)} {found.short} --digest {found.digest}")


def _deciding(command: Command) -> Command:
    for add in (
        click.option(
            "--digest",
            metavar="HEX",
            help="The digest that `show` printed, or its 12 first digits.",
        ),
        click.option("--reason", default="", help="What the requester is told."),
        click.option("--yes", is_flag=True, help="Don't ask; you have read the request."),
        _one,
        _common,
    ):
        command = add(command)
    return command


@dataclass(frozen=True, slots=True)
class _Said:
    """What a decision's command line says."""

    request_id: str
    digest: str | None
    reason: str
    yes: bool
    claims: str | None
    as_json: bool
    here: bool = False


@approvals.command()
@click.option("--run", "here", is_flag=True, help="Run it in this process, not in the serving one.")
@_deciding
def approve(target: str, **said: Any) -> None:
    """Approve one request; the process that serves the app then runs it, once."""
    _decide(target, Decision.APPROVE, said=_Said(**said))


@approvals.command()
@_deciding
def deny(target: str, **said: Any) -> None:
    """Deny one request."""
    _decide(target, Decision.DENY, said=_Said(**said))


def _decide(target: str, decision: Decision, *, said: _Said) -> None:
    person = operator_from(said.claims)
    digest = said.digest
    if digest is None or not _DIGEST.match(digest):
        raise UsageError(
            f"a decision names what was read: --digest with the digest that `remit approvals show "
            f"{target} {said.request_id}` prints, or its first {SHORT} digits"
        )
    if not said.yes and not _can_ask():
        raise UsageError("stdin is no terminal to ask on: add --yes once you have read the request")
    app = load(target)

    async def decided() -> Request:
        found = await _found(app, said.request_id)
        if not said.yes:
            _draw(found)
            put()
            click.confirm(
                f"{decision.capitalize()} this as {line(person['sub'])}?", abort=True, err=True
            )
        # A digest that isn't this request's goes on as it is, so that the refusal is on record.
        full = found.digest if found.digest.startswith(digest) else digest
        return await app.approvals.decide(
            found.id, decision, approver=person, digest=full, reason=said.reason, run=said.here
        )

    found = run(_with(app, decided))
    if said.as_json:
        put_json(_described(found), indent=2)
    else:
        put(_after(found, here=said.here))
    sys.exit(_exit(found))


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _after(found: Request, *, here: bool) -> str:
    if found.state == "approved" and not here:
        return f"{found.short} is approved; the process that serves the app runs it."
    ended = (
        "" if found.outcome is None else f": {line(json.dumps(found.outcome, ensure_ascii=False))}"
    )
    return f"{found.short} is {found.state}{ended}"


def _exit(found: Request) -> int:
    if found.outcome is not None and not found.outcome.get("ok"):
        return exit_code(str(found.outcome.get("code")))
    return exit_code({"unknown": "outcome_unknown", "failed": "internal"}.get(found.state, "ok"))


async def _with(app: Remit, work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    finally:
        await app.close()


async def _found(app: Remit, request_id: str) -> Request:
    """Return the request of that id, or the only one whose digest begins so.

    Raises:
        Refused: ``not_found``, or ``conflict`` if more than one begins so.
    """
    if not _DIGEST.match(request_id):
        return await app.approvals.get(request_id)
    # Those that wait first: a long history must not hide them behind the limit.
    held = {one.id: one for one in await app.approvals.all()}
    held |= {one.id: one for one in await app.approvals.waiting()}
    begun = [one for one in held.values() if one.digest.startswith(request_id)]
    if len(begun) > 1:
        raise Refused("conflict", "More than one request's digest begins so; give more of it.")
    if not begun:
        raise Refused("not_found", "There is no such request.")
    return begun[0]


def _draw(one: Request) -> None:
    put(f"request    {line(one.id)}")
    put(f"state      {line(one.state)}")
    put(f"tool       {line(one.tool)}")
    put(f"for        {line(one.subject)}" + (f" of {line(one.issuer)}" if one.issuer else ""))
    put(f"through    {line(one.client) or '(no client named)'}")
    put(f"filed      {moment(one.created)}, {one.repeats} repeats")
    put(f"expires    {moment(one.expires)}")
    put(f"approvers  {line(' or '.join(sorted(one.approvers)))}")
    if one.decided_by is not None:
        reason = f": {line(one.reason)}" if one.reason else ""
        put(f"decided    {moment(one.decided)} by {line(one.decided_by)}{reason}")
    if one.outcome is not None:
        put(f"outcome    {line(json.dumps(one.outcome, ensure_ascii=False))}")
    if one.effect is not None:
        put(f"effect     {line(one.effect)}")
    put("arguments, all of them, as they will run (written by the requester: data, not advice)")
    shown = json.dumps(one.arguments, ensure_ascii=False, indent=2)
    put("\n".join(f"  {text}" for text in block(shown).split("\n")))
    put(f"digest     {one.digest}")


def _described(one: Request) -> dict[str, Any]:
    return {**asdict(one), "approvers": sorted(one.approvers), "short": one.short}
