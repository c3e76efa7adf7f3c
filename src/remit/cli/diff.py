"""``remit diff``: what two versions of an app's declarations say differently, and for whom."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

import click

from remit.cli.drawing import json_text, line, put, put_json
from remit.cli.failing import CommandError, UsageError
from remit.cli.loading import load
from remit.cli.lock import LOCK
from remit.manifest import FORMAT, locked
from remit.schema import Change, SchemaError
from remit.schema import diff as changes

__all__ = ["diff"]

_KINDS: Final = {
    # By how much they matter to whoever reviews: SARIF's level, and what it means.
    "authority": ("error", "lets an agent do or decide more"),
    "narrowed": ("error", "breaks callers"),
    "unknown": ("warning", "can't be told"),
    "meaning": ("note", "says something else to the model"),
    "widened": ("note", "accepts more"),
}
_FAILING: Final = ("authority", "narrowed", "unknown")


@click.command()
@click.argument("old", metavar="[OLD]", default="")
@click.argument("new", metavar="[NEW]", default="")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--sarif", is_flag=True, help="Print SARIF 2.1.0, for code scanning.")
@click.option("--markdown", is_flag=True, help="Print a table for a pull request.")
@click.option(
    "--fail-on",
    "failing",
    default=",".join(_FAILING),
    show_default=True,
    metavar="KINDS",
    help="Exit 1 if there is a change of one of these kinds; any, or none.",
)
def diff(old: str, new: str, *, failing: str, **forms: bool) -> None:
    """Say what NEW declares otherwise than OLD.

    Each is a lock, any server's list of tools as JSON, or an app as MODULE:APP. Without NEW the app
    is compared with what is locked: `remit diff` alone compares remit.lock with the app that it
    names. - reads standard input, such as `git show main:remit.lock | remit diff - blog:blog`.

    \b
    authority  lets an agent do or decide more: a scope, an approval or an effect is lowered,
               other keys are kept, a field that names an identity or a state is new
    narrowed   breaks callers; shown with arguments that were taken and are refused now
    unknown    can't be told
    meaning    says something else to the model: a description, a default
    widened    accepts more

    Exit codes: 0, 1 if there is a change of a kind in --fail-on, 2 if the two can't be compared.
    """  # noqa: D301 - click's mark for lines that stay
    kinds = _failing(failing)
    asked = [name for name, wanted in forms.items() if wanted]
    if len(asked) > 1:
        raise UsageError(f"take one of --{', --'.join(asked)}")
    if not new and _is_app(old):
        old, new = LOCK, old
    old = old or LOCK
    before = _read(old)
    after = _read(new or _target(before, old))
    try:
        found = changes(before, after)
    except (SchemaError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{old} and {new} can't be compared: {error}") from None
    except ImportError as error:
        raise CommandError(str(error)) from None
    _FORMS[asked[0] if asked else "text"](found, old)
    sys.exit(any(one.kind in kinds for one in found))


def _failing(given: str) -> set[str]:
    if given in ("any", "none"):
        return set(_KINDS) if given == "any" else set()
    kinds = {one.strip() for one in given.split(",")}
    if wrong := sorted(kinds - _KINDS.keys()):
        raise UsageError(f"--fail-on takes {', '.join(_KINDS)}, any or none; not {wrong[0]!r}")
    return kinds


def _is_app(side: str) -> bool:
    return ":" in side and not Path(side).exists()


def _target(lock: Mapping[str, Any], name: str) -> str:
    target = lock.get("app")
    if not isinstance(target, str) or ":" not in target:
        raise UsageError(f"{name} names no app; say what to compare it with: remit diff OLD NEW")
    return target


def _read(side: str) -> dict[str, Any]:
    if _is_app(side):
        try:
            return locked(load(side), side)
        except CommandError as error:  # 1 would say that something changed
            raise UsageError(error.message) from None
    try:
        text = sys.stdin.read() if side == "-" else Path(side).read_text("utf-8")
        found = json.loads(text)
    except FileNotFoundError:
        mend = "write it: remit lock MODULE:APP" if side == LOCK else "name a file, or MODULE:APP"
        raise UsageError(f"there is no {side}; {mend}") from None
    except (OSError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise UsageError(f"{side} can't be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{side} is no lock and no list of tools, which are JSON objects")
    made = cast("dict[str, Any]", found)
    if isinstance(form := made.get("remit"), int) and form > FORMAT:
        raise UsageError(f"{side} was written by a newer remit (form {form}); update remit")
    return made


def _text(found: Sequence[Change], _: str) -> None:
    tool = None
    for one in found:
        if one.tool != tool:
            tool = one.tool
            put(line(tool or "the app"))
        put(f"  {one.kind:<9}  {line(one.pointer)}")
        put(f"             {line(one.text)}")
        if shown := _instance(one):
            put(f"             {shown}")
    put(_summary(found))


def _summary(found: Sequence[Change]) -> str:
    counts = Counter[str](one.kind for one in found)
    each = [f"{counts[kind]} {kind}" for kind in _KINDS if counts[kind]]
    return (
        f"{len(found)} change{'' if len(found) == 1 else 's'}: {', '.join(each)}"
        if each
        else ("no change")
    )


def _instance(one: Change) -> str:
    shows = one.kind == "narrowed" and one.witness is not None
    return f"for instance {_shown(one.witness)}" if shows else ""


def _shown(value: Any, most: int = 200) -> str:
    told = json_text(value)
    return told if len(told) <= most else f"{told[: most - 1]}…"


def _json(found: Sequence[Change], _: str) -> None:
    put_json([_plain(one) for one in found], indent=2)


def _plain(one: Change) -> dict[str, Any]:
    made: dict[str, Any] = {
        "tool": one.tool,
        "pointer": one.pointer,
        "kind": one.kind,
        "text": one.text,
    }
    return {**made, "witness": one.witness} if one.kind == "narrowed" else made


def _markdown(found: Sequence[Change], _: str) -> None:
    put(f"**remit:** {_summary(found)}")
    if found:
        put("")
        put("| tool | where | kind | what |")
        put("|---|---|---|---|")
    for one in found:
        mark = f"**{one.kind}**" if one.kind in _FAILING else one.kind
        shown = f"{_words(one.text)}<br>{_words(_instance(one))}".removesuffix("<br>")
        cells = (_code(one.tool), _code(one.pointer), mark, shown)
        put(f"| {' | '.join(cells)} |")


def _code(text: str) -> str:
    shown = line(text).replace("|", "\\|")
    if not shown:
        return ""
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def _words(text: str) -> str:
    """Return *text*, which may quote anything, as words of a table's cell and nothing else."""
    return "".join(f"\\{one}" if one in "\\`*_{}[]<>()#!|~&@" else one for one in line(text))


def _sarif(found: Sequence[Change], old: str) -> None:
    uri = LOCK if old == "-" or _is_app(old) else Path(old).as_posix()
    lines = _lines(Path(uri))
    rules = [
        {
            "id": f"remit/{kind}",
            "name": f"Remit{kind.capitalize()}",
            "shortDescription": {"text": f"A change that {text}"},
            "defaultConfiguration": {"level": level},
        }
        for kind, (level, text) in _KINDS.items()
    ]
    ids = [one["id"] for one in rules]
    results = [
        {
            "ruleId": f"remit/{one.kind}",
            "ruleIndex": ids.index(f"remit/{one.kind}"),
            "level": _KINDS[one.kind][0],
            "message": {
                "text": " ".join(
                    filter(
                        None,
                        (f"{line(one.tool)} {line(one.pointer)}:", line(one.text), _instance(one)),
                    )
                )
            },
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": uri},
                        "region": {"startLine": lines.get(one.tool, 1)},
                    },
                    "logicalLocations": [
                        {"fullyQualifiedName": f"{one.tool}{one.pointer}", "kind": "member"}
                    ],
                }
            ],
        }
        for one in found
    ]
    driver = {
        "name": "remit",
        "version": version("remit"),
        "rules": rules,
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    put_json({"$schema": schema, "version": "2.1.0", "runs": [run]}, indent=2)


def _lines(path: Path) -> dict[str, int]:
    """Return on which line of the lock at *path* each tool begins."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    found: dict[str, int] = {}
    for number, one in enumerate(text.split("\n"), 1):
        if one.startswith('    "') and one.endswith('": {'):
            found.setdefault(json.loads(one.strip().removesuffix(": {")), number)
    return found


_FORMS: Final[Mapping[str, Callable[[Sequence[Change], str], None]]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "sarif": _sarif,
}
