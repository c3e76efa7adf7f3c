"""Whether a provider, or the way back, could take one alternative of a union for another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from remit.schema.document import Pointer
from remit.schema.lowering.opening import Opening
from remit.schema.places import items_of, named_of
from remit.schema.variants import UNIONS

__all__ = ["Alternatives", "differ_in_case", "wider"]

_FAR: Final = 6  # shapes within shapes, after which they are taken for alike


class Alternatives(Opening):
    """What the alternatives of one document's unions share."""

    def _within(self, arms: Sequence[Any], kinds: Any) -> bool:
        allowed = {*map(str, items_of({"": kinds}, "") or [kinds])}
        return all(self._shared.kinds((arm,)) <= wider([*allowed]) for arm in arms)

    def _told_apart(self, arms: Sequence[Any], at: Pointer, word: str) -> None:
        """Refuse alternatives that the provider, or the decoder, could take for one another."""
        if self._dialect.fresh_case and differ_in_case(self._texts(arms)):
            text = "alternatives whose texts differ only in capitalisation, which isn't guaranteed"
            self._refuse(at, word, text)
        if not self._dialect.requires_all or self._variants.apart(arms):
            return
        opened = [self.opened(arm, at) for arm in arms]
        for index, one in enumerate(opened):
            if any(self._alike(one, other, 0) for other in opened[index + 1 :]):
                text = "alternatives of one shape, in which null may stand for left out or not"
                self._refuse(at, word, text)
                return

    def _texts(self, arms: Sequence[Any]) -> Iterator[list[str]]:
        """Yield the texts that all *arms* list, and those that they list for each key."""
        each = [self._shared.texts((arm,)) or [] for arm in arms]
        yield [text for some in each for text in some if text is not None]
        keys: dict[str, list[str]] = {}
        for arm in arms:
            for name, one in named_of(self.opened(arm), "properties").items():
                some = self._shared.texts((one,)) or []
                keys.setdefault(name, []).extend(text for text in some if text is not None)
        yield from keys.values()

    def _alike(self, one: Any, other: Any, depth: int) -> bool:
        """Tell whether one value could have both shapes, with an optional key in either."""
        if depth > _FAR or not self._shared.kinds((one,)) & self._shared.kinds((other,)):
            return depth > _FAR
        mine, theirs = self.opened(one), self.opened(other)
        if any(word in part for word in UNIONS for part in (mine, theirs)):
            return True
        if "array" in self._shared.kinds((one,)) & self._shared.kinds((other,)):
            return self._alike(mine.get("items", {}), theirs.get("items", {}), depth + 1)
        names = named_of(mine, "properties"), named_of(theirs, "properties")
        if names[0].keys() != names[1].keys() or not names[0]:
            return False
        needed = [{*items_of(part, "required")} for part in (mine, theirs)]
        return any(names[0].keys() - some for some in needed) or any(
            self._alike(part, names[1][name], depth + 1) for name, part in names[0].items()
        )


def differ_in_case(groups: Iterable[Sequence[str]]) -> bool:
    """Tell whether two texts of one of *groups* are one but for their capitals."""
    return any(len({one.casefold() for one in some}) < len({*some}) for some in groups)


def wider(kinds: Sequence[str]) -> set[str]:
    """Return *kinds* with what a number may be."""
    return {*kinds, "integer"} if "number" in kinds else {*kinds}
