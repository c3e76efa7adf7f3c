"""T15. Invisible and reordering characters are made visible where a person decides, and never stripped."""

from __future__ import annotations

import pytest

from tests.laws.lab import DRAFT, EDITOR, VALID, Lab, received

pytestmark = pytest.mark.anyio

UNSEEN = {
    "tag letters": "\U000e0041\U000e0050",
    "zero width": "a\u200bb\u200d",
    "bidi override": "\u202egpj.exe\u202c",
    "bidi isolate": "\u2066x\u2069",
    "variation selector": "x\ufe0f",
    "supplementary selector": "x\U000e0100",
    "escape sequence": "\x1b[2J\x1b]0;owned\x07",
    "line separator": "a\u2028b",
    "hangul filler": "\u3164",
    "soft hyphen": "ap\u00adprove",
}


@pytest.mark.parametrize("unseen", UNSEEN.values(), ids=UNSEEN)
async def test_a_person_sees_what_is_there(lab: Lab, unseen: str):
    """The line that an approver reads spells each such character out; the stored text keeps it.

    If this fails, a person agrees to a text that isn't the one that is published.
    """
    row = lab.drafts.add(title=f"Fine{unseen}title")
    assert (await lab.asha.call("request_publish", {"draft_id": DRAFT, "note": f"ok{unseen}"})).ok
    (request,) = await lab.queue()
    assert request.effect is not None
    special = [c for c in unseen if not " " <= c <= "~"]
    assert special
    for character in special:
        assert character not in request.effect
        assert f"\\u{{{ord(character):04x}}}" in request.effect
    assert request.arguments["note"] == f"ok{unseen}"
    await lab.app.approvals.decide(request.id, "approve", approver=EDITOR, digest=request.digest)
    assert row.title == f"Fine{unseen}title"
    assert row.status == "published"


@pytest.mark.parametrize("unseen", UNSEEN.values(), ids=UNSEEN)
async def test_a_text_is_stored_as_it_was_sent(lab: Lab, unseen: str):
    """Nothing is stripped or normalized on the way in.

    If this fails, what was checked is not what is kept.
    """
    body = f"before{unseen}after e\u0301"
    assert (await lab.asha.call("save_draft", {**VALID, "body": body})).ok
    assert [row.body for row in lab.drafts.rows.values()] == [body]


@pytest.mark.parametrize("unseen", UNSEEN.values(), ids=UNSEEN)
async def test_a_key_that_is_repeated_back_is_made_visible(lab: Lab, unseen: str):
    """The name of an unknown key is shown with such characters spelt out, clipped.

    If this fails, an error message carries an instruction that only the model can see.
    """
    said = await received(lab.asha, "save_draft", {**VALID, f"key{unseen}": 1})
    refused = await lab.asha.call("save_draft", {**VALID, f"key{unseen}": 1})
    assert "invalid_arguments" in said
    assert refused.issues[0].code.startswith("unrecognized_keys:key")
    for character in (c for c in unseen if not " " <= c <= "~"):
        assert character not in said
        assert character not in refused.issues[0].code
    assert lab.drafts.rows == {}
