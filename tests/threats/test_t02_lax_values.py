"""T2. No lax coercion; ``1``, ``1.0`` and ``true`` are three values wherever equality or digest decides.

tests/laws/test_l01 proves that nothing is retyped; here the three meet where they are compared.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict

import remit
from tests.laws.lab import EDITOR, running

pytestmark = pytest.mark.anyio


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


def app_of() -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("values"), list[Any]()

    @app.tool(effect="write", approval=remit.Approval(approvers={"editor"}))
    def pay(terms: Open) -> None:
        got.append(terms.model_dump())

    @app.tool(effect="write")
    def keep(terms: Open) -> int:
        got.append(terms.model_dump())
        return len(got)

    @app.tool(effect="write")
    def choose(one: Literal[1], yes: Literal[True] = True) -> None:
        got.append((one, yes))

    return app, got


async def test_three_values_are_three_requests(surface: str):
    """Agreement to ``1`` is no agreement to ``true``.

    If this fails, a request that compares equal in Python rides on another one's approval.
    """
    app, got = app_of()
    async with running(app, surface) as made:
        for value in (1, True, "1"):
            assert (await made.call("request_pay", {"terms": {"n": value}})).ok
        waiting = await made.app.approvals.waiting()
        assert len({one.digest for one in waiting}) == len({one.id for one in waiting}) == 3
        meant = next(one for one in waiting if one.arguments["terms"]["n"] is True)
        await made.app.approvals.decide(meant.id, "approve", approver=EDITOR, digest=meant.digest)
        assert len(got) == 1
        assert got[0]["n"] is True
        assert len(await made.app.approvals.waiting()) == 2


async def test_three_values_are_three_calls_under_a_key(surface: str):
    """The same key with ``true`` for ``1`` is another call.

    If this fails, a key returns the outcome of a call that was never made.
    """
    app, got = app_of()
    async with running(app, surface) as made:
        assert (await made.call("keep", {"terms": {"n": 1}}, idempotency_key="k")).data == 1
        refused = await made.call("keep", {"terms": {"n": True}}, idempotency_key="k")
        assert refused.code == "conflict"
        assert len(got) == 1


@pytest.mark.parametrize(
    "arguments", [{"one": True}, {"one": "1"}, {"one": 1, "yes": 1}, {"one": 1, "yes": 1.0}]
)
async def test_a_literal_is_itself_alone(surface: str, arguments: dict[str, Any]):
    """``Literal[1]`` doesn't take ``true``, nor ``Literal[True]`` a 1.

    If this fails, a flag is set by a number.
    """
    app, got = app_of()
    async with running(app, surface) as made:
        assert (await made.call("choose", arguments)).code == "invalid_arguments"
        assert got == []


async def test_json_in_a_text_is_not_read(surface: str):
    """A text that holds an object is no object.

    If this fails, arguments are parsed a second time, by other rules.
    """
    app, got = app_of()
    async with running(app, surface) as made:
        refused = await made.call("keep", {"terms": '{"n": 1}'})
        assert (refused.code, refused.issues[0].path) == ("invalid_arguments", "terms")
        assert got == []
