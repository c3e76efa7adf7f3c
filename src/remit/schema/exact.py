r"""Exact values: a tool's parser takes JSON's own types and nothing that merely looks like them.

pydantic-core's strict JSON mode is nearly that. `exact` closes the gaps that it leaves: ``true``
for ``Literal[1]``, a text of digits for a date, sixteen spellings of a UUID, a set that swallows
repeated items. Each guard here has its twin in what `remit.schema.derive` advertises (law L3).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, Final, cast

from pydantic_core import PydanticCustomError, core_schema

from remit.schema.policy import SchemaError
from remit.schema.walk import Node, fields_of, rewritten

__all__ = ["DECIMAL", "FORMS", "exact", "exact_result"]

_DAY = r"(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
# Python's years begin with 1, so RFC 3339's year 0000 has no date.
_DATE = rf"([1-9][0-9]{{3}}|0[1-9][0-9]{{2}}|00[1-9][0-9]|000[1-9])-{_DAY}"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?"
_ZONE = r"([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
_PART = r"[0-9]{1,9}"

FORMS: Final = {
    "date": rf"^{_DATE}$",
    # RFC 3339 section 5.6: a time without an offset names no moment.
    "datetime": rf"^{_DATE}[Tt]{_CLOCK}{_ZONE}$",
    "datetime-naive": rf"^{_DATE}[Tt]{_CLOCK}$",
    "time": rf"^{_CLOCK}{_ZONE}?$",
    # ISO 8601 without years and months, whose length depends on where they begin.
    "timedelta": (
        rf"^-?P({_PART}W|{_PART}D(T({_PART}H)?({_PART}M)?({_PART}(\.[0-9]{{1,6}})?S)?)?"
        rf"|T({_PART}H({_PART}M)?({_PART}(\.[0-9]{{1,6}})?S)?|{_PART}M({_PART}(\.[0-9]{{1,6}})?S)?"
        rf"|{_PART}(\.[0-9]{{1,6}})?S))$"
    ),
    "uuid": r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
}
"""The one text form that each type has on the wire, as an ECMA 262 and Rust regular expression."""

DECIMAL: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$"

_DECIMAL = re.compile(DECIMAL.replace("$", r"\Z"))
_EXACT: Final = 2**53
_DIGITS: Final = 15  # that a double keeps of any decimal number (IEEE 754 binary64)
_NO_JSON: Final = frozenset({"callable", "generator", "is-instance", "is-subclass", "complex"})


def _form(node: Node) -> str:
    """Return which form of `FORMS` the temporal or UUID *node* has."""
    if node["type"] == "datetime" and node.get("tz_constraint") == "naive":
        return "datetime-naive"
    kind: str = node["type"]
    return kind


def exact(node: Node) -> Node:
    """Return *node*, which has its policies, as the schema that a tool's parser is compiled from.

    Raises:
        SchemaError: For a type that has no JSON form.
    """
    return rewritten(node, _exact)


def _exact(node: Node, path: tuple[str, ...]) -> Node:
    kind = node["type"]
    if kind in _NO_JSON:
        text = f"{kind} has no JSON form; take a type that JSON carries and make the object inside"
        raise SchemaError(path, text)
    _check(node, path)
    if kind in ("int", "float", "bool", "str", "enum"):
        node["strict"] = True
    guard = _GUARDS.get(kind)
    return node if guard is None else guard(node)


def _core(node: Node) -> core_schema.CoreSchema:
    """Return *node* under pydantic-core's own type: its many shapes are one dictionary to us."""
    return cast("core_schema.CoreSchema", node)


def _before(check: Any, node: Node) -> Node:
    ref: Node = {"ref": node.pop("ref")} if "ref" in node else {}
    return {**core_schema.no_info_before_validator_function(check, _core(node)), **ref}


def _one_form(node: Node) -> Node:
    """Return a moment, span or UUID that is taken in one text form only."""
    form = core_schema.str_schema(pattern=FORMS[_form(node)], strict=True)
    ref = {"ref": node.pop("ref")} if "ref" in node else {}
    return {**core_schema.chain_schema([form, _core(node)]), **ref}


def _fields(node: Node) -> Node:
    names = _choices(node)
    return _before(_one_name(names), node) if names else node


def _literal(node: Node) -> Node:
    expected = tuple(node["expected"])
    texts = all(isinstance(value, str) for value in expected)
    return node if texts else _before(_same_type(expected, "literal"), node)


def _enum(node: Node) -> Node:
    values = tuple(member.value for member in node["members"])
    texts = all(isinstance(value, str) for value in values)
    return node if texts else _before(_same_type(values, "enum"), node)


def _mapping(node: Node) -> Node:
    keys = node.get("keys_schema") or {"type": "str"}
    return node if keys.keys() <= {"type", "strict"} else _kept_keys(node)


def _check(node: Node, path: tuple[str, ...]) -> None:
    """Refuse what would drop or change a value without a word, or take what the schema doesn't."""
    kind = node["type"]
    text = ""
    metadata: dict[str, Any] = node.get("metadata") or {}
    if kind == "default" and node.get("on_error", "raise") != "raise":
        text = "on_error drops a wrong value without a word; let it be refused"
    elif kind == "json":
        text = "a text with JSON in it is read by other rules; take the type itself"
    elif kind in ("call", "named-tuple", "arguments"):
        text = "a NamedTuple takes an object or an array; take a model or a tuple"
    elif kind == "any" and any("annotation_functions" in name for name in metadata):
        text = "it is validated by nothing and advertised as something; take Any, or the type"
    elif kind == "enum" and "_missing_" in vars(node["cls"]):
        text = "an Enum's _missing_ takes values that its schema doesn't show; list the values"
    elif kind == "dataclass-field" and node.get("init_only"):
        text = "an InitVar is gone once it was read, and what waits for approval has to keep it"
    elif name := _hidden_name(node):
        text = f"{name!r} has an alias, and an open object would lose a key of its own name"
    if text:
        raise SchemaError(path, text)


def _hidden_name(node: Node) -> str:
    """Return a field of an open dictionary or dataclass whose own name is a stranger's key."""
    if node["type"] not in ("typed-dict", "dataclass-args"):
        return ""
    if node.get("extra_behavior") != "allow":
        return ""
    return next((name for name, alias in _aliases(node) if alias not in (None, name)), "")


def _aliases(node: Node) -> list[tuple[str, Any]]:
    fields: Any = node["fields"]
    if isinstance(fields, dict):
        named = cast("dict[str, Node]", fields).items()
        return [(name, field.get("validation_alias")) for name, field in named]
    listed = cast("list[Node]", fields)
    return [(field["name"], field.get("validation_alias")) for field in listed]


def _choices(node: Node) -> list[list[str]]:
    """Return the names of each field that has several."""
    aliases = [field.get("validation_alias") for field in fields_of(node)]
    several = [cast("list[list[str]]", alias) for alias in aliases if isinstance(alias, list)]
    return [[way[0] for way in alias] for alias in several]


def _one_name(names: list[list[str]]) -> Any:
    """Return a check that no field is sent under two of its names: either might be meant."""

    def check(value: Any) -> Any:
        for group in names:
            if len(both := _present(group, value)) > 1:
                raise PydanticCustomError(
                    "ambiguous_names", "Give one of {names}", {"names": " or ".join(both)}
                )
        return value

    return check


def _present(names: list[str], value: object) -> list[str]:
    return [name for name in names if name in value] if isinstance(value, dict) else []


def _kept_by_a_double(value: Any) -> Any:
    """Refuse an integer that a double would change, such as 2**53 + 1 (RFC 7493 section 2.2)."""
    if type(value) is int and not -_EXACT <= value <= _EXACT:
        try:
            same = int(float(value)) == value
        except OverflowError:
            same = False
        if not same:
            raise PydanticCustomError("float_inexact", "Input should be a number a double can hold")
    return value


def _decimal_text(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError("decimal_type", "Input should be a decimal number")
    if isinstance(value, float) and len(Decimal(repr(value)).as_tuple().digits) > _DIGITS:
        # The double that JSON made of it may have lost what a Decimal would keep.
        raise PydanticCustomError("decimal_inexact", "Send a decimal of many digits as text")
    if isinstance(value, str) and not _DECIMAL.match(value):
        raise PydanticCustomError("decimal_parsing", "Input should be a decimal number as text")
    return value


def _same_type(expected: tuple[Any, ...], kind: str) -> Any:
    """Return a check that a boolean is taken only for a boolean (JSON tells true from 1)."""
    booleans = {value for value in expected if isinstance(value, bool)}
    numbers = {value for value in expected if type(value) in (int, float)}

    def check(value: Any) -> Any:
        # type() is, not isinstance: True is an int to isinstance.
        held = booleans if type(value) is bool else numbers if type(value) in (int, float) else None
        if held is not None and value not in held:
            code = "literal_error" if kind == "literal" else "enum"
            allowed = " or ".join(repr(one) for one in expected)
            raise PydanticCustomError(code, "Input should be {expected}", {"expected": allowed})
        # JSON has one kind of number: 1.0 is the integer 1, and must not be found as True.
        return int(value) if type(value) is float and value.is_integer() else value

    return check


def _kept_keys(node: Node) -> Node:
    """Return a mapping that refuses keys which its key type makes one: the first would be lost."""

    def check(value: Any, read: Any) -> Any:
        made = read(value)
        if len(made) != len(value):
            raise PydanticCustomError("duplicate_key", "Keys should stay apart")
        return made

    ref = {"ref": node.pop("ref")} if "ref" in node else {}
    return {**core_schema.no_info_wrap_validator_function(check, _core(node)), **ref}


def _unique(node: Node) -> Node:
    """Return a set as a list that refuses repeated items: a set would drop them in silence."""
    mutable = node["type"] == "set"
    kept = {k: v for k, v in node.items() if k in ("items_schema", "min_length", "max_length")}

    def check(items: list[Any]) -> AbstractSet[Any]:
        made = set(items) if mutable else frozenset(items)
        if len(made) != len(items):
            raise PydanticCustomError("duplicate_items", "Items should be unique")
        return made

    ref: Node = {"ref": node["ref"]} if "ref" in node else {}
    listed = _core({"type": "list", **kept})
    return {**core_schema.no_info_after_validator_function(check, listed), **ref}


_GUARDS: Final[dict[str, Callable[[Node], Node]]] = {
    **dict.fromkeys(("date", "datetime", "time", "timedelta", "uuid"), _one_form),
    **dict.fromkeys(("model-fields", "typed-dict", "dataclass-args"), _fields),
    **dict.fromkeys(("set", "frozenset"), _unique),
    "decimal": lambda node: _before(_decimal_text, node),
    "float": lambda node: _before(_kept_by_a_double, node),
    "literal": _literal,
    "enum": _enum,
    "dict": _mapping,
}
"""What stands in the place of a node whose own rules would take too much, by its type."""


def exact_result(node: Node) -> Node:
    """Return *node* as the schema that holds a tool's result to what it declared.

    A result comes from the author's own code: any object with the fields will do, containers are
    taken as they come, but a text is no number, a number is finite and a moment has its offset.
    """
    return rewritten(node, _exact_result)


def _exact_result(node: Node, path: tuple[str, ...]) -> Node:
    kind = node["type"]
    if kind in _NO_JSON - {"is-instance"}:  # a branch for objects of a type that JSON also carries
        raise SchemaError(path, f"{kind} has no JSON form; return a type that JSON can carry")
    if kind in ("int", "float", "bool", "str", "bytes"):
        node["strict"] = True
    if kind == "float":
        node["allow_inf_nan"] = False
    if kind in ("datetime", "time") and kind == "datetime" and "tz_constraint" not in node:
        node["tz_constraint"] = "aware"
    if kind == "model":
        node["revalidate_instances"] = "always"  # a subclass's further fields would leave with it
    if kind == "dataclass":
        node["revalidate_instances"] = "always"
    if kind == "model-fields":
        node["from_attributes"] = True
    return node
