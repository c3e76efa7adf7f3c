"""T8. Handles are random, not derived, bound to their owner, and useless to another principal."""

from __future__ import annotations

import re

import pytest

import remit
from tests.laws.lab import ASHA, DRAFT, EDITOR, RAVI, Lab, file_request, received

pytestmark = pytest.mark.anyio


async def test_a_request_id_is_random_and_derived_from_nothing(lab: Lab):
    """Two requests for the very same thing have ids with nothing in common, of 128 bits or more.

    If this fails, who knows the arguments knows the handle.
    """
    lab.drafts.add()
    ids = list[str]()
    for _ in range(2):
        request_id = await file_request(lab)
        ids.append(request_id)
        await lab.app.approvals.cancel(request_id, requester=ASHA)
    one, two = (request_id.partition("_")[2] for request_id in ids)
    assert one != two
    assert len(re.sub(r"[^A-Za-z0-9_-]", "", one)) * 6 >= 128


async def test_the_model_is_not_given_the_id(lab: Lab):
    """A model reads a short digest; the id itself is for programs.

    If this fails, the handle is in every transcript.
    """
    lab.drafts.add()
    outcome = await lab.asha.call("request_publish", {"draft_id": DRAFT})
    (request,) = await lab.queue()
    assert request.id not in str(outcome.data)
    assert outcome.data["request"] == request.digest[:12]


async def test_another_principal_can_do_nothing_with_it(lab: Lab):
    """With the id in hand another principal can neither cancel the request nor learn that it exists.

    If this fails, possession is authorization.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    for claims in (RAVI, {**ASHA, "iss": "https://other.example"}):
        with pytest.raises(remit.Refused) as theirs:
            await lab.app.approvals.cancel(request_id, requester=claims)
        with pytest.raises(remit.Refused) as missing:
            await lab.app.approvals.cancel("req_nope", requester=claims)
        assert theirs.value == missing.value
        assert theirs.value.code == "not_found"
    assert [one.state for one in await lab.queue()] == ["waiting"]


async def test_the_short_digest_decides_nothing(lab: Lab):
    """The digits that a chat shows are for finding a request, not for deciding it.

    If this fails, twelve digits are a password.
    """
    lab.drafts.add()
    request_id = await file_request(lab)
    short = (await lab.app.approvals.get(request_id)).short
    for digest in (short, short.upper(), short + "0" * 52):
        with pytest.raises(remit.Refused):
            await lab.app.approvals.decide(request_id, "approve", approver=EDITOR, digest=digest)
    assert lab.drafts.ran == []


async def test_call_ids_are_random(lab: Lab):
    """The reference of one failure tells nothing about another.

    If this fails, references can be counted and guessed.
    """
    for _ in range(2):
        await received(lab.asha, "list_my_drafts", {})
    one, two = (row.call_id for row in lab.audit())
    assert len(one) * 4 >= 128
    assert sum(a == b for a, b in zip(one, two, strict=True)) < 16


@pytest.mark.parametrize("cursor", ["d_ravi0001", "d_nope0001"])
async def test_a_cursor_shows_only_ones_own(lab: Lab, cursor: str):
    """A cursor made of another's id leads through one's own list.

    If this fails, paging is a way around the rule.
    """
    lab.drafts.add(id="d_ravi0001", author="u_ravi", title="Ravi's")
    lab.drafts.add(id="d_zzzz0001")
    page = await lab.asha.call("list_my_drafts", {"cursor": cursor})
    assert [item["draft_id"] for item in page.data["items"]] == ["d_zzzz0001"]
