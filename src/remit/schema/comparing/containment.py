"""Whether one schema takes all that another takes: proved, refuted by a value, or not known.

`jsonschema_rs` proves, and judges each value that refutes; what is neither proved nor refuted is
*unknown*, never *the same*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from remit.schema.comparing.examples import examples
from remit.schema.document import Document, Json
from remit.schema.places import DEFINITIONS

__all__ = ["Judge", "Verdict", "contained"]


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
        """Return *node* as a document of its own."""
        root = self.document.root
        if not isinstance(node, dict) or node is root:
            return cast("Any", node)
        beside = {word: root[word] for word in ("$schema", *DEFINITIONS) if word in root}
        return {**cast("Json", node), **beside}


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
    if mine is not None and theirs is not None and str(theirs.covers(mine)) == "yes":
        return Verdict("yes")
    for value in (*more, *examples(node, judge.document), *examples(other, others.document)):
        if judge.takes(node, value) and others.takes(other, value) is False:
            return Verdict("no", value)
    return Verdict("unknown")
