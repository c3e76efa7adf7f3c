"""What it means that an object declares, requires or keeps other keys than it did."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Final, cast

from remit.schema.comparing.examples import examples
from remit.schema.comparing.findings import Findings, Frame, Kind
from remit.schema.document import Json, Pointer
from remit.schema.naming import names_identity, names_secret, names_state
from remit.schema.nodes import named_in, policy
from remit.schema.places import items_of, steps_of

__all__ = ["POLICIES", "Keys"]

POLICIES: Final = ("strict", "plain", "typed", "open")
"""Key policies; each keeps more than the one before."""


class Keys(Findings):
    """The rules about an object's keys."""

    @abstractmethod
    def _below(self, frame: Frame, old: Any, new: Any, at: Pointer) -> None:
        """Compare what one step led to."""

    def _gained(self, old: Any, new: Any, at: Pointer) -> None:
        """Say which telling names stand anywhere in *new* and nowhere in *old*."""
        before = named_in(old, self._judges[0].document)
        for name, where in named_in(new, self._judges[1].document).items():
            if name not in before:
                self._telling(name, (*at, *steps_of(where)))

    def _telling(self, name: str, at: Pointer) -> bool:
        """Say it if a new field's name tells of more authority; return whether it does."""
        what = ""
        if self._results:
            what = "a secret" if names_secret(name) else ""
        elif names_identity(name) or names_state(name):
            what = "who acts" if names_identity(name) else "a record's state"
        if what:
            self._add(at, "authority", f"{name} is new, and its name suggests {what}")
        return bool(what)

    def _needed(self, name: str, old: Json, new: Json, at: Pointer) -> None:
        """Compare whether a key that both declare must be there."""
        before, after = (name in items_of(one, "required") for one in (old, new))
        if before == after:
            return
        text = f"{name} is required now" if after else f"{name} may be left out now"
        if after is self._results:
            self._add(at, "widened", text)
        else:
            self._narrowed(at, text, self._without(name, new if self._results else old))

    def _came(self, name: str, old: Json, new: Json, at: Pointer) -> None:
        """Say what a property means that only the newer object declares."""
        required = name in items_of(new, "required")
        told = self._telling(name, at)
        self._gained(old, new["properties"][name], at)
        if self._results:
            if not told:
                self._add(at, "widened", f"{name} is returned too")
            return
        if not told and not required and policy(old) in ("strict", "plain"):
            self._add(at, "widened", f"{name} is new")
        if required:
            self._narrowed(at, f"{name} is new and required", self._without(name, old))
        elif policy(old) in ("open", "typed"):
            self._frames.append(Frame((old, new), "property", name))
            text = f"{name} was kept as it came, and is judged now"
            self._judge(old["additionalProperties"], new["properties"][name], at, text)
            self._frames.pop()

    def _went(self, name: str, old: Json, new: Json, at: Pointer) -> None:
        """Say what it means that only the older object declares a property."""
        if self._results:
            text = f"{name} is no longer returned"
            self._add(at, "narrowed", text)
            return
        left = policy(new)
        one = old["properties"][name]
        if left == "strict":
            value = next(examples(one, self._judges[0].document), None)
            witness = Frame((old, new), "property", name).around(
                value, old, self._judges[0].document
            )
            self._narrowed(at, f"{name} is gone, and refused by name", [witness])
        elif left == "typed":
            frame = Frame((old, new), "property", name)
            self._below(frame, one, new["additionalProperties"], at)
        else:
            dropped = left == "plain"
            text = "it is dropped" if dropped else "any value of it is kept"
            kind: Kind = "meaning" if dropped else "widened"
            self._add(at, kind, f"{name} is no longer declared: {text}")

    def _opened(self, kept: tuple[str, str], old: Json, new: Json, at: Pointer) -> None:
        """Compare what becomes of keys that nothing declares."""
        before, after = kept
        if before == after:
            return
        below = (*at, "additionalProperties")
        text = f"undeclared keys: {before} → {after}"
        opens = POLICIES.index(after) > POLICIES.index(before)
        if self._results:
            self._add(below, "widened" if opens else "meaning", text)
        elif opens:
            self._add(below, "authority", text)
            if after == "typed":  # of a plain object, which ignored what it didn't declare
                frame = Frame((old, new), "property", "another_key")
                self._below(frame, True, new["additionalProperties"], below)
        elif after == "plain":
            self._add(below, "meaning", f"{text}: what was kept is dropped")
        else:
            values = examples(old.get("additionalProperties", True), self._judges[0].document)
            frame = Frame((old, new), "property", "another_key")
            around = [frame.around(one, old, self._judges[0].document) for one in values]
            self._narrowed(below, text, around)

    def _without(self, name: str, node: Json) -> Iterator[Any]:
        document = self._judges[1 if self._results else 0].document
        for value in examples(node, document):
            if isinstance(value, dict):
                yield {key: one for key, one in cast("Json", value).items() if key != name}
