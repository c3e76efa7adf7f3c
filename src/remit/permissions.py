"""Who may use which tool: one decision, asked for the list and for the call alike.

Deny by default. A principal that lacks a scope gets the very answer of a tool that doesn't exist,
unless the app challenges; a `Require` with words is told why.
"""

from __future__ import annotations

import inspect
import logging
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

_log = logging.getLogger("remit")

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
    """Decide whether *call*'s principal may use *tool*; a rule that fails is a no."""
    decided = scope_permission(tool, call.principal, missing)
    if not decided.allowed or tool.require is None:
        return decided
    try:
        if await asked(tool.require.rule, call):
            return ALLOWED
    except Exception:  # noqa: BLE001 - a rule that fails has not said yes, nor may it show its tool
        _log.exception("the rule of tool %s failed; the call is refused", tool.name)
        refusal = unknown_tool(tool.name)
        return Permission(allowed=False, listed=False, rule="require failed", refusal=refusal)
    if tool.require.otherwise:
        refusal = Refused("forbidden", tool.require.otherwise)
        return Permission(allowed=False, listed=True, rule="require", refusal=refusal)
    return Permission(allowed=False, listed=False, rule="require", refusal=unknown_tool(tool.name))


async def asked(rule: Any, *about: Any) -> bool:
    """Return whether *rule* says True: not something true-like, which is more likely a mistake."""
    return await answer(rule, *about) is True


async def answer(function: Any, *about: Any, **named: Any) -> Any:
    """Return what a user's function says, whether or not it is async."""
    try:
        said = function(*about, **named)
    except GeneratorExit as error:
        raise RuntimeError("a rule raised GeneratorExit") from error  # its own, no teardown of ours
    return await said if inspect.isawaitable(said) else said
