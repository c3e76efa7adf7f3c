"""Outcomes in MCP's shapes, as they go on the wire in either era.

Values only. The SDK checks each against the protocol version's own schema before it leaves.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from remit.outcome import Ask, Ok, Outcome, Refused, wire

if TYPE_CHECKING:
    from remit.app import Listed

__all__ = ["Context", "Shape", "able", "listed", "question", "refusal", "result"]

Context = ServerRequestContext[Any, Any]

Shape = Literal["object", "wrapped", "content"]
"""How a tool's data leaves: as it is, under ``result``, or as content blocks."""

# MCP 2026-07-28, client capabilities: who may be asked what.
_CAPABILITIES: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}

# The handshake era knows no resultType; the SDK leaves it out there.
_COMPLETE: Final[dict[str, Any]] = {"resultType": "complete", "isError": False}


def listed(one: Listed, *, flat: bool = False) -> types.Tool:
    """Return a tool as MCP lists it, with all four hints said; *flat* without its unions."""
    hints = one.annotations
    return types.Tool(
        name=one.name,
        title=one.title,
        description=one.description,
        input_schema=dict(one.flat_schema if flat else one.input_schema),
        output_schema=None if one.output_schema is None else dict(one.output_schema),
        annotations=types.ToolAnnotations(
            read_only_hint=hints.read_only,
            destructive_hint=hints.destructive,
            idempotent_hint=hints.idempotent,
            open_world_hint=hints.open_world,
        ),
    )


def result(ok: Ok[Any], shape: Shape) -> dict[str, Any]:
    """Return a tool result; the text is the same JSON as the structured content."""
    if shape == "content":
        blocks: Any = ok.data
        several = type(blocks) is list
        return {**_COMPLETE, "content": blocks if several else [blocks], "_meta": _meta(ok)}
    data: Any = {"result": ok.data} if shape == "wrapped" else ok.data
    content = [_text(data)]
    if ok.more or ok.ignored:
        content.append(_text(_left_out(ok)))
    return {**_COMPLETE, "content": content, "structuredContent": data, "_meta": _meta(ok)}


def refusal(refused: Refused) -> dict[str, Any]:
    """Return a refusal as a result marked as an error, which a model can act on.

    It has no structured content: that would have to fit the output schema.
    """
    content = [_text(wire(refused))]
    return {**_COMPLETE, "content": content, "isError": True, "_meta": _meta(refused)}


def able(ctx: Context) -> frozenset[str]:
    """Return what this client can be asked, as this very request declares."""
    said = ctx.session.client_capabilities
    return frozenset(name for name in _CAPABILITIES.values() if getattr(said, name, None))


def question(ctx: Context, ask: Ask) -> dict[str, Any]:
    """Return what the tool asks its caller.

    Raises:
        MCPError: If this client can't be asked it (-32021).
    """
    methods = (_CAPABILITIES.get(str(one.get("method"))) for one in ask.questions.values())
    if lacking := sorted({name for name in methods if name} - able(ctx)):
        text = f"This tool asks its caller something and needs: {', '.join(lacking)}."
        data: dict[str, Any] = {"requiredCapabilities": {name: {} for name in lacking}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, text, data)
    shown: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {name: dict(one) for name, one in ask.questions.items()},
    }
    if ask.state is not None:
        shown["requestState"] = json.dumps(ask.state)
    return shown


def _meta(outcome: Outcome) -> dict[str, Any]:
    """Return what is for the client's program, not for its model."""
    shown: dict[str, Any] = {"remit/code": outcome.code}
    if isinstance(outcome, Ok):
        # Not of a refusal: "missing" and "not yours" are the same to the last byte.
        shown |= {f"remit/{name}": value for name, value in outcome.meta.items()}
    if isinstance(outcome, Ok):
        if outcome.more:
            shown["remit/more"] = True
            shown["remit/notice"] = outcome.notice
        if outcome.ignored:
            shown["remit/ignored"] = list(outcome.ignored)
    return shown


def _left_out(ok: Ok[Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    if ok.more:
        shown["more"] = ok.notice
    if ok.ignored:
        shown["ignored"] = list(ok.ignored)
    return shown


def _text(value: Any) -> dict[str, Any]:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text.encode()  # a lone surrogate must fail here, and not where the SDK writes the answer
    return {"type": "text", "text": text}
