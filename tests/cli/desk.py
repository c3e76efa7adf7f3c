"""An app for the command's tests: a tool for each shape of argument and each way to end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

import remit

app = remit.Remit("desk")
nothing = 7


class Point(BaseModel):
    x: int
    y: float = 0.5
    label: str | None = None


class Deep(BaseModel):
    point: Point
    on: bool = False


class Said(BaseModel):
    said: dict[str, Any]


@app.tool(effect="read", public=True)
def ping() -> str:
    """Answer."""
    return "pong"


@app.tool(effect="read", scopes={"notes:read"})
async def echo(
    call: remit.Call,
    title: Annotated[str, Field(description="The note's title.")],
    count: int = 0,
    ratio: float | None = None,
    price: Decimal = Decimal(0),
    loud: bool = False,
    tags: list[str] = [],
    sizes: list[int] = [],
    color: Literal["red", "green"] = "red",
    level: Literal[1, 2, "3"] = 1,
    either: int | bool = 0,
    deep: Deep | None = None,
    draft_id: str = "",
    any_of_them: dict[str, int] | None = None,
    points: list[Point] = [],
) -> Said:
    """Give back what was sent."""
    await call.progress(1, 2, "half")
    given = {
        "title": title,
        "count": count,
        "ratio": ratio,
        "price": str(price),
        "loud": loud,
        "tags": tags,
        "sizes": sizes,
        "color": color,
        "level": level,
        "either": either,
        "deep": None if deep is None else deep.model_dump(),
        "draft_id": draft_id,
        "any_of_them": any_of_them,
        "points": [point.model_dump() for point in points],
    }
    return Said(said=given)


@app.tool(effect="read")
def clash(json: str = "", claims: str = "", no_x: str = "", x: bool = False, a_b: str = "") -> Said:
    """Take arguments that are called like remit's own options."""
    return Said(said={"json": json, "claims": claims, "no_x": no_x, "x": x, "a_b": a_b})


@app.tool(effect="read")
def fail(how: Literal["code", "crash", "conflict", "gone"]) -> str:
    """End badly."""
    if how == "crash":
        raise RuntimeError("planted-secret \x1b[31m in red")
    codes = {"code": "not_editable", "conflict": "conflict", "gone": "not_found"}
    raise remit.Refused(codes[how], "No.\x1b]8;;evil\x07 Try another.")


@app.tool(effect="write", public=True)
async def wait(seconds: float) -> str:
    """Take a while."""
    await asyncio.sleep(seconds)
    return "waited"


PUBLISHED: list[str] = []


@app.tool(
    effect="write",
    scopes={"notes:write"},
    approval=remit.Approval(
        approvers={"editor"},
        expires=timedelta(hours=1),
        show=lambda call, note: f"publish {note}",
    ),
)
def publish(note: str, loud: bool = False) -> str:
    """Publish a note."""
    PUBLISHED.append(note)
    return f"published {note}"


@app.tool(effect="read", description="Look [bold]here[/bold] \u202etxt.exe\x1b[2J")
def odd() -> str:
    """Be described in a way that a terminal must not obey."""
    return "\x1b[31mred\u202e [bold]no[/bold]"
