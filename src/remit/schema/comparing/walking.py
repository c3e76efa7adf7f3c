"""Two versions of one schema, walked side by side: what changed where, and for whom.

Arguments are read by the tool and results by its callers, so that *accepts more* of the one is
*may return more* of the other. What a walk can't follow is compared as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from remit.schema.collide import Shared
from remit.schema.comparing.containment import INTO, references
from remit.schema.comparing.findings import Change, Frame
from remit.schema.comparing.keys import POLICIES, Keys
from remit.schema.document import MAX_DEPTH, Document, Json, Pointer, parts
from remit.schema.nodes import (
    NAMES,
    OBJECT,
    alone,
    bare,
    has_reference,
    is_kind,
    judging,
    paired,
    policies,
    policy,
    same,
    short,
    split,
)
from remit.schema.places import DEFINITIONS, Places, dialect, items_of, named_of, steps_of
from remit.schema.policy import SchemaError
from remit.schema.variants import UNIONS, Variants

__all__ = ["compared"]

_SAID: Final = ("title", "description", "default", "examples", "deprecated")
_TOGETHER: Final = (  # keywords that mean something only with one another, or the same
    frozenset({"const", "enum"}),
    frozenset({*OBJECT, "patternProperties"}),
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems", "additionalItems"}),
    frozenset({"minimum", "exclusiveMinimum"}),
    frozenset({"maximum", "exclusiveMaximum"}),
)
_ENTANGLED: Final = frozenset(  # with every other keyword beside them
    {"unevaluatedProperties", "unevaluatedItems", "patternProperties", "$dynamicRef"}
)


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


class _Comparing(Keys):
    """The walk."""

    def __init__(self, old: Document, new: Document, *, tool: str, results: bool) -> None:
        super().__init__(old, new, tool=tool, results=results)
        self._seen: set[tuple[int, int]] = set()
        places = Places(old), Places(new)
        self._legacy = all(one.legacy for one in places)
        self._variants = tuple(Variants(one, Shared(one)) for one in places)

    def changes(self, at: Pointer) -> list[Change]:
        """Return every change between the two roots, which stand at *at*."""
        old, new = (judge.document.root for judge in self._judges)
        if dialect(old) != dialect(new):  # the same words mean something else
            self._whole(old, new, at)
        else:
            self._walk(old, new, at)
        return list(self._found.values())

    # One pair. ---------------------------------------------------------------------------------

    def _walk(self, old: Any, new: Any, at: Pointer) -> None:
        if len(self._frames) > MAX_DEPTH:
            self._add(at, "unknown", "it nests too deep to be followed")
            return
        if not isinstance(old, dict) or not isinstance(new, dict):
            if not same(old, new):
                self._whole(old, new, at)
            return
        mine, theirs = self._end(old, 0), self._end(new, 1)
        if (id(mine), id(theirs)) in self._seen:
            self._said(cast("Json", old), cast("Json", new), at)  # its target's words are known
            return
        self._seen.add((id(mine), id(theirs)))
        self._said(self._about(old, mine), self._about(new, theirs), at)
        if has_reference(mine) or has_reference(theirs) or not same(bare(mine), bare(theirs)):
            self._judged(judging(mine), judging(theirs), at)
        elif not same(mine, theirs):
            self._meanings(mine, theirs, at)

    def _end(self, node: Any, side: int) -> Json:
        """Return what *node*'s chain of references ends in, where only words stand beside them."""
        here: Json = cast("Json", node) if isinstance(node, dict) else {} if node else {"not": {}}
        for _ in range(MAX_DEPTH):
            if not isinstance(ref := here.get("$ref"), str):
                break
            if here.keys() - {"$ref", *NAMES} and not self._legacy:
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
            if isinstance(one, dict) and isinstance(other, dict) and not same(one, other):
                self._said(cast("Json", one), cast("Json", other), (*at, *steps))
                self._meanings(one, other, (*at, *steps))

    def _judged(self, old: Json, new: Json, at: Pointer) -> None:
        """Compare what *old* and *new*, without words for people, accept."""
        old, new = split(old), split(new)
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
        self._gained(old, new, at)
        if isinstance(old, dict) and isinstance(new, dict):
            self._meanings(old, new, at)
            before, after = policies(old), policies(new)
            for where in before.keys() & after.keys():
                if POLICIES.index(after[where]) > POLICIES.index(before[where]):
                    text = f"undeclared keys: {before[where]} → {after[where]}"
                    self._add((*at, *steps_of(where)), "authority", text)

    def _alike(self, node: Json) -> bool:
        """Tell whether what *node* refers to is the same in both documents."""
        roots = [judge.document.root for judge in self._judges]
        inside = all(ref.startswith(INTO) for ref in references(node))
        return inside and all(same(*(one.get(w, ...) for one in roots)) for w in DEFINITIONS)

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
                held = {one: old[one] for one in group if one in old}
                if has_reference(held) and not self._alike(held):
                    self._judge(old, new, (*at, word), f"what {word} refers to changed")
                    return  # of the whole node, and so of what stands beside
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
        kept = policy(old), policy(new)
        needed = (name for one in (old, new) for name in items_of(one, "required"))
        for name in dict.fromkeys((*mine, *theirs, *map(str, needed))):
            below = (*at, "properties", name)
            if name in mine and name in theirs:
                self._below(Frame((old, new), "property", name), mine[name], theirs[name], below)
            elif name in theirs:
                self._came(name, old, new, below)
            elif name in mine:
                self._went(name, old, new, below)
            if name in theirs and name not in mine and not self._results:
                continue  # a new one that is required is said as that
            self._needed(name, old, new, below if name in theirs else (*at, "required"))
        self._opened(kept, old, new, at)
        rests = old.get("additionalProperties"), new.get("additionalProperties")
        if kept == ("typed", "typed"):
            frame = Frame((old, new), "property", "another_key")
            self._below(frame, *rests, (*at, "additionalProperties"))
        self._keywords(old, new, at, OBJECT)

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
        verdict = self._contained(arm, self._judges[side], union, self._judges[1 - side])
        if verdict.answer == "yes":
            return
        if side:
            self._gained(union, arm, at)
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
        ends = [self._end(one, 0) for one in arms[0]], [self._end(one, 1) for one in arms[1]]
        matched = paired(*ends)
        if len(matched) < len(arms[0]):
            matched = {index: index for index in range(len(arms[0]))}
        for index, other in matched.items():
            where = (*at, "allOf", str(other))
            self._below(Frame((old, new), "part"), arms[0][index], arms[1][other], where)
        if all(refs):
            pair = {"$ref": old["$ref"]}, {"$ref": new["$ref"]}
            self._below(Frame((old, new), "part"), *pair, (*at, "$ref"))
        rest = [{k: v for k, v in one.items() if k not in ("allOf", "$ref")} for one in (old, new)]
        self._frames.append(Frame((old, new), "part"))
        self._judged(rest[0], rest[1], at)
        self._frames.pop()
