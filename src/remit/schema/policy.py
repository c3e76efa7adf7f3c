"""Key policies: what each object of a tool's arguments does with keys that no field declares.

*strict* refuses, *plain* drops, *open* keeps, *typed* keeps a value that fits. An object whose
author declared nothing is strict inside a tool (law L1); a declared policy stays. The rewrite works
on a copy of the core schema, so that the user's class behaves elsewhere as it always did.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, cast

from remit.outcome import visible
from remit.schema.walk import Node, fields_of, rewritten

__all__ = ["SchemaError", "declared_policy", "with_policies"]

Extra = Literal["forbid", "ignore", "allow"]

# Settings that would let a value in that the advertised schema doesn't show, or by another name.
_LOOSE: Final = frozenset(
    {
        "strict",
        "coerce_numbers_to_str",
        "extra_fields_behavior",
        "from_attributes",
        "validate_by_name",
        "validate_by_alias",
        "populate_by_name",
        "loc_by_alias",
        "revalidate_instances",
    }
)
_TEXT_LIMITS: Final = {"str_min_length": "min_length", "str_max_length": "max_length"}


class SchemaError(Exception):
    """A type that a tool can't take truthfully: says where in it, and the mend."""

    def __init__(self, path: tuple[str, ...], text: str) -> None:
        self.path: str = ".".join(path)
        self.text = text
        super().__init__(f"{self.path}: {text}" if self.path else text)


def declared_policy(cls: Any) -> Extra | None:
    """Return the policy that *cls*'s author declared, or None.

    Reads pydantic's ``extra``, a dataclass's or TypedDict's ``__pydantic_config__``, and a
    TypedDict's ``closed`` and ``extra_items`` (PEP 728).
    """
    config = getattr(cls, "model_config", None)
    if not isinstance(config, dict):
        config = getattr(cls, "__pydantic_config__", None)
    if isinstance(config, dict):
        # pydantic has checked it.
        extra = cast("dict[str, Extra | None]", config).get("extra")
        if extra is not None:
            return extra
    if getattr(cls, "__closed__", None):
        return "forbid"
    if getattr(cls, "__extra_items__", None) not in (None, _no_extra_items()):
        return "allow"
    return None


def _no_extra_items() -> Any:
    import typing_extensions

    return getattr(typing_extensions, "NoExtraItems", None)


def with_policies(node: Node, *, default: Extra = "forbid") -> Node:
    """Return *node* with every object's key policy written out and every looseness taken away.

    Args:
        node: A pydantic core schema of a tool's arguments or result; not modified.
        default: What an object does whose author declared nothing.

    Raises:
        SchemaError: For a type whose keys or values remit couldn't hold to what it advertises.
    """

    def change(here: Node, path: tuple[str, ...]) -> Node:
        here.pop("strict", None)
        _mark_secret(here)
        config: dict[str, Any] = here.get("config") or {}
        if here["type"] in ("model", "dataclass", "typed-dict") or config:
            here["config"] = {k: v for k, v in config.items() if k not in _LOOSE}
        match here["type"]:
            case "model" | "dataclass":
                _check_init(here, path)
                _set_policy(here, here["cls"], default)
                _push_limits(here, config)
            case "typed-dict":
                _own_policy(here, here.get("cls"), default)
                _push_limits(here, config)
            case "model-field" | "typed-dict-field" | "dataclass-field":
                _check_alias(here, path)
            case "dict":
                _check_keys(here, path)
            case "str":
                _set_pattern(here, path)
            case _:
                pass
        return here

    return rewritten(node, change)


def _mark_secret(node: Node) -> None:
    """Say in the schema that a `pydantic.Secret` is one, as pydantic says of a SecretStr."""
    writer: Any = node.get("serialization") or {}
    if getattr(writer.get("function"), "__name__", "").startswith("_serialize_secret"):
        metadata: dict[str, Any] = {**(node.get("metadata") or {})}
        told: dict[str, Any] = {
            **metadata.get("pydantic_js_updates", {}),
            "writeOnly": True,
            "format": "password",
        }
        node["metadata"] = {**metadata, "pydantic_js_updates": told}


def _check_init(node: Node, path: tuple[str, ...]) -> None:
    """Refuse a model with an ``__init__`` of its own; a dataclass's is never called in parsing."""
    if node["type"] == "model" and node.get("custom_init"):
        text = (
            f"{node['cls'].__name__} has an __init__ of its own, which would parse the arguments a "
            "second time by other rules; move what it does to a model_validator"
        )
        raise SchemaError(path, text)


def _set_policy(owner: Node, cls: Any, default: Extra) -> None:
    """Write the policy of *cls* into the fields node that it owns, behind validators of its own."""
    inner: Any = owner["schema"]
    while inner is not None and inner["type"] not in ("model-fields", "dataclass-args"):
        if inner["type"] in ("model", "dataclass", "typed-dict"):
            return
        inner = inner.get("schema")
    if inner is not None:
        _own_policy(inner, cls, default)


def _own_policy(fields: Node, cls: Any, default: Extra) -> None:
    fields["extra_behavior"] = declared_policy(cls) or default
    if fields["extra_behavior"] != "allow":
        fields.pop("extras_schema", None)


def _push_limits(owner: Node, config: dict[str, Any]) -> None:
    """Write a class-wide text limit into each text: the schema generator reads it only there."""
    limits = {ours: config[theirs] for theirs, ours in _TEXT_LIMITS.items() if config.get(theirs)}
    if not limits:
        return
    for field in fields_of(owner if owner["type"] == "typed-dict" else owner["schema"]):
        for_text: Node = field["schema"]
        while for_text.get("type") in ("default", "nullable"):
            for_text = for_text["schema"]
        if for_text.get("type") == "str":
            for key, value in limits.items():
                for_text.setdefault(key, value)


def _check_alias(field: Node, path: tuple[str, ...]) -> None:
    """Refuse an alias that reaches into another value: it has no place of its own in a schema."""
    alias = field.get("validation_alias")
    if isinstance(alias, str) or alias is None:
        return
    # A list of ways, each a list of steps; one way alone is a flat list.
    ways = cast("list[list[str | int] | str | int]", alias)
    if all(isinstance(way, list) and len(way) == 1 for way in ways):
        return
    raise SchemaError(
        path,
        "an AliasPath has no place in a schema; give the field one alias or AliasChoices of names",
    )


def _check_keys(node: Node, path: tuple[str, ...]) -> None:
    """Refuse keys that JSON can't carry: an object's keys are texts (RFC 8259 section 4)."""
    keys: Node | None = node.get("keys_schema")
    while keys is not None and keys["type"] in ("definitions", "function-after", "nullable"):
        keys = keys.get("schema")
    kind: str = "any" if keys is None else keys["type"]
    if keys is None or kind in ("any", "str", "definition-ref"):
        return
    if kind == "literal" and all(isinstance(value, str) for value in keys["expected"]):
        return
    if kind == "enum" and all(isinstance(member.value, str) for member in keys["members"]):
        return
    raise SchemaError(
        path, f"a JSON object has texts as keys, not {kind}; write dict[str, …] or a list of pairs"
    )


def _set_pattern(node: Node, path: tuple[str, ...]) -> None:
    """Write a text's pattern as the schema's readers read it, a compiled one too."""
    pattern = node.get("pattern")
    if isinstance(pattern, re.Pattern):
        # Python's own engine lets "$" stand before a last newline, and takes every script's digits.
        if pattern.flags & ~re.UNICODE:
            raise SchemaError(path, "a compiled pattern's flags have no place in a schema")
        pattern = str(cast("Any", pattern).pattern)
    if isinstance(pattern, str):
        node["pattern"] = _ascii_classes(pattern)


_CLASSES: Final = {"d": "0-9", "w": "0-9A-Za-z_"}
_TOKEN = re.compile(r"\\(.)|(\[\^?\]?)|(\])", re.DOTALL)


def _ascii_classes(pattern: str) -> str:
    r"""Return *pattern* with ``\d`` and ``\w`` as ECMA 262 reads them.

    Its advertised copy is read so, and both must judge alike (law L3). The parser's own engine
    takes every script's digits for ``\d``, so that an id in Arabic-Indic digits would pass.
    """
    inside = False

    def one(found: re.Match[str]) -> str:
        nonlocal inside
        escaped, opened, closed = found.groups()
        if escaped is not None:
            if escaped in _CLASSES:
                return _CLASSES[escaped] if inside else f"[{_CLASSES[escaped]}]"
            if escaped.lower() in _CLASSES and not inside:
                return f"[^{_CLASSES[escaped.lower()]}]"
            return found.group()
        if opened is not None and not inside:
            inside = True
        elif closed is not None:
            inside = False
        return found.group()

    return _TOKEN.sub(one, pattern)


def shown_type(value: object) -> str:
    """Return the name of *value*'s type, safe to print."""
    return visible(type(value).__name__)
