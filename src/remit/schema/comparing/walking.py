"""Two versions of one schema, walked side by side: what changed where, and for whom.

Arguments are read by the tool and results by its callers, so that *accepts more* of the one is
*may return more* of the other. What a walk can't follow is compared as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from remit.schema.collide import Shared
from remit.schema.comparing.containment import contained
from remit.schema.comparing.examples import examples
from remit.schema.comparing.findings import Change, Findings, Frame, Kind
from remit.schema.document import MAX_DEPTH, Document, Json, Pointer, parts
from remit.schema.naming import names_identity, names_secret, names_state
from remit.schema.nodes import (
    NAMES,
    OBJECT,
    alone,
    bare,
    has_reference,
    is_kind,
    judging,
    paired,
    policy,
    same,
    short,
)
from remit.schema.places import Places, items_of, named_of
from remit.schema.policy import SchemaError
from remit.schema.variants import UNIONS, Variants

__all__ = ["compared"]

_SAID: Final = ("title", "description", "default", "examples", "deprecated")
_TOGETHER: Final = (  # keywords that mean something only with one another, or the same
    frozenset({"const", "enum"}),
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems", "additionalItems"}),
    frozenset({"minimum", "exclusiveMinimum"}),
    frozenset({"maximum", "exclusiveMaximum"}),
)
_ENTANGLED: Final = frozenset(  # with every other keyword beside them
    {"unevaluatedProperties", "unevaluatedItems", "patternProperties", "$dynamicRef"}
)
_POLICIES: Final = ("strict", "plain", "typed", "open")  # each keeps more than the one before


def compared(
    old: Document, new: Document, *, tool: str = "", at: Pointer = (), results: bool = False
) -> list[Change]:
    """Return what *new* says otherwise than *old*, in the order of the schemas.

    Args:
        old: The older, whose every value is an object of its own.
        new: The newer, likewise.
        tool: Whose they are.
        at: The steps to them in their tools' definitions.
        results: Whether they are of results, which callers read.

    Raises:
        ImportError: If `jsonschema_rs` isn't installed.
    """
    return _Comparing(old, new, tool=tool, results=results).changes(at)


class _Comparing(Findings):
    """The walk."""

    def __init__(self, old: Document, new: Document, *, tool: str, results: bool) -> None:
        super().__init__(old, new, tool=tool, results=results)
        self._seen: set[tuple[int, int]] = set()
        places = Places(old), Places(new)
        self._variants = tuple(Variants(one, Shared(one)) for one in places)

    def changes(self, at: Pointer) -> list[Change]:
        """Return every change between the two roots, which stand at *at*."""
        old, new = (judge.document.root for judge in self._judges)
        self._walk(old, new, at)
        return list(self._found.values())

    # One pair. ---------------------------------------------------------------------------------

    def _walk(self, old: Any, new: Any, at: Pointer) -> None:
        if len(self._frames) > MAX_DEPTH:
            self._add(at, "unknown", "it nests too deep to be followed")
            return
        if not isinstance(old, dict) or not isinstance(new, dict):
            if old != new:
                self._whole(old, new, at)
            return
        mine, theirs = self._end(old, 0), self._end(new, 1)
        if (id(mine), id(theirs)) in self._seen:
            return
        self._seen.add((id(mine), id(theirs)))
        self._said(self._about(old, mine), self._about(new, theirs), at)
        if has_reference(mine) or has_reference(theirs) or bare(mine) != bare(theirs):
            self._judged(judging(mine), judging(theirs), at)
        elif mine != theirs:
            self._meanings(mine, theirs, at)

    def _end(self, node: Any, side: int) -> Json:
        """Return what *node*'s chain of references ends in, where only words stand beside them."""
        here: Json = cast("Json", node) if isinstance(node, dict) else {} if node else {"not": {}}
        for _ in range(MAX_DEPTH):
            if not isinstance(ref := here.get("$ref"), str) or here.keys() - {"$ref", *NAMES}:
                break
            try:
                target = self._judges[side].document.target(ref)
            except SchemaError:
                break
            if not isinstance(target, dict):
                break
            here = cast("Json", target)
        arms = items_of(here, "allOf")
        if len(arms) == 1 and isinstance(arms[0], dict) and not here.keys() - {"allOf", *NAMES}:
            return self._end(arms[0], side)
        return here

    @staticmethod
    def _about(node: Any, end: Json) -> Json:
        """Return what is said to people of *node*: its own words come before its target's."""
        arms = items_of(cast("Json", node), "allOf")
        inner = named_of({"": arms[0]}, "") if len(arms) == 1 else {}
        return {**end, **inner, **cast("Json", node)}

    def _said(self, old: Json, new: Json, at: Pointer) -> None:
        for word in _SAID:
            before, after = old.get(word), new.get(word)
            if (word in old) == (word in new) and same(before, after):
                continue
            what = "is gone" if word not in new else "is new" if word not in old else "changed"
            shown = f": {short(before)} → {short(after)}" if what == "changed" else ""
            self._add((*at, word), "meaning", f"{word} {what}{shown}")

    def _meanings(self, old: Any, new: Any, at: Pointer) -> None:
        """Find what is said otherwise below schemas that judge the same."""
        theirs = dict(parts(new))
        for steps, one in parts(old):
            other = theirs.get(steps)
            if isinstance(one, dict) and isinstance(other, dict) and one != other:
                self._said(cast("Json", one), cast("Json", other), (*at, *steps))
                self._meanings(one, other, (*at, *steps))

    def _judged(self, old: Json, new: Json, at: Pointer) -> None:
        """Compare what *old* and *new*, without words for people, accept."""
        self._alive += [old, new]
        if not _ENTANGLED.isdisjoint([*old, *new]):
            self._whole(old, new, at)
        elif any(word in one for word in UNIONS for one in (old, new)):
            self._unions(old, new, at)
        elif "allOf" in old or "allOf" in new or "$ref" in old or "$ref" in new:
            self._intersections(old, new, at)
        elif is_kind("object", old) and is_kind("object", new):
            self._objects(old, new, at)
        elif is_kind("array", old) and is_kind("array", new):
            self._lists(old, new, at)
        elif any(is_kind(kind, one) for kind in ("object", "array") for one in (old, new)):
            text = f"type: {short(old.get('type', ...))} → {short(new.get('type', ...))}"
            self._judge(old, new, (*at, "type"), text)
        else:
            self._keywords(old, new, at)

    def _whole(self, old: Any, new: Any, at: Pointer) -> None:
        """Compare two schemas that can't be followed side by side."""
        self._judge(old, new, at, "it is written otherwise")
        if isinstance(old, dict) and isinstance(new, dict):
            self._meanings(old, new, at)

    def _keywords(self, old: Json, new: Json, at: Pointer, skip: Sequence[str] = ()) -> None:
        """Compare keywords that judge one by one."""
        words = dict.fromkeys(word for word in (*old, *new) if word not in skip)
        done: set[str] = set()
        for word in words:
            if word in done:
                continue
            group = next((one for one in _TOGETHER if word in one), frozenset({word}))
            done |= group
            if all(same(old.get(one, ...), new.get(one, ...)) for one in group):
                continue
            kept = {k: v for k, v in alone(old).items() if k not in group}
            before = {**kept, **{key: one for key, one in old.items() if key in group}}
            after = {**kept, **{key: one for key, one in new.items() if key in group}}
            changed = [
                key
                for key in dict.fromkeys((*old, *new))
                if key in group and not same(old.get(key, ...), new.get(key, ...))
            ]
            told = (
                f"{key}: {short(old.get(key, ...))} → {short(new.get(key, ...))}" for key in changed
            )
            self._judge(before, after, (*at, changed[0]), ", ".join(told))

    # Objects and lists. ------------------------------------------------------------------------

    def _objects(self, old: Json, new: Json, at: Pointer) -> None:
        mine, theirs = named_of(old, "properties"), named_of(new, "properties")
        policies = policy(old), policy(new)
        for name in dict.fromkeys((*mine, *theirs)):
            below = (*at, "properties", name)
            if name in mine and name in theirs:
                self._below(Frame((old, new), "property", name), mine[name], theirs[name], below)
                self._needed(name, old, new, below)
            elif name in theirs:
                self._came(name, old, new, below)
            else:
                self._went(name, old, new, below)
        self._opened(policies, old, new, at)
        rests = old.get("additionalProperties"), new.get("additionalProperties")
        if policies == ("typed", "typed"):
            frame = Frame((old, new), "property", "another_key")
            self._below(frame, *rests, (*at, "additionalProperties"))
        self._keywords(old, new, at, OBJECT)

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
        if self._results:
            kind: Kind = "authority" if names_secret(name) else "widened"
            text = ", and its name suggests a secret" if names_secret(name) else ""
            self._add(at, kind, f"{name} is returned too{text}")
            return
        if names_identity(name) or names_state(name):
            what = "who acts" if names_identity(name) else "a record's state"
            self._add(at, "authority", f"{name} is new, and its name suggests {what}")
        elif not required and policy(old) in ("strict", "plain"):
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

    def _opened(self, policies: tuple[str, str], old: Json, new: Json, at: Pointer) -> None:
        """Compare what becomes of keys that nothing declares."""
        before, after = policies
        if before == after:
            return
        below = (*at, "additionalProperties")
        text = f"undeclared keys: {before} → {after}"
        opens = _POLICIES.index(after) > _POLICIES.index(before)
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

    def _lists(self, old: Json, new: Json, at: Pointer) -> None:
        places = items_of(old, "prefixItems"), items_of(new, "prefixItems")
        items = old.get("items"), new.get("items")
        if len(places[0]) != len(places[1]) or not all(isinstance(one, dict) for one in items):
            if len(places[0]) != len(places[1]) or items[0] != items[1]:
                self._keywords(old, new, at)
                return
        else:
            self._below(Frame((old, new), "items"), *items, (*at, "items"))
        for index, (one, other) in enumerate(zip(*places, strict=True)):
            frame = Frame((old, new), "place", str(index))
            self._below(frame, one, other, (*at, "prefixItems", str(index)))
        self._keywords(old, new, at, ("items", "prefixItems"))

    def _below(self, frame: Frame, old: Any, new: Any, at: Pointer) -> None:
        self._frames.append(frame)
        self._walk(old, new, at)
        self._frames.pop()

    # Several schemas at one place. ---------------------------------------------------------------

    def _unions(self, old: Json, new: Json, at: Pointer) -> None:
        words = [next((word for word in UNIONS if word in one), "") for one in (old, new)]
        rests = [{k: v for k, v in one.items() if k not in UNIONS} for one in (old, new)]
        apart = all(
            word != "oneOf" or self._variants[side].apart(items_of(one, word))
            for side, (one, word) in enumerate(zip((old, new), words, strict=True))
        )
        several = any(len({*UNIONS} & one.keys()) > 1 for one in (old, new))
        single = "" in words and not rests[0 if words[0] else 1]
        if several or not apart or ("" in words and not single):
            self._whole(old, new, at)
            return
        if not single:
            self._frames.append(Frame((old, new), "arm"))
            self._judged(rests[0], rests[1], at)
            self._frames.pop()
        mine, theirs = (
            items_of(one, word) if word else [one]
            for one, word in zip((old, new), words, strict=True)
        )
        ends = [self._end(one, 0) for one in mine], [self._end(one, 1) for one in theirs]
        matched = paired(*ends)
        for index, one in enumerate(mine):
            if index in matched:
                where = (*at, words[1] or words[0], str(matched[index]))
                self._below(Frame((old, new), "arm"), one, theirs[matched[index]], where)
            else:
                self._arm(one, 0, new, (*at, words[0], str(index)) if words[0] else at)
        for index, one in enumerate(theirs):
            if index not in matched.values():
                self._arm(one, 1, old, (*at, words[1], str(index)) if words[1] else at)

    def _arm(self, arm: Any, side: int, union: Any, at: Pointer) -> None:
        """Say what it means that only one version has an alternative."""
        text = f"an alternative is {'new' if side else 'gone'}"
        verdict = contained(arm, self._judges[side], union, self._judges[1 - side])
        if verdict.answer == "yes":
            return
        if bool(side) is not self._results:
            self._add(at, "widened", text)
        elif verdict.answer == "no":
            self._narrowed(at, text, [verdict.witness])
        else:
            self._add(at, "unknown", f"{text}; whether another takes its values isn't known")

    def _intersections(self, old: Json, new: Json, at: Pointer) -> None:
        arms = items_of(old, "allOf"), items_of(new, "allOf")
        refs = "$ref" in old, "$ref" in new
        if len(arms[0]) != len(arms[1]) or refs[0] != refs[1]:
            self._whole(old, new, at)
            return
        for index, (one, other) in enumerate(zip(*arms, strict=True)):
            self._below(Frame((old, new), "part"), one, other, (*at, "allOf", str(index)))
        if all(refs):
            pair = {"$ref": old["$ref"]}, {"$ref": new["$ref"]}
            self._below(Frame((old, new), "part"), *pair, (*at, "$ref"))
        rest = [{k: v for k, v in one.items() if k not in ("allOf", "$ref")} for one in (old, new)]
        self._frames.append(Frame((old, new), "part"))
        self._judged(rest[0], rest[1], at)
        self._frames.pop()
