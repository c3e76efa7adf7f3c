"""Declaring many tools, against pydantic's own build of the same validators and schemas."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

import remit

Title = Annotated[str, Field(min_length=1, max_length=160)]


class Author(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Title
    links: list[str] = []


class Saved(BaseModel):
    id: str
    title: str
    tags: list[str]


def _body(index: int) -> type[BaseModel]:
    """Return a class of its own for each tool: pydantic builds what it hasn't seen."""
    return create_model(
        f"Draft{index}",
        __config__=ConfigDict(extra="forbid"),
        title=(Title, ...),
        text=(str, ...),
        author=(Author, ...),
        tags=(list[str], []),
        score=(Annotated[int, Field(ge=0, le=10)], 0),
    )


def _remit(bodies: list[Any]) -> None:
    app = remit.Remit("bench", store="sqlite://")
    for index, kind in enumerate(bodies):

        async def tool(draft: Any, note: str = "") -> Any:
            """Save a draft, as the number says."""

        tool.__annotations__ = {"draft": kind, "note": str, "return": Saved}
        app.tool(effect="write", name=f"tool_{index}")(tool)


def _pydantic(bodies: list[Any]) -> None:
    for index, kind in enumerate(bodies):
        made = create_model(f"Arguments{index}", draft=(kind, ...), note=(str, ""))
        made.model_json_schema()
        TypeAdapter(Saved).json_schema(mode="serialization")


def _seconds(build: Callable[[list[Any]], None], tools: int) -> float:
    bodies = [_body(index) for index in range(tools)]
    begun = time.perf_counter()
    build(bodies)
    return time.perf_counter() - begun


def measured(tools: int = 1000, count: int = 3) -> dict[str, float]:
    """Return the build's ratio to pydantic's, and how it grows with the number of tools."""
    _seconds(_remit, 50)
    _seconds(_pydantic, 50)
    ours, theirs, tenth = [], [], []
    for _ in range(count):
        theirs.append(_seconds(_pydantic, tools))
        ours.append(_seconds(_remit, tools))
        tenth.append(_seconds(_remit, tools // 10))
    return {
        f"{tools} tools / pydantic's own build": statistics.median(
            a / b for a, b in zip(ours, theirs, strict=True)
        ),
        f"per tool, {tools} / {tools // 10} tools": statistics.median(
            a / b / 10 for a, b in zip(ours, tenth, strict=True)
        ),
        "milliseconds per tool": statistics.median(ours) / tools * 1e3,
    }
