"""From a parser's errors to issues: where, which rule, what would be right. Never a value (law L8).

pydantic's own texts echo the input and link to versioned pages; a validator's text may hold
anything. So every hint is made here from the error's type, the declared limits and the *shape* of
what came.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast, get_args

from pydantic_core.core_schema import ErrorType

from remit.outcome import MAX_ISSUES, MAX_NAME, Issue, visible

__all__ = [
    "MOST",
    "ROOT",
    "UNKNOWN",
    "dotted",
    "locate",
    "made_issues",
    "nodes_at",
    "optional",
    "shape",
]

ROOT: Final = "(root)"
MAX_HINT: Final = 400
MAX_NAMES: Final = 12
MOST: Final = 500  # errors that are looked at
UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})

Json = Mapping[str, Any]
Loc = Sequence[str | int]
Error = Mapping[str, Any]

KNOWN: Final = frozenset(cast("tuple[str, ...]", get_args(ErrorType))) | {
    "ambiguous_names",
    "decimal_inexact",
    "duplicate_items",
    "duplicate_key",
    "float_inexact",
}
"""The codes an issue may have: pydantic's own and those of `remit.schema.exact`."""

_LIMITS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "greater_than": ("more than", ("exclusiveMinimum",)),
    "greater_than_equal": ("at least", ("minimum",)),
    "less_than": ("less than", ("exclusiveMaximum",)),
    "less_than_equal": ("at most", ("maximum",)),
    "multiple_of": ("a multiple of", ("multipleOf",)),
    "string_too_short": ("characters, at least", ("minLength",)),
    "string_too_long": ("characters, at most", ("maxLength",)),
    "bytes_too_short": ("bytes, at least", ("minLength",)),
    "bytes_too_long": ("bytes, at most", ("maxLength",)),
    "too_short": ("items, at least", ("minItems", "minProperties")),
    "too_long": ("items, at most", ("maxItems", "maxProperties")),
    "string_pattern_mismatch": ("text matching", ("pattern",)),
    "literal_error": ("one of:", ("enum", "const")),
    "enum": ("one of:", ("enum", "const")),
    "union_tag_not_found": ("a tag under", ("discriminator",)),
}
"""By pydantic's error type: words, and the JSON Schema keywords that hold the limit."""

_WANTED: Final = {
    "string_type": "a text",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "decimal_type": "a number, or a decimal number as text",
    "decimal_parsing": "a decimal number as text",
    "bool_type": "true or false",
    "none_required": "null",
    "list_type": "a JSON array, not a text",
    "tuple_type": "a JSON array, not a text",
    "set_type": "a JSON array, not a text",
    "frozen_set_type": "a JSON array, not a text",
    "dict_type": "a JSON object, not a text",
    "model_type": "a JSON object, not a text",
    "model_attributes_type": "a JSON object, not a text",
    "dataclass_type": "a JSON object, not a text",
    "bytes_type": "a text",
    "missing": "required",
    "duplicate_items": "each item once",
}


def shape(value: object) -> str:
    """Return what *value* is without what it says: ``text of length 3``, ``array of 2``."""
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return f"text of length {len(value)}"
        case int():
            return "an integer"
        case float():
            return "a number"
        case dict():
            return f"object with {len(cast('dict[str, Any]', value))} keys"
        case list() | tuple():
            return f"array of {len(cast('list[Any]', value))}"
        case _:
            return f"Python {type(value).__name__}"


def dotted(path: Loc) -> str:
    """Return *path* as an issue shows it; a caller's own key is clipped and made visible."""
    return ".".join(_shown(step) for step in path) or ROOT


def _shown(step: str | int) -> str:
    text = visible(str(step))
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"


def locate(raw: Any, loc: Loc, value: Any = ...) -> list[str | int]:
    """Return the path through the caller's data that *loc* names.

    pydantic puts tags of unions and names of validators between the keys. A tag may be spelt like a
    key, so that of several ways through the one that ends at *value* wins.
    """
    first: list[str | int] | None = None
    for count, (path, end) in enumerate(_ways(raw, list(loc))):
        if first is None:
            first = path
        if value is ... or (type(end) is type(value) and end == value):
            return path
        if count > 32:
            break
    return first or []


def _ways(raw: Any, loc: list[str | int]) -> Iterator[tuple[list[str | int], Any]]:
    if not loc:
        yield [], raw
        return
    step, rest = loc[0], loc[1:]
    if isinstance(raw, dict) and step in raw:
        for path, end in _ways(cast("Mapping[Any, Any]", raw)[step], rest):
            yield [step, *path], end
    elif isinstance(raw, list) and isinstance(step, int) and step < len(cast("Sequence[Any]", raw)):
        for path, end in _ways(raw[step], rest):
            yield [step, *path], end
    elif isinstance(raw, dict) and not rest and step != "[key]":
        yield [step], raw  # a missing key, named in the object that lacks it
    yield from _ways(raw, rest)


def _arms(doc: Json, node: Any, depth: int = 0) -> Iterator[Json]:
    """Yield *node* behind references and every alternative in it."""
    if not isinstance(node, Mapping) or depth > 16:
        return
    here = cast("Json", node)
    ref = here.get("$ref")
    if isinstance(ref, str):
        target = doc.get("$defs", {}).get(ref.rsplit("/", 1)[-1])
        yield from _arms(doc, target, depth + 1)
    yield here
    for key in ("anyOf", "oneOf", "allOf"):
        for arm in here.get(key, ()):
            yield from _arms(doc, arm, depth + 1)


def nodes_at(doc: Json, path: Loc) -> list[Json]:
    """Return the schemas that may judge the value at *path* of an instance of *doc*."""
    here = list(_arms(doc, doc))
    for step in path:
        found: list[Json] = []
        for node in here:
            below: Any = None
            if isinstance(step, int):
                prefix = node.get("prefixItems", ())
                below = prefix[step] if step < len(prefix) else node.get("items")
            else:
                below = node.get("properties", {}).get(step, node.get("additionalProperties"))
            found.extend(_arms(doc, below))
        # An alternative that two ways lead to is one: else they double at every level.
        here = list({id(node): node for node in found}.values())
    return here


def _secret(nodes: Sequence[Json]) -> bool:
    return any(node.get("writeOnly") for node in nodes)


def _around_secret(doc: Json, nodes: Sequence[Json]) -> bool:
    return _secret(nodes) or any(
        _secret(list(_arms(doc, below)))
        for node in nodes
        for below in node.get("properties", {}).values()
    )


def _declared(doc: Json, path: Loc) -> list[str]:
    names: dict[str, None] = {}
    for node in nodes_at(doc, path):
        names.update(dict.fromkeys(node.get("properties", {})))
    return list(names)


def _unknown_hint(doc: Json, path: Loc, keys: Sequence[str]) -> str:
    declared = _declared(doc, path)
    near = [
        # Declared somewhere among the alternatives, and yet unknown here.
        f"{_shown(key)}: it belongs to another alternative"
        if key in declared
        else f"{_shown(key)}: did you mean {best[0]}?"
        for key in keys[:3]
        if (best := difflib.get_close_matches(key, declared, n=1, cutoff=0.75))
    ]
    listed = ", ".join(declared[:MAX_NAMES]) + (" …" if len(declared) > MAX_NAMES else "")
    return _clip("; ".join([*near, f"declared: {listed or 'none'}"]))


def _clip(text: str) -> str:
    return text if len(text) <= MAX_HINT else text[: MAX_HINT - 1] + "…"


def _hint(error: Error, path: Loc, doc: Json) -> str:
    nodes = nodes_at(doc, path)
    kind, value = error["type"], error.get("input")
    if _secret(nodes):
        return ""
    quiet = _around_secret(doc, nodes)
    if kind == "missing":
        inside = _around_secret(doc, nodes_at(doc, path[:-1]))
        return "required" if inside else f"required; received {shape(value)}"
    parts: list[str] = []
    if kind == "ambiguous_names":
        parts.append(f"two names of one value; give one of {error['ctx']['names']}")
    elif kind == "union_tag_invalid":
        parts.append(f"a tag, one of: {_tags(doc, nodes, error)}")
    elif kind in _LIMITS:
        words, keywords = _LIMITS[kind]
        # From the schema, never from the error: a validator's own context may hold the value.
        limit = next((_limit(node, keywords) for node in nodes if _limit(node, keywords)), "")
        parts.append(f"{words} {limit}".strip())
    elif kind in _WANTED:
        parts.append(_WANTED[kind])
    if parts and not quiet:
        parts.append(f"received {shape(value)}")
    if (value is None or value == "") and optional(doc, path):
        parts.append("omit this key if there is nothing to say")
    return _clip("; ".join(parts))


def _tags(doc: Json, nodes: Sequence[Json], error: Error) -> str:
    """Return the tags that a union's alternatives declare."""
    name = str(error.get("ctx", {}).get("discriminator", "")).strip("'")
    found: dict[str, None] = {}
    for node in nodes:
        for tag in _arms(doc, node.get("properties", {}).get(name)):
            said = [tag["const"]] if "const" in tag else tag.get("enum", ())
            found.update((repr(one), None) for one in said)
    return ", ".join(found)


def _limit(node: Json, keywords: Sequence[str]) -> str:
    """Return what *node* declares under one of *keywords*, as text."""
    for keyword in keywords:
        said = node.get(keyword)
        if keyword == "enum" and said is not None:
            return ", ".join(repr(one) for one in said)
        if keyword == "const" and keyword in node:
            return repr(said)
        if keyword == "discriminator" and isinstance(said, Mapping):
            return repr(cast("Json", said).get("propertyName"))
        if isinstance(said, str | int | float):
            return str(said)
    return ""


def made_issues(errors: Sequence[Error], raw: Any, doc: Json) -> list[Issue]:
    """Return the issues of *errors*, unknown keys first and grouped by their object.

    Args:
        errors: pydantic's, with their input and context.
        raw: What the caller sent.
        doc: The tool's advertised schema: names, limits and secrets are looked up in it.
    """
    unknown: dict[tuple[str | int, ...], list[str]] = {}
    others: dict[tuple[str, str], Issue] = {}
    # Five are shown and the rest counted: a hundred thousand are not worth a second of everyone's.
    for error in errors[:MOST]:
        path = locate(
            raw, error["loc"], ... if error["type"] == "missing" else error.get("input", ...)
        )
        if error["type"] in UNKNOWN:
            unknown.setdefault(tuple(path[:-1]), []).append(str(path[-1]) if path else "")
            continue
        if error["type"] == "ambiguous_names":
            path.append(error["ctx"]["names"].split(" or ")[0])
        # A validator may build its own type from the value.
        code = error["type"] if error["type"] in KNOWN else "value_error"
        shown = dotted(path)
        if (shown, code) not in others:
            hint = _hint(error, path, doc) if len(others) < MAX_ISSUES else ""
            others[shown, code] = Issue(shown, code, hint)
    named = [
        Issue(
            dotted(path),
            "unrecognized_keys:" + ",".join(_listed(keys)),
            _unknown_hint(doc, path, keys),
        )
        for path, keys in unknown.items()
    ]
    return [*named, *others.values()]


def _listed(keys: Sequence[str]) -> list[str]:
    names = [_shown(key) for key in dict.fromkeys(keys)]
    return names if len(names) <= MAX_NAMES else [*names[:MAX_NAMES], "…"]


def optional(doc: Json, path: Loc) -> bool:
    """Tell whether the key at *path* may be left out."""
    if not path or isinstance(path[-1], int):
        return False
    owners = [node for node in nodes_at(doc, path[:-1]) if path[-1] in node.get("properties", {})]
    return bool(owners) and not any(path[-1] in node.get("required", ()) for node in owners)
