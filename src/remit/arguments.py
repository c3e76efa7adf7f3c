"""The one judge: raw arguments in, a tool's typed values out, or a refusal that says what to mend.

`read` takes JSON text as RFC 8259 means it and refuses what parsers usually wave through. `Parser`
holds the contract's validators and runs them on exactly what the caller sent (laws L1 and L2).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, cast

from pydantic_core import SchemaValidator, ValidationError, to_json

from remit.issues import MOST, ROOT, UNKNOWN, dotted, locate, made_issues, optional
from remit.outcome import Issue, Refused, visible

__all__ = ["MAX_DEPTH", "REPAIRS", "Parsed", "Parser", "Repair", "check", "encode", "read"]

MAX_DEPTH: Final = 128  # pydantic-core's own reader stops at 200
EXACT: Final = (
    2**53
)  # beyond it a float no longer tells one integer from the next (RFC 7493 section 2.2)

Repair = Literal["json_text", "digits", "enum_case", "null_omitted", "empty_omitted"]
REPAIRS: Final[frozenset[str]] = frozenset(
    {"json_text", "digits", "enum_case", "null_omitted", "empty_omitted"}
)
"""Repairs that a tool may declare; none is on by itself.

``json_text`` takes JSON text for an array or object, ``digits`` a text of digits for a number,
``enum_case`` another letter case of an allowed value, ``null_omitted`` and ``empty_omitted`` leave
out an optional key that can't take the ``null`` or ``""`` it was sent with.
"""

_INVALID: Final = (
    "Arguments did not match the schema of {tool}. Fix the listed paths and call again."
)


class _JsonError(ValueError):
    """Text that isn't the JSON that it claims to be."""

    def __init__(self, code: str, hint: str) -> None:
        super().__init__(code)
        self.issue = Issue(ROOT, code, hint)


def _no_constant(name: str) -> float:
    code = "finite_number"
    raise _JsonError(code, f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        code = "finite_number"
        raise _JsonError(code, "a number is too large for a double")
    return value


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                code = "duplicate_key"
                raise _JsonError(code, f"{visible(key)[:64]} stands twice in one object")
            seen.add(key)
    return made


def read(text: str | bytes) -> Any:
    """Return the JSON value of *text*.

    Raises:
        Refused: ``invalid_arguments`` for cut-off text, a key that stands twice, ``NaN`` and
            infinities, or nesting deeper than `MAX_DEPTH`.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_pairs, parse_constant=_no_constant, parse_float=_finite
        )
    except _JsonError as error:
        issue = error.issue
    except RecursionError:
        issue = Issue(ROOT, "too_deep", f"at most {MAX_DEPTH} levels")
    except UnicodeDecodeError:
        issue = Issue(ROOT, "json_invalid", "the text is not UTF-8")
    except ValueError as error:
        where = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        issue = Issue(ROOT, "json_invalid", f"not JSON{where}; send one whole JSON object")
    else:
        return value
    raise Refused("invalid_arguments", "The arguments are not valid JSON.", issues=[issue])


def encode(raw: Mapping[str, Any] | str | bytes) -> bytes | None:
    """Return *raw* as UTF-8 JSON text, or None if it has none; `check` then says why."""
    try:
        if type(raw) is dict:
            return to_json(raw, inf_nan_mode="constants")
        if isinstance(raw, bytes):
            return raw
        if isinstance(raw, str):
            return raw.encode("utf-8", "surrogatepass")
        return to_json(raw, inf_nan_mode="constants")
    except (ValueError, TypeError, RecursionError):
        return None


def check(raw: Any) -> Issue | None:
    """Return what keeps *raw*, a Python value, from being a JSON object, or None.

    Looks for objects that aren't JSON's, keys that aren't texts, floats that aren't finite, lone
    surrogates and nesting deeper than `MAX_DEPTH`.
    """
    if type(raw) is not dict:
        return Issue(ROOT, "dict_type", "send one JSON object with the arguments as keys")
    return _unlike_json(cast("dict[str, Any]", raw), (), 1)


def _unlike_json(value: Any, path: tuple[str | int, ...], depth: int) -> Issue | None:
    # A cast would be one more call for every value of every call.
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        return (
            None if value.isascii() or _encodable(value) else Issue(dotted(path), "string_unicode")
        )
    if kind is int or kind is bool or value is None:
        return None
    if kind is float:
        return None if value - value == 0 else Issue(dotted(path), "finite_number")
    if kind is not dict and kind is not list:
        text = f"Python {kind.__name__} is not a JSON value"
        return Issue(dotted(path), "json_type", text)
    if depth > MAX_DEPTH:
        return Issue(ROOT, "too_deep", f"at most {MAX_DEPTH} levels")
    for key, item in value.items() if kind is dict else enumerate(value):
        if kind is dict and (type(key) is not str or not (key.isascii() or _encodable(key))):
            return Issue(dotted(path), "invalid_key", "keys are texts")
        below = type(item)  # pyright: ignore[reportUnknownVariableType]
        if (below is str and item.isascii()) or below is int or below is bool or item is None:
            continue  # most values, without a call for each
        if found := _unlike_json(item, (*path, key), depth + 1):
            return found
    return None


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(slots=True)
class Parsed:
    """A tool's arguments after the judge.

    Attributes:
        values: By the tool's own parameter names, defaults filled in.
        raw: What the caller sent, after declared repairs and without the host's own keys.
        ignored: Paths that a declared plain policy dropped.
        repaired: ``path:repair`` for each declared repair that was made.
        hosted: The host's own keys that were taken out.
        given: The parameters that the caller gave; the others have their defaults.
    """

    values: dict[str, Any]
    raw: dict[str, Any]
    ignored: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    hosted: tuple[str, ...] = ()
    given: AbstractSet[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Parser:
    """The parser of one tool: compiled once when the tool is declared, safe to share.

    Attributes:
        tool: The tool's name, for messages.
        fields: Judges the plain parameters; gives ``(values, extras, names given)``.
        schema: The advertised schema, for hints.
        declared: The keys that *fields* binds.
        body: Judges every other key, or None.
        body_name: The parameter that takes *body*'s value.
        host_keys: Keys that a host adds; dropped unless declared, and recorded.
        repairs: The repairs that the tool declared.
        unbound: Finds keys that a plain policy dropped, or None where no object is plain.
    """

    tool: str
    fields: SchemaValidator
    schema: Mapping[str, Any]
    declared: frozenset[str]
    body: SchemaValidator | None = None
    body_name: str = ""
    host_keys: frozenset[str] = frozenset()
    repairs: frozenset[str] = frozenset()
    unbound: Callable[[dict[str, Any], dict[str, Any]], Iterable[str]] | None = None
    known: frozenset[str] = field(default_factory=frozenset[str])

    def parse(self, raw: Mapping[str, Any] | str | bytes, text: bytes | None) -> Parsed:
        """Return the typed values of *raw*.

        Args:
            raw: What the caller sent, untouched: a mapping, or JSON text.
            text: *raw* as JSON text, from `encode`.

        Raises:
            Refused: ``invalid_arguments`` with what is wrong and where, and no value.
        """
        value = raw
        if type(raw) is not dict:
            if isinstance(raw, str | bytes):
                value, text = read(raw), encode(raw)
            elif isinstance(raw, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - as promised
                value = dict(raw)
        issue = check(value)
        if issue is None and text is None:
            text = encode(value)
        if issue is None and text is None:
            issue = Issue(ROOT, "json_type", "the arguments refer to themselves")
        if issue is not None:
            raise self._refusal([issue])
        found = cast("dict[str, Any]", value)
        hosted: tuple[str, ...] = ()
        if self.host_keys and (extra := self.host_keys & found.keys() - self.known):
            hosted = tuple(sorted(extra))
            found = {key: item for key, item in found.items() if key not in extra}
            text = None
        return self._judged(found, text, hosted)

    def _judged(self, raw: dict[str, Any], text: bytes | None, hosted: tuple[str, ...]) -> Parsed:
        repaired: list[str] = []
        original: list[Mapping[str, Any]] | None = None
        sent = raw
        # A repaired text may hold another; each round must mend all that is wrong.
        for _ in range(4):
            values, given, errors = self._run(raw, text)
            if not errors:
                gone = tuple(self.unbound(raw, values)) if self.unbound else ()
                return Parsed(values, raw, gone, tuple(repaired), hosted, given)
            # What a repair laid open is what is wrong now; before any, what came first.
            if original is None or repaired:
                original, sent = errors, raw
            mended = _mended(raw, errors, self.repairs, self.schema)
            if mended is None:
                break
            raw, notes = mended
            text = None
            repaired += notes
        found = original or []
        rest = max(0, len(found) - MOST)
        raise self._refusal(made_issues(found, sent, self.schema), rest)

    def _run(
        self, raw: dict[str, Any], text: bytes | None
    ) -> tuple[dict[str, Any], AbstractSet[str], list[Mapping[str, Any]]]:
        """Run the validators once over *raw*; returns the values or the errors."""
        errors: list[Mapping[str, Any]] = []
        values: dict[str, Any] = {}
        if self.body is not None:
            rest = {key: item for key, item in raw.items() if key not in self.declared}
            raw = {key: item for key, item in raw.items() if key in self.declared}
            text = None
            try:
                values[self.body_name] = self.body.validate_json(to_json(rest))
            except ValidationError as error:
                errors += _errors(error)
        try:
            plain, _, given = self.fields.validate_json(to_json(raw) if text is None else text)
        except ValidationError as error:
            return values, frozenset(), errors + _errors(error)
        return {**values, **plain} if values else plain, given, errors

    def _refusal(self, issues: Sequence[Issue], more: int = 0) -> Refused:
        text = _INVALID.format(tool=self.tool)
        return Refused("invalid_arguments", text, issues=issues, more=more)


def _errors(error: ValidationError) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", error.errors(include_url=False))


_CONTAINERS: Final = frozenset(
    {
        "list_type",
        "tuple_type",
        "set_type",
        "frozen_set_type",
        "dict_type",
        "model_type",
        "model_attributes_type",
        "dataclass_type",
    }
)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,18})\Z")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]{1,15})?\Z")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")
_DROP: Final = object()


def _mended(
    raw: dict[str, Any],
    errors: Sequence[Mapping[str, Any]],
    repairs: frozenset[str],
    schema: Mapping[str, Any],
) -> tuple[dict[str, Any], list[str]] | None:
    """Return *raw* with each wrong value mended, or None if one of them can't be."""
    fixes: dict[tuple[str | int, ...], tuple[str, Any]] = {}
    paths: set[tuple[str | int, ...]] = set()
    for error in errors:
        if error["type"] == "missing" or error["type"] in UNKNOWN:
            return None
        path = tuple(locate(raw, error["loc"], error.get("input", ...)))
        if not path:
            return None
        paths.add(path)
        if path not in fixes and (fix := _fix(error, path, repairs, schema)):
            fixes[path] = fix
    if paths != fixes.keys():
        return None
    made = copy.deepcopy(raw)
    notes: list[str] = []
    for path, (name, value) in fixes.items():
        owner: Any = made
        for step in path[:-1]:
            owner = owner[step]
        if value is _DROP:
            del owner[path[-1]]
        else:
            owner[path[-1]] = value
        if name:
            notes.append(f"{dotted(path)}:{name}")
    return made, notes


def _fix(
    error: Mapping[str, Any],
    path: tuple[str | int, ...],
    repairs: frozenset[str],
    schema: Mapping[str, Any],
) -> tuple[str, Any] | None:
    """Return which repair mends *error* and the value that it makes, or None."""
    kind, value = error["type"], error.get("input")
    if type(value) is float and value.is_integer() and abs(value) < EXACT and kind in _NUMBERS:
        return "", int(value)  # JSON Schema 2020-12 section 6.1.1: 3.0 is an integer; no repair
    # Only a declared key that may be left out: an open map's key is the caller's own.
    if value is None and "null_omitted" in repairs and optional(schema, path):
        return "null_omitted", _DROP
    if not isinstance(value, str):
        return None
    if not value and "empty_omitted" in repairs and optional(schema, path):
        return "empty_omitted", _DROP
    if kind in _CONTAINERS and "json_text" in repairs:
        try:
            inner = read(value)
        except Refused:
            return None
        return ("json_text", inner) if type(inner) in (dict, list) else None
    if kind == "int_type" and "digits" in repairs and _INTEGER.match(value):
        return "digits", int(value)
    if kind == "float_type" and "digits" in repairs and _NUMBER.match(value):
        made = float(value)
        return ("digits", made) if Decimal(value) == Decimal(repr(made)) else None
    if kind in ("literal_error", "enum") and "enum_case" in repairs:
        allowed: list[str] = _QUOTED.findall(str(error.get("ctx", {}).get("expected", "")))
        same = [one for one in allowed if one.casefold() == value.casefold()]
        return ("enum_case", same[0]) if len(same) == 1 else None
    return None


_NUMBERS: Final = frozenset({"int_type", "int_from_float", "literal_error", "enum"})
