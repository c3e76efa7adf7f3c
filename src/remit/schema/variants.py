"""The variants of a union, each read as one object, and the property that tells them apart.

What is read of a variant accepts at least what the variant does: its properties, what it requires,
and what it does with other keys, gathered through references and intersections. Whatever else it
says is counted as dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, cast

from remit.schema.collide import ANNOTATIONS, Shared
from remit.schema.document import Json
from remit.schema.places import DEFINITIONS, Place, Places, items_of
from remit.schema.policy import SchemaError

__all__ = ["UNIONS", "Staying", "Union", "Variant", "Variants"]

UNIONS: Final = ("oneOf", "anyOf")

MAX_VARIANTS: Final = 1_000  # 59 is the widest of the providers' own classes
MAX_VALUES: Final = 1_000  # as many as OpenAI takes in all the enums of a schema
_NULL: Final = frozenset({"null"})
_DEPTH: Final = 64  # references and intersections deep
_FIRST: Final = 64  # how many of a variant's constants are tried as the discriminator

_IDENTITY: Final = frozenset({"$schema", "$id", "id", *DEFINITIONS})
_REST: Final = "unevaluatedProperties"
_KNOWN: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "allOf", "$ref"),
        *ANNOTATIONS,
        *_IDENTITY,
    }
)
_DECLARING: Final = frozenset(
    {
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("$ref", "items", "prefixItems"),
    }
)


class Staying(Exception):
    """Why a union can't become one object."""


@dataclass(slots=True, eq=False)
class Variant:
    """One variant, read as an object.

    Attributes:
        node: The variant itself.
        properties: Per key the schemas that all hold there.
        required: The keys that it requires.
        strict: Whether it refuses other keys.
        keeps: Whether it keeps some of them: it is open or typed, or has rules of its own for them.
        rest: If it is typed, what it holds every other key to.
        dropped: The keywords that weren't read, each with the schema that has it.
        constants: Per key the texts that it may have, where it lists them all.
    """

    node: Json
    properties: dict[str, tuple[Any, ...]] = field(default_factory=dict[str, "tuple[Any, ...]"])
    required: set[str] = field(default_factory=set[str])
    strict: bool = False
    keeps: bool = False
    rest: Any = None
    dropped: list[tuple[Json, str]] = field(default_factory=list["tuple[Json, str]"])
    constants: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])


@dataclass(frozen=True, slots=True)
class Union:
    """A union whose variants are objects that one property tells apart.

    Attributes:
        place: Where it stands.
        word: ``oneOf`` or ``anyOf``.
        name: The discriminator.
        variants: The variants, those of unions among them included.
        inner: Per variant the discriminator of the union inside this one that it is from, if any.
        nullable: Whether it takes null as well.
    """

    place: Place
    word: str
    name: str
    variants: tuple[Variant, ...]
    inner: tuple[str, ...]
    nullable: bool


@dataclass(slots=True)
class _Arm:
    variants: list[Variant] = field(default_factory=list[Variant])
    inner: list[str] = field(default_factory=list[str])
    apart: str = ""  # what tells its variants apart, if it is a union itself
    nullable: bool = False


class Variants:
    """Reads the unions of one document; a variant that many of them share is read once."""

    def __init__(self, places: Places, shared: Shared) -> None:
        self._places = places
        self._shared = shared
        self._read: dict[int, Variant] = {}
        self._count = 0

    def union(self, place: Place, word: str) -> Union:
        """Return the union at *place*.

        Raises:
            Staying: If it can't become one object, saying why.
        """
        node = place.node
        if all(word in node for word in UNIONS):
            raise Staying("two unions stand in one place")
        self._count = 0
        allowed = self._shared.kinds((node,))
        trail = (id(node),)
        arms = [
            self._arm(arm, f"variant {index}", allowed, trail)
            for index, arm in enumerate(items_of(node, word))
        ]
        variants = [one for arm in arms for one in arm.variants]
        declared = _declared(node)
        if len(variants) < (1 if declared else 2):
            raise Staying("fewer than two of its variants are objects")
        base = frozenset(map(str, items_of(node, "required")))
        name = self._told_apart(arms, declared, base)
        if not name and declared:
            raise Staying(f"its discriminator {declared!r} is no list of texts in every variant")
        if not name:
            raise Staying("no property with texts of its own in each variant tells them apart")
        if sum(len(one.constants[name]) for one in variants) > MAX_VALUES:
            raise Staying(f"it has more than {MAX_VALUES} values to tell its variants apart")
        inner = (one if one != name else "" for arm in arms for one in arm.inner)
        nullable = any(arm.nullable for arm in arms)
        return Union(place, word, name, tuple(variants), tuple(inner), nullable)

    def apart(self, arms: Sequence[Any]) -> bool:
        """Tell whether no value is valid under two of *arms*, even if each were wider inside.

        What keeps them apart is their kinds of value, or a constant that each requires.
        """
        kinds = [self._shared.kinds((arm,)) for arm in arms]
        if sum(map(len, kinds)) == len(frozenset[str]().union(*kinds)):
            return True
        try:
            trail: tuple[int, ...] = ()
            read = [self._arm(arm, "", frozenset({"object", "null"}), trail) for arm in arms]
        except Staying:
            return False
        if sum(arm.nullable for arm in read) > 1 or not all(arm.variants for arm in read):
            return False
        return len(read) > 1 and bool(self._discriminator(read, "", frozenset()))

    def _arm(self, raw: Any, name: str, allowed: frozenset[str], trail: tuple[int, ...]) -> _Arm:
        """Return *raw*, an alternative, as its variants."""
        self._count += 1
        if self._count > MAX_VARIANTS or len(trail) > _DEPTH:
            raise Staying(f"it has more than {MAX_VARIANTS} variants")
        node = self._end(raw)
        kinds = self._shared.kinds((node,)) & allowed
        if not kinds:
            return _Arm()
        if kinds == _NULL:
            return _Arm(nullable=True)
        if kinds - {"object", "null"} or not isinstance(node, dict):
            what = "isn't said to be an object" if "object" in kinds else "is no object"
            raise Staying(f"{name} {what}")
        here = cast("Json", node)
        if id(here) in trail:
            raise Staying(f"{name} leads back to the union itself")
        word = next((word for word in UNIONS if items_of(here, word)), "")
        if not word or here.keys() - {word, "type"} - ANNOTATIONS - _IDENTITY:
            return _Arm([self._variant(here)], [""], nullable="null" in kinds)
        found = [self._arm(arm, name, kinds, (*trail, id(here))) for arm in items_of(here, word)]
        apart = self._told_apart(found, _declared(here), frozenset())
        return _Arm(
            [one for arm in found for one in arm.variants],
            [one or apart for arm in found for one in arm.inner],
            apart,
            nullable=any(arm.nullable for arm in found),
        )

    def _end(self, node: Any) -> Any:
        """Return *node*, or where its chain of references ends that say nothing else."""
        for _ in range(MAX_VARIANTS):
            if not isinstance(node, dict) or not isinstance(cast("Json", node).get("$ref"), str):
                return cast("Any", node)
            here = cast("Json", node)
            if here.keys() - {"$ref"} - ANNOTATIONS - _IDENTITY and not self._places.legacy:
                return here
            node = self._target(here)
        raise Staying("a chain of references has no end")

    def _target(self, here: Json) -> Any:
        try:
            return self._places.document.target(here["$ref"])
        except SchemaError as why:
            raise Staying(why.text) from why

    def _variant(self, node: Json) -> Variant:
        if (known := self._read.get(id(node))) is not None:
            return known
        made = Variant(node)
        closed: list[set[str]] = []
        self._gather(made, node, closed, set(), 0)
        if self._closes(node) and not made.keeps:
            closed.append(set(made.properties))
        if closed:
            made.strict = True
            names = closed[0].intersection(*closed)
            if made.required <= names:  # else nothing is valid, which is hardly what was meant
                made.properties = {k: one for k, one in made.properties.items() if k in names}
        for name, parts in made.properties.items():
            texts = self._shared.texts(parts)
            if texts and all(isinstance(one, str) for one in texts):
                made.constants[name] = cast("list[str]", texts)
        self._read[id(node)] = made
        return made

    def _gather(
        self, made: Variant, node: Any, closed: list[set[str]], seen: set[int], depth: int
    ) -> None:
        """Add what *node* says of an object to *made*, and to *closed* the keys it stays at."""
        if not isinstance(node, dict) or id(cast("Json", node)) in seen:
            return
        if depth > _DEPTH:
            raise Staying(f"a variant is more than {_DEPTH} references or intersections deep")
        here = cast("Json", node)
        seen.add(id(here))
        also = items_of(here, "allOf")
        if isinstance(here.get("$ref"), str):
            also = [self._target(here), *([] if self._places.legacy else also)]
        if not (self._places.legacy and "$ref" in here):
            self._add_own(made, here, closed, top=depth == 0)
        for part in also:
            self._gather(made, part, closed, seen, depth + 1)

    def _add_own(self, made: Variant, node: Json, closed: list[set[str]], *, top: bool) -> None:
        for word in node:
            if word in _KNOWN or (top and word == _REST and self._closes(node)):
                continue
            made.dropped.append((node, word))
            made.keeps |= word in _DECLARING or (word != "not" and _declares(node[word]))
        own: Any = node.get("properties")
        properties = cast("Json", own) if isinstance(own, dict) else {}
        for name, one in properties.items():
            made.properties[name] = (*made.properties.get(name, ()), one)
        made.required.update(one for one in items_of(node, "required") if isinstance(one, str))
        self._add_policy(made, node, closed, set(properties))

    def _closes(self, node: Json) -> bool:
        """Tell whether *node* refuses every key that nothing in it declares."""
        return node.get(_REST) is False and not self._places.legacy

    def _add_policy(
        self, made: Variant, node: Json, closed: list[set[str]], names: set[str]
    ) -> None:
        rest = node.get("additionalProperties")
        patterns = "patternProperties" in node
        if rest is False and not patterns:
            closed.append(names)
        elif rest is not None:
            made.keeps = True
            if isinstance(rest, dict) and rest.keys() - ANNOTATIONS and not patterns:
                made.rest = rest

    def _told_apart(self, arms: Sequence[_Arm], declared: str, base: frozenset[str]) -> str:
        filled = [arm for arm in arms if arm.variants]
        if not declared and len(filled) == 1:
            return filled[0].apart  # a union beside null alone is that union
        return self._discriminator(filled, declared, base)

    def _discriminator(self, arms: Sequence[_Arm], declared: str, base: frozenset[str]) -> str:
        """Return the property that tells *arms* apart, or nothing.

        The one that the union declares needs its texts in each variant. Another one is required
        everywhere, besides, and no two arms share a text.
        """
        variants = [one for arm in arms for one in arm.variants]
        if declared:
            return declared if all(declared in one.constants for one in variants) else ""
        first = variants[0] if variants else Variant({})
        required = (name for name in first.constants if name in first.required | base)
        for name in islice(required, _FIRST):
            if self._tells(name, arms, base):
                return name
        return ""

    @staticmethod
    def _tells(name: str, arms: Sequence[_Arm], base: frozenset[str]) -> bool:
        owners: dict[str, int] = {}
        for index, arm in enumerate(arms):
            for one in arm.variants:
                if name not in one.constants or not (name in one.required or name in base):
                    return False
                if any(owners.setdefault(text, index) != index for text in one.constants[name]):
                    return False
        return True


def _declared(node: Json) -> str:
    said = node.get("discriminator")
    name = cast("Json", said).get("propertyName") if isinstance(said, dict) else None
    return name if isinstance(name, str) else ""


def _declares(value: Any) -> bool:
    """Tell whether *value*, inside a rule, may speak of keys that nothing else declares."""
    if isinstance(value, dict):
        here = cast("Json", value)
        return not _DECLARING.isdisjoint(here) or any(map(_declares, here.values()))
    return isinstance(value, list) and any(map(_declares, cast("Sequence[Any]", value)))
