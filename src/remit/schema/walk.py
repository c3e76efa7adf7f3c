"""A rewrite of pydantic core schemas, node by node, that never touches the classes behind them.

pydantic-core describes a type as nested dictionaries with a ``type``. `rewritten` copies such a
tree bottom-up and gives each node to a function, so that a rule for tools is stated once and holds
at any depth, behind unions, defaults, validators and recursive references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

__all__ = ["Node", "as_json", "children", "fields_of", "rewritten"]

Node = dict[str, Any]

# Keys that hold data, not schemas; a default such as {"type": "int"} must not be taken for a node.
_DATA: Final = frozenset(
    {
        "cls",
        "config",
        "custom_error_context",
        "default",
        "default_factory",
        "discriminator",
        "expected",
        "members",
        "metadata",
        "ref",
        "schema_ref",
        "serialization",
        "type",
        "validation_alias",
        "serialization_alias",
        "computed_fields",
    }
)


# Values that hold nothing, and most that stand in a node.
_PLAIN: Final = frozenset({str, int, bool, float, type(None)})


def _is_node(value: object) -> bool:
    return isinstance(value, dict) and isinstance(cast("Node", value).get("type"), str)


def _inside(
    value: Any, change: Callable[[Node, tuple[str, ...]], Node], path: tuple[str, ...]
) -> Any:
    """Return *value* with every node in it changed; containers of nodes are copied."""
    if _is_node(value):
        return _node(value, change, path)
    if isinstance(value, dict):
        return {
            key: item if type(item) in _PLAIN else _inside(item, change, (*path, str(key)))
            for key, item in cast("Node", value).items()
        }
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        made = [_inside(item, change, (*path, _name(item, i))) for i, item in enumerate(items)]
        return tuple(made) if isinstance(value, tuple) else made
    return value


def _name(item: Any, index: int) -> str:
    """Name a list's member as a person would: a dataclass field by its name, else by position."""
    if isinstance(item, dict) and isinstance(name := cast("Node", item).get("name"), str):
        return name
    return str(index)


def _node(
    node: Node, change: Callable[[Node, tuple[str, ...]], Node], path: tuple[str, ...]
) -> Node:
    copy = {
        key: value
        if key in _DATA or type(value) in _PLAIN
        else _inside(value, change, path if key in _SILENT else (*path, key))
        for key, value in node.items()
    }
    return change(copy, path)


# Steps that a person wouldn't name when asked where in a type something is.
_SILENT: Final = frozenset({"schema", "fields", "choices", "definitions", "json_schema", "steps"})


def rewritten(node: Node, change: Callable[[Node, tuple[str, ...]], Node]) -> Node:
    """Return a copy of *node* in which every nested node went through *change*, innermost first.

    Args:
        node: A pydantic core schema; never modified.
        change: Gets a fresh copy of each node and the path to it, and returns what stands there.
    """
    return _node(node, change, ())


def as_json(node: Node) -> Node:
    """Return *node* with only the ways that a value from JSON takes, none for Python objects."""
    while node["type"] in ("json-or-python", "lax-or-strict"):
        branch = "json_schema" if node["type"] == "json-or-python" else "strict_schema"
        held: Node = {key: node[key] for key in ("ref", "metadata", "serialization") if key in node}
        node = {**node[branch], **held}
    return {key: value if key in _DATA else _branches(value) for key, value in node.items()}


def _branches(value: Any) -> Any:
    if _is_node(value):
        return as_json(value)
    if isinstance(value, dict):
        return {key: _branches(item) for key, item in cast("Node", value).items()}
    if isinstance(value, list | tuple):
        made = [_branches(item) for item in cast("list[Any]", value)]
        return tuple(made) if isinstance(value, tuple) else made
    return value


def fields_of(node: Node) -> list[Node]:
    """Return the fields of an object's *node*; pydantic keeps them as a mapping or as a list."""
    fields: Any = node.get("fields", ())
    if isinstance(fields, dict):
        return list(cast("dict[str, Node]", fields).values())
    return list(cast("list[Node]", fields))


def children(node: Node) -> Iterator[Node]:
    """Yield *node* and every node inside it, outermost first."""
    stack: list[Any] = [node]
    while stack:
        value = stack.pop()
        if _is_node(value):
            yield value
            stack.extend(item for key, item in cast("Node", value).items() if key not in _DATA)
        elif isinstance(value, dict):
            stack.extend(cast("Node", value).values())
        elif isinstance(value, list | tuple):
            stack.extend(cast("list[Any]", value))
