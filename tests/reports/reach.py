"""What the reports' tests share: the surfaces, the callers, and a look at what went over the wire."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import remit
from remit.outcome import wire
from remit.testing import Agent

SURFACES = (
    "python",
    "mcp",
    "mcp-http",
)  # laws run over all there are; these differ in who reads the JSON
MCP = ("mcp", "mcp-legacy", "mcp-http", "mcp-http-legacy", "mcp-stdio")

ASHA: dict[str, Any] = {"sub": "u_asha", "iss": "https://id.example", "client_id": "desktop"}
RAVI: dict[str, Any] = {**ASHA, "sub": "u_ravi"}
EDITOR: dict[str, Any] = {"sub": "u_editor", "iss": "https://id.example", "roles": ["editor"]}

Using = Callable[..., Awaitable[Agent]]


def ok(outcome: remit.Outcome) -> Any:
    """Return the data of an outcome that must be `Ok`."""
    assert outcome.ok, outcome
    return outcome.data


def refused(outcome: remit.Outcome, code: str = "invalid_arguments") -> remit.Refused:
    """Return an outcome that must be `Refused` with *code*."""
    assert isinstance(outcome, remit.Refused), outcome
    assert outcome.code == code, outcome
    return outcome


def issues(outcome: remit.Outcome) -> list[tuple[str, str]]:
    """Return the path and the code of each issue of an outcome that must be a refusal of arguments."""
    return [(issue.path, issue.code) for issue in refused(outcome).issues]


def hint(outcome: remit.Outcome, path: str) -> str:
    """Return the hint of the one issue at *path*."""
    (found,) = [issue.hint for issue in refused(outcome).issues if issue.path == path]
    return found


def sent(outcome: remit.Outcome) -> str:
    """Return everything of *outcome* that leaves, as text to search."""
    return json.dumps([wire(outcome), dict(outcome.meta)], ensure_ascii=False, default=str)


def advertised(app: remit.Remit, tool: str, *names: str) -> Any:
    """Return the property *names* of a tool's advertised schema, one inside the other, references followed."""
    schema = app.advertised(tool)
    here: Mapping[str, Any] = schema
    for name in names:
        here = here["properties"][name]
        while "$ref" in here:
            here = schema["$defs"][here["$ref"].rsplit("/", 1)[-1]]
    return here
