"""What a derived schema says otherwise than the one it came from, one entry per place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Action", "Entry"]

Action = Literal["kept", "described", "rewritten", "refused"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One keyword at one place of a schema, and what became of it.

    Attributes:
        pointer: Where in the *original* schema, as ``#/properties/title``.
        keyword: The JSON Schema keyword it is about, such as ``maxLength`` or ``oneOf``.
        action: ``kept`` as it was, ``described`` in words only, ``rewritten`` as other keywords,
            or ``refused``, which a schema that is returned never holds for what it sends.
        lossy: Whether the derived schema says less than the original, other than in words. remit
            judges by the original in any case.
        text: What became of it, for people.
    """

    pointer: str
    keyword: str
    action: Action
    lossy: bool
    text: str
