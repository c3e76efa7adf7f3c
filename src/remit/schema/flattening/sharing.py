"""Where flat objects stand: in their union's place, or once under ``$defs`` and referred to.

A union that comes again inside itself must be a definition, and a large one that comes often should
be: nothing else keeps recursion finite, and a large class from growing with each use.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, cast

from remit.schema.document import MAX_DEPTH, MAX_NODES, Json
from remit.schema.places import DEFINITIONS, reference

__all__ = ["Use", "container", "fresh", "shared_out"]

_SMALL: Final = 256  # values up to which a flat object is repeated rather than referred to
_DEEP: Final = MAX_DEPTH * 3 // 4
_FIRST: Final = ("$schema", "$id")


@dataclass(slots=True, eq=False)
class Use:
    """Stands in a derived tree for a flat object.

    Attributes:
        key: Which one.
        said: What stands beside it there: annotations, and definitions of the place's own.
        here: True if it must stand there in full, as a tool's root and a definition do.
    """

    key: str
    said: Json
    here: bool = False


@dataclass(slots=True)
class _Tree:
    """What is known of one derived tree: its own size, and its uses with how deep they stand."""

    size: int = 0
    depth: int = 0
    uses: list[tuple[Use, int]] = field(default_factory=list["tuple[Use, int]"])


def shared_out(
    root: Any, flats: Mapping[str, Json], homes: Mapping[str, str], names: Mapping[str, str]
) -> Json:
    """Return *root* with every use of a flat object in place.

    Args:
        root: A derived tree.
        flats: The flat objects by key, with uses of their own.
        homes: By key the definition in *root* that is this very object, where there is one.
        names: By key what a new definition of it should be called.
    """
    trees = {"": _read(root), **{key: _read(flat) for key, flat in flats.items()}}
    apart, total = _apart(trees, homes, _SMALL)
    if total > MAX_NODES:
        apart, _ = _apart(trees, homes, 0)
    word, taken = container(root)
    put = _Putting(flats)
    new: dict[str, str] = {}
    for key in sorted(apart, key=list(flats).index):
        name = homes.get(key, "")
        if not name:
            name = new[key] = fresh(names[key], taken)
            name = reference((word, name))
        put.named[key] = name
    made: Json = put.placed(root)
    if new:
        added = {name: put.placed(flats[key]) for key, name in new.items()}
        made[word] = {**made.get(word, {}), **added}
    return made


def fresh(wished: str, taken: set[str]) -> str:
    """Return a name for a definition that isn't *taken*, and take it."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", wished).strip("_") or "part"
    name, count = plain, 1
    while name in taken:
        count += 1
        name = f"{plain}_{count}"
    taken.add(name)
    return name


def container(root: Any) -> tuple[str, set[str]]:
    """Return the keyword under which *root* has its definitions, and their names."""
    here: Json = root.said if isinstance(root, Use) else root
    for word in DEFINITIONS:
        if isinstance(here.get(word), dict):
            return word, {*cast("Json", here[word])}
    return DEFINITIONS[0], set()


def _apart(
    trees: Mapping[str, _Tree], homes: Mapping[str, str], small: int
) -> tuple[AbstractSet[str], int]:
    """Return which flat objects are definitions, and how many values all will have."""
    uses = Counter(use.key for tree in trees.values() for use, _ in tree.uses if not use.here)
    uses.update(homes.keys())
    apart: set[str] = set()
    sizes: dict[str, int] = {}
    depths: dict[str, int] = {}

    def close(key: str) -> None:
        tree = trees[key]
        size, depth = tree.size, tree.depth
        for use, at in tree.uses:
            if use.key in apart and not use.here:
                continue
            if at + depths[use.key] > _DEEP and not use.here:
                apart.add(use.key)
                continue
            size += sizes[use.key]
            depth = max(depth, at + depths[use.key])
        sizes[key], depths[key] = size, depth
        if key and uses[key] > 1 and size > small:
            apart.add(key)

    opened: dict[str, Iterator[tuple[Use, int]]] = {"": iter(trees[""].uses)}
    while opened:
        key, rest = next(reversed(opened.items()))
        use, _ = next(rest, (None, 0))
        if use is None:
            close(key)
            del opened[key]
        elif use.key in opened:
            apart.add(use.key)  # it comes again inside itself
        elif use.key not in sizes:
            opened[use.key] = iter(trees[use.key].uses)
    new = apart - homes.keys()
    return apart, sizes[""] + sum(sizes[key] for key in new)


def _read(value: Any) -> _Tree:
    made = _Tree()
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        one, depth = stack.pop()
        made.size += 1
        made.depth = max(made.depth, depth)
        if isinstance(one, Use):
            made.uses.append((one, depth))
            one = one.said  # it stands there too
        if isinstance(one, dict):
            stack += [(item, depth + 1) for item in reversed(cast("Json", one).values())]
        elif isinstance(one, list):
            stack += [(item, depth + 1) for item in reversed(cast("Sequence[Any]", one))]
    return made


class _Putting:
    def __init__(self, flats: Mapping[str, Json]) -> None:
        self.named: dict[str, str] = {}
        self._flats = flats

    def placed(self, value: Any) -> Any:
        """Return *value* as objects of its own, with no use left."""
        if isinstance(value, Use):
            return self._put(value)
        if isinstance(value, dict):
            return {key: self.placed(item) for key, item in cast("Json", value).items()}
        if isinstance(value, list):
            return [self.placed(item) for item in cast("Sequence[Any]", value)]
        return value

    def _put(self, use: Use) -> Json:
        said: Json = self.placed(use.said)
        if not use.here and use.key in self.named:
            return Json({"$ref": self.named[use.key]}) | said
        flat: Json = self.placed(self._flats[use.key])
        first: Json = {word: said.pop(word) for word in _FIRST if word in said}
        told = [text for one in (said, flat) if (text := str(one.get("description") or "").strip())]
        made: Json = {**first, **flat, **said}
        return made | {"description": "\n".join(told)} if told else made
