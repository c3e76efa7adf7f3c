"""Bounds and annotations: sent as keywords where a provider takes them, else said in words."""

from __future__ import annotations

from typing import Any, Final

from remit.schema.document import Json, Pointer
from remit.schema.lowering.alternatives import Alternatives
from remit.schema.lowering.bounds import BOUNDS, in_words
from remit.schema.lowering.dialects import Dialect
from remit.schema.places import Places

__all__ = ["Describing"]

_MANY_ITEMS: Final = 960  # Gemini answers more, summed over a schema, with an opaque refusal
_SPEAKING: Final = frozenset({"default", "examples", "deprecated", "uniqueItems"})


class Describing(Alternatives):
    """What is said to people, and the bounds of values."""

    def __init__(self, places: Places, dialect: Dialect) -> None:
        super().__init__(places, dialect)
        self._items = 0

    def _described(self, here: Json, made: Json, at: Pointer) -> Json:
        """Return *made* with the bounds and the annotations of *here*."""
        words: Json = {}
        for word in BOUNDS:
            if word not in here or (word == "deprecated" and here[word] is not True):
                continue
            if self._is_sent(word, here[word]):
                made[word] = here[word]
                self._tell(at, word, "kept", "", lossy=False)
            elif told := in_words({word: here[word]}):
                words[word] = here[word]
                self._tell(at, word, "described", told, lossy=False)
            elif word not in _SPEAKING:
                self._lose(at, word, f"{word} can't be said in words that a model would follow")
        title = here.get("title")
        if isinstance(title, str) and "title" in self._dialect.words:
            made["title"] = title
        own = here.get("description") or ("" if "title" in made else title)
        said = [str(one).strip() for one in (own, made.get("description"), in_words(words)) if one]
        if said:
            # A sentence that isn't ended runs into the next.
            start = (
                said[0]
                if len(said) == 1 or said[0].endswith((".", "!", "?", ":"))
                else said[0] + "."
            )
            made["description"] = " ".join([start, *said[1:]])
        return made

    def _is_sent(self, word: str, value: Any) -> bool:
        dialect = self._dialect
        if word == "format":
            return isinstance(value, str) and value in dialect.formats
        if word == "pattern":
            return dialect.pattern is not None and not dialect.pattern.search(str(value))
        if word == "minItems" and dialect.few_items:
            return value in (0, 1)
        if word not in dialect.words or (word.startswith("exclusive") and isinstance(value, bool)):
            return False
        if word == "maxItems" and not dialect.closes and isinstance(value, int):
            self._items += value
            return self._items <= _MANY_ITEMS
        return True
