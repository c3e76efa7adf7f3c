"""One schema put into the words of one provider, node by node.

A node is first opened: what its reference or its intersections say is put together, so that it can
be read as one set of keywords. Then each keyword is sent, described, rewritten, or a reason why the
provider's strict mode can't have the schema.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, cast

from remit.schema.collide import ALL, ANNOTATIONS, kind_of, typed
from remit.schema.document import MAX_DEPTH, Json, Pointer, bounded
from remit.schema.flattening.sharing import fresh
from remit.schema.lowering.alternatives import differ_in_case, wider
from remit.schema.lowering.bounds import BOUNDS, in_words
from remit.schema.lowering.describing import Describing
from remit.schema.lowering.dialects import Dialect
from remit.schema.lowering.opening import JUDGING, NAMING
from remit.schema.places import Places, items_of, named_of, reference
from remit.schema.policy import SchemaError
from remit.schema.variants import UNIONS

__all__ = ["Speaking"]

_SILENT: Final = frozenset({*NAMING, "discriminator", "readOnly", "writeOnly", "nullable"})
_OF_OBJECT: Final = frozenset({"properties", "required", "additionalProperties"})
_FORMS: Final[dict[str, type]] = {
    "properties": dict,
    **dict.fromkeys(("required", "enum", "anyOf", "oneOf"), list),
}
_SHAPE: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "prefixItems"),
        *("enum", "const", "anyOf", "oneOf", "description", "title", *BOUNDS, *_SILENT),
    }
)
_OF_KIND: Final = {
    "string": {"minLength", "maxLength", "pattern", "format", "contentEncoding"},
    "array": {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
    "object": {"properties", "required", "additionalProperties", "minProperties", "maxProperties"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
}
_OF_ALL: Final = ("unevaluatedProperties", "unevaluatedItems")  # in one arm they'd forbid more
_NULL: Final[Json] = {"type": "null"}


class Speaking(Describing):
    """One lowering of one document.

    Attributes:
        absent: By the id of a made object: its properties that are null when left out.
        folds: By the id of a made value: its texts, by what they are in lower case.
    """

    def __init__(self, places: Places, dialect: Dialect, *, fold_case: bool = False) -> None:
        super().__init__(places, dialect)
        self._fold = fold_case and dialect.fresh_case
        self.absent: dict[int, frozenset[str]] = {}
        self.folds: dict[int, dict[str, str]] = {}
        self._names: dict[str, str] = {}
        self._waiting: deque[str] = deque()
        self._taken: set[str] = set()
        self._above: set[int] = set()  # what is being read, by its id
        if places.foreign:
            text = f"the schema names its parts in a way of its own: {places.foreign}"
            self._refuse((), "$schema", text)

    def whole(self) -> Json:
        """Return the document's root as the provider takes it."""
        root = dict(self.opened(self._places.document.root))
        for word in UNIONS:
            if word in root and self._dialect.closes:
                self._refuse((), word, f"{word} at the root")
        made = self._node({**root, "type": "object"}, ())
        defs: Json = {}
        while self._waiting:
            ref = self._waiting.popleft()
            steps = tuple(ref.split("/")[1:])
            defs[self._names[ref]] = self._node(self._target(ref, steps), steps)
        if defs:
            made["$defs"] = defs
        return bounded(made)

    # One node. ---------------------------------------------------------------------------------

    def _node(self, node: Any, at: Pointer) -> Json:
        node = _alone(node)
        if id(node) in self._above:
            return self._round(node, at)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SchemaError(at, f"what is put together nests deeper than {MAX_DEPTH}")
        self._above.add(id(node))
        self._alive.append(node)
        try:
            if isinstance(node, dict) and isinstance(ref := cast("Json", node).get("$ref"), str):
                made = self._reference(ref, cast("Json", node), at)
                if made is not None:
                    return made
            return self._said(self.opened(node, at), at)
        finally:
            self._depth -= 1
            self._above.discard(id(cast("object", node)))

    def _round(self, node: Any, at: Pointer) -> Json:
        """Return what stands for *node* where it stands inside itself, put together."""
        self._lose(at, "allOf", "it leads back to itself through what is put together, and is cut")
        kinds = self._shared.kinds((node,))
        return typed(kinds) if len(kinds) < len(_OF_KIND) else {}

    def _reference(self, ref: str, node: Json, at: Pointer) -> Json | None:
        """Return a reference, or None where what it leads to can stand itself."""
        beside = self._beside(node)
        if not self._leads_back(ref):
            return None if beside else self._named(ref)
        allowed = self._dialect.recursion
        if allowed == "nowhere":
            self._refuse(at, "$ref", "it leads back to itself, which this mode doesn't take")
            return {}
        if allowed == "optional" and self._leads_back(ref, needed=True):
            kinds = self._shared.kinds((self._target(ref, at),))
            self._tell(at, "$ref", "rewritten", "recursion that may not end is cut", lossy=True)
            return typed(kinds) if len(kinds) < len(_OF_KIND) else {}
        if beside.keys() - ANNOTATIONS:
            text = "what stands beside a reference that leads back is left to the contract"
            self._lose(at, "$ref", text)
        words = " ".join(filter(None, [str(beside.get("description") or ""), in_words(beside)]))
        if not words:
            return self._named(ref)
        return {"anyOf": [self._named(ref)], "description": words}

    def _named(self, ref: str) -> Json:
        if ref == "#":
            return {"$ref": "#"}
        if ref not in self._names:
            self._names[ref] = fresh(ref.rsplit("/", 1)[-1], self._taken)
            self._waiting.append(ref)
        return {"$ref": reference(("$defs", self._names[ref]))}

    def _said(self, here: Json, at: Pointer) -> Json:
        """Return the opened node *here*."""
        self._unsaid(here, at)
        union = [word for word in UNIONS if isinstance(here.get(word), list)]
        if union:
            return self._union(here, union, at)
        kinds = self._kinds(here, at)
        if "const" in here or "enum" in here:
            return self._listed(here, kinds, at)
        if len(kinds) > 1 and (not self._dialect.type_lists or {"object", "array"} & {*kinds}):
            return self._split(here, kinds, at)
        kind = kinds[0]
        if kind == "" and self._dialect.closes:
            self._refuse(at, "type", "no type, so that any kind of value is valid")
            return {}
        made: Json = {"type": kinds if len(kinds) > 1 else kind} if kind else {}
        if kind == "object" or (not kind and not _OF_OBJECT.isdisjoint(here)):
            self._object(here, made, at)
        if kind == "array" or (not kind and {"items", "prefixItems"} & here.keys()):
            self._array(here, made, at)
        return self._described(here, made, at)

    def _unsaid(self, here: Json, at: Pointer) -> None:
        """Report keywords that this dialect doesn't have, or that aren't what they should be."""
        for word in here.keys() - _SHAPE:
            if word in JUDGING:
                self._lose(at, word, f"{word} is left to the contract")
            elif not word.startswith("x-"):
                text = "it says nothing to this provider"
                self._tell(at, word, "rewritten", text, lossy=False)
        for word, form in _FORMS.items():
            if word in here and not isinstance(here[word], form):
                self._lose(at, word, f"{word} isn't what JSON Schema says it is")

    def _kinds(self, here: Json, at: Pointer) -> list[str]:
        kinds = [*map(str, items_of(here, "type") or [here.get("type", "")])]
        if unknown := [one for one in kinds if one and one not in ALL]:
            self._lose(at, "type", f"{', '.join(unknown)} is no type of JSON Schema")
        return [one for one in kinds if one in ALL] or [""]

    def _union(self, here: Json, union: Sequence[str], at: Pointer) -> Json:
        word = union[0]
        if len(union) > 1:
            self._lose(at, union[1], f"{union[1]} beside {word} is left to the contract")
        arms = items_of(here, word)
        if word == "oneOf":
            apart = self._variants.apart(arms)
            text = "oneOf is anyOf" + ("" if apart else ": several alternatives may hold")
            if apart or not self._dialect.closes:
                self._tell(at, "oneOf", "rewritten", text, lossy=not apart)
            else:
                self._lose(at, "oneOf", text)
        outside = {*ANNOTATIONS, *UNIONS, *NAMING, *_OF_ALL, "required"}
        beside = {key: one for key, one in here.items() if key not in outside}
        if beside.keys() == {"type"} and self._within(arms, beside["type"]):
            beside = {}
        if beside or "required" in here:
            own = {**beside, **({"required": here["required"]} if "required" in here else {})}
            arms = [self._both(self.opened(arm, at), own, at) for arm in arms]
        self._told_apart(arms, at, word)
        made: Json = {"anyOf": [self._node(arm, (*at, word, str(i))) for i, arm in enumerate(arms)]}
        if not arms:
            self._refuse(at, word, f"{word} without alternatives")
        return self._described({k: v for k, v in here.items() if k in ANNOTATIONS}, made, at)

    def _split(self, here: Json, kinds: Sequence[str], at: Pointer) -> Json:
        """Return a list of types as a union."""
        arms: list[Json] = []
        other = {
            kind: {w for k, words in _OF_KIND.items() if k != kind for w in words}
            for kind in _OF_KIND
        }
        for kind in kinds:
            away = other.get("number" if kind == "integer" else kind, {*BOUNDS})
            mine = {w: one for w, one in here.items() if w not in away and w not in ANNOTATIONS}
            arms.append(self._node({**mine, "type": kind}, at))
        about = {word: one for word, one in here.items() if word in ANNOTATIONS}
        return self._described(about, {"anyOf": arms}, at)

    def _listed(self, here: Json, kinds: Sequence[str], at: Pointer) -> Json:
        """Return a list of values, or the one value, with the types they have."""
        values = items_of(here, "enum") if "enum" in here else [here["const"]]
        if "const" in here:
            values = [one for one in values if _told(one) == _told(here["const"])]
        values = [*{json.dumps(one, sort_keys=True): one for one in values}.values()]
        values = [one for one in values if kinds == [""] or kind_of(one) in wider(kinds)]
        named = list(dict.fromkeys(map(kind_of, values)))
        types = [one for one in named if not (one == "integer" and "number" in named)]
        if unsaid := [one for one in named if one not in self._dialect.enums]:
            return self._unlisted(here, values, unsaid, at)
        if not values:
            self._refuse(at, "enum", "an empty list of values")
        if len(types) > 1 and not self._dialect.type_lists:
            each = [[one for one in values if kind_of(one) in wider([kind])] for kind in types]
            arms = [self._listed({"enum": some}, [""], at) for some in each]
            return self._described(here, {"anyOf": arms}, at)
        made: Json = {"type": types[0] if len(types) == 1 else types} if types else {}
        if "const" in here and values and self._dialect.const:
            made["const"] = here["const"]
        else:
            made["enum"] = values
        texts = [one for one in values if isinstance(one, str)]
        if self._dialect.fresh_case and differ_in_case([texts]):
            text = "texts that differ only in capitalisation, which isn't guaranteed"
            self._refuse(at, "enum", text)
        elif self._fold and "enum" in made and texts:
            self.folds[id(made)] = {one.casefold(): one for one in texts}
        return self._described(here, made, at)

    def _unlisted(
        self, here: Json, values: Sequence[Any], unsaid: Sequence[str], at: Pointer
    ) -> Json:
        """Return a list of values, some of a kind that can't be listed: those in words."""
        word = "const" if "const" in here else "enum"
        if self._dialect.closes:
            self._refuse(at, word, f"values that are a list or an object: {', '.join(unsaid)}")
            return {}
        arms: list[Json] = []
        for kind in unsaid:
            mine = [one for one in values if kind_of(one) == kind]
            arms.append({"type": kind})
            if kind != "null" and not (kind == "boolean" and len(mine) > 1):
                told = in_words({"enum": mine})
                self._tell(at, word, "described", told or "the list is too long", lossy=not told)
                arms[-1] |= {"description": told} if told else {}
        if said := [one for one in values if kind_of(one) not in unsaid]:
            arms.append(self._listed({"enum": said}, [""], at))
        return self._described(here, arms[0] if len(arms) == 1 else {"anyOf": arms}, at)

    def _object(self, here: Json, made: Json, at: Pointer) -> None:
        properties = named_of(here, "properties")
        required = list(dict.fromkeys(map(str, items_of(here, "required"))))
        if self._dialect.closes and (unknown := [one for one in required if one not in properties]):
            self._refuse(at, "required", f"required keys without a schema: {', '.join(unknown)}")
        spoken, absent = self._properties(properties, required, at)
        if properties or self._dialect.closes:
            made["properties"] = spoken
        needed = [*spoken] if self._dialect.requires_all else required
        if needed or self._dialect.requires_all:
            made["required"] = needed
        self._policy(here, made, at, empty=not properties)
        if absent:
            self.absent[id(made)] = frozenset(absent)
            self._alive.append(made)

    def _properties(
        self, properties: Json, required: Sequence[str], at: Pointer
    ) -> tuple[Json, list[str]]:
        """Return the properties, and those of them that are null when left out."""
        spoken: Json = {}
        absent: list[str] = []
        for name, one in properties.items():
            below = (*at, "properties", name)
            spoken[name] = self._node(one, below)
            if self._dialect.requires_all and name not in required:
                if self._is_absent_as_null(one, below):
                    absent.append(name)
                    spoken[name] = _nullable(spoken[name])
                self._tell(below, "required", "rewritten", "left out is null", lossy=False)
        return spoken, absent

    def _policy(self, here: Json, made: Json, at: Pointer, *, empty: bool) -> None:
        rest = here.get("additionalProperties")
        if not self._dialect.closes:
            if "patternProperties" in here:
                rest = True  # keys that a pattern names would be refused, or held to another rule
            if rest is not None:
                below = (*at, "additionalProperties")
                made["additionalProperties"] = (
                    self._node(rest, below) if isinstance(rest, dict) else rest
                )
            return
        made["additionalProperties"] = False
        if rest is False:
            return
        if rest is not None or (empty and at):
            text = "an open map: closed to {} it could hold nothing"
            self._refuse(at, "additionalProperties", text)
        else:
            text = "keys that the contract drops are not asked for"
            self._tell(at, "additionalProperties", "rewritten", text, lossy=False)

    def _is_absent_as_null(self, one: Any, at: Pointer) -> bool:
        """Tell whether null, for a key that may be left out, isn't taken for what it says."""
        if "null" not in self._shared.kinds((one,)):
            return True
        opened = self.opened(one, at)
        if opened.get("default", "") is not None:
            text = "it may be null, or left out, which is not the same"
            self._refuse(at, "required", text)
        return False

    def _array(self, here: Json, made: Json, at: Pointer) -> None:
        items = here.get("items")
        word = "items" if isinstance(items, list) else "prefixItems"
        if each := items_of(here, word):
            if not self._dialect.tuples:
                text = "a tuple, whose places have schemas of their own"
                self._refuse(at, word, text)
                return
            made["prefixItems"] = [
                self._node(one, (*at, word, str(i))) for i, one in enumerate(each)
            ]
        if isinstance(items, dict):
            made["items"] = self._node(items, (*at, "items"))
        elif self._dialect.closes:
            self._refuse(at, "items", "a list of anything")
        elif isinstance(items, bool):
            made["items"] = items


def _alone(node: Any) -> Any:
    """Return an intersection of one schema as that, with the words beside it."""
    arms = items_of(cast("Json", node), "allOf") if isinstance(node, dict) else []
    if len(arms) == 1 and isinstance(arms[0], dict):
        rest = {word: one for word, one in cast("Json", node).items() if word != "allOf"}
        if not rest.keys() - ANNOTATIONS:
            return {**cast("Json", arms[0]), **rest} if rest else cast("Any", arms[0])
    return cast("Any", node)


def _nullable(made: Json) -> Json:
    """Return *made* with null beside what it takes."""
    kinds = made.get("type")
    if isinstance(kinds, str) and kinds not in ("object", "array") and "const" not in made:
        more: Json = {"enum": [*made["enum"], None]} if "enum" in made else {}
        return {**made, "type": [kinds, "null"], **more}
    about: Json = {word: made.pop(word) for word in ("description", "title") if word in made}
    if "anyOf" in made:
        return {"anyOf": [*made["anyOf"], dict(_NULL)], **about}
    return {"anyOf": [made, dict(_NULL)], **about}


def _told(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
