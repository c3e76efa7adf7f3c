"""T5. No principal is a refusal on every transport; a missing attribute never satisfies a rule.

tests/laws/test_l04 proves the first half; here rules meet what a token doesn't say.
"""

from __future__ import annotations

from typing import Any

import pytest

import remit
from tests.laws.lab import running

pytestmark = pytest.mark.anyio


class Member(remit.Principal):
    suspended: bool | None = None
    region: str | None = None


RULES: dict[str, Any] = {
    "unknown is not false": lambda call: call.principal.suspended is False,
    "unknown is not equal": lambda call: call.principal.region == "eu",
    "nothing said": lambda call: None,
    "three-valued": lambda call: call.principal.suspended,
    "attribute that isn't there": lambda call: not call.principal.banned,
    "raises": lambda call: 1 / 0,
    "text": lambda call: "yes",
    "one": lambda call: 1,
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
async def test_what_a_token_does_not_say_allows_nothing(surface: str, rule: Any):
    """A rule over a claim that is missing, or one that says anything but True, refuses.

    If this fails, leaving a claim out of the token is how to pass a deny rule.
    """
    app, ran = remit.Remit("rules", principal=Member), list[str]()

    @app.tool(effect="write", require=remit.Require(rule))
    def act() -> None:
        ran.append("act")

    async with running(app, surface, principal={"sub": "u_asha"}) as made:
        refused = await made.call("act", {})
        assert refused.code in ("unknown_tool", "internal")
        assert ran == []
        assert "act" not in await made.tools()
        assert [row.outcome for row in made.app.audit.rows()] == [refused.code]


async def test_an_async_rule_is_awaited(surface: str):
    """A rule that is a coroutine function is asked, not taken for true.

    If this fails, ``async def`` on a rule turns it off.
    """
    app, ran = remit.Remit("rules", principal=Member), list[str]()

    async def never(call: remit.Call[Any, Any]) -> bool:
        return False

    @app.tool(effect="write", require=remit.Require(never))
    def act() -> None:
        ran.append("act")

    async with running(app, surface) as made:
        assert (await made.call("act", {})).code == "unknown_tool"
        assert ran == []


async def test_a_public_tool_gets_nobody_and_not_a_default_person(surface: str):
    """Where anyone may call, the principal of nobody is None.

    If this fails, an anonymous call acts as the last caller, or as a made-up user.
    """
    app, seen = remit.Remit("open"), list[Any]()

    @app.tool(effect="read", public=True)
    def look(call: remit.Call[Any, Any]) -> None:
        seen.append(call.principal)

    async with running(app, surface) as made:
        assert (await made.as_principal(None).call("look", {})).ok
        assert (await made.call("look", {})).ok
        assert seen[0] is None
        assert seen[1].subject == "u_asha"
        assert [row.principal for row in made.app.audit.rows()] == ["", "u_asha"]
