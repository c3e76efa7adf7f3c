"""The variants of a union as one object: its keys, what it requires, and what it does with others.

Each rule takes what accepts no less than any variant does; what a rule gives up is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from remit.schema.collide import ANNOTATIONS, Joined, Shared, listed
from remit.schema.document import Json
from remit.schema.flattening.outline import outline
from remit.schema.flattening.words import Words
from remit.schema.places import Places
from remit.schema.variants import Union, Variant

__all__ = ["Loss", "Property", "United", "united"]

_RESTS: Final = 16  # different policies of typed variants, after which none is looked at
_LETTERS: Final = 64  # of a sentence that count as one value of a schema


@dataclass(frozen=True, slots=True)
class Loss:
    """What one keyword of a variant said, and the flat object doesn't."""

    node: Json
    keyword: str
    action: Literal["described", "rewritten"]
    text: str


@dataclass(frozen=True, slots=True)
class Property:
    """One key of the flat object.

    Attributes:
        joined: What its variants share of it.
        said: What it says to people.
    """

    joined: Joined
    said: Json


@dataclass(slots=True)
class United:
    """A flat object, before what it takes from the variants is derived itself.

    Attributes:
        properties: Its keys, the discriminator first.
        required: Those that every variant requires.
        policy: What it does with others: False is strict, None plain, True open.
        description: What the variants say of themselves.
        cost: Of how many values it will consist.
        losses: What it doesn't say.
    """

    properties: dict[str, Property] = field(default_factory=dict[str, Property])
    required: list[str] = field(default_factory=list[str])
    policy: bool | None = None
    description: str = ""
    cost: int = 0
    losses: list[Loss] = field(default_factory=list[Loss])


def united(union: Union, shared: Shared, places: Places) -> United:
    """Return the variants of *union* as one object."""
    return _Uniting(union, shared, places).done()


class _Uniting:
    def __init__(self, union: Union, shared: Shared, places: Places) -> None:
        self._union = union
        self._variants = union.variants
        self._shared = shared
        self._places = places
        self._words = Words(union)
        loose = [one for one in self._variants if not one.strict]
        # How many variants take any value under a key that they don't declare, and what others do.
        self._free = sum(one.rest is None for one in loose)
        self._held = len(loose) - self._free
        self._rests = {shared.text_of(one.rest): one.rest for one in loose if one.rest is not None}
        self._made = United()

    def done(self) -> United:
        made = self._made
        having: dict[str, list[int]] = {self._union.name: []}
        for index, one in enumerate(self._variants):
            for name in one.properties:
                having.setdefault(name, []).append(index)
        for name, indexes in having.items():
            made.properties[name] = self._property(name, indexes)
        required = set[str].intersection(*(one.required for one in self._variants))
        made.required = [name for name in having if name in required]
        made.required += sorted(required - having.keys())
        self._set_policy()
        said: dict[str, list[int]] = {}
        for index, one in enumerate(self._variants):
            if text := _text(one.node.get("description")):
                said.setdefault(text, []).append(index)
            for node, word in one.dropped:
                if not word.startswith("x-"):
                    text = f"{word} of one variant is left to the contract"
                    made.losses.append(Loss(node, word, "rewritten", text))
        made.description = self._words.each(said)
        made.cost += 8 + len(made.required) + len(made.description) // _LETTERS
        return made

    def _set_policy(self) -> None:
        strict = sum(one.strict for one in self._variants)
        if strict == len(self._variants):
            self._made.policy = False
        elif strict or any(one.keeps for one in self._variants):
            # Whatever is refused or deleted here would never come to be judged.
            self._made.policy = True
            text = (
                "its variants treat other keys differently: all are kept, and the contract judges"
            )
            if not strict and self._free == len(self._variants):
                text = "other keys are kept, whatever a variant holds them to"
            node = self._union.place.node
            self._made.losses.append(Loss(node, "additionalProperties", "rewritten", text))

    def _property(self, name: str, indexes: Sequence[int]) -> Property:
        variants = [self._variants[index] for index in indexes]
        joined = self._joined(name, variants)
        needing = [index for index in indexes if name in self._variants[index].required]
        notes = [self._words.required(needing)]
        if list(indexes) != needing:
            notes.append(self._words.only(indexes))
        notes = list(filter(None, notes))
        said = self._marks(name, variants)
        text = self._description(name, indexes, joined)
        if whole := ("\n" if "\n" in text else " ").join(filter(None, [text, " ".join(notes)])):
            said["description"] = whole
        sizes = map(self._places.size, joined.same)
        self._made.cost += 4 + sum(sizes) + len(said) + len(whole) // _LETTERS
        self._made.cost += len(joined.schema.get("enum", ()))
        self._report(name, variants, joined, notes)
        return Property(joined, said)

    def _joined(self, name: str, variants: Sequence[Variant]) -> Joined:
        if name == self._union.name:
            values = (value for one in variants for value in one.constants[name])
            return Joined("texts", listed(values))
        loose = [one for one in variants if not one.strict]
        free = sum(one.rest is None for one in loose)
        if free < self._free or len(self._rests) > _RESTS:
            return Joined("anything", {})  # one that doesn't declare the key takes any value there
        given = [one.properties[name] for one in variants]
        if len(loose) - free < self._held:
            given += [(rest,) for rest in self._rests.values()]
        return self._shared.joined(given)

    def _description(self, name: str, indexes: Sequence[int], joined: Joined) -> str:
        """Return what the variants say of a key, and what it is in each that *joined* can't say."""
        said: dict[str, list[int]] = {}
        spoken = False  # whether the schema leaves the kinds of value to words
        for index in indexes:
            parts = self._variants[index].properties[name]
            text = self._told(parts, follow=joined.rule != "equal")
            if name != self._union.name and (kind := self._kind(parts, joined)):
                spoken = True
                text = f"{kind}. {text}".strip()
            said.setdefault(text, []).append(index)
        if len(said) == 1 and not (spoken and joined.rule == "anything"):
            return next(iter(said))
        said.pop("", None)
        return self._words.each(said)

    def _told(self, parts: Sequence[Any], *, follow: bool) -> str:
        for part in parts:
            here = cast("Json", part) if isinstance(part, dict) else {}
            if text := _text(here.get("description")):
                return text
            if follow and isinstance(ref := here.get("$ref"), str):
                target = self._places.target(ref)
                found = cast("Json", target) if isinstance(target, dict) else {}
                if text := _text(found.get("description")):
                    return text
        return ""

    def _kind(self, parts: Sequence[Any], joined: Joined) -> str:
        """Return what a key is in one variant, where *joined* doesn't say it."""
        if joined.rule in ("equal", "nothing"):
            return ""
        if joined.schema.get("type") in ("string", "number", "integer", "boolean", "null"):
            return "" if joined.rule == "kinds" else outline(parts, self._shared, self._places)
        return outline(parts, self._shared, self._places)

    def _marks(self, name: str, variants: Sequence[Variant]) -> Json:
        """Return the annotations that the variants agree on; a secret of one is one of all."""
        said: Json = {}
        for word in ("title", "examples", "deprecated", "readOnly", "writeOnly"):
            given = [_annotation(one.properties[name], word) for one in variants]
            if word == "writeOnly" and any(one is True for one in given):
                said[word] = True
            elif given[0] is not None and len({self._shared.text_of(one) for one in given}) == 1:
                said[word] = given[0]
        return said

    def _report(
        self, name: str, variants: Sequence[Variant], joined: Joined, notes: Sequence[str]
    ) -> None:
        losses = self._made.losses
        first = [cast("Json", one) for one in variants[0].properties[name] if self._places.of(one)]
        node = first[0] if first else self._union.place.node
        if name != self._union.name and joined.rule != "equal":
            text = f"{name!r} says what its variants share: {_rule(joined)}"
            losses.append(Loss(node, "type", "rewritten", text))
        if notes:
            losses.append(Loss(node, "required", "described", f"{name!r}: {' '.join(notes)}"))
        for one in variants:
            if any("default" in said for said in _annotations(one.properties[name])):
                text = f"the default of {name!r} belongs to one variant; the contract fills it in"
                losses.append(Loss(node, "default", "rewritten", text))
                break


def _rule(joined: Joined) -> str:
    match joined.rule:
        case "texts":
            return "their texts together"
        case "kinds":
            named: Any = joined.schema["type"]
            return " or ".join(cast("list[str]", named)) if isinstance(named, list) else str(named)
        case "nothing":
            return "no value is valid"
        case _:
            return "any value may be valid"


def _annotations(parts: Sequence[Any]) -> Iterator[Json]:
    for part in parts:
        if isinstance(part, dict):
            here = cast("Json", part)
            yield {key: one for key, one in here.items() if key in ANNOTATIONS}


def _annotation(parts: Sequence[Any], word: str) -> Any:
    return next((said[word] for said in _annotations(parts) if word in said), None)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
