"""Discriminated unions as one object, for readers that mangle ``oneOf``.

The flat object accepts whatever the union accepts and deletes no key that a variant keeps. What it
can't say, such as which key belongs to which variant, stands in descriptions and in a report, and
the contract's own parser goes on enforcing it. A union that can't be flattened stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.schema.document import Document, Json, Pointer, bounded
from remit.schema.flattening.flattener import Flattening
from remit.schema.flattening.shelf import hoisted, pruned
from remit.schema.places import Places, copied
from remit.schema.policy import SchemaError
from remit.schema.report import Entry

__all__ = ["Flat", "flatten", "flattened"]

_ROUNDS: Final = 4


@dataclass(frozen=True, slots=True)
class Flat:
    """A schema without discriminated unions, and what that cost.

    Attributes:
        schema: The schema.
        report: What became of each union, and what its flat object doesn't say.
    """

    schema: Json
    report: tuple[Entry, ...]


def flatten(schema: Mapping[str, Any]) -> Json:
    """Return *schema* with each discriminated union, at any depth, as one object.

    Every instance that is valid under *schema* is valid under the result, and flattening that again
    changes nothing. *schema* isn't changed.

    Args:
        schema: A JSON Schema (2019-09, 2020-12, or drafts 4 to 7) that is an object itself.

    Raises:
        SchemaError: If it is of a hostile size, or no JSON.
    """
    return flattened(schema).schema


def flattened(schema: Mapping[str, Any]) -> Flat:
    """Return what `flatten` returns, with a report.

    Raises:
        SchemaError: If *schema* is of a hostile size, or no JSON.
    """
    original: Json = copied(bounded(schema))
    root, moved = original, dict[str, Pointer]()
    try:
        # A reference into what a flat object replaces first gets a definition of its own.
        for _ in range(_ROUNDS):
            work = Flattening(Places(Document(root)), moved)
            made = work.done()
            if not work.changed:
                return Flat(original, work.report)
            if not (aimed := work.aimed()):
                return Flat(pruned(made, work.places), work.report)
            root, moved = hoisted(work.places, aimed, moved)
    except SchemaError as why:
        return _whole(original, f"flattening makes it too large: {why.text}")
    return _whole(original, "its references lead from one union into the next")


def _whole(original: Json, why: str) -> Flat:
    text = f"the schema stays as it is, since {why}"
    return Flat(original, (Entry("#", "$ref", "kept", lossy=False, text=text),))
