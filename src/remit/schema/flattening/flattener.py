"""One pass that makes objects of a document's unions.

Unions are found first, and with them everything that accepts more as soon as they do. Then the
document is derived: a union becomes a use of its flat object, and what counts on a schema not to be
wider, such as ``not``, is let go. Each flat object is built once, and last all are put in place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, Final, cast

from remit.schema.collide import ANNOTATIONS, Shared, listed
from remit.schema.document import MAX_NODES, Json, Pointer, parts, pointer
from remit.schema.flattening.sharing import Use, shared_out
from remit.schema.flattening.shelf import whence
from remit.schema.flattening.united import Property, United, united
from remit.schema.places import DEFINITIONS, Place, Places, copied, items_of, reference, steps_of
from remit.schema.report import Action, Entry
from remit.schema.variants import UNIONS, Staying, Union, Variants

__all__ = ["Flattening"]

_BESIDE: Final = frozenset({"$schema", "$id", "id", *DEFINITIONS, *ANNOTATIONS})
_MERGED: Final = frozenset({"type", "properties", "required", "additionalProperties", *UNIONS})
_SAID: Final = ANNOTATIONS - {"discriminator", "$comment"}
_NAMING: Final = ("properties", *DEFINITIONS)
_WORK: Final = 20 * MAX_NODES  # keys of variants that are compared, in all unions together


class Flattening:
    """One pass over one document.

    Attributes:
        places: Where the document's schemas stand.
        changed: Whether any union became an object.
    """

    def __init__(self, places: Places, moved: Mapping[str, Pointer]) -> None:
        self.places = places
        self.changed: bool = False
        self._moved = moved
        self._told: dict[Entry, None] = {}
        self._shared = Shared(places)
        self._variants = Variants(places, self._shared)
        self._unions: dict[str, Union] = {}
        self._keys: dict[int, str] = {}
        self._flats: dict[str, Json] = {}
        self._outcomes: dict[str, tuple[Action, str]] = {}
        self._waiting: deque[str] = deque()
        self._building = False
        self._left = MAX_NODES - places.size(places.document.root)
        self._work = _WORK

    @property
    def report(self) -> tuple[Entry, ...]:
        """What became of what, once it is done."""
        return tuple(self._told)

    def done(self) -> Json:
        """Return the derived schema; some references may still lead into what moved."""
        root = self.places.document.root
        if self.places.foreign:
            text = f"the schema stays as it is: {self.places.foreign}"
            self._tell(root, "$ref", "kept", text, lossy=False)
            return root
        for place in self.places:
            self._find(place)
        tree = self._derived(root)
        self._building = True
        while self._waiting:
            key = self._waiting.popleft()
            self._flats[key] = self._built(key)
        self._tell_places()
        return shared_out(tree, self._flats, self._homes(), self._names())

    def aimed(self) -> list[str]:
        """Return the references that lead into what moved, or to what is no part of a schema."""
        found: dict[str, None] = {}
        for _, ref in self.places.references:
            target = self.places.target(ref)
            place = self.places.of(target)
            if isinstance(target, dict):
                if place is None or place.unstable:
                    found[ref] = None
            elif isinstance(target, bool) and not _is_definition(steps_of(ref)):
                found[ref] = None
        return list(found)

    # Which unions there are. -------------------------------------------------------------------

    def _find(self, place: Place) -> None:
        node = place.node
        word = next((word for word in UNIONS if items_of(node, word)), "")
        if not word or (self.places.legacy and "$ref" in node):
            return
        key = self._key(node)
        why = f"a wider schema under {place.negative!r} would refuse more" if place.negative else ""
        try:
            if not why and key not in self._unions:
                self._unions[key] = self._variants.union(place, word)
        except Staying as found:
            why = str(found)
        if why:
            arms = items_of(node, word)
            if sum("object" in self._shared.kinds((one,)) for one in arms) > 1:
                # Nobody expects one object of a text and a number.
                self._tell(node, word, "kept", f"the union stays: {why}", lossy=False)
            return
        self._keys[id(node)] = key
        self.places.widen(place)

    def _key(self, node: Json) -> str:
        """Return what unions have in common that become the same object."""
        told = [
            f"{word}: {self._shared.text_of(one)}"
            for word, one in node.items()
            if word not in _BESIDE
        ]
        said = node.get("discriminator")
        name = cast("Json", said).get("propertyName") if isinstance(said, dict) else None
        return ", ".join([*sorted(told), f"by {name}"])

    # What a schema becomes. --------------------------------------------------------------------

    def _derived(self, node: Any) -> Any:
        """Return *node* with each union in it as a use of its flat object."""
        if not isinstance(node, dict):
            return copied(node)
        here = cast("Json", node)
        place = self.places.of(here)
        if place is None or (key := self._keys.get(id(here))) is None:
            return self._within(here, frozenset())
        place.moved = True
        if key not in self._flats:
            self._flats[key] = {}
            self._waiting.append(key)
        said = self._within(here, here.keys() - (_BESIDE - {"discriminator"}))
        steps = place.pointer
        return Use(key, said, here=not self._building and (not steps or _is_definition(steps)))

    def _within(self, here: Json, without: AbstractSet[str]) -> Json:
        """Return *here* with every schema inside it derived."""
        made: Json = {}
        gone = {*without, *self._let_go(here)}
        for word, value in here.items():
            if word in gone:
                continue
            below = dict(parts({word: value}))
            if word in ("not", "if") or not below:
                made[word] = copied(value)
            elif (word,) in below:
                made[word] = self._derived(value)
            elif isinstance(value, list):
                made[word] = [self._derived(one) for one in cast("Sequence[Any]", value)]
            else:
                made[word] = {
                    name: self._derived(one) if (word, name) in below else copied(one)
                    for name, one in cast("Json", value).items()
                }
        if "oneOf" in made and self._meets(here):
            arms = {"anyOf": made.pop("oneOf")}
            made |= arms if "anyOf" not in made else {"allOf": [*made.get("allOf", ()), arms]}
        return made

    def _let_go(self, here: Json) -> list[str]:
        """Return the keywords of *here* that would refuse more, as what they speak of is wider."""
        found: list[str] = []
        for words in (("not",), ("if", "then", "else")):
            if self._is_wider(here.get(words[0])):
                found += [word for word in words if word in here]
        if "maxContains" in here and self._is_wider(here.get("contains")):
            found.append("maxContains")
        for word in found:
            if (place := self.places.of(here[word])) is not None:
                place.gone = True
            text = "it would refuse more, since unions behind it accept more as objects"
            self._tell(here, word, "rewritten", text, lossy=True)
        return found

    def _meets(self, here: Json) -> bool:
        """Tell whether two arms of a union that stays may now accept one value, and say so."""
        arms = items_of(here, "oneOf")
        if not any(map(self._is_wider, arms)) or self._variants.apart(arms):
            return False
        for arm in arms:
            if (place := self.places.of(arm)) is not None:
                place.gone = True  # under another keyword
        text = "at least one alternative must hold, no longer exactly one, since some are wider now"
        self._tell(here, "oneOf", "rewritten", text, lossy=True)
        return True

    def _is_wider(self, node: Any) -> bool:
        place = self.places.of(node)
        return place is not None and place.wider

    # One flat object. --------------------------------------------------------------------------

    def _built(self, key: str) -> Json:
        union = self._unions[key]
        node = union.place.node
        try:
            flat = self._united(union)
        except Staying as why:
            self._outcomes[key] = ("kept", f"the union stays: {why}")
            return self._within(node, _BESIDE - {"discriminator", "$comment"})
        self.changed = True
        count = len(union.variants)
        text = f"{count} variants, told apart by {union.name!r}, are one object"
        self._outcomes[key] = ("rewritten", text)
        for loss in flat.losses:
            self._tell(loss.node, loss.keyword, loss.action, loss.text, lossy=True)
        nullable = union.nullable and "null" in self._shared.kinds((node,))
        made: Json = {"type": ["object", "null"] if nullable else "object"}
        beside: Any = node.get("properties")
        own = cast("Json", beside) if isinstance(beside, dict) else {}
        properties = {name: self._derived(one) for name, one in own.items()}
        for name, one in flat.properties.items():
            there = self._property(one)
            properties[name] = (
                there if name not in own else self._both(own[name], properties[name], there)
            )
        if properties:
            made["properties"] = properties
        if required := [*map(str, items_of(node, "required")), *flat.required]:
            made["required"] = list(dict.fromkeys(required))
        rest = node.get("additionalProperties")
        if rest is not None and rest is not True and rest != {}:
            made["additionalProperties"] = self._derived(rest)
        elif (policy := flat.policy if flat.policy is not None else rest) is not None:
            made["additionalProperties"] = copied(policy)
        if flat.description:
            made["description"] = flat.description
        return {**made, **self._within(node, _BESIDE | _MERGED)}

    def _united(self, union: Union) -> United:
        """Return the union's variants as one object, if there is room for it."""
        self._work -= sum(len(one.properties) for one in union.variants)
        if self._work < 0:
            raise Staying("the unions before it took all the work that one schema may cost")
        flat = united(union, self._shared, self.places)
        node = union.place.node
        cost = flat.cost + self.places.size(node) - self.places.size(node[union.word])
        if cost > self._left:
            raise Staying("flattening it would copy more than a schema may hold")
        self._left -= cost
        return flat

    def _property(self, one: Property) -> Any:
        made: Any = dict(one.joined.schema)
        if one.joined.rule == "equal":
            bare = [_bare(self._derived(self._end(part))) for part in one.joined.same]
            made = bare[0] if len(bare) == 1 else {"allOf": bare}
        if isinstance(made, Use):
            return Use(made.key, {**made.said, **one.said})
        return {**cast("Json", made), **one.said} if isinstance(made, dict) else made

    def _end(self, part: Any) -> Any:
        """Return *part*, or what it refers to if that has a default, which must not come along."""
        here = cast("Json", part) if isinstance(part, dict) else {}
        for _ in range(8):
            if here.keys() - ANNOTATIONS != {"$ref"}:
                break
            target = self.places.target(here["$ref"])
            here = cast("Json", target) if isinstance(target, dict) else {}
            if "default" in here:
                return here
        return cast("Any", part)

    def _both(self, raw: Any, base: Any, flat: Any) -> Any:
        """Return what holds of a key that stands beside the union, and in its variants."""
        if base is True or flat is True:
            return flat if base is True else base
        if not isinstance(base, dict) or not isinstance(flat, dict):
            return {"allOf": [cast("Any", base), flat]}
        mine, theirs = cast("Json", base), cast("Json", flat)
        judging = {word: one for word, one in theirs.items() if word not in ANNOTATIONS}
        about = {**mine, **theirs}
        told = [str(one["description"]) for one in (mine, theirs) if one.get("description")]
        said: Json = {word: one for word, one in about.items() if word in ANNOTATIONS}
        said |= {"description": " ".join(told)} if told else {}
        own = {word: one for word, one in mine.items() if word not in ANNOTATIONS}
        texts = self._shared.texts((raw,))
        if not judging or not own:
            return {**judging, **own, **said}
        if texts and "enum" in judging:
            return {**listed(one for one in judging["enum"] if one in texts), **said}
        if all(word in judging and judging[word] == one for word, one in own.items()):
            return {**judging, **said}
        return {"allOf": [own, judging], **said}

    # Where they stand. -------------------------------------------------------------------------

    def _homes(self) -> dict[str, str]:
        """Return the definitions that are unions themselves, by what they become."""
        return {
            key: reference(place.pointer)
            for place in self.places
            if (key := self._keys.get(id(place.node), "")) in self._flats
            and _is_definition(place.pointer)
        }

    def _names(self) -> dict[str, str]:
        """Return what each flat object is called, should it become a definition."""
        found: dict[str, str] = {}
        for key in self._flats:
            steps = self._unions[key].place.pointer
            named = [two for one, two in pairwise(steps) if one in _NAMING]
            found[key] = "_".join(named[-2:]) or self._unions[key].name
        return found

    def _tell_places(self) -> None:
        for place in self.places:
            if place.moved and (told := self._outcomes.get(self._keys[id(place.node)])):
                word = next(word for word in UNIONS if items_of(place.node, word))
                self._tell(place.node, word, told[0], told[1], lossy=told[0] != "kept")

    def _tell(self, node: Json, word: str, action: Action, text: str, *, lossy: bool) -> None:
        place = self.places.of(node)
        steps = () if place is None else whence(place.pointer, self._moved)
        self._told[Entry(pointer(steps), word, action, lossy=lossy, text=text)] = None


def _is_definition(steps: Pointer) -> bool:
    return len(steps) == len(("$defs", "name")) and steps[0] in DEFINITIONS


def _bare(tree: Any) -> Any:
    """Return *tree*, derived from a variant's key, without what only that variant says of it."""
    if isinstance(tree, Use):
        return Use(tree.key, {})
    if not isinstance(tree, dict):
        return tree
    here = cast("Json", tree)
    made = {word: one for word, one in here.items() if word not in _SAID}
    if isinstance(made.get("allOf"), list):
        made["allOf"] = [
            {k: v for k, v in cast("Json", one).items() if k != "default"}
            if isinstance(one, dict)
            else one
            for one in made["allOf"]
        ]
    return made
