"""What a flat object can't say in keywords, said in words that a model follows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from remit.schema.variants import Union

__all__ = ["Words", "either"]

_SHOWN: Final = 40  # values in one sentence; the widest union of the providers' classes has 59
_MANY: Final = 8  # values after which naming the others may be shorter


class Words:
    """The sentences about which variants of one union something holds for."""

    def __init__(self, union: Union) -> None:
        self._union = union
        self._name = union.name
        self._all = frozenset(range(len(union.variants)))
        # Per value, and per value with one of an inner union's, the variants that have it.
        self._having: dict[str, set[int]] = {}
        self._inside: dict[tuple[str, str, str], set[int]] = {}
        for index, (one, inner) in enumerate(zip(union.variants, union.inner, strict=True)):
            for value in one.constants[self._name]:
                self._having.setdefault(value, set()).add(index)
                for deeper in one.constants.get(inner, ()) if inner else ():
                    self._inside.setdefault((value, inner, deeper), set()).add(index)

    def required(self, indexes: Iterable[int]) -> str:
        """Return when a key is required that these variants require; nothing if it always is."""
        return self._sentence("Required if", "Required unless", frozenset(indexes))

    def only(self, indexes: Iterable[int]) -> str:
        """Return when a key belongs there that these variants have; nothing if it always does."""
        told = frozenset(indexes)
        if not self._complete(told):
            return ""
        return self._sentence("Only if", "Not if", told)

    def each(self, said: Mapping[str, Iterable[int]]) -> str:
        """Return one line per text of *said*, under the values of the variants that say it."""
        lines: list[str] = []
        for text, indexes in said.items():
            values = [v for i in indexes for v in self._union.variants[i].constants[self._name]]
            lines.append(f"{self._name} {either(dict.fromkeys(values))}: {text}")
        return "\n".join(lines)

    def _sentence(self, yes: str, no: str, indexes: frozenset[int]) -> str:
        if not indexes or indexes == self._all:
            return ""
        values = [value for value, having in self._having.items() if having <= indexes]
        others = [value for value, having in self._having.items() if not having & indexes]
        if len(values) > _MANY > len(others) and len(values) + len(others) == len(self._having):
            return f"{no} {self._name} is {either(others)}."
        ways = [f"{self._name} is {either(values)}"] if values else []
        ways += self._deeper(indexes, set(values))
        return f"{yes} {', or '.join(ways)}." if ways else ""

    def _deeper(self, indexes: frozenset[int], told: set[str]) -> list[str]:
        """Return the ways that need a second property to be told."""
        found: dict[tuple[str, str], list[str]] = {}
        for (value, inner, deeper), having in self._inside.items():
            if value not in told and having <= indexes:
                found.setdefault((value, inner), []).append(deeper)
        return [
            f"{self._name} is {either([value])} and {inner} is {either(values)}"
            for (value, inner), values in found.items()
        ]

    def _complete(self, indexes: frozenset[int]) -> bool:
        """Tell whether each of *indexes* can be told apart from the variants that aren't in it."""
        for index in indexes:
            one, inner = self._union.variants[index], self._union.inner[index]
            for value in one.constants[self._name]:
                if self._having[value] <= indexes:
                    continue
                deeper = one.constants.get(inner, ()) if inner else ()
                if not deeper or not all(
                    self._inside[value, inner, second] <= indexes for second in deeper
                ):
                    return False
        return True


def either(values: Iterable[str | None]) -> str:
    """Return *values*, quoted, as a list of alternatives."""
    each: Sequence[str] = [json.dumps(value, ensure_ascii=False) for value in values]
    if len(each) > _SHOWN:
        each = [*each[:_SHOWN], f"{len(each) - _SHOWN} others"]
    return " or ".join([", ".join(each[:-1]), each[-1]]) if len(each) > 1 else "".join(each)
