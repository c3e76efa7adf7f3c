"""What goes back: declared fields only, exact, clipped, and bounded as a whole (law L9).

A tool may return its whole row. The result's type picks the fields and holds each value to its
declared type; the ceiling cuts lists and texts until the JSON fits, still whole and still valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, cast, get_args, get_origin

from pydantic import TypeAdapter
from pydantic_core import (
    SchemaSerializer,
    SchemaValidator,
    ValidationError,
    from_json,
    to_json,
)

from remit.content import Block
from remit.outcome import Refused
from remit.schema.derive import advertised
from remit.schema.exact import exact_result
from remit.schema.policy import with_policies
from remit.schema.walk import children

__all__ = ["MAX_RESULT_BYTES", "Known", "Projection", "ResultError", "projection"]

MAX_RESULT_BYTES: Final = (
    128 * 1024
)  # about 32k tokens, the largest answer that hosts still hand on whole
_SHORTEST: Final = 80  # characters; a text cut further says nothing
_COPIES: Final = 6  # bytes on the wire per byte of data at worst: structured, and as escaped text


# By the class that results have: what pydantic had made of it, and what was made of that.
Known = dict[type, tuple[dict[str, Any], "Projection"]]


class ResultError(Exception):
    """A result that isn't what its tool declared; its text is for the log, never for the caller."""


@dataclass(frozen=True, slots=True)
class Projection:
    """How one tool's results leave.

    Attributes:
        schema: The result's own JSON Schema.
        validator: Holds what the tool's code returned to the declared type, and drops the rest.
        serializer: Writes it as JSON.
        ceiling: The most bytes that the whole answer may have.
        content: True if the result is content blocks, which are sent as they are or not at all.
    """

    schema: dict[str, Any]
    validator: SchemaValidator
    serializer: SchemaSerializer
    ceiling: int
    content: bool = False

    def project(self, returned: Any) -> tuple[Any, str]:
        """Return *returned* as JSON-ready data, and what was cut to fit it, in words.

        Raises:
            ResultError: If it isn't what the tool declared: a wrong type, NaN, a naive time.
            Refused: ``too_large`` if no cut makes it fit.
        """
        try:
            value = self.validator.validate_python(returned, by_alias=True, by_name=True)
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or '(root)'}: {e['type']}"
                for e in error.errors(
                    include_url=False, include_input=False, include_context=False
                )[:5]
            )
            text = f"the result is not what the tool declares: {wrong}"
            raise ResultError(text) from None
        try:
            written = self.serializer.to_json(value, by_alias=True, warnings="error")
            data = from_json(written, allow_inf_nan=False)
        except (ValueError, TypeError, RecursionError) as error:
            where = _not_finite(value) or type(error).__name__
            raise ResultError(f"the result has no JSON form: {where}") from error
        size = len(written)
        if size * _COPIES <= self.ceiling or (
            size < self.ceiling and self._wire(data) <= self.ceiling
        ):
            return data, ""
        if self.content:
            raise _too_large(size, self.ceiling)
        return self._cut(data, size)

    def _wire(self, data: Any) -> int:
        """Return the bytes of *data* in the answer, where it stands as structure and as text."""
        # The SDK's HTTP answers escape whatever isn't ASCII, which is the longest way to write it.
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        return len(json.dumps(data, separators=(",", ":"))) + len(json.dumps(text)) + 512

    def _cut(self, data: Any, size: int) -> tuple[Any, str]:
        """Return *data* with its longest lists, then its longest texts, cut until it fits."""
        cap = max(_SHORTEST, self.ceiling // (8 * _COPIES))
        made, longest = data, _longest_list(data)
        kept, length = longest, cap
        # What no cut makes fit, such as a great many keys, is not worth trying all of them on.
        if self._wire(_cut(data, 1, _SHORTEST)) > self.ceiling:
            raise _too_large(size, self.ceiling)
        for kept, length in _ever_less(longest, cap):
            made = _cut(data, kept, length)
            if self._wire(made) <= self.ceiling:
                break
        if self._wire(made) > self.ceiling or not self._holds(made):
            raise _too_large(size, self.ceiling)
        cuts = [f"lists to {kept} of {longest} items"] if kept < longest else []
        if any(isinstance(item, str) and len(item) > length for item in _every(data)):
            cuts.append(f"texts to {length} characters")
        what = f"Cut to fit {self.ceiling} bytes of {size}: {', '.join(cuts)}. "
        return made, what + "Ask for less, or for the next page."

    def _holds(self, data: Any) -> bool:
        try:
            self.validator.validate_json(_JSON.to_json(data))
        except ValidationError:
            return False
        return True


def _not_finite(value: Any) -> str:
    """Return where in a value that takes anything a number isn't finite, for the log."""
    text = to_json(value, inf_nan_mode="constants", fallback=lambda _: None)
    stack: list[tuple[str, Any]] = [("", json.loads(text))]
    while stack:
        path, item = stack.pop()
        if isinstance(item, float) and item - item != 0:
            return f"{path or '(root)'}: finite_number"
        if isinstance(item, dict):
            named = cast("dict[str, Any]", item)
            stack += [(f"{path}.{k}".lstrip("."), v) for k, v in named.items()]
        elif isinstance(item, list):
            stack += [
                (f"{path}.{i}".lstrip("."), v) for i, v in enumerate(cast("Sequence[Any]", item))
            ]
    return ""


def _too_large(size: int, ceiling: int) -> Refused:
    text = (
        f"The result has {size} bytes and can't be cut to fit {ceiling}. "
        "Ask for less, for instance a narrower range or fewer fields."
    )
    return Refused("too_large", text)


_JSON: Final = TypeAdapter[Any](Any).serializer


def _longest_list(value: Any) -> int:
    lists = [cast("Sequence[Any]", item) for item in _every(value) if isinstance(item, list)]
    return max(map(len, lists), default=0)


def _ever_less(kept: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield how many items and characters to keep: texts cut once, then lists, then texts again."""
    yield kept, length
    while kept > 1:
        kept //= 2
        yield kept, length
    while length > _SHORTEST:
        length = max(_SHORTEST, length // 2)
        yield kept, length


def _every(value: Any) -> list[Any]:
    found, stack = list[Any](), [value]
    while stack:
        item = stack.pop()
        found.append(item)
        if isinstance(item, dict):
            stack.extend(cast("dict[str, Any]", item).values())
        elif isinstance(item, list):
            stack.extend(cast("Sequence[Any]", item))
    return found


def _cut(value: Any, kept: int, length: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= length else value[: length - 1] + "…"
    if isinstance(value, list):
        return [_cut(item, kept, length) for item in cast("Sequence[Any]", value)[:kept]]
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        made = {key: _cut(item, kept, length) for key, item in named.items()}
        items: Any = named.get("items")
        if (
            isinstance(items, list)
            and len(cast("Sequence[Any]", items)) > kept
            and made.get("more") is False
        ):
            made["more"] = True
        return made
    return value


def projection(
    annotation: Any,
    *,
    ceiling: int = MAX_RESULT_BYTES,
    wrap: Callable[[Exception], Exception],
    known: Known | None = None,
) -> Projection:
    """Return how results of type *annotation* leave.

    Args:
        annotation: The return type of the tool's code.
        ceiling: The most bytes of a whole answer.
        wrap: Makes the declaration's error of what is wrong with the type.
        known: What was made before, which is used again: tools often share a result's class.
    """
    try:
        core = cast("dict[str, Any]", TypeAdapter(annotation).core_schema)
        before = known.get(annotation) if known and isinstance(annotation, type) else None
        if before is not None and before[0] is core:  # a class that is built anew has another
            return replace(before[1], ceiling=ceiling)
        node = exact_result(with_policies(core, default="ignore"))
        schema = advertised(_closed(with_policies(core, default="forbid")), mode="serialization")
        made = Projection(
            schema=schema,
            validator=SchemaValidator(
                cast("Any", node), {"hide_input_in_errors": True}, _use_prebuilt=False
            ),
            serializer=SchemaSerializer(cast("Any", node), {"ser_json_inf_nan": "constants"}),
            ceiling=ceiling,
            content=_is_content(annotation),
        )
        if known is not None and isinstance(annotation, type):
            known[annotation] = (core, made)
    except Exception as error:
        raise wrap(error) from error
    return made


def _is_content(annotation: Any) -> bool:
    """Tell whether results of this type are content blocks, one or a list."""
    if get_origin(annotation) is list:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    arms = get_args(annotation) or (annotation,)
    return all(isinstance(arm, type) and issubclass(arm, Block) for arm in arms)


def _closed(node: dict[str, Any]) -> dict[str, Any]:
    """Return *node* with a dropped key advertised for what it is in a result: never there."""
    for part in children(node):
        if part.get("extra_behavior") == "ignore":
            part["extra_behavior"] = "forbid"
    return node
