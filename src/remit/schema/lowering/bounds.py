"""The bounds that a provider doesn't take, in words that a model follows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["BOUNDS", "in_words"]

BOUNDS: Final = (
    *("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"),
    *("pattern", "format", "default", "examples", "deprecated", "contentEncoding"),
    "contentMediaType",
)
"""Keywords that words can stand in for: remit holds the value to them in any case."""

_COUNTED: Final = {"Length": "character", "Items": "item", "Properties": "key"}
_LONG: Final = 300  # letters of a pattern or a default, after which it helps nobody


def in_words(given: Mapping[str, Any]) -> str:
    """Return what the keywords *given* ask for, as sentences."""
    said: list[str] = []
    for suffix, thing in _COUNTED.items():
        low, high = given.get(f"min{suffix}"), given.get(f"max{suffix}")
        if low is not None or high is not None:
            said.append(_counted(low, high, thing))
    said += _limits(given)
    if "multipleOf" in given:
        said.append(f"A multiple of {given['multipleOf']}.")
    if given.get("uniqueItems") is True:
        said.append("No item twice.")
    for word, text in (
        ("pattern", "Matches the regular expression {}"),
        ("format", "Format: {}."),
        ("contentEncoding", "Encoded as {}."),
        ("contentMediaType", "Contains {}."),
    ):
        if isinstance(value := given.get(word), str) and len(value) <= _LONG:
            said.append(text.format(value))
    said += _values(given)
    if given.get("deprecated") is True:
        said.append("Deprecated.")
    return " ".join(said)


def _counted(low: Any, high: Any, thing: str) -> str:
    things = f"{thing}s"
    if low == high:
        return f"Exactly {low} {thing if low == 1 else things}."
    if low is None or (low == 0 and high is not None):
        return f"At most {high} {thing if high == 1 else things}."
    if high is None:
        return f"At least {low} {thing if low == 1 else things}."
    return f"{low} to {high} {things}."


def _limits(given: Mapping[str, Any]) -> list[str]:
    low, high = given.get("minimum"), given.get("maximum")
    above, below = given.get("exclusiveMinimum"), given.get("exclusiveMaximum")
    said: list[str] = []
    if low is not None and high is not None:
        said.append(f"From {low} to {high}.")
    elif low is not None:
        said.append(f"At least {low}.")
    elif high is not None:
        said.append(f"At most {high}.")
    if above is not None:
        said.append(f"Greater than {above}.")
    if below is not None:
        said.append(f"Less than {below}.")
    return said


def _values(given: Mapping[str, Any]) -> list[str]:
    said: list[str] = []
    for word, text in (("enum", "Only {}."), ("examples", "For example {}.")):
        shown = given.get(word)
        if isinstance(shown, list) and shown and len(told := _json(shown)[1:-1]) <= _LONG:
            said.append(text.format(told))
    if given.get("default") is not None and len(told := _json(given["default"])) <= _LONG:
        said.append(f"Default: {told}.")
    return said


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
