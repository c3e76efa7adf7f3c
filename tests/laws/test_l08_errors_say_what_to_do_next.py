"""L8. Errors say what to do next, and nothing else.

Expected failures have a code, a message with a next step, and issues as path and code (five at most).
Unexpected ones become a reference; the exception stays in the log. No input value, secret, SQL or
stack leaves.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field, SecretStr

import remit
from remit.outcome import wire
from tests.laws.lab import (
    ASHA,
    DRAFT,
    DSN,
    EVERYTHING_A_DSN_SAYS,
    SECRET,
    VALID,
    Lab,
    on_disk,
    received,
    running,
    shown,
)

pytestmark = pytest.mark.anyio


def leaks(text: str) -> list[str]:
    return [part for part in (*EVERYTHING_A_DSN_SAYS, "Traceback", "ECONNREFUSED") if part in text]


async def test_an_exception_is_replaced_by_a_reference_and_logged_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
):
    """What a driver throws stays in the log, once, under the reference that the caller gets.

    If this fails, a credential is in a model's context and in whatever its host logs.
    """
    lab.drafts.broken = RuntimeError(f"connect ECONNREFUSED {DSN}")
    said = await received(lab.asha, "save_draft", VALID)
    assert "internal" in said
    assert leaks(said) == []
    assert lab.drafts.rows == {}
    (row,) = lab.audit()
    assert row.outcome == "internal"
    assert row.reference
    assert row.reference in said
    assert leaks(repr(row)) == []
    logged = [r for r in caplog.records if DSN in shown([r])]
    assert len(logged) == 1
    assert logged[0].levelno == logging.ERROR
    assert row.reference in logged[0].getMessage()
    assert DSN not in logged[0].getMessage()


BROKEN: list[Any] = [
    SystemExit(3),
    SystemExit(DSN),
    asyncio.CancelledError(DSN),
    KeyError(DSN),
    StopIteration(DSN),
    StopAsyncIteration(DSN),
    ExceptionGroup(DSN, [ValueError(DSN)]),
    BaseExceptionGroup(DSN, [SystemExit(1)]),
    TimeoutError(DSN),
    RecursionError(DSN),
    MemoryError(DSN),
    GeneratorExit(DSN),
    ConnectionError(DSN),
]


@pytest.mark.parametrize("plain", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
async def test_nothing_that_a_tool_raises_hurts_more_than_its_own_call(
    surface: str, error: BaseException, plain: bool
):
    """SystemExit, a CancelledError of its own, whatever: that call is ``internal``, the next one works.

    If this fails, one tool ends the session, or the whole server, for everyone.
    """
    app = remit.Remit("breaking")

    @app.tool(effect="read", name="fall")
    async def fall() -> str:
        raise error

    @app.tool(effect="read", name="fall_in_a_thread")
    def fall_in_a_thread() -> str:
        raise error

    @app.tool(effect="read")
    def stand() -> str:
        return "standing"

    name = "fall_in_a_thread" if plain else "fall"
    async with running(app, surface) as made:
        if surface.startswith("mcp"):
            async with made.client() as client:
                fallen = await client.call_tool(name, {})
                after = await client.call_tool("stand", {})
            assert fallen.is_error
            assert leaks(fallen.model_dump_json()) == []
            assert after.structured_content == {"result": "standing"}
        else:
            fallen = await made.call(name, {})
            assert fallen.code == "internal"
            assert leaks(repr(fallen)) == []
            assert (await made.call("stand", {})).data == "standing"
        assert [row.outcome for row in made.app.audit.rows()] == ["internal", "ok"]


async def test_a_validators_own_words_do_not_leave(surface: str, caplog: pytest.LogCaptureFixture):
    """A ``ValueError`` of an author's validator is an issue by path and code; its text goes nowhere.

    If this fails, whatever a validator puts into its message reaches the caller.
    """
    app, got = remit.Remit("validators"), list[Any]()

    def reachable(host: str) -> str:
        raise ValueError(f"no route from {DSN} to {host}")

    @app.tool(effect="write")
    def connect(host: Annotated[str, AfterValidator(reachable)]) -> None:
        got.append(host)

    async with running(app, surface) as made:
        said = await received(made, "connect", {"host": "hunter2"})
        refused = await made.call("connect", {"host": "hunter2"})
        assert [(i.path, i.code) for i in refused.issues] == [("host", "value_error")]
        assert leaks(said) == []
        assert "hunter2" not in said
        assert leaks(shown(caplog.records)) == []
        assert "hunter2" not in shown(caplog.records)
        assert got == []


async def test_a_validation_error_of_the_tools_own_is_not_the_callers(surface: str):
    """A pydantic error inside the tool's code is ``internal``, not a complaint about the arguments.

    If this fails, the model tries to mend what it didn't break, and reads what it shouldn't.
    """
    app = remit.Remit("inner")

    class Row(BaseModel):
        token: int

    @app.tool(effect="read")
    def read(key: str) -> str:
        Row.model_validate({"token": DSN})
        return key

    async with running(app, surface) as made:
        said = await received(made, "read", {"key": "a"})
        assert "internal" in said
        assert "invalid_arguments" not in said
        assert leaks(said) == []
        assert made.app.audit.rows()[0].outcome == "internal"


async def test_loaders_rules_and_requirements_fail_as_quietly(surface: str):
    """What a loader, a rule, ``Require`` or a ``before_call`` hook throws is masked like a tool's.

    If this fails, the checks leak what the code no longer does.
    """

    async def load(call: remit.Call, row_id: str) -> dict[str, str] | None:
        if row_id == "load":
            raise RuntimeError(DSN)
        return {"id": row_id}

    def allow(call: remit.Call, row: dict[str, str]) -> bool:
        raise RuntimeError(DSN)

    def required(call: remit.Call) -> bool:
        raise RuntimeError(DSN)

    app, got = remit.Remit("checks"), list[Any]()

    @app.tool(effect="write")
    def touch(row: Annotated[dict[str, str], remit.Resource(load, allow=allow)]) -> None:
        got.append(row)

    @app.tool(effect="write", require=remit.Require(required))
    def ruled() -> None:
        got.append("ruled")

    async with running(app, surface) as made:
        for tool, arguments in (
            ("touch", {"row_id": "load"}),
            ("touch", {"row_id": "x"}),
            ("ruled", {}),
        ):
            said = await received(made, tool, arguments)
            assert leaks(said) == []
        assert got == []
        # A rule that fails has not said yes, and its tool may not show by failing.
        rows = made.app.audit.rows()
        assert [row.outcome for row in rows] == ["internal", "internal", "unknown_tool"]
        assert rows[2].rule == "require failed"


async def test_a_broken_before_hook_refuses(surface: str):
    """A ``before_call`` hook that fails lets nothing through, and says nothing.

    If this fails, breaking the check is passing it.
    """
    app, got = remit.Remit("hooks"), list[Any]()

    @app.before_call
    def before(event: remit.Event) -> None:
        raise RuntimeError(DSN)

    @app.tool(effect="write")
    def keep() -> None:
        got.append(1)

    async with running(app, surface) as made:
        said = await received(made, "keep", {})
        assert "internal" in said
        assert leaks(said) == []
        assert got == []


async def test_an_authors_refusal_travels_as_it_is(lab: Lab):
    """``Refused`` has the author's own code and words, and the record has the code.

    If this fails, the one who knows the next step can't say it.
    """
    lab.drafts.add(status="published")
    refused = await lab.asha.call("save_draft", {**VALID, "draft_id": DRAFT})
    assert not refused.ok
    assert refused.code == "not_editable"
    assert refused.message == f"Draft {DRAFT} is published: only a human editor can change it."
    assert lab.drafts.rows[DRAFT].title == "Asha's draft"
    assert lab.outcomes() == ["not_editable"]


async def test_a_declared_exception_gets_the_declared_words(surface: str):
    """``errors=`` says which exception of the code the caller may know of; its own text stays.

    If this fails, an expected failure is a reference that nobody can act on.
    """
    app = remit.Remit("declared")
    busy = remit.Refused("busy", "The printer is busy. Ask again in a minute.")

    @app.tool(effect="write", errors={ConnectionError: busy})
    def print_it() -> None:
        raise ConnectionRefusedError(DSN)

    async with running(app, surface) as made:
        said = await received(made, "print_it", {})
        assert "The printer is busy" in said
        assert leaks(said) == []
        assert made.app.audit.rows()[0].outcome == "busy"


async def test_five_issues_at_most_and_a_count(surface: str):
    """Of many mistakes five are named and the rest is counted.

    If this fails, a thousand wrong items fill the model's context.
    """
    app, got = remit.Remit("many"), list[Any]()

    @app.tool(effect="write")
    def keep(numbers: list[int]) -> None:
        got.append(numbers)

    async with running(app, surface) as made:
        refused = await made.call("keep", {"numbers": ["x"] * 1000})
        assert len(refused.issues) == 5
        assert refused.more == 995
        assert got == []


async def test_every_refusal_names_a_next_step(lab: Lab):
    """``not_found`` points to the list, ``forbidden`` to a person, ``internal`` says not to retry.

    If this fails, a model guesses, mostly by calling again.
    """
    lab.drafts.add()
    asked = lab.agent({**ASHA, "can_request_publication": False})
    told = await asked.call("request_publish", {"draft_id": DRAFT})
    assert (told.code, told.message) == (
        "forbidden",
        "Your account can't ask for publication. The draft is saved; ask an editor.",
    )
    assert await lab.queue() == []
    missing = await lab.asha.call("read_draft", {"draft_id": "d_nope0001"})
    assert "list_my_drafts" in missing.message
    lab.drafts.broken = RuntimeError("x")
    broken = await lab.asha.call("read_draft", {"draft_id": DRAFT})
    assert "Do not retry" in broken.message
    assert broken.reference is not None
    assert broken.reference in broken.message
    wrong = await lab.asha.call("save_draft", {})
    assert "call again" in wrong.message


async def test_no_value_that_was_sent_comes_back(lab: Lab):
    """A refusal describes what came by its shape, and repeats none of it.

    If this fails, a password in the wrong field is in two logs more.
    """
    sent = {
        "title": ["hunter2"],
        "body": 31337000,
        "tags": ["hunter2" * 9, {"a": "hunter2"}],
        "draft_id": "hunter2",
    }
    said = await received(lab.asha, "save_draft", sent)
    assert "invalid_arguments" in said
    assert "hunter2" not in said
    assert "31337000" not in said
    assert "hunter2" not in repr(lab.audit())


async def test_a_secret_field_is_not_even_described(surface: str):
    """Of a field that is declared secret, neither the value nor its length or shape is told.

    If this fails, an error message measures a password.
    """
    app, got = remit.Remit("secrets"), list[Any]()

    class Login(BaseModel):
        user: str
        password: Annotated[SecretStr, Field(min_length=12)]

    @app.tool(effect="write")
    def login(credentials: Login) -> None:
        got.append(credentials)

    async with running(app, surface) as made:
        said = await received(made, "login", {"credentials": {"user": "u", "password": "hunter2"}})
        assert "credentials.password" in said
        assert "hunter2" not in said
        assert not re.search(r"length 7|\b7\b", said)
        refused = await made.call("login", {"credentials": "hunter2"})
        assert "received" not in json.dumps(wire(refused))
        assert got == []


@pytest.mark.slow
async def test_a_planted_secret_is_in_nothing_sent_logged_or_stored(
    surface: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """Through every kind of outcome the column that no result declares stays where it is.

    If this fails, the row went where the summary should.
    """
    from remit.testing import agent
    from tests.laws.lab import EDITOR, RAVI, Drafts, blog

    caplog.set_level(logging.DEBUG, logger="remit")
    drafts = Drafts()
    sent = list[str]()
    asha = agent(
        blog, principal=ASHA, deps=drafts, surface=surface, store=f"sqlite:///{tmp_path}/remit.db"
    )
    async with asha.app:
        drafts.add()
        drafts.add(id="d_ravi0001", author="u_ravi", title="Ravi's draft")
        for tool, arguments in (
            ("save_draft", dict(VALID)),
            ("save_draft", {**VALID, "draft_id": DRAFT}),
            ("save_draft", {**VALID, "edit_token": SECRET[:3]}),
            ("save_draft", {**VALID, "draft_id": "d_ravi0001"}),
            ("read_draft", {"draft_id": DRAFT}),
            ("list_my_drafts", {}),
            ("request_publish", {"draft_id": DRAFT}),
            ("no_such_tool", {}),
        ):
            sent.append(await received(asha, tool, arguments))
        sent.append(await received(asha.as_principal(RAVI), "read_draft", {"draft_id": DRAFT}))
        sent.append(repr(await asha.call("save_draft", VALID, idempotency_key="k")))
        (request,) = await asha.app.approvals.waiting()
        done = await asha.app.approvals.decide(
            request.id, "approve", approver=EDITOR, digest=request.digest
        )
        sent.append(repr(done))
        assert done.state == "done"
        stored = on_disk(tmp_path)
    assert all(one for one in sent)
    assert SECRET not in "".join(sent)
    assert SECRET.encode() not in stored
    assert b"u_asha" in stored
    assert SECRET not in shown(caplog.records)


async def test_a_key_of_another_alternative_is_said_to_be_that(surface: str):
    """A model that mixes two variants is told so, and not to write what it wrote.

    If this fails, it sends the same again.
    """
    app = remit.Remit("mixed")

    class Refund(BaseModel):
        action: Literal["refund"]
        amount: int

    class Replace(BaseModel):
        action: Literal["replace"]
        sku: str

    @app.tool(effect="read")
    def resolve(how: Annotated[Refund | Replace, Field(discriminator="action")]) -> str:
        return how.action

    async with running(app, surface) as made:
        sent = {"how": {"action": "refund", "amount": 3, "sku": "A1"}}
        (issue,) = (await made.call("resolve", sent)).issues
    assert issue.code == "unrecognized_keys:sku"
    assert "sku: it belongs to another alternative" in issue.hint
    assert "did you mean" not in issue.hint
