"""What an editor must know of a user's own code. Checked by pyright and mypy, never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, assert_type

import remit


class Author(remit.Principal):
    can_publish: bool = False


@dataclass
class Draft:
    id: str
    author: str
    etag: str


class Drafts:
    async def get(self, draft_id: str) -> Draft | None:
        raise LookupError(draft_id)


@asynccontextmanager
async def open_drafts() -> AsyncGenerator[Drafts]:
    yield Drafts()


blog = remit.Remit("blog", principal=Author, lifespan=open_drafts, store="sqlite://")
Call = remit.Call[Author, Drafts]


async def load_draft(call: Call, draft_id: str) -> Draft | None:
    assert_type(call.deps, Drafts)
    return await call.deps.get(draft_id)


def is_author(call: Call, draft: Draft) -> bool:
    assert_type(call.principal, Author)
    return draft.author == call.principal.subject


MyDraft = Annotated[Draft, remit.Resource(load_draft, allow=is_author)]


def may_publish(call: Call) -> bool:
    return call.principal.can_publish


def etag(call: Call, draft: Draft) -> str:
    return draft.etag


@blog.tool(effect="read", scopes={"drafts:read"})
async def read_draft(call: Call, draft: MyDraft) -> str:
    assert_type(draft, Draft)
    await call.progress(1, 2)
    return draft.id


@blog.tool(
    effect="write",
    require=remit.Require(may_publish, otherwise="Ask an editor."),
    approval=remit.Approval(approvers={"editor"}, expires=timedelta(days=7), version=etag),
)
def publish(call: Call, draft: MyDraft) -> str:
    if not draft.etag:
        raise remit.Refused(
            "not_editable", "Save it first.", issues=[remit.Issue("draft", "empty")]
        )
    return draft.id


# A declared tool hides its code: there is no unguarded thing to call.
assert_type(read_draft, remit.Tool)


async def called() -> None:
    async with blog as app:
        assert_type(app, remit.Remit)
        outcome = await app.call("read_draft", {"draft_id": "d_1"}, claims={"sub": "ada"})
        if isinstance(outcome, remit.Refused):
            assert_type(outcome.issues, list[remit.Issue])
            assert_type(outcome.code, str)
        else:
            assert_type(outcome, remit.Ok[Any])
