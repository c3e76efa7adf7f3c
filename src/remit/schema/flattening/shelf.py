"""The definitions of a document: which are needed, and new ones for what moves.

A derivation that moves schemas must leave no reference behind that leads nowhere, or to something
else than it did.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from remit.schema.document import Document, Json, Pointer
from remit.schema.flattening.sharing import container, fresh
from remit.schema.places import DEFINITIONS, Places, copied, mapped, reference, steps_of

__all__ = ["hoisted", "pruned"]

_Edges = dict[Pointer, set[Pointer]]


def hoisted(
    places: Places, refs: Iterable[str], moved: Mapping[str, Pointer]
) -> tuple[Json, dict[str, Pointer]]:
    """Return the document of *places* with a definition for each of *refs*, and whence it came.

    Args:
        places: The document; not modified.
        refs: References in it that lead somewhere.
        moved: Whence the definitions came that were made before.

    Raises:
        SchemaError: If that makes it too large.
    """
    root: Json = copied(places.document.root)
    word, taken = container(root)
    origins, renamed, added = dict(moved), dict[str, str](), Json()
    for ref in refs:
        steps = steps_of(ref)
        name = fresh(steps[-1] if steps else "root", taken)
        added[name] = copied(places.document.target(ref))
        origins[name] = whence(steps, moved)
        renamed[ref] = reference((word, name))
    root[word] = {**root.get(word, {}), **added}
    for place, ref in Places(Document(root)).references:
        if ref in renamed:
            _rename(place.node, ref, renamed[ref])
    return root, origins


def whence(steps: Pointer, moved: Mapping[str, Pointer]) -> Pointer:
    """Return where *steps* led before definitions were made of what *moved*."""
    if steps[:1] and steps[0] in DEFINITIONS and (before := moved.get(steps[1])) is not None:
        return (*before, *steps[2:])
    return steps


def pruned(made: Json, before: Places) -> Json:
    """Return *made* without the definitions that something led to *before* and nothing does now.

    Raises:
        SchemaError: If *made* is too large.
    """
    named: set[Pointer] = {
        (word, name) for word in DEFINITIONS for name in _definitions(made, word)
    }
    needed = _reached(_edges(before), [()])
    kept = _reached(_edges(Places(Document(made))), [(), *(named - needed)])
    result: Json = {}
    for word, value in made.items():
        if word not in DEFINITIONS or not isinstance(value, dict):
            result[word] = value
        elif left := {k: v for k, v in cast("Json", value).items() if (word, k) in kept}:
            result[word] = left
    return result


def _rename(node: Json, ref: str, new: str) -> None:
    if node.get("$ref") == ref:
        node["$ref"] = new
    mapping = mapped(node)
    for value, one in mapping.items():
        if one == ref:
            mapping[value] = new


def _definitions(root: Json, word: str) -> Json:
    found = root.get(word)
    return cast("Json", found) if isinstance(found, dict) else {}


def _edges(places: Places) -> _Edges:
    """Return per definition, and for the rest, to which definitions it refers."""
    found: _Edges = {}
    for place, ref in places.references:
        if ref.startswith("#") and (name := _definition(steps_of(ref))):
            found.setdefault(_definition(place.pointer), set()).add(name)
    return found


def _definition(steps: Pointer) -> Pointer:
    """Return the definition that *steps* lead into, or nothing."""
    return steps[:2] if steps and steps[0] in DEFINITIONS else ()


def _reached(edges: _Edges, start: Iterable[Pointer]) -> set[Pointer]:
    found: set[Pointer] = set()
    stack: list[Any] = list(start)
    while stack:
        one = stack.pop()
        if one not in found:
            found.add(one)
            stack += edges.get(one, ())
    return found
