"""The way back: what a model sent under a lowered schema, as the contract means it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.schema.document import MAX_DEPTH, Json, pointed

__all__ = ["Decoded", "Decoder"]

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """Arguments as the contract means them.

    Attributes:
        arguments: The arguments.
        repaired: Where a listed text came in another capitalisation, as dotted paths.
    """

    arguments: Json
    repaired: tuple[str, ...] = ()


class Decoder:
    """Undoes what a lowering did to the shape of values; it judges nothing.

    Args:
        schema: The lowered schema.
        absent: By the id of an object of *schema*: its properties that are null when left out.
        folds: By the id of a value of *schema*: its texts, by what they are in lower case.
    """

    def __init__(
        self,
        schema: Json,
        absent: Mapping[int, frozenset[str]],
        folds: Mapping[int, Mapping[str, str]],
    ) -> None:
        self._schema = schema
        self._absent = absent
        self._folds = folds
        self._repaired: list[str] = []
        self._fitting: dict[tuple[int, int], bool] = {}

    def decoded(self, arguments: Mapping[str, Any]) -> Decoded:
        """Return *arguments* decoded; they aren't changed."""
        if not self._absent and not self._folds:
            return Decoded(dict(arguments))
        run = Decoder(self._schema, self._absent, self._folds)
        made = run._value(dict(arguments), self._schema, ())
        return Decoded(cast("Json", made), tuple(run._repaired))

    def _value(self, value: Any, node: Any, path: tuple[str, ...]) -> Any:
        if len(path) > MAX_DEPTH or not isinstance(node, dict):
            return value  # what is deeper is refused by the contract
        here = self._end(cast("Json", node))
        if isinstance(arms := here.get("anyOf"), list):
            fits = [arm for arm in cast("Sequence[Any]", arms) if self._fits(value, arm, 1)]
            return self._value(value, fits[0], path) if fits else value
        if isinstance(value, str) and (fold := self._fold_of(here)):
            found = value if value in fold.values() else fold.get(value.casefold(), value)
            if found != value:
                self._repaired.append(".".join(path))
            return found
        if isinstance(value, dict):
            return self._object(cast("Json", value), here, path)
        if isinstance(value, list) and isinstance(items := here.get("items"), dict):
            each = enumerate(cast("Sequence[Any]", value))
            return [self._value(one, cast("Json", items), (*path, str(i))) for i, one in each]
        return cast("Any", value)

    def _object(self, value: Json, here: Json, path: tuple[str, ...]) -> Json:
        known = cast("Json", here.get("properties", {}))
        absent = self._absent.get(id(here), frozenset[str]())
        return {
            name: self._value(one, known.get(name), (*path, name))
            for name, one in value.items()
            if one is not None or name not in absent
        }

    def _fold_of(self, node: Json) -> Mapping[str, str]:
        return self._folds.get(id(node), {})

    def _end(self, node: Json) -> Json:
        for _ in range(MAX_DEPTH):
            if not isinstance(ref := node.get("$ref"), str):
                break
            node = cast("Json", pointed(self._schema, ref))
        return node

    def _fits(self, value: Any, node: Any, depth: int) -> bool:
        """Tell whether *value* has the shape of *node*; bounds don't count."""
        if depth > MAX_DEPTH or not isinstance(node, dict):
            return True
        here = self._end(cast("Json", node))
        if not isinstance(value, list | dict):
            return self._matches(value, here, depth)
        key = id(cast("object", value)), id(here)
        if key not in self._fitting:  # else each level of a recursive value doubles the work
            self._fitting[key] = self._matches(value, here, depth)
        return self._fitting[key]

    def _matches(self, value: Any, here: Json, depth: int) -> bool:
        if isinstance(arms := here.get("anyOf"), list):
            return any(self._fits(value, arm, depth + 1) for arm in cast("Sequence[Any]", arms))
        if not _is_of(value, here.get("type")):
            return False
        if "const" in here and not _same(value, here["const"]):
            return False
        if "enum" in here and not any(_same(value, one) for one in here["enum"]):
            # A text that tells alternatives apart must be exact, another may be repaired later.
            return depth == 1 and isinstance(value, str) and value.casefold() in self._fold_of(here)
        if isinstance(value, dict) and "properties" in here:
            known = cast("Json", here["properties"])
            if not set(here.get("required", ())) <= value.keys() <= known.keys():
                return False
            mine = cast("Json", value).items()
            return all(self._fits(one, known[name], depth + 1) for name, one in mine)
        if isinstance(value, list) and isinstance(items := here.get("items"), dict):
            each = cast("Sequence[Any]", value)
            return all(self._fits(one, cast("Json", items), depth + 1) for one in each)
        return True


def _is_of(value: Any, kinds: Any) -> bool:
    if kinds is None:
        return True
    for kind in [kinds] if isinstance(kinds, str) else cast("Sequence[str]", kinds):
        if isinstance(value, bool):
            if kind == "boolean":
                return True
        elif isinstance(value, _KINDS.get(kind, ())):
            return kind != "integer" or cast("float", value) % 1 == 0
    return False


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
