"""What a newer list of tools says otherwise than an older one, and for whom.

The lists may be remit's own (a lock, a manifest) or what any MCP server answers to ``tools/list``;
two schemas can be compared as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from remit.schema.comparing.findings import Change, Kind
from remit.schema.comparing.walking import compared
from remit.schema.document import Document, Json, bounded, pointer
from remit.schema.nodes import same, short
from remit.schema.places import copied, items_of
from remit.schema.policy import SchemaError

__all__ = ["diff"]

_SCHEMAS: Final = {  # what each is called, and whether its readers are the callers
    "input_schema": False,
    "inputSchema": False,
    "output_schema": True,
    "outputSchema": True,
}
_WORDS: Final = ("title", "description")
_FLAGS: Final[dict[str, tuple[Kind, Kind, str, str]]] = {
    # What becoming true means, what becoming false means, and either in words.
    "public": (
        *("authority", "narrowed"),
        *("anyone may call it now, signed in or not", "only who is signed in may call it now"),
    ),
    "external": (
        *("authority", "authority"),
        *("it touches systems beyond the app's own now", "it says it touches no other systems now"),
    ),
    "idempotent": (
        *("authority", "meaning"),
        *("it says that a repeated call changes nothing more", "a repeated call counts again"),
    ),
    "readOnlyHint": (
        *("authority", "authority"),
        *("it says that it only reads now", "it doesn't only read any more"),
    ),
    "destructiveHint": (
        *("authority", "authority"),
        *("it may destroy now", "it says that it can't destroy any more"),
    ),
    "idempotentHint": (
        *("authority", "meaning"),
        *("it says that a repeated call changes nothing more", "a repeated call counts again"),
    ),
    "openWorldHint": (
        *("authority", "authority"),
        *("it touches systems beyond its own now", "it says it touches no other systems now"),
    ),
    "self_approval": (
        *("authority", "narrowed"),
        *("whoever asked may agree too", "whoever asked may not agree any more"),
    ),
}
_SILENCE: Final[Json] = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
_EFFECTS: Final = ("read", "write", "irreversible")
_GATED: Final = "request_"
_TOLD: Final = frozenset(  # what is compared by a rule of its own
    {
        *(*_SCHEMAS, *_WORDS, *_FLAGS, "effect", "scopes", "approval", "require", "resources"),
        *("limit", "timeout", "repair", "annotations", "name", "digest", "policies", "surfaces"),
    }
)
_SETTINGS: Final = "settings"
_MEANING: Final = frozenset({"version", "max_result_bytes", "icons", "_meta", "execution"})
_SAYING: Final = frozenset(
    {"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "$schema", "$defs"}
)


def diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Return what *new* says otherwise than *old*.

    Args:
        old: The older: a lock, a manifest, what an MCP server answers to ``tools/list``, or one
            JSON Schema.
        new: The newer, of the same form.

    Returns:
        The changes by tool, in the order of *new*, then of what is gone. Empty if nothing changed.

    Raises:
        SchemaError: If a schema is of a hostile size.
        ImportError: If `jsonschema_rs` isn't installed (``pip install 'remit[diff]'``).
        ValueError: If the two aren't of one form, or one is none of these.
    """
    before, after = _tools(old), _tools(new)
    if before is None or after is None:
        if before is not after:
            raise ValueError("one of the two is a list of tools, the other is a schema")
        return _schemas(old, new, "", (), results=False)
    found: list[Change] = [
        *_others("", _part(old, _SETTINGS), _part(new, _SETTINGS), f"#/{_SETTINGS}")
    ]
    for name, tool in after.items():
        found += _tool(name, before[name], tool) if name in before else _new(name, tool, before)
    found += [
        Change(name, "#", "narrowed", "the tool is gone") for name in before if name not in after
    ]
    return found


def _tools(given: Any) -> dict[str, Json] | None:
    """Return the tools that *given* lists by name, or None if it is a schema.

    Raises:
        ValueError: If it is neither.
    """
    here = _mapping(given)
    if "tools" not in here and isinstance(here.get("result"), Mapping):
        here = _mapping(here["result"])  # an answer as JSON-RPC carries it
    listed: Any = here.get("tools") if isinstance(here.get("tools"), list | Mapping) else None
    if listed is None:
        if _SAYING.isdisjoint(here):
            raise ValueError("that is no list of tools and no JSON Schema of an object")
        return None
    pairs: list[tuple[Any, Any]]
    if isinstance(listed, list):
        each = [_mapping(one) for one in cast("Sequence[Any]", listed)]
        pairs = [(one.get("name"), one) for one in each]
    else:
        pairs = [*cast("Mapping[Any, Any]", listed).items()]
    found: dict[str, Json] = {}
    for name, one in pairs:
        tool = _mapping(one)
        if not isinstance(name, str) or not name:
            raise ValueError("a tool in the list has no name")
        if name in found:
            raise ValueError(f"the list has two tools called {name!r}")
        if not isinstance(tool.get("input_schema", tool.get("inputSchema")), dict):
            raise ValueError(f"the tool {name!r} has no input_schema and no inputSchema")  # noqa: TRY004
        found[name] = dict(tool)
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    text = f"a {type(value).__name__} stands where a JSON object must"
    raise ValueError(text)


def _new(name: str, tool: Json, before: Mapping[str, Json]) -> Iterator[Change]:
    yield Change(name, "#", "widened", "the tool is new")
    gate, plain = f"{_GATED}{name}", name.removeprefix(_GATED)
    if gate in before and not tool.get("approval"):
        text = f"a person had to agree to {gate}; nobody has to agree to {name}"
        yield Change(name, "#/approval", "authority", text)
    if name.startswith(_GATED) and plain in before and tool.get("approval"):
        text = f"nobody had to agree to {plain}; a person has to agree to {name}"
        yield Change(name, "#/approval", "narrowed", text)
    if tool.get("public"):
        yield Change(name, "#/public", "authority", "a new tool that anyone may call")
    hints = _part(tool, "annotations")
    destroys = hints.get("destructiveHint") is True
    if destroys or (tool.get("effect", "read") != "read" and not tool.get("approval")):
        what = "that may destroy" if destroys else f"with the effect {tool['effect']!r}"
        text = f"a new tool {what}, to which nobody has to agree"
        yield Change(name, "#/annotations" if destroys else "#/effect", "authority", text)


def _tool(name: str, old: Json, new: Json) -> Iterator[Change]:
    for word in _WORDS:
        if not same(old.get(word), new.get(word)):
            text = f"{word}: {short(old.get(word))} → {short(new.get(word))}"
            yield Change(name, f"#/{word}", "meaning", text)
    yield from _flags(name, old, new, "")
    yield from _flags(name, _hints(old), _hints(new), "/annotations")
    yield from _effect(name, old.get("effect"), new.get("effect"))
    yield from _scopes(name, old.get("scopes"), new.get("scopes"))
    yield from _gate(name, old.get("approval"), new.get("approval"))
    yield from _rules(name, old, new)
    yield from _limits(name, old, new)
    yield from _repairs(name, old, new)
    yield from _others(name, old, new)
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


def _part(tool: Mapping[str, Any], word: str) -> Json:
    found = tool.get(word)
    return cast("Json", found) if isinstance(found, dict) else {}


def _fate(value: Any) -> str:
    return "gone" if value is None else "new"


def _hints(tool: Json) -> Json:
    """Return MCP's four hints, with what silence means."""
    return {**_SILENCE, **_part(tool, "annotations")} if "annotations" in tool else {}


def _flags(name: str, old: Json, new: Json, at: str) -> Iterator[Change]:
    for word, (rising, falling, yes, no) in _FLAGS.items():
        before, after = old.get(word), new.get(word)
        if word in {**old, **new} and before != after:
            yield Change(name, f"#{at}/{word}", rising if after else falling, yes if after else no)


def _effect(name: str, old: Any, new: Any) -> Iterator[Change]:
    if old == new:
        return
    if old not in _EFFECTS or new not in _EFFECTS:
        yield Change(name, "#/effect", "unknown", f"effect: {short(old)} → {short(new)}")
        return
    lowered = _EFFECTS.index(new) < _EFFECTS.index(old)
    text = "hosts ask less before they call" if lowered else "it does more than it did"
    yield Change(name, "#/effect", "authority", f"effect: {old} → {new}, so that {text}")


def _others(name: str, old: Json, new: Json, at: str = "#") -> Iterator[Change]:
    """Say of what has no rule here that it changed, and never that it is the same."""
    for word in dict.fromkeys((*old, *new)):
        before, after = old.get(word, ...), new.get(word, ...)
        if (at != "#" or word not in _TOLD) and not same(before, after):
            text = f"{word}: {short(before)} → {short(after)}"
            kind: Kind = "meaning" if word in _MEANING else "unknown"
            yield Change(name, f"{at}/{word}", kind, text)


def _repairs(name: str, old: Json, new: Json) -> Iterator[Change]:
    before, after = ({*items_of(one, "repair")} for one in (old, new))
    for one in sorted(after - before):
        yield Change(name, "#/repair", "widened", f"the slip {one!r} is mended now")
    for one in sorted(before - after):
        yield Change(name, "#/repair", "narrowed", f"the slip {one!r} is refused now")


def _scopes(name: str, old: Any, new: Any) -> Iterator[Change]:
    if old is None or new is None:
        if old is not new:
            yield Change(name, "#/scopes", "unknown", f"scopes: {short(old)} → {short(new)}")
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
            text = f"what is said of a missing {one}: {short(mine[one])} → {short(theirs[one])}"
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
