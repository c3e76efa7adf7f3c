"""Who may use which tool: one decision, asked for the list and for the call alike.

Deny by default. A principal that lacks a scope gets the very answer of a tool that doesn't exist,
unless the app challenges; a `Require` with words is told why.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Final, Literal

from remit.call import Call
from remit.contract import Tool
from remit.outcome import Refused
from remit.principal import Principal

__all__ = [
    "ALLOWED",
    "Permission",
    "answer",
    "asked",
    "permission",
    "scope_permission",
    "unknown_tool",
]

Missing = Literal["hide", "challenge"]


@dataclass(frozen=True, slots=True)
class Permission:
    """What was decided about a principal and a tool.

    Attributes:
        allowed: True only if it may be called.
        listed: True if the principal may know that the tool exists.
        rule: Which rule decided, for the operator's record; never for the caller.
        refusal: What the caller gets, or None where it is allowed.
    """

    allowed: bool
    listed: bool
    rule: str
    refusal: Refused | None = None


ALLOWED: Final = Permission(allowed=True, listed=True, rule="")


def unknown_tool(name: str) -> Refused:
    """Return the answer for a tool that doesn't exist, or that this principal may not know of."""
    del name  # the caller's own text; an answer that repeats it could carry it on
    return Refused(
        "unknown_tool",
        "There is no tool of that name for you. List the tools to see which there are.",
    )


def scope_permission(tool: Tool, principal: Principal | None, missing: Missing) -> Permission:
    """Decide by sign-in and scopes alone, which never changes while a token lasts."""
    if tool.public:
        return ALLOWED
    if principal is None:
        refusal = Refused("unauthenticated", "Sign in: this call carries no valid identity.")
        return Permission(allowed=False, listed=False, rule="no principal", refusal=refusal)
    if lacking := tool.scopes - principal.scopes:
        rule = "scope:" + " ".join(sorted(lacking))
        if missing == "challenge":
            text = f"This needs the scope {' '.join(sorted(lacking))}. Ask for a token that has it."
            return Permission(
                allowed=False, listed=True, rule=rule, refusal=Refused("forbidden", text)
            )
        return Permission(allowed=False, listed=False, rule=rule, refusal=unknown_tool(tool.name))
    return ALLOWED


async def permission(tool: Tool, call: Call[Any, Any], missing: Missing) -> Permission:
    """Decide whether *call*'s principal may use *tool*.

    Raises:
        Exception: Whatever the tool's own rule raises; the caller must refuse then.
    """
    decided = scope_permission(tool, call.principal, missing)
    if not decided.allowed or tool.require is None:
        return decided
    if await asked(tool.require.rule, call):
        return ALLOWED
    if tool.require.otherwise:
        refusal = Refused("forbidden", tool.require.otherwise)
        return Permission(allowed=False, listed=True, rule="require", refusal=refusal)
    return Permission(allowed=False, listed=False, rule="require", refusal=unknown_tool(tool.name))


async def asked(rule: Any, *about: Any) -> bool:
    """Return whether *rule* says True: not something true-like, which is more likely a mistake."""
    return await answer(rule, *about) is True


async def answer(function: Any, *about: Any, **named: Any) -> Any:
    """Return what a user's function says, whether or not it is async."""
    said = function(*about, **named)
    return await said if inspect.isawaitable(said) else said
