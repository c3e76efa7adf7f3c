"""Whether one schema takes all that another takes: proved, refuted by a value, or not known.

`jsonschema_rs` proves, and judges each value that refutes; what is neither proved nor refuted is
*unknown*, never *the same*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from remit.schema.comparing.examples import examples
from remit.schema.document import Document, Json, parts
from remit.schema.places import DEFINITIONS, named_of

__all__ = ["INTO", "Judge", "Verdict", "contained", "references"]


_ROOT: Final = "remit root"
INTO: Final = ("#/$defs/", "#/definitions/")
"""How references begin that lead into a definition."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one schema takes all that another takes.

    Attributes:
        answer: ``yes`` if that is proved, ``no`` if `witness` is taken by the other alone.
        witness: A value that the one refuses and the other takes.
    """

    answer: Literal["yes", "no", "unknown"]
    witness: Any = None


class Judge:
    """Judges values and pairs of schemas of one document.

    Args:
        document: The document in which their references lead somewhere.

    Raises:
        ImportError: If `jsonschema_rs` isn't installed.
    """

    def __init__(self, document: Document) -> None:
        try:
            import jsonschema_rs
        except ImportError as error:
            text = "comparing schemas needs jsonschema-rs: pip install 'remit[diff]'"
            raise ImportError(text) from error
        self._rs = jsonschema_rs
        self.document = document
        self._valid: dict[int, tuple[Any, Callable[[Any], bool] | None]] = {}
        self._moved: Any = None
        self._canonical: dict[int, tuple[Any, Any]] = {}

    def takes(self, node: Any, value: Any) -> bool | None:
        """Tell whether *value* is valid under *node*, formats included; None if nobody can."""
        known = self._valid.get(id(node))
        if known is None:
            known = self._valid[id(node)] = (node, self._validator(node))
        return None if known[1] is None else known[1](value)

    def refuses(self, value: Any) -> bool:
        """Tell whether *value* is invalid under the whole document."""
        return self.takes(self.document.root, value) is False

    def canonical(self, node: Any) -> Any:
        """Return *node* in the form in which schemas are compared; None if it has none."""
        known = self._canonical.get(id(node))
        if known is None:
            try:
                made = self._rs.canonicalize(self._alone(node), validate_formats=True, offline=True)
            except Exception:  # noqa: BLE001 - a schema that is none has no canonical form
                made = None
            known = self._canonical[id(node)] = (node, made)
        return known[1]

    def _validator(self, node: Any) -> Callable[[Any], bool] | None:
        try:
            made = self._rs.validator_for(self._alone(node), validate_formats=True, offline=True)
        except Exception:  # noqa: BLE001 - a schema that is none judges nothing
            return None
        return made.is_valid

    def _alone(self, node: Any) -> Any:
        """Return *node* as a document of its own, in which its references lead where they led."""
        root = self.document.root
        if not isinstance(node, dict) or node is root:
            return cast("Any", node)
        here = cast("Json", node)
        if all(ref.startswith(INTO) for ref in (*references(here), *self._beyond())):
            return {**here, **{w: root[w] for w in ("$schema", *DEFINITIONS) if w in root}}
        if self._moved is None:
            self._moved = _moved(root)
        about = {"$schema": root["$schema"]} if "$schema" in root else {}
        return {**about, **_moved(here), "definitions": {_ROOT: self._moved}}

    def _beyond(self) -> Iterator[str]:
        root = self.document.root
        for word in DEFINITIONS:
            for one in named_of(root, word).values():
                yield from references(one)


def references(node: Any) -> Iterator[str]:
    """Yield each reference in *node*."""
    stack: list[Any] = [node]
    while stack:
        here = stack.pop()
        if isinstance(here, dict) and isinstance(ref := cast("Json", here).get("$ref"), str):
            yield ref
        stack += [one for _, one in parts(here)]


def _moved(node: Any) -> Any:
    """Return a copy of *node* whose references find its document under a definition."""
    if isinstance(node, list):
        return [_moved(one) for one in cast("Sequence[Any]", node)]
    if not isinstance(node, dict):
        return node
    made = {word: _moved(one) for word, one in cast("Json", node).items() if word != "$schema"}
    if isinstance(ref := made.get("$ref"), str) and ref[:1] == "#":
        made["$ref"] = f"#/definitions/{_ROOT}{ref[1:]}"
    return made


def contained(
    node: Any, judge: Judge, other: Any, others: Judge, more: Iterable[Any] = ()
) -> Verdict:
    """Tell whether *other* takes all that *node* takes.

    Args:
        node: The one schema.
        judge: Of the document that it stands in.
        other: The other.
        others: Of the document that this one stands in.
        more: Values to try before those that are found by themselves.
    """
    mine, theirs = judge.canonical(node), others.canonical(other)
    if mine is None or theirs is None or mine.draft != theirs.draft:
        pass  # nothing can be proved; a value may still show it
    elif str(theirs.covers(mine)) == "yes":
        return Verdict("yes")
    for value in (*more, *examples(node, judge.document), *examples(other, others.document)):
        if judge.takes(node, value) and others.takes(other, value) is False:
            return Verdict("no", value)
    return Verdict("unknown")
