"""What a newer list of tools says otherwise than an older one, and for whom.

The lists may be remit's own (a lock, a manifest) or what any MCP server answers to ``tools/list``;
two schemas can be compared as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from remit.schema.comparing.findings import Change, Kind
from remit.schema.comparing.walking import compared
from remit.schema.document import Document, Json, bounded, pointer
from remit.schema.nodes import same, short
from remit.schema.places import copied
from remit.schema.policy import SchemaError

__all__ = ["diff"]

_SCHEMAS: Final = {  # what each is called, and whether its readers are the callers
    "input_schema": False,
    "inputSchema": False,
    "output_schema": True,
    "outputSchema": True,
}
_WORDS: Final = ("title", "description")
_FLAGS: Final[dict[str, tuple[Kind, Kind, str]]] = {
    # What becoming true means, what becoming false means, and what it is.
    "public": ("authority", "narrowed", "anyone may call it, signed in or not"),
    "external": ("meaning", "authority", "it says that it touches systems beyond the app's own"),
    "idempotent": ("authority", "meaning", "it says that a repeated call changes nothing more"),
    "readOnlyHint": ("authority", "meaning", "it says that it only reads"),
    "destructiveHint": ("meaning", "authority", "it says that it may destroy"),
    "idempotentHint": ("authority", "meaning", "it says that a repeated call changes nothing more"),
    "openWorldHint": ("meaning", "authority", "it says that it touches systems beyond its own"),
    "self_approval": ("authority", "narrowed", "whoever asked may agree too"),
}
_EFFECTS: Final = ("read", "write", "irreversible")
_GATED: Final = "request_"


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return what *new* says otherwise than *old*.

    Args:
        old: The older: a lock, a manifest, what an MCP server lists (``{"tools": […]}``), or one
            JSON Schema.
        new: The newer, of the same form.

    Returns:
        The changes by tool, in the order of *new*, then of what is gone. Empty if nothing changed.

    Raises:
        SchemaError: If a schema is of a hostile size.
        ImportError: If `jsonschema_rs` isn't installed (``pip install 'remit[diff]'``).
        ValueError: If the two aren't of one form.
    """
    before, after = _tools(old), _tools(new)
    if before is None or after is None:
        if before is not after:
            raise ValueError("one of the two is a list of tools, the other is a schema")
        return _schemas(dict(old), dict(new), "", (), results=False)
    gated = {name.removeprefix(_GATED): name for name in before if name.startswith(_GATED)}
    found: list[Change] = []
    for name, tool in after.items():
        if name in before:
            found += _tool(name, before[name], tool)
        else:
            found += _new(name, tool, gated)
    found += [
        Change(name, "#", "narrowed", "the tool is gone") for name in before if name not in after
    ]
    return found


def _tools(given: Mapping[str, Any]) -> dict[str, Json] | None:
    """Return the tools that *given* lists by name, or None if it is a schema."""
    listed = given.get("tools")
    if isinstance(listed, Mapping):
        return {str(name): dict(one) for name, one in cast("Mapping[str, Json]", listed).items()}
    if isinstance(listed, list):
        return {str(one.get("name")): one for one in cast("list[Json]", listed)}
    return None


def _new(name: str, tool: Json, gated: Mapping[str, str]) -> Iterator[Change]:
    yield Change(name, "#", "widened", "the tool is new")
    if name in gated and not tool.get("approval"):
        text = f"a person had to agree to {gated[name]}; nobody has to agree to {name}"
        yield Change(name, "#/approval", "authority", text)
    if tool.get("public"):
        yield Change(name, "#/public", "authority", "a new tool that anyone may call")
    if tool.get("effect", "read") != "read" and not tool.get("approval"):
        text = f"a new tool with the effect {tool['effect']!r}, to which nobody has to agree"
        yield Change(name, "#/effect", "authority", text)


def _tool(name: str, old: Json, new: Json) -> Iterator[Change]:
    for word in _WORDS:
        if not same(old.get(word), new.get(word)):
            text = f"{word}: {short(old.get(word))} → {short(new.get(word))}"
            yield Change(name, f"#/{word}", "meaning", text)
    yield from _flags(name, old, new, "")
    yield from _flags(name, _part(old, "annotations"), _part(new, "annotations"), "/annotations")
    yield from _effect(name, old.get("effect"), new.get("effect"))
    yield from _scopes(name, old.get("scopes"), new.get("scopes"))
    yield from _gate(name, old.get("approval"), new.get("approval"))
    yield from _rules(name, old, new)
    yield from _limits(name, old, new)
    for word, results in _SCHEMAS.items():
        before, after = old.get(word), new.get(word)
        if isinstance(before, dict) and isinstance(after, dict):
            yield from _schemas(before, after, name, (word,), results=results)
        elif not same(before, after) and word in {**old, **new}:
            kind: Kind = "narrowed" if after is None else "widened"
            text = f"the {'result' if results else 'argument'} schema is {_fate(after)}"
            yield Change(name, f"#/{word}", kind, text)


def _schemas(old: Any, new: Any, name: str, at: tuple[str, ...], *, results: bool) -> list[Change]:
    try:
        pair = Document(copied(bounded(old))), Document(copied(bounded(new)))
    except SchemaError as why:
        raise SchemaError(at, f"{name}: {why.text}" if name else why.text) from None
    if same(old, new):
        return []
    return compared(*pair, tool=name, at=at, results=results)


def _part(tool: Json, word: str) -> Json:
    found = tool.get(word)
    return cast("Json", found) if isinstance(found, dict) else {}


def _fate(value: Any) -> str:
    return "gone" if value is None else "new"


def _flags(name: str, old: Json, new: Json, at: str) -> Iterator[Change]:
    for word, (rising, falling, text) in _FLAGS.items():
        before, after = old.get(word), new.get(word)
        if word in {**old, **new} and before != after:
            kind = rising if after else falling
            said = text if after else f"no longer: {text}"
            yield Change(name, f"#{at}/{word}", kind, said)


def _effect(name: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new or old not in _EFFECTS or new not in _EFFECTS:
        return
    lowered = _EFFECTS.index(new) < _EFFECTS.index(old)
    text = f"effect: {old} → {new}" + (", so that hosts ask less before they call" * lowered)
    yield Change(name, "#/effect", "authority" if lowered else "meaning", text)


def _scopes(name: str, old: Any, new: Any) -> Iterator[Change]:
    if old is None or new is None:
        return
    for one in sorted({*old} - {*new}):
        yield Change(name, "#/scopes", "authority", f"it no longer needs the scope {one!r}")
    for one in sorted({*new} - {*old}):
        yield Change(name, "#/scopes", "narrowed", f"it needs the scope {one!r} now")


def _gate(name: str, old: Any, new: Any) -> Iterator[Change]:
    if same(old, new):
        return
    if not new:
        yield Change(name, "#/approval", "authority", "nobody has to agree any more")
    elif not old:
        yield Change(name, "#/approval", "narrowed", "a person has to agree now")
    else:
        yield from _flags(name, old, new, "/approval")
        for one in sorted({*new["approvers"]} - {*old["approvers"]}):
            text = f"whoever has the role {one!r} may agree too"
            yield Change(name, "#/approval/approvers", "authority", text)
        for one in sorted({*old["approvers"]} - {*new["approvers"]}):
            text = f"the role {one!r} may no longer agree"
            yield Change(name, "#/approval/approvers", "meaning", text)
        before, after = old.get("expires_seconds"), new.get("expires_seconds")
        if before != after:
            kind: Kind = "authority" if (after or 0) > (before or 0) else "narrowed"
            text = f"a request waits {after} s instead of {before} s"
            yield Change(name, "#/approval/expires_seconds", kind, text)
        if old.get("versioned") != new.get("versioned"):
            kind = "meaning" if new.get("versioned") else "authority"
            text = "is" if new.get("versioned") else "is no longer"
            said = f"what was agreed to {text} bound to the record's version"
            yield Change(name, "#/approval/versioned", kind, said)


def _rules(name: str, old: Json, new: Json) -> Iterator[Change]:
    before, after = old.get("require"), new.get("require")
    if before != after:
        kind: Kind = "meaning" if before and after else "narrowed" if after else "authority"
        text = {
            "meaning": "what is said to a caller whom the rule refuses changed",
            "narrowed": "a rule about the caller is new",
            "authority": "the rule about the caller is gone",
        }[kind]
        yield Change(name, "#/require", kind, text)
    mine, theirs = _part(old, "resources"), _part(new, "resources")
    for one in [*mine, *(other for other in theirs if other not in mine)]:
        at = pointer(("resources", one))
        if one not in theirs:
            still = one in _part(_part(new, "input_schema"), "properties")
            text = f"the record that {one} names is no longer loaded and checked"
            yield Change(name, at, "authority" if still else "meaning", text)
        elif one not in mine:
            text = f"{one} names a record that is loaded and checked now"
            yield Change(name, at, "narrowed", text)
        elif not same(mine[one], theirs[one]):
            text = f"what is said of a missing {one} changed"
            yield Change(name, at, "meaning", text)


def _limits(name: str, old: Json, new: Json) -> Iterator[Change]:
    before, after = old.get("limit"), new.get("limit")
    if before != after and ("limit" in old or "limit" in new):
        kind: Kind = "authority" if after is None else "narrowed" if before is None else "unknown"
        text = f"calls per principal: {before or 'no limit'} → {after or 'no limit'}"
        yield Change(name, "#/limit", kind, text)
    before, after = old.get("timeout"), new.get("timeout")
    if before != after and "timeout" in {**old, **new}:
        yield Change(name, "#/timeout", "meaning", f"timeout: {before} s → {after} s")
