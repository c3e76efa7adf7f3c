"""A schema in a few words, for a description that stands where the schema can't.

``{name: string, size?: integer}[]`` is what a model reads most easily. Bounds are left out: the
contract holds to them and says so. An outline never grows long, whatever the schema is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from remit.schema.collide import ALL, Shared
from remit.schema.document import Json
from remit.schema.flattening.words import either
from remit.schema.places import Places, items_of

__all__ = ["outline"]

_LEVELS: Final = 4
_STEPS: Final = 400  # schemas that are looked at
_KEYS: Final = 12
_TEXTS: Final = 8
_ARMS: Final = 8
_LETTERS: Final = 600
_NULL: Final = frozenset({"null"})


def outline(parts: Sequence[Any], shared: Shared, places: Places) -> str:
    """Return what is valid under all of *parts*, in a few words; nothing if that is anything."""
    outlining = _Outlining(shared, places)
    told = ""
    for levels in (*range(_LEVELS, 0, -1), 0):
        outlining.left = _STEPS
        told = outlining.told(parts, levels)
        if outlining.left > 0 and len(told) <= _LETTERS:
            break
    return told


class _Outlining:
    def __init__(self, shared: Shared, places: Places) -> None:
        self._shared = shared
        self._places = places
        self.left = _STEPS

    def told(self, parts: Sequence[Any], levels: int) -> str:
        """Return the outline of *parts*, with what is inside to so many *levels*."""
        self.left -= 1
        if self.left < 0:
            return ""
        texts = self._shared.texts(parts)
        if texts and len(texts) <= _TEXTS:
            return either(texts)
        kinds = self._shared.kinds(parts)
        if kinds == ALL:
            return ""
        ways: list[str] = []
        for kind in ("object", "array", "string", "number", "integer", "boolean", "null"):
            if kind not in kinds or (kind == "integer" and "number" in kinds):
                continue
            inside = self._inside(kind, parts, levels) if levels else ""
            ways.append(inside or kind)
        return " or ".join(ways)

    def _inside(self, kind: str, parts: Sequence[Any], levels: int) -> str:
        nodes = [node for part in parts for node in self._ends(part, 8)]
        if kind == "object":
            own = next(filter(None, (self._object(node, levels) for node in nodes)), "")
            return own or next(filter(None, (self._arms(node, levels) for node in nodes)), "")
        if kind == "array":
            items = [node["items"] for node in nodes if isinstance(node.get("items"), dict)]
            told = self.told(items[:1], levels - 1) if items else ""
            return f"list of {told}" if told else ""
        return ""

    def _object(self, node: Json, levels: int) -> str:
        own = node.get("properties")
        if not isinstance(own, dict) or len(cast("Json", own)) > _KEYS:
            return ""
        required = items_of(node, "required")
        told: list[str] = []
        for name, one in cast("Json", own).items():
            key = name if name in required else f"{name}?"
            what = self.told((one,), levels - 1)
            told.append(f"{key}: {what}" if what else key)
        return f"{{{', '.join(told)}}}"

    def _arms(self, node: Json, levels: int) -> str:
        """Return the outlines of a union of objects."""
        for word in ("oneOf", "anyOf"):
            arms = [one for one in items_of(node, word) if "object" in self._shared.kinds((one,))]
            if 1 < len(arms) <= _ARMS:
                told = [self._inside("object", (one,), levels) for one in arms]
                return " or ".join(told) if all(told) else ""
        return ""

    def _ends(self, node: Any, left: int) -> list[Json]:
        """Return *node* and the schemas that it refers to, or that one of must hold."""
        if not isinstance(node, dict) or not left:
            return []
        here = cast("Json", node)
        found = [here]
        if isinstance(ref := here.get("$ref"), str):
            found += self._ends(self._places.target(ref), left - 1)
        for word in ("allOf", "anyOf", "oneOf"):
            arms = [one for one in items_of(here, word) if self._shared.kinds((one,)) != _NULL]
            if word == "allOf" or len(arms) == 1:
                found += [one for arm in arms for one in self._ends(arm, left - 1)]
        return found
