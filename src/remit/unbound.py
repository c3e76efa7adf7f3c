"""Which keys a declared plain policy left out, so that nothing is dropped behind a caller's back.

Compares what was sent with what was parsed; it judges nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from remit.issues import dotted

__all__ = ["dropped"]

Path = tuple[str | int, ...]


def dropped(raw: Any, value: Any, path: Path = ()) -> Iterator[str]:
    """Yield the dotted path of every key in *raw* that *value* has no place for."""
    if isinstance(raw, list) and isinstance(value, list | tuple):
        for i, (item, parsed) in enumerate(
            zip(cast("Sequence[Any]", raw), cast("Sequence[Any]", value), strict=False)
        ):
            yield from dropped(item, parsed, (*path, i))
        return
    if not isinstance(raw, dict):
        return
    places = _places(value)
    if places is None:
        return
    for key, item in cast("dict[str, Any]", raw).items():
        if key in places:
            yield from dropped(item, places[key], (*path, key))
        else:
            yield dotted((*path, key))


def _places(value: Any) -> Mapping[str, Any] | None:
    """Return what *value* holds by the key that callers send, or None for what has no keys."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    if isinstance(value, BaseModel):
        return {**_aliased(type(value).model_fields, value), **(value.model_extra or {})}
    if dataclasses.is_dataclass(value):
        fields = cast("dict[str, FieldInfo] | None", getattr(value, "__pydantic_fields__", None))
        if fields is not None:
            return {**vars(value), **_aliased(fields, value)}
        return {f.name: getattr(value, f.name, None) for f in dataclasses.fields(value)}
    return None


def _aliased(fields: Mapping[str, FieldInfo], value: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, info in fields.items():
        alias = info.validation_alias or info.alias or name
        names = [alias] if isinstance(alias, str) else getattr(alias, "choices", [name])
        for one in names:
            made[str(one)] = getattr(value, name, None)
    return made
