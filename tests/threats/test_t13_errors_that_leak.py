"""T13. No secret, URL or repr in an error, on any surface, stored, audited and replayed errors included.

tests/laws/test_l08 proves the answer; here are the places that keep one.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import remit
from remit.testing import agent
from tests.laws.lab import (
    ASHA,
    DRAFT,
    DSN,
    EDITOR,
    EVERYTHING_A_DSN_SAYS,
    VALID,
    Drafts,
    blog,
    on_disk,
    received,
    running,
    shown,
)

pytestmark = pytest.mark.anyio


def noisy() -> RuntimeError:
    """An exception with secrets in every place that an exception has."""
    inner = ConnectionError(DSN)
    inner.add_note(DSN)
    error = RuntimeError("x", {"dsn": DSN})
    error.__cause__ = inner
    error.add_note(DSN)
    return error


async def test_what_is_kept_of_an_error_holds_no_secret(surface: str, tmp_path: Path):
    """Neither the kept outcome under a key, nor a request's outcome, nor a row has a word of the exception.

    If this fails, the database is where the credential ends up, and a replay brings it out again.
    """
    drafts = Drafts(broken=noisy())
    made = agent(
        blog, principal=ASHA, deps=drafts, surface=surface, store=f"sqlite:///{tmp_path}/remit.db"
    )
    async with made.app:
        first = await made.call("save_draft", VALID, idempotency_key="k")
        again = await made.call("save_draft", VALID, idempotency_key="k")
        assert first.code == again.code == "internal"
        drafts.add()
        assert (await made.call("request_publish", {"draft_id": DRAFT})).ok
        (request,) = await made.app.approvals.waiting()
        failed = await made.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest
        )
        assert failed.state == "failed"
        told = f"{first!r}{first}{again!r}{again}{failed!r}{made.app.audit.rows()!r}"
        stored = on_disk(tmp_path)
    for part in EVERYTHING_A_DSN_SAYS:
        assert part not in told
        assert part.encode() not in stored
    assert drafts.ran == ["save_draft", "publish"]


async def test_a_failing_store_says_nothing_of_itself(surface: str, tmp_path: Path):
    """A database that fails is a reference to the caller: no URL, no SQL, no path.

    If this fails, the first thing that an attacker learns is where the data is.
    """
    url = f"sqlite:///{tmp_path}/remit.db"
    async with running(blog, surface, deps=Drafts(), store=url) as made:
        import sqlalchemy as sa

        await made.app.store.commit(work=lambda c: c.execute(sa.text("DROP TABLE effects")))
        said = await received(made, "save_draft", VALID)
    assert "store_unavailable" in said
    for part in ("sqlite", "effects", "SELECT", "INSERT", "no such table", str(tmp_path)):
        assert part not in said


async def test_a_secret_in_the_arguments_is_not_logged(
    surface: str, caplog: pytest.LogCaptureFixture
):
    """At every level, for good calls and bad ones, the log repeats no argument.

    If this fails, the log file is a copy of the conversation.
    """
    caplog.set_level(logging.DEBUG, logger="remit")
    async with running(blog, surface, deps=Drafts(broken=ValueError("x"))) as made:
        for sent in (
            {**VALID, "body": "hunter2"},
            {**VALID, "hunter2": "hunter2"},
            {"title": ["hunter2"], "body": "hunter2"},
        ):
            await made.call("save_draft", sent)
        await made.call("hunter2", {"hunter2": "hunter2"})
    assert "hunter2" not in shown([r for r in caplog.records if r.name.startswith("remit")])


async def test_a_refusal_of_the_authors_is_not_a_way_around(surface: str):
    """An author's words travel, cut after a thousand characters; what caused them doesn't.

    If this fails, ``raise Refused(...) from error`` brings the error along.
    """
    app = remit.Remit("causes")

    @app.tool(effect="write")
    def act() -> None:
        try:
            raise noisy()
        except RuntimeError as error:
            raise remit.Refused("busy", "Come back later. " + "x" * 5000) from error

    async with running(app, surface) as made:
        said = await received(made, "act", {})
        assert "Come back later" in said
        assert len(said) < 4096
        for part in EVERYTHING_A_DSN_SAYS:
            assert part not in said
