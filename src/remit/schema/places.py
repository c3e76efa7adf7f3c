"""Where the schemas of a document stand, what refers to what, and which of them accept more now.

A derivation that accepts more in one place may accept less in another: under ``not``, or where
exactly one of several must hold, or past a reference. So each schema of a document has a `Place`,
and what became wider is marked there and everywhere that leads to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import quote, unquote

from remit.schema.document import Document, Json, Pointer, parts
from remit.schema.policy import SchemaError

__all__ = [
    "DEFINITIONS",
    "Place",
    "Places",
    "copied",
    "dialect",
    "items_of",
    "mapped",
    "named_of",
    "reference",
    "steps_of",
]

DEFINITIONS: Final = ("$defs", "definitions")
_NEGATIVE: Final = ("not", "if")  # wider inside is narrower outside
_REBASING: Final = ("$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef")
_MODERN: Final = ("2019-09", "2020-12")
_LEGACY: Final = ("draft-04", "draft-06", "draft-07")


@dataclass(slots=True, eq=False)
class Place:
    """One schema of a document, and how one gets there.

    Attributes:
        node: The schema itself.
        above: The schema that holds it, or None at the root.
        steps: The steps to it from there.
        negative: The keyword under which a wider schema would refuse more, or nothing.
        wider: Whether what is derived from it may accept more than it does.
        moved: Whether its own parts stand elsewhere in what is derived, but for definitions.
        gone: Whether it stands elsewhere itself.
    """

    node: Json
    above: Place | None
    steps: Pointer
    negative: str = ""
    wider: bool = False
    moved: bool = False
    gone: bool = False

    @property
    def pointer(self) -> Pointer:
        """The steps to it from the root."""
        found: list[Pointer] = []
        place: Place | None = self
        while place is not None:
            found.append(place.steps)
            place = place.above
        return tuple(step for steps in reversed(found) for step in steps)

    @property
    def unstable(self) -> bool:
        """Whether a reference to it would lead nowhere, or to something else, afterwards."""
        place: Place | None = self
        below: Place | None = None
        while place is not None:
            if place.gone or (place.moved and below and below.steps[0] not in DEFINITIONS):
                return True
            place, below = place.above, place
        return False


class Places:
    """The places of one document, by the schema that stands there.

    Attributes:
        document: The document, whose every value is an object of its own.
        references: Each reference, with the place that holds it; a discriminator's mapping too.
        legacy: Whether the document follows a draft in which nothing counts beside a reference.
        foreign: Why references in it don't simply name places, or nothing.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.references: list[tuple[Place, str]] = []
        self._at: dict[int, Place] = {}
        self._sizes: dict[int, int] = {}
        self._referring: dict[int, list[Place]] = {}
        said = dialect(document.root)
        self.legacy: bool = said == "legacy"
        self._measure(document.root)
        stack = [Place(document.root, None, ())]
        while stack:
            place = stack.pop()
            self._at[id(place.node)] = place
            below: list[Place] = []
            for steps, item in parts(place.node):
                if isinstance(item, dict):
                    negative = place.negative or (steps[0] if steps[0] in _NEGATIVE else "")
                    below.append(Place(cast("Json", item), place, steps, negative))
            stack += reversed(below)
            self._read(place)
        self.foreign: str = self._foreign(said)

    def __iter__(self) -> Iterator[Place]:
        """Yield every place, in the document's order."""
        yield from self._at.values()

    def of(self, node: Any) -> Place | None:
        """Return where *node* stands; None if it is no schema of the document."""
        return self._at.get(id(node))

    def size(self, node: Any) -> int:
        """Return of how many values *node* consists."""
        return self._sizes.get(id(node), 1)

    def widen(self, place: Place) -> None:
        """Say that what is derived from *place* accepts more, and so does what leads there."""
        stack: list[Place | None] = [place]
        while stack:
            one = stack.pop()
            if one is None or one.wider:
                continue
            one.wider = True
            stack.append(one.above)
            stack += self._referring.get(id(one.node), ())

    def target(self, ref: object) -> Any:
        """Return what *ref* leads to, or None."""
        try:
            return self.document.target(ref) if isinstance(ref, str) else None
        except SchemaError:
            return None

    def _measure(self, value: Any) -> int:
        size = 1
        if isinstance(value, dict):
            size += sum(map(self._measure, cast("Json", value).values()))
        elif isinstance(value, list):
            size += sum(map(self._measure, cast("Sequence[Any]", value)))
        else:
            return 1
        self._sizes[id(cast("object", value))] = size
        return size

    def _read(self, place: Place) -> None:
        if isinstance(ref := place.node.get("$ref"), str):
            self.references.append((place, ref))
            if isinstance(target := self.target(ref), dict):
                self._referring.setdefault(id(cast("Json", target)), []).append(place)
        for ref in mapped(place.node).values():
            if isinstance(ref, str) and ref.startswith("#"):
                self.references.append((place, ref))

    def _foreign(self, said: str) -> str:
        if said == "unknown":
            return "its $schema is no draft that remit knows"
        rebasing = (*_REBASING, "id") if self.legacy else _REBASING
        for place in self:
            for word in rebasing:
                own = word in ("$id", "id") and place.above is None
                if isinstance(place.node.get(word), str) and not own:
                    return f"{word} changes what references mean"
            if place.above and "$schema" in place.node and dialect(place.node) != said:
                return "a schema inside it follows another draft"
        if "$id" in self.document.root:
            for _, ref in self.references:
                if not ref.startswith("#"):
                    return "a reference may name this very schema by its $id"
        return ""


def items_of(node: Json, word: str) -> list[Any]:
    """Return what *node* lists under *word*; nothing if that is no list."""
    found: Any = node.get(word)
    return found if isinstance(found, list) else []  # pyright: ignore[reportUnknownVariableType]


def named_of(node: Json, word: str) -> Json:
    """Return what *node* holds by name under *word*; nothing if that is no object."""
    found: Any = node.get(word)
    return cast("Json", found) if isinstance(found, dict) else {}


def mapped(node: Json) -> Json:
    """Return the mapping of the discriminator (OpenAPI 3) of *node*, if there is one."""
    said = node.get("discriminator")
    found = cast("Json", said).get("mapping") if isinstance(said, dict) else None
    return cast("Json", found) if isinstance(found, dict) else {}


def dialect(node: Json) -> str:
    """Return whether *node*'s ``$schema`` is ``modern``, ``legacy`` or ``unknown``."""
    if "$schema" not in node:
        return "modern"
    said = str(node["$schema"]).split("://")[-1]
    if said.startswith(tuple(f"json-schema.org/draft/{one}/schema" for one in _MODERN)):
        return "modern"
    if said.startswith(tuple(f"json-schema.org/{one}/schema" for one in _LEGACY)):
        return "legacy"
    return "unknown"


def steps_of(ref: str) -> Pointer:
    """Return the steps of the local reference *ref*."""
    steps = unquote(ref).split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def copied(value: Any) -> Any:
    """Return *value* as objects and lists of its own."""
    if isinstance(value, Mapping):
        here = cast("Mapping[str, Any]", value)
        return {key: copied(item) for key, item in here.items()}
    if isinstance(value, list | tuple):
        return [copied(item) for item in cast("Sequence[Any]", value)]
    return value


def reference(steps: Pointer) -> str:
    """Return the reference that leads along *steps*, fit for a URI."""
    told = (
        quote(step.replace("~", "~0").replace("/", "~1"), safe="~$!&'()*+,;=:@") for step in steps
    )
    return "".join(("#", *(f"/{step}" for step in told)))
