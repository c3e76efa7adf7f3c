"""An app as data: what it declares, and what each reader is told of that.

The *lock* is the declarations alone, for a file that people review. The *manifest* adds what every
surface makes of them. Digests are of JSON with sorted keys, so that no order of keys counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from remit.contract import Approval, Tool
from remit.listing import Listed
from remit.schema.flattening import flattened
from remit.schema.lowering import Lowered
from remit.schema.nodes import policies
from remit.schema.policy import SchemaError
from remit.schema.report import Entry
from remit.toolset import toolset

if TYPE_CHECKING:
    from remit.app import Remit
    from remit.schema.lowering import Provider

__all__ = ["FORMAT", "definition", "digest", "locked", "manifest", "written"]

FORMAT: Final = 1
"""The form of a lock; a newer remit reads every older one."""

_LOWERED: Final[tuple[Provider, ...]] = ("anthropic", "openai", "gemini")


def digest(value: Any) -> str:
    """Return the SHA-256 of *value* as JSON with sorted keys, in hexadecimal."""
    told = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def definition(tool: Tool) -> dict[str, Any]:
    """Return all that a caller, or whoever reviews it, can notice of *tool*, as JSON values."""
    return {
        "title": tool.title,
        "description": tool.description,
        "effect": tool.effect,
        "external": tool.external,
        "idempotent": tool.idempotent,
        "public": tool.public,
        "scopes": sorted(tool.scopes),
        # The rule itself is code; that there is one, and what it says to whom it refuses, is not.
        "require": None if tool.require is None else {"otherwise": tool.require.otherwise},
        "approval": None if tool.approval is None else _approval(tool.approval),
        "limit": tool.limit,
        "timeout": tool.timeout,
        "repair": sorted(tool.parser.repairs),
        "max_result_bytes": tool.projection.ceiling,
        "resources": {
            one.wire: {"many": one.many, "otherwise": one.resource.otherwise}
            for one in tool.resources
        },
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def _approval(approval: Approval) -> dict[str, Any]:
    return {
        "approvers": sorted(approval.approvers),
        "expires_seconds": approval.expires.total_seconds(),
        "self_approval": approval.self_approval,
        "versioned": approval.version is not None,
    }


def locked(app: Remit, target: str) -> dict[str, Any]:
    """Return what ``remit.lock`` holds of *app*.

    Args:
        app: The app.
        target: What names it on a command line, such as ``blog:blog``.
    """
    tools = {name: definition(tool) for name, tool in sorted(app.tools.items())}
    return {
        "remit": FORMAT,
        "app": target,
        "digest": digest(tools),
        "settings": app.settings,
        "tools": tools,
    }


def written(value: Mapping[str, Any]) -> str:
    """Return a lock's or a manifest's text: the same bytes for the same declarations."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def manifest(app: Remit, tools: Iterable[Tool] | None = None) -> dict[str, Any]:
    """Return *app* as every surface shows it.

    Args:
        app: The app.
        tools: Those to show; None takes all.
    """
    shown = {one.name: one for one in (app.tools.values() if tools is None else tools)}
    listed = {name: Listed.of(one) for name, one in shown.items()}
    made: dict[str, dict[str, Any]] = {
        name: {
            "name": name,
            **definition(one),
            "digest": one.digest,
            "policies": policies(one.input_schema),
            "surfaces": {"mcp": _mcp(listed[name]), "mcp_flat": _flat(listed[name])},
        }
        for name, one in shown.items()
    }
    for provider in _LOWERED:
        request = toolset(listed.values(), provider, on_incompatible="skip")
        for sent in request:
            about = _lowered(sent.name, sent.lowered, request.demoted.get(sent.tool, ""))
            made[sent.tool]["surfaces"][provider] = about
        for name, why in request.skipped.items():
            made[name]["surfaces"][provider] = {"skipped": why}
    return {"remit": FORMAT, "app": app.name, "settings": app.settings, "tools": made}


def _mcp(one: Listed) -> dict[str, Any]:
    hints = one.annotations
    return {
        "name": one.name,
        "annotations": {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
        },
        "digest": digest([one.name, one.description, one.input_schema, one.output_schema]),
    }


def _flat(one: Listed) -> dict[str, Any]:
    try:
        made = flattened(one.input_schema)
    except SchemaError as why:
        return {"skipped": str(why)}
    return {
        "name": one.name,
        "schema": made.schema,
        "report": _report(made.report),
        "digest": digest([one.name, one.description, made.schema]),
    }


def _lowered(name: str, made: Lowered, demoted: str) -> dict[str, Any]:
    return {
        "name": name,
        "strict": made.strict,
        **({"demoted": demoted} if demoted else {}),
        "lossless": made.lossless,
        "schema": made.schema,
        "report": _report(made.report),
        "digest": digest([name, made.strict, made.schema]),
    }


def _report(report: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the entries of what isn't as it was."""
    return [
        {
            "pointer": one.pointer,
            "keyword": one.keyword,
            "action": one.action,
            "lossy": one.lossy,
            "text": one.text,
        }
        for one in report
        if one.action != "kept" or one.lossy or one.text
    ]
