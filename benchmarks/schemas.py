"""Deriving from the largest class at hand, and refusing what is larger than a schema may be."""

from __future__ import annotations

import statistics
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParams
from pydantic import TypeAdapter

from remit.schema import SchemaError, diff, flatten, lower


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _largest() -> dict[str, Any]:
    schema: dict[str, Any] = TypeAdapter(MessageCreateParams).json_schema()
    definitions = schema.pop("$defs")
    return {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
        "$defs": definitions,
    }


def measured(count: int = 9) -> dict[str, float]:
    """Return the time of each derivation, as a ratio to pydantic's own ``json_schema()``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # defaults of that class that are no JSON
        schema = _largest()
        work: dict[str, Callable[[], Any]] = {
            "pydantic's json_schema()": _largest,
            "flattened": lambda: flatten(schema),
            "lowered for Anthropic": lambda: lower(schema, "anthropic"),
            "lowered for OpenAI": lambda: lower(schema, "openai"),
            "lowered for Gemini": lambda: lower(schema, "gemini"),
            "compared with itself": lambda: diff(schema, dict(schema)),
        }
        rounds = [{name: _seconds(one) for name, one in work.items()} for _ in range(count)]
    first = next(iter(work))
    return {
        name: statistics.median(times[name] / times[first] for times in rounds) for name in work
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _deep(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        node = _object(v=node)
    return node


def _bomb(levels: int) -> dict[str, Any]:
    """Definitions, each of which holds the next twice, with words beside that ask for a copy."""
    made: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(1, levels):
        ref = {"$ref": f"#/$defs/d{level - 1}", "description": "x"}
        made[f"d{level}"] = _object(left=ref, right=ref)
    return {**_object(v={"$ref": f"#/$defs/d{levels - 1}", "description": "y"}), "$defs": made}


def hostile() -> dict[str, float]:
    """Return for each hostile schema the seconds until it was refused, and the memory it took."""
    given = {
        "100,000 values": _object(**{f"p{i}": {"type": "string"} for i in range(50_000)}),
        "1,000 levels": _deep(1_000),
        "a reference bomb, 40 levels": _bomb(40),
    }
    found: dict[str, float] = {}
    for name, schema in given.items():

        def refused(schema: dict[str, Any] = schema) -> None:
            try:
                lower(schema, "openai", strict=True)
            except SchemaError:
                return
            raise AssertionError("it was taken")

        found[f"{name}: seconds"] = min(_seconds(refused) for _ in range(3))
        tracemalloc.start()
        refused()
        found[f"{name}: MiB"] = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
    return found
