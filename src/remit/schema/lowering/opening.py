"""A schema's references and intersections put together: a node becomes one set of keywords.

What one lowering finds on the way is kept here too: what became of which keyword, and why the
provider's strict mode can't have the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from remit.schema.collide import ANNOTATIONS, Shared
from remit.schema.document import MAX_DEPTH, MAX_NODES, Json, Pointer, parts, pointer
from remit.schema.lowering.dialects import Dialect
from remit.schema.lowering.merging import merged
from remit.schema.places import DEFINITIONS, Places, items_of
from remit.schema.policy import SchemaError
from remit.schema.report import Action, Entry
from remit.schema.variants import UNIONS, Variants

__all__ = ["JUDGING", "NAMING", "Opening"]

NAMING: Final = frozenset({"$schema", "$id", "id", "$comment", "$anchor", *DEFINITIONS})
"""Keywords that name, and judge nothing where they stand."""

JUDGING: Final = frozenset(
    {
        *("not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"),
        *("patternProperties", "dependentRequired", "dependentSchemas", "dependencies", "allOf"),
        *("unevaluatedProperties", "unevaluatedItems", "additionalItems", "contentSchema", "$ref"),
        *("$dynamicRef", "$recursiveRef"),
    }
)
"""Keywords that judge, and that no provider's dialect can say."""


# What each draft had not yet, from the oldest; each lacks what the ones after it lack too.
_LATER: Final = {
    "draft-04": frozenset({"const", "contains", "propertyNames"}),
    "draft-06": frozenset({"if", "then", "else"}),
    "draft-07": frozenset(
        {
            *("unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas"),
            *("minContains", "maxContains"),
        }
    ),
    "2019-09": frozenset({"prefixItems"}),
}


class Opening:
    """One document, opened node by node for one dialect."""

    def __init__(self, places: Places, dialect: Dialect) -> None:
        self._places = places
        self._dialect = dialect
        self._unknown = _unknown(str(places.document.root.get("$schema", "")))
        self._shared = Shared(places)
        self._variants = Variants(places, self._shared)
        self._told: dict[Entry, None] = {}
        self._cyclic: dict[tuple[str, bool], bool] = {}
        self._alive: list[Any] = []  # what others know by its id
        self._left = 2 * MAX_NODES
        self._depth = 0

    @property
    def report(self) -> tuple[Entry, ...]:
        """What became of which keyword."""
        return tuple(self._told)

    def opened(self, node: Any, at: Pointer = ()) -> Json:
        """Return *node* with what it refers to and its intersections put together."""
        self._spend(at)
        here: Json = cast("Json", node) if isinstance(node, dict) else {} if node else {"not": {}}
        here = self._modern(here)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SchemaError(at, f"its references nest deeper than {MAX_DEPTH}")
        if isinstance(ref := here.get("$ref"), str):
            target = self._target(ref, at)
            self._spend(at, self._places.size(target))
            here = self._both(self.opened(target, at), self._beside(here), at)
        if "allOf" in here and isinstance(arms := here["allOf"], list):
            rest = {word: one for word, one in here.items() if word != "allOf"}
            for index, arm in enumerate(cast("Sequence[Any]", arms)):
                rest = self._both(self.opened(arm, (*at, "allOf", str(index))), rest, at)
            here = rest
        self._depth -= 1
        if here.get("unevaluatedProperties") is False and not (JUDGING | {*UNIONS}) & (
            here.keys() - {"unevaluatedProperties"}
        ):
            here = {word: one for word, one in here.items() if word != "unevaluatedProperties"}
            here.setdefault("additionalProperties", False)
        self._alive.append(here)
        return here

    def _modern(self, here: Json) -> Json:
        """Return *here* without words that its draft doesn't have, and bounds in today's form."""
        if not self._unknown.isdisjoint(here):
            here = {word: one for word, one in here.items() if word not in self._unknown}
        for word, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if isinstance(here.get(word), bool):  # draft 4 marks the bound itself
                rest = {w: one for w, one in here.items() if w not in (word, bound)}
                marked = {word if here[word] else bound: here[bound]} if bound in here else {}
                here = {**rest, **marked}
        return here

    def _both(self, one: Any, other: Any, at: Pointer) -> Json:
        made, lost = merged(one, other)
        held = (cast("Sequence[Any]", one) for one in made.values() if isinstance(one, dict | list))
        self._spend(at, sum(map(len, held)))
        self._alive.append(made)
        for word in lost:
            text = f"two rules of {word} hold here, of which one is left to the contract"
            self._lose(at, word, text)
        return made

    def _beside(self, node: Json) -> Json:
        """Return what counts beside a reference."""
        beside = {word: one for word, one in node.items() if word not in {"$ref", *NAMING}}
        if self._places.legacy:
            return {word: one for word, one in beside.items() if word in ANNOTATIONS}
        return beside

    def _target(self, ref: str, at: Pointer) -> Any:
        try:
            return self._places.document.target(ref)
        except SchemaError as why:
            raise SchemaError(at, why.text) from None

    def _leads_back(self, ref: str, *, needed: bool = False) -> bool:
        """Tell whether what *ref* leads to leads there again, or must do so if *needed*."""
        if (ref, needed) not in self._cyclic:
            start = self._target(ref, ())
            seen: set[int] = set()
            stack: list[Any] = [start]
            found = False
            while stack and not found:
                node = stack.pop()
                if not isinstance(node, dict) or id(cast("Json", node)) in seen:
                    continue
                here = cast("Json", node)
                self._spend(())
                seen.add(id(here))
                stack += [
                    part
                    for steps, part in parts(here)
                    if steps[0] not in DEFINITIONS and not (needed and _escapes(here, steps))
                ]
                if isinstance(next_ref := here.get("$ref"), str):
                    target = self._target(next_ref, ())
                    found = target is start
                    stack.append(target)
            self._cyclic[ref, needed] = found
        return self._cyclic[ref, needed]

    def _spend(self, at: Pointer, cost: int = 1) -> None:
        self._left -= cost
        if self._left < 0:
            raise SchemaError(at, "putting it together would be larger than a schema may be")

    def _lose(self, at: Pointer, word: str, text: str) -> None:
        """Say that *word* can't be said, which a strict mode is refused for."""
        action: Action = "refused" if self._dialect.closes else "rewritten"
        self._tell(at, word, action, text, lossy=not self._dialect.closes)

    def _refuse(self, at: Pointer, word: str, text: str) -> None:
        """Say that a strict mode can't have *word* as it is; other modes can."""
        if self._dialect.closes:
            self._tell(at, word, "refused", text, lossy=False)

    def _tell(self, at: Pointer, word: str, action: Action, text: str, *, lossy: bool) -> None:
        self._told[Entry(pointer(at), word, action, lossy=lossy, text=text)] = None


def _unknown(draft: str) -> frozenset[str]:
    """Return the words that came after *draft*, a ``$schema``: in it they say nothing."""
    words: frozenset[str] = frozenset()
    for name, later in _LATER.items():
        if words or name in draft:
            words |= later
    return words


def _escapes(node: Json, steps: Pointer) -> bool:
    """Tell whether what is below *steps* in *node* may be left out."""
    if steps[0] == "properties":
        return steps[1] not in items_of(node, "required")
    return steps[0] in ("items", "additionalProperties", "patternProperties")
