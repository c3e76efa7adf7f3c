"""T9. Only an explicit, typed *approve* by a verified approver opens the gate; whatever else is a refusal."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

import remit
from tests.laws.lab import EDITOR, Lab, digest_of, file_request

pytestmark = pytest.mark.anyio


class Agreeable:
    """Equal to everything, true, and spelt like a yes."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("approve")

    def __str__(self) -> str:
        return "approve"


class Yes(str):
    __slots__ = ()


class Other(Enum):
    APPROVE = "approve"


NOT_A_DECISION: list[Any] = [
    True, False, None, 0, 1, "", "yes", "no", "y", "ok", "approved", "Approve", "APPROVE", "approve ",
    " approve", "approve\n", "аpprove", b"approve", ["approve"], {"decision": "approve"}, Agreeable(),
    Yes("approve"), Other.APPROVE, ValueError("approve"), NotImplemented, ...,
]  # fmt: skip


@pytest.mark.parametrize("said", NOT_A_DECISION, ids=lambda said: type(said).__name__)
async def test_anything_else_decides_nothing(lab: Lab, said: Any):
    """A yes-like value is no decision: it is refused, and the request still waits.

    If this fails, a parser's slip, an exception or a truthy default publishes.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    with pytest.raises(remit.Refused) as refused:
        await lab.app.approvals.decide(
            request_id, said, approver=EDITOR, digest=await digest_of(lab, request_id)
        )
    assert refused.value.code == "invalid_decision"
    assert (await lab.app.approvals.get(request_id)).state == "waiting"
    await lab.app.approvals.sweep()
    assert lab.drafts.ran == []


@pytest.mark.parametrize("said", ["approve", remit.Decision.APPROVE])
async def test_the_decision_itself_decides(lab: Lab, said: Any):
    """``Decision.APPROVE``, or exactly its text, runs it.

    If this fails, the refusals above prove nothing.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    done = await lab.app.approvals.decide(
        request_id, said, approver=EDITOR, digest=await digest_of(lab, request_id)
    )
    assert done.state == "done"
    assert lab.drafts.ran == ["publish"]


async def test_an_error_while_running_is_no_second_chance(lab: Lab):
    """An approved run that fails is failed: the decision is used up.

    If this fails, an approval lies about until the failure goes away.
    """
    lab.drafts.add()
    lab.drafts.broken = RuntimeError("x")
    request_id = await file_request(lab)
    digest = await digest_of(lab, request_id)
    failed = await lab.app.approvals.decide(request_id, "approve", approver=EDITOR, digest=digest)
    assert failed.state == "failed"
    lab.drafts.broken = None
    await lab.app.approvals.sweep()
    with pytest.raises(remit.Refused):
        await lab.app.approvals.decide(request_id, "approve", approver=EDITOR, digest=digest)
    assert lab.drafts.ran == ["publish"]


@pytest.mark.parametrize(
    "roles", [None, [], "", "editor-in-chief", ["EDITOR"], [["editor"]], {"editor": True}, 7]
)
async def test_a_malformed_role_is_no_role(lab: Lab, roles: Any):
    """Roles that aren't texts, or almost match, decide nothing.

    If this fails, a claim of another shape makes an approver.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    with pytest.raises(remit.Refused) as refused:
        await lab.app.approvals.decide(
            request_id,
            "approve",
            approver={"sub": "u_other", "roles": roles},
            digest=await digest_of(lab, request_id),
        )
    assert refused.value.code in ("forbidden", "unauthenticated")
    assert lab.drafts.ran == []
