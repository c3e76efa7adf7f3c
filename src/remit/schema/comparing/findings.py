"""What a comparison finds, and the values that show it.

That callers break is said only of a value that the one version takes and the other refuses, as a
whole: arguments, or a result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from remit.schema.comparing.containment import Judge, Verdict, contained
from remit.schema.comparing.examples import examples
from remit.schema.document import Document, Json, Pointer, pointer
from remit.schema.places import items_of
from remit.schema.variants import UNIONS

__all__ = ["Change", "Findings", "Frame", "Kind"]

_LARGE: Final = 20_000  # values in a value
_SEARCHES: Final = 250  # for values that show something, per schema

Kind = Literal["widened", "narrowed", "meaning", "authority", "unknown"]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a new version says otherwise.

    Attributes:
        tool: Whose; empty if schemas were compared and no tools.
        pointer: Where, as a JSON Pointer into the newer definition, or into the older for what is
            gone.
        kind: ``widened`` accepts more; ``narrowed`` breaks callers; ``meaning`` says something else
            to the model; ``authority`` lets an agent do or decide more; ``unknown`` can't be told.
        text: What changed, for people.
        witness: For ``narrowed``: arguments that the older schema takes and the newer refuses, or a
            result the other way about; None where no value shows it.
    """

    tool: str
    pointer: str
    kind: Kind
    text: str
    witness: Any = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One step down: the two schemas that were left, and by what."""

    nodes: tuple[Json, Json]
    word: str
    name: str = ""

    def around(self, value: Any, node: Json, document: Document) -> Any:
        """Return a value for *node*, one of the frame's, that holds *value* where the step led."""
        if self.word == "arm":  # of a union: the other alternatives' keys have no place beside it
            node = {word: one for word, one in node.items() if word not in UNIONS}
        about = next(examples(node, document), None)
        if self.word == "property":
            return {**cast("Json", about), self.name: value} if isinstance(about, dict) else value
        if self.word == "items":
            least = node.get("minItems", 1)
            count = max(least, 1) if isinstance(least, int) else 1
            if count * _size(value) > _LARGE:  # the schema above it won't be shown by a value
                count = 1
            before = items_of({"": about}, "")
            return [value, *before[1:]] if len(before) >= count else [value] * count
        if self.word == "place":
            index = int(self.name)
            lists = (items_of({"": one}, "") for one in examples(node, document))
            whole = next((one for one in lists if len(one) > index), list[Any]())
            return [*whole[:index], value, *whole[index + 1 :]]
        if self.word in ("arm", "part") and isinstance(value, dict) and isinstance(about, dict):
            return {**cast("Json", about), **cast("Json", value)}
        return cast("Any", value)


def _size(value: Any) -> int:
    """Return of about how many values *value* consists."""
    if isinstance(value, list):
        return 1 + len(items := items_of({"": value}, "")) * max(map(_size, items[:3]), default=0)
    if isinstance(value, dict):
        return 1 + sum(map(_size, cast("Json", value).values()))
    return 1


class Findings:
    """The changes between an older and a newer schema, as they are found.

    Args:
        old: The older.
        new: The newer.
        tool: Whose they are.
        results: Whether they are of results, which callers read.
    """

    def __init__(self, old: Document, new: Document, *, tool: str, results: bool) -> None:
        self._judges = (Judge(old), Judge(new))
        self._tool = tool
        self._results = results
        self._frames: list[Frame] = []
        self._alive: list[Any] = []  # what others know by its id
        self._left = _SEARCHES
        self._found: dict[tuple[str, Kind, str], Change] = {}

    def _judge(self, old: Any, new: Any, at: Pointer, text: str) -> None:
        """Say whether *new* takes all that *old* takes, and whether it takes more."""
        self._alive += [old, new]
        sides = ((old, self._judges[0]), (new, self._judges[1]))
        less = self._contained(*sides[0], *sides[1])
        more = self._contained(*sides[1], *sides[0])
        if self._results:
            less, more = more, less
        if less.answer == "no":
            self._narrowed(at, text, [less.witness])
        if more.answer == "no":
            self._add(at, "widened", text)
        if less.answer == "unknown":
            self._add(at, "unknown", f"{text}; whether callers break can't be told")
        elif less.answer == "yes" and more.answer == "unknown":
            self._add(at, "widened", f"{text}; it takes at least what it took")

    def _narrowed(self, at: Pointer, text: str, values: Iterable[Any]) -> None:
        """Say that callers break, if a whole value shows it; else that it isn't known."""
        self._left -= 1
        if self._left < 0:
            self._add(at, "unknown", f"{text}; more changed than is looked at one by one")
            return
        side = 1 if self._results else 0
        judge, other = self._judges[side], self._judges[1 - side]
        for value in values:
            for frame in reversed(self._frames):
                value = frame.around(value, frame.nodes[side], judge.document)  # noqa: PLW2901
            if (
                judge.takes(judge.document.root, value)
                and other.takes(other.document.root, value) is False
            ):
                self._add(at, "narrowed", text, value)
                return
        whole = self._contained(judge.document.root, judge, other.document.root, other)
        if whole.answer == "no":
            self._add(at, "narrowed", text, whole.witness)
        elif whole.answer == "unknown":
            self._add(at, "unknown", f"{text}; no value was found that shows it")

    def _contained(self, node: Any, judge: Judge, other: Any, others: Judge) -> Verdict:
        """Return what `contained` does, as long as not too much was asked."""
        self._left -= 1
        return contained(node, judge, other, others) if self._left >= 0 else Verdict("unknown")

    def _add(self, at: Pointer, kind: Kind, text: str, witness: Any = None) -> None:
        change = Change(self._tool, pointer(at), kind, text, witness)
        self._found.setdefault((change.pointer, kind, text), change)
