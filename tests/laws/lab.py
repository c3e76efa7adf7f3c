"""The tools that the laws are tried on: the blog of the second article, with a secret in every row.

A plain dictionary is the table, so that a test can ask what really happened. No answer is believed:
a tool that refuses after it has written passes every test that only reads the answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx2
from pydantic import BaseModel, Field

import remit
from remit.outcome import wire
from remit.testing import SURFACES, Agent, agent

__all__ = [
    "ADDRESS",
    "ASHA",
    "CANCELLABLE",
    "DRAFT",
    "DSN",
    "EDITOR",
    "EVERYTHING_A_DSN_SAYS",
    "MCP",
    "RAVI",
    "SECRET",
    "VALID",
    "Author",
    "Clock",
    "Draft",
    "Drafts",
    "Lab",
    "answers",
    "blog",
    "digest_of",
    "file_request",
    "http",
    "on_disk",
    "posted",
    "received",
    "running",
    "served",
    "shown",
]

SECRET = "et_secret"
DSN = "postgres://app:s3cret@10.0.4.12:5432/blog"
EVERYTHING_A_DSN_SAYS = ("s3cret", "10.0.4.12", "postgres:")

ASHA: Mapping[str, Any] = {
    "sub": "u_asha",
    "client_id": "agent-host",
    "scope": "drafts:read drafts:write",
    "can_request_publication": True,
}
RAVI: Mapping[str, Any] = {**ASHA, "sub": "u_ravi"}
EDITOR: Mapping[str, Any] = {"sub": "u_editor", "roles": ["editor"]}

VALID: Mapping[str, Any] = {
    "title": "Retry budgets for flaky APIs",
    "body": "Draft body",
    "tags": ["api"],
}
DRAFT = "d_asha0001"

CANCELLABLE = tuple(name for name in SURFACES if name != "cli")
"""Where a caller can go away in the middle, or make two calls at once: a command is a process."""

MCP = tuple(name for name in SURFACES if name.startswith("mcp"))


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


# The table. ------------------------------------------------------------------------------------------


@dataclass
class Draft:
    """One row, whole, with the column that must never leave."""

    id: str
    author: str
    title: str
    body: str = "Draft body"
    tags: tuple[str, ...] = ()
    status: Literal["draft", "published"] = "draft"
    revision: int = 1
    edit_token: str = SECRET


@dataclass
class Drafts:
    """The rows, which tools were really run, and a failure that a test may plant."""

    rows: dict[str, Draft] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    broken: BaseException | None = None

    def add(self, **columns: Any) -> Draft:
        """Insert a row, as the application itself would."""
        given = {"id": DRAFT, "author": "u_asha", "title": "Asha's draft", **columns}
        row = self.rows[given["id"]] = Draft(**given)
        return row

    def save(self, **columns: Any) -> Draft:
        """Insert or fail, as a database driver would."""
        if self.broken is not None:
            raise self.broken
        return self.add(**columns)


# The tools. ------------------------------------------------------------------------------------------


class Author(remit.Principal):
    """Who calls, and whether they may ask for publication."""

    can_request_publication: bool = False


blog = remit.Remit("blog", principal=Author)
Call = remit.Call[Author, Drafts]

DraftId = Annotated[str, Field(pattern=r"^d_[a-z0-9]{6,32}$")]
Title = Annotated[str, Field(max_length=160, pattern=r"\S")]
Body = Annotated[str, Field(max_length=20_000)]
Tag = Annotated[str, Field(max_length=32, pattern=r"\S")]
Tags = Annotated[list[Tag], Field(max_length=5)]
Note = Annotated[str, Field(max_length=500)]


async def load_draft(call: Call, draft_id: DraftId) -> Draft | None:
    return call.deps.rows.get(draft_id)


def is_author(call: Call, draft: Draft) -> bool:
    return draft.author == call.principal.subject


MyDraft = Annotated[
    Draft,
    remit.Resource(load_draft, allow=is_author, otherwise="Call list_my_drafts to see yours."),
]


class DraftSummary(BaseModel):
    """Five fields, by name."""

    draft_id: str
    status: Literal["draft", "published"]
    title: Annotated[str, remit.Clip(80)]
    body_chars: int
    tags: list[str]


def summary(row: Draft) -> DraftSummary:
    return DraftSummary(
        draft_id=row.id,
        status=row.status,
        title=row.title,
        body_chars=len(row.body),
        tags=[*row.tags],
    )


@blog.tool(effect="write", scopes={"drafts:write"})
async def save_draft(
    call: Call, title: Title, body: Body, tags: Tags = [], draft: MyDraft | None = None
) -> DraftSummary:
    """Create or edit one of your own private drafts. Cannot publish."""
    call.deps.ran.append("save_draft")
    if draft is not None and draft.status != "draft":
        text = f"Draft {draft.id} is {draft.status}: only a human editor can change it."
        raise remit.Refused("not_editable", text)
    key = draft.id if draft else f"d_new{len(call.deps.rows):05}"
    author = call.principal.subject
    row = call.deps.save(id=key, author=author, title=title, body=body, tags=tuple(tags))
    return summary(row)


@blog.tool(effect="read", scopes={"drafts:read"})
async def read_draft(call: Call, draft: MyDraft) -> DraftSummary:
    """Summarize one of your drafts."""
    call.deps.ran.append("read_draft")
    if call.deps.broken is not None:
        raise call.deps.broken
    return summary(draft)


@blog.tool(effect="read", scopes={"drafts:read"})
async def list_my_drafts(call: Call, cursor: DraftId | None = None) -> remit.Page[DraftSummary]:
    """List your drafts, twenty at a time."""
    call.deps.ran.append("list_my_drafts")
    mine = sorted(r.id for r in call.deps.rows.values() if r.author == call.principal.subject)
    rest = [key for key in mine if cursor is None or key > cursor]
    items = [summary(call.deps.rows[key]) for key in rest[:20]]
    more = len(rest) > 20
    return remit.Page(items=items, more=more, next=items[-1].draft_id if more else None)


def preview(_: Call, draft: Draft) -> str:
    return f"Publish “{draft.title}” by {draft.author}."


@blog.tool(
    effect="write",
    scopes={"drafts:write"},
    require=remit.Require(
        lambda call: call.principal.can_request_publication,
        otherwise="Your account can't ask for publication. The draft is saved; ask an editor.",
    ),
    approval=remit.Approval(
        approvers={"editor"},
        expires=timedelta(days=7),
        show=preview,
        version=lambda _, draft: draft.revision,
    ),
)
async def publish(call: Call, draft: MyDraft, note: Note | None = None) -> DraftSummary:
    """Publish one of your drafts."""
    call.deps.ran.append("publish")
    if call.deps.broken is not None:
        raise call.deps.broken
    draft.status = "published"
    draft.revision += 1
    return summary(draft)


# Calling them. ---------------------------------------------------------------------------------------


@dataclass
class Lab:
    """The blog under one surface: an agent for Asha, and everything there is to look at."""

    asha: Agent
    drafts: Drafts
    clock: Clock
    surface: str

    @property
    def app(self) -> remit.Remit:
        """The app that the agents call."""
        return self.asha.app

    def agent(self, claims: Mapping[str, Any] | None) -> Agent:
        """Somebody else's agent, on the same app."""
        return self.asha.as_principal(claims)

    async def queue(self) -> list[Any]:
        """The requests that wait for a person."""
        return await self.app.approvals.waiting()

    def audit(self) -> list[Any]:
        """Every audit row."""
        return self.app.audit.rows()

    def outcomes(self) -> list[str]:
        """What the audit rows say, in order."""
        return [row.outcome for row in self.audit()]


@asynccontextmanager
async def running(
    app: remit.Remit,
    surface: str,
    *,
    principal: Mapping[str, Any] | None = ASHA,
    deps: Any = None,
    store: str = "sqlite://",
) -> AsyncIterator[Agent]:
    """An agent on *app*, which is open for as long as this lasts."""
    made = agent(app, principal=principal, deps=deps, surface=surface, store=store)
    async with made.app:
        yield made


async def file_request(lab: Lab, **arguments: Any) -> str:
    """Have Asha's agent ask for publication; returns the request's id."""
    outcome = await lab.asha.call("request_publish", {"draft_id": DRAFT, **arguments})
    assert outcome.ok, outcome
    return outcome.meta["request_id"]


async def digest_of(lab: Lab, request_id: str) -> str:
    """What a person is shown, and has to name in the decision."""
    return (await lab.app.approvals.get(request_id)).digest


async def received(made: Agent, tool: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool, and return everything that came back over this surface as one text.

    Over MCP that is the whole result: text, structured content, error flag, metadata.
    """
    if made.surface in ("python", "cli"):
        outcome = await made.call(tool, arguments)
        # Each call has an id of its own, which the app's own code may know; no surface sends it.
        own = "\0" if getattr(outcome, "reference", None) else str(outcome.meta.get("call_id"))
        return everything(outcome).replace(own, "(this call)")
    async with made.client() as client:
        result = await client.call_tool(tool, dict(arguments))
        return result.model_dump_json(by_alias=True)


def everything(outcome: remit.Outcome) -> str:
    """Whatever a caller in this process can read off an outcome."""
    return f"{json.dumps(wire(outcome))} {outcome!r} {outcome!s} {dict(outcome.meta)!r}"


class Tokens:
    """A verifier that knows some tokens, and whose each is."""

    issuer = "https://issuer.invalid"

    def __init__(self, claims: Mapping[str, Mapping[str, Any]]) -> None:
        self.claims = dict(claims)

    async def verify(self, token: str) -> Mapping[str, Any] | None:
        return self.claims.get(token)


ADDRESS = "http://127.0.0.1:8000"


@asynccontextmanager
async def served(
    app: remit.Remit, claims: Mapping[str, Mapping[str, Any]], **options: Any
) -> AsyncIterator[httpx2.ASGITransport]:
    """The app over HTTP for the owners of several tokens, without a socket."""
    made = app.mcp_app(auth=Tokens(claims), resource_url=f"{ADDRESS}/mcp", **options)
    async with made.router.lifespan_context(made):
        yield httpx2.ASGITransport(made)


def http(transport: httpx2.ASGITransport, token: str | None, **headers: str) -> httpx2.AsyncClient:
    """A plain HTTP client that carries a token."""
    sent = {"Accept": "application/json, text/event-stream", **headers}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    return httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=sent)


async def posted(made: Agent, params: str, *, method: str = "tools/call") -> str:
    """Send one JSON-RPC request of exactly these bytes over HTTP, and return what came back."""
    if made.surface.endswith("legacy"):
        headers = {"MCP-Protocol-Version": "2025-11-25"}
    else:
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if method == "tools/call":
            headers["Mcp-Name"] = params.partition('"name": "')[2].partition('"')[0]
        meta = (
            '"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",'
            ' "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},'
            ' "io.modelcontextprotocol/clientCapabilities": {}}'
        )
        params = params.rstrip()[:-1] + ", " + meta + "}"
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "{method}", "params": {params}}}'
    async with (
        served(made.app, {"t": made.claims or {}}, stateless=True) as transport,
        http(transport, "t", **headers) as client,
    ):
        headers = {"Content-Type": "application/json"}
        answer = await client.post("/mcp", content=body.encode(), headers=headers)
        return answer.text


def on_disk(folder: Path) -> bytes:
    """Every byte of every file in *folder*: the database, its log, its lock."""
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


async def answers(calls: Any) -> list[remit.Outcome]:
    """Make several calls at once, and return what each got."""
    return list(await asyncio.gather(*calls))


def shown(records: list[logging.LogRecord]) -> str:
    """Everything a log file would hold of *records*, traces included."""
    return "\n".join(logging.Formatter("%(message)s").format(record) for record in records)
