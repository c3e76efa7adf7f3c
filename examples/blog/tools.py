"""What an agent may do with the blog, declared once for every surface.

No argument says who the author is, what status a post has, or that somebody agreed. There is no
such field, so there is nothing that a text could talk a model into setting.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, Field

import remit
from examples.blog.drafts import Draft, Drafts, Moved, Status, open_drafts

PAGE = 20  # drafts in one answer


class Author(remit.Principal):
    """Who calls. The subject and the scopes come from the verified token, and so does this."""

    can_request_publication: bool = False


blog = remit.Remit("blog", principal=Author, lifespan=open_drafts)
Call = remit.Call[Author, Drafts]

# What a model may send.
DraftId = Annotated[
    str,
    Field(pattern=r"^d_[a-z0-9]{6,32}$", description="As save_draft or list_my_drafts gave it."),
]
Title = Annotated[str, Field(max_length=160, pattern=r"\S")]
Body = Annotated[str, Field(max_length=20_000)]
Tag = Annotated[str, Field(max_length=32, pattern=r"\S")]
Tags = Annotated[tuple[Tag, ...], Field(max_length=5)]
Note = Annotated[str, Field(max_length=500, description="For the editor who decides.")]


async def load_draft(call: Call, draft_id: DraftId) -> Draft | None:
    """Look a draft up; to know its id is no permission."""
    return await call.deps.get(draft_id)


def is_author(call: Call, draft: Draft) -> bool:
    """Say whose drafts a caller may touch: its own."""
    return draft.author == call.principal.subject


MyDraft = Annotated[
    Draft,
    remit.Resource(load_draft, allow=is_author, otherwise="Call list_my_drafts to see yours."),
]


class DraftSummary(BaseModel):
    """What goes back: these fields, and no column that somebody adds next year."""

    draft_id: str
    status: Status
    title: Annotated[str, remit.Clip(80)]
    body_chars: int
    tags: tuple[str, ...]


def summary(draft: Draft) -> DraftSummary:
    """Leave the body out, which the model wrote itself, and everything internal."""
    return DraftSummary(
        draft_id=draft.id,
        status=draft.status,
        title=draft.title,
        body_chars=len(draft.body),
        tags=draft.tags,
    )


moved = remit.Refused("conflict", "The draft has just changed. Call list_my_drafts and look again.")


@blog.tool(effect="write", scopes={"drafts:write"}, errors={Moved: moved})
async def save_draft(
    call: Call, title: Title, body: Body, tags: Tags = (), draft: MyDraft | None = None
) -> DraftSummary:
    """Create one of your own private drafts, or replace the one of draft_id. Cannot publish."""
    author = call.principal.subject
    if draft is None:
        return summary(await call.deps.create(author, title=title, body=body, tags=tags))
    if not draft.can("edit"):
        text = f"Draft {draft.id} is {draft.status}: only an editor can change it."
        raise remit.Refused("not_editable", text)
    return summary(await call.deps.edit(draft, title=title, body=body, tags=tags))


@blog.tool(effect="read", scopes={"drafts:read"})
async def list_my_drafts(call: Call, cursor: DraftId | None = None) -> remit.Page[DraftSummary]:
    """List your drafts and posts. For the next page send `next` as cursor."""
    found = await call.deps.of(call.principal.subject, after=cursor or "", most=PAGE + 1)
    items, more = [summary(draft) for draft in found[:PAGE]], len(found) > PAGE
    return remit.Page(items=items, more=more, next=items[-1].draft_id if more else None)


def can_ask(call: Call) -> bool:
    """Say who may ask for publication: whoever the token says may."""
    return call.principal.can_request_publication


may_ask = remit.Require(
    can_ask,
    otherwise="Your account can't ask for publication. The draft is saved; ask an editor.",
)


def preview(_: Call, draft: Draft, note: Note | None) -> str:
    """Say in one line what an editor is asked to agree to."""
    if not draft.can("publish"):
        raise remit.Refused("not_publishable", f"Draft {draft.id} is {draft.status}.")
    asked = f"Publish {draft.title!r}, {len(draft.body)} characters, by {draft.author}."
    return f"{asked} Their note: {note}" if note else asked


def revision(_: Call, draft: Draft) -> int:
    """Give what an edit moves: an edit after the request makes the request void."""
    return draft.revision


an_editor_agrees = remit.Approval(
    approvers={"editor"},
    expires=timedelta(days=7),
    show=preview,
    version=revision,
)


@blog.tool(
    effect="write",
    scopes={"drafts:write"},
    require=may_ask,
    approval=an_editor_agrees,
    errors={Moved: moved},
)
async def publish(
    call: Call,
    draft: MyDraft,
    note: Note | None = None,  # noqa: ARG001 - for the editor, to whom preview shows it
) -> DraftSummary:
    """Publish one of your drafts."""
    # A model sees this as request_publish. The code below runs once an editor has agreed.
    return summary(await call.deps.publish(draft))
