"""``remit call``: one call of one tool from a shell, through the same path as every surface."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import click
from click.shell_completion import CompletionItem

from remit.app import Remit
from remit.cli import flags as spelling
from remit.cli.claims import CLAIMS_HELP, claims_from
from remit.cli.drawing import block, json_text, line, put, put_json
from remit.cli.exits import exit_code, exit_table
from remit.cli.failing import UsageError, complain_of, near, run
from remit.cli.loading import load
from remit.outcome import Ok, Outcome, wire

__all__ = ["call"]

_TEXT: Final = f"""Call TOOL of the app MODULE:APP once, and print its outcome.

The arguments are the tool's own flags (remit call MODULE:APP TOOL --help), or one JSON object with
--json; nothing is parsed twice, and a text stays text. Options stand before MODULE:APP, or after
TOOL where the tool has no argument of that name. Without claims only public tools can be called.

\b
Exit codes:
{exit_table()}
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say, wherever they stood."""

    json: str | None
    claims: str | None
    key: str | None
    as_json: bool


def _options() -> list[click.Option]:
    return [
        click.Option(
            ["--json", "own_json"],
            metavar="JSON",
            help="The arguments as one JSON object, passed on untouched; - reads it from stdin.",
        ),
        click.Option(["--claims", "own_claims"], metavar="FILE|JSON", help=CLAIMS_HELP),
        click.Option(
            ["--idempotency-key", "own_key"],
            metavar="KEY",
            help="The same key with the same arguments returns the first outcome.",
        ),
        click.Option(
            ["--json-output", "own_output"],
            is_flag=True,
            default=False,
            help="Print the outcome as JSON, as is done anyway where stdout is no terminal.",
        ),
    ]


class _Call(click.Command):
    """The command itself; what follows TOOL is read by a command made of the tool's schema."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the tool's own flags where they stand, else this command's options."""
        target, tool = ctx.params.get("target"), ctx.params.get("tool")
        if not target or not tool:
            return super().shell_complete(ctx, incomplete)
        try:
            made, _ = _command(load(target), target, tool)
        except (click.ClickException, KeyError):
            return []
        return made.shell_complete(click.Context(made), incomplete)


def _tools(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        tools = load(ctx.params["target"]).tools
    except (click.ClickException, KeyError):
        return []
    return [
        CompletionItem(name, help=line(tool.title))
        for name, tool in tools.items()
        if name.startswith(incomplete)
    ]


def _called(target: str, tool: str | None, rest: tuple[str, ...], **own: Any) -> None:
    app = load(target)
    if tool == "--help":
        put(click.get_current_context().get_help())
        return
    if tool is None or tool.startswith("-"):
        raise UsageError(f"which tool of {target}?{near(tool or '', list(app.tools))}")
    asked = _Asked(own["own_json"], own["own_claims"], own["own_key"], own["own_output"])
    if tool in app.tools:
        arguments, asked = _read(app, target, tool, rest, asked)
    else:
        arguments = "{}"  # the path answers, and records, a name that is no tool's
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        lost = click.Command(tool, params=[*_options()], context_settings=settings)
        own = lost.make_context(tool, [*rest]).params
        asked = _Asked(
            asked.json,
            asked.claims or own["own_claims"],
            asked.key or own["own_key"],
            asked.as_json or own["own_output"],
        )
    raw: str | bytes = sys.stdin.buffer.read() if arguments == "-" else arguments
    claims = claims_from(asked.claims)
    as_json = asked.as_json or not _for_people()
    outcome, known = run(_dispatched(app, tool, raw, claims, asked.key, quiet=as_json))
    if as_json:
        # For programs; of a refusal nothing, which answers for missing and not yours alike.
        meta = {"meta": dict(outcome.meta)} if isinstance(outcome, Ok) else {}
        put_json({**wire(outcome), **meta})
    if isinstance(outcome, Ok):
        if not as_json:
            _draw(outcome)
    else:
        complain_of(outcome)
        if outcome.code == "unknown_tool":
            put(f"  remit tools {line(target)} lists them.{line(near(tool, known))}", error=True)
        if outcome.code == "unauthenticated" and claims is None:
            put("  No claims were given: --claims says on whose behalf.", error=True)
    sys.exit(exit_code(outcome.code))


def _for_people() -> bool:
    return sys.stdout.isatty()


async def _dispatched(
    app: Remit,
    tool: str,
    raw: str | bytes,
    claims: Mapping[str, Any] | None,
    key: str | None,
    *,
    quiet: bool,
) -> tuple[Outcome, list[str]]:
    """Return the outcome, and after an unknown name those that this caller may know of."""

    async def progress(done: float, total: float | None, text: str | None) -> None:
        part = f"{done:g}" if total is None else f"{done:g}/{total:g}"
        put(f"… {part} {line(text or '')}".rstrip(), error=True)

    try:
        outcome = await app.dispatch(
            tool,
            raw,
            claims,
            surface="cli",
            idempotency_key=key,
            progress=None if quiet else progress,
        )
        known: list[str] = []
        if outcome.code == "unknown_tool":
            known = [one.name for one in await app.visible(claims, surface="cli")]
        return outcome, known
    finally:
        await app.close()


def _draw(outcome: Ok[Any]) -> None:
    if outcome.code == "awaiting_approval":
        data = cast("Mapping[str, Any]", outcome.data)
        put(
            f"Request {line(data['request'])} waits for a person, until {line(data['expires_at'])}."
        )
        put("Nothing has happened yet. `remit approvals` shows what waits.")
        return
    put(block(outcome.data) if isinstance(outcome.data, str) else json_text(outcome.data, indent=2))
    if outcome.more:
        put("(cut to fit: there is more)", error=True)
    if outcome.ignored:
        put(f"(dropped, as the tool declares: {line(', '.join(outcome.ignored))})", error=True)


# The tool's own command. --------------------------------------------------------------------------


class _Flag(click.Option):
    """An option of which the help shows one spelling, though more are taken."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Show the first spelling, drawn: the schema's words come from the app."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        metavar = f" {self.make_metavar(ctx)}" if not self.count else ""
        return line(f"{self.opts[0]}{metavar}"), line(record[1])


def _command(app: Remit, target: str, tool: str) -> tuple[click.Command, dict[str, _Part]]:
    """Return the command that *tool*'s schema makes, and which of its parameters is which flag."""
    declared = app.tools[tool]
    found, rest = spelling.flags(declared.input_schema)
    options: list[click.Parameter] = []
    parts: dict[str, _Part] = {}
    for flag in found:
        for spellings, on in ((flag.on, True), (flag.off, False)):
            if not spellings:
                continue
            name = f"p{len(parts)}"
            parts[name] = _Part(flag, on=on)
            options.append(_option(name, spellings, flag, on=on))
    taken = {text for option in options for text in option.opts}
    options += [own for own in _options() if not taken & set(own.opts)]
    notes = [block(declared.description)]
    if rest:
        notes.append(f"Only --json can say: {line(', '.join(rest))}.")
    if clash := sorted({text for own in _options() for text in own.opts} & taken):
        notes.append(
            f"{', '.join(clash)} is the tool's own here; remit's stands before {line(target)}."
        )
    made = click.Command(tool, params=options, help="\n\n".join(notes), add_help_option=True)
    return made, parts


@dataclass(frozen=True, slots=True)
class _Part:
    flag: spelling.Flag
    on: bool


def _option(name: str, spellings: Sequence[str], flag: spelling.Flag, *, on: bool) -> click.Option:
    help_ = flag.text if on else ""
    if flag.required and on:
        help_ = f"{help_}  [required]".strip()
    if flag.kind == "switch":
        return _Flag([*spellings, name], count=True, help=help_)
    if flag.many:
        help_ = f"{help_}  [once for each item]".strip()
    return _Flag(
        [*spellings, name],
        multiple=True,
        type=click.UNPROCESSED,
        metavar=flag.metavar,
        help=help_,
    )


def _read(
    app: Remit, target: str, tool: str, rest: tuple[str, ...], before: _Asked
) -> tuple[str, _Asked]:
    """Return the arguments as JSON text (``-`` for stdin) and the options of both places."""
    made, parts = _command(app, target, tool)
    with made.make_context(f"remit call {line(target)} {line(tool)}", list(rest)) as ctx:
        values = ctx.params
    given = _given(values, parts)
    asked = _Asked(
        _one("--json", before.json, values.get("own_json")),
        _one("--claims", before.claims, values.get("own_claims")),
        _one("--idempotency-key", before.key, values.get("own_key")),
        before.as_json or bool(values.get("own_output")),
    )
    if asked.json is None:
        return spelling.json_of(given), asked
    if given:
        raise UsageError(
            f"{given[0].flag.on[0]} and --json both give arguments; say all of them in one way"
        )
    return asked.json, asked


def _one(name: str, before: str | None, after: str | None) -> str | None:
    if before is not None and after is not None:
        raise UsageError(f"{name} is given twice")
    return after if before is None else before


def _given(values: Mapping[str, Any], parts: Mapping[str, _Part]) -> list[spelling.Given]:
    given: list[spelling.Given] = []
    said: dict[spelling.Flag, str] = {}
    for name, part in parts.items():
        value: Any = values.get(name)
        if not value:
            continue
        flag = part.flag
        shown = (flag.on if part.on else flag.off)[0]
        times = value if flag.kind == "switch" else len(value)
        if flag in said and said[flag] != shown:
            raise UsageError(f"{said[flag]} and {shown} contradict each other; give one")
        if times > 1 and not flag.many:
            raise UsageError(f"{shown} is given {times} times and takes one value; give it once")
        said[flag] = shown
        given.append(spelling.Given(flag, part.on if flag.kind == "switch" else tuple(value)))
    return given


call: click.Command = _Call(
    "call",
    callback=_called,
    help=_TEXT,
    short_help="Call one tool, through the same path as every surface.",
    params=[
        *_options(),
        click.Argument(["target"], metavar="MODULE:APP"),
        click.Argument(["tool"], metavar="TOOL", required=False, shell_complete=_tools),
        click.Argument(["rest"], metavar="[FLAGS]...", nargs=-1, type=click.UNPROCESSED),
    ],
    context_settings={"allow_interspersed_args": False},
)
