"""``remit audit``: read the record of every outcome, and check that nobody has changed it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click

from remit.audit import Audit, Row
from remit.cli.drawing import complain, line, moment, put, put_json, put_table
from remit.cli.failing import CommandError, UsageError, run
from remit.cli.loading import load
from remit.store import Store, StoreError

__all__ = ["audit"]

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(short_help="Read the audit log, and check its chain.")
def audit() -> None:
    """Read the audit log of an app, or of a store that --store names."""


def _common(command: Command) -> Command:
    for add in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line."),
        click.option("--store", metavar="URL", help="A store's URL, in place of MODULE:APP."),
        click.argument("target", metavar="[MODULE:APP]", required=False),
    ):
        command = add(command)
    return command


@audit.command()
@click.option(
    "-n", "count", type=click.IntRange(1), default=20, show_default=True, help="How many."
)
@click.option("--tool", help="Only this tool's.")
@click.option("--principal", help="Only this subject's.")
@click.option("--outcome", help="Only those of this code.")
@_common
def tail(
    target: str | None,
    *,
    store: str | None,
    as_json: bool,
    count: int,
    tool: str | None,
    principal: str | None,
    outcome: str | None,
) -> None:
    """Print the last rows, newest last."""
    with _opened(target, store) as opened:
        last = opened.rows(limit=count, tool=tool, principal=principal, outcome=outcome)
    if as_json:
        for row in last:
            put_json({"seq": row.seq, "hash": row.hash, **asdict(row.record)})
        return
    if not last:
        put("no rows")
        return
    columns = ("SEQ", "AT", "KIND", "TOOL", "PRINCIPAL", "CLIENT", "SURFACE", "OUTCOME", "WHY")
    put_table(columns, [_cells(row) for row in last])


@audit.command()
@_common
def verify(target: str | None, *, store: str | None, as_json: bool) -> None:
    """Check the chain of all rows; ends with 1 if a row was changed, moved or taken out.

    A log whose last rows were cut off verifies: keep the head's hash elsewhere to see that.
    """
    with _opened(target, store) as opened:
        verdict = opened.verify()
    if as_json:
        put_json(asdict(verdict))
    elif verdict.ok:
        put(line(verdict.text))
    else:
        complain(f"broken at row {verdict.first_bad}: {line(verdict.text)}")
    sys.exit(0 if verdict.ok else 1)


@contextmanager
def _opened(target: str | None, url: str | None) -> Generator[Audit]:
    if (target is None) == (url is None):
        raise UsageError("say whose log: MODULE:APP, or --store URL, and not both")
    try:
        if target is not None:
            app = load(target)
            try:
                yield app.audit
            finally:
                run(app.close())
        else:
            store = Store.open(_there(url or ""))
            try:
                yield Audit(store)
            finally:
                store.close()
    except StoreError as error:
        raise CommandError(str(error)) from None


def _there(url: str) -> str:
    """Return *url*, unless its file isn't there: opening makes one, and an empty log verifies."""
    kind, _, path = url.partition(":///")
    if kind.partition("+")[0] == "sqlite" and path and not Path(path.partition("?")[0]).exists():
        raise UsageError(f"there is no file {path}; a store is named like sqlite:///remit.db")
    return url


def _cells(row: Row) -> tuple[object, ...]:
    one = row.record
    why = one.rule or (f"reference {one.reference}" if one.reference else "")
    who = f"{one.principal} (by {one.approver})" if one.approver else one.principal
    seen = (one.kind, one.tool, who, one.client, one.surface, one.outcome, why)
    return (row.seq, moment(one.at), *seen)
