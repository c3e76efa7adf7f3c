"""Ways through the laws that a tester once found, each closed: kept so that they stay closed."""

from __future__ import annotations

import asyncio
import enum
import re
import time
from dataclasses import InitVar
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    Json,
    OnErrorOmit,
    Secret,
    SkipValidation,
    StringConstraints,
    dataclasses,
)
from pydantic_core import PydanticCustomError

import remit
from tests.laws.lab import Clock

pytestmark = pytest.mark.anyio

ASHA = {"sub": "u_asha", "iss": "https://id.example", "scope": "a"}
EDITOR = {"sub": "u_ed", "iss": "https://id.example", "roles": ["editor"]}
AGREED = remit.Approval(approvers={"editor"}, expires=timedelta(seconds=10))


class Loose(enum.Enum):
    A = "a"

    @classmethod
    def _missing_(cls, value: object) -> Loose:
        return cls.A


class Pair(NamedTuple):
    a: int


@dataclasses.dataclass
class Paid:
    to: str
    cents: InitVar[int] = 1


@dataclasses.dataclass(config=ConfigDict(extra="allow"))
class Open:
    a: Annotated[int, Field(alias="A")]


class Ant(BaseModel):
    kind: Literal["ant"]
    kids: list[Annotated[Ant | Bee, Field(discriminator="kind")]] = []


class Bee(BaseModel):
    kind: Literal["bee"]
    kids: list[Annotated[Ant | Bee, Field(discriminator="kind")]] = []


def taking(annotation: Any) -> tuple[remit.Remit, list[Any]]:
    app, got = remit.Remit("breaks", store="sqlite://"), list[Any]()

    def take(x: Any) -> None:
        got.append(x)

    take.__annotations__["x"] = annotation
    take.__annotations__["return"] = None
    app.tool(effect="write")(take)
    return app, got


@pytest.mark.parametrize(
    "annotation",
    [list[OnErrorOmit[int]], SkipValidation[int], Loose, Pair, Json[Any], Paid, Open],
    ids=[
        "OnErrorOmit",
        "SkipValidation",
        "_missing_",
        "NamedTuple",
        "Json",
        "InitVar",
        "hidden name",
    ],
)
def test_a_type_that_loses_or_retypes_a_value_is_no_argument(annotation: Any):
    """If this fails, a value is dropped or changed behind its caller's back."""
    with pytest.raises(remit.DeclarationError):
        taking(annotation)


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (dict[Annotated[str, StringConstraints(to_lower=True)], int], {"A": 1, "a": 2}),
        (int, 9007199254740993.0),
        (float, 2**53 + 1),
        (Decimal, 12345678901234567.89),
        (Annotated[str, Field(pattern=re.compile(r"^\d+$"))], "12\n"),
        (Annotated[str, Field(pattern=re.compile(r"^\d+$"))], "٣"),
    ],
    ids=["keys", "int", "float", "Decimal", "newline", "digits"],
)
async def test_what_would_be_changed_is_refused(annotation: Any, sent: Any):
    """If this fails, the code gets another value than the caller sent."""
    app, got = taking(annotation)
    outcome = await app.call("take", {"x": sent}, claims=ASHA)
    assert outcome.code == "invalid_arguments"
    assert got == []
    await app.close()


async def test_hints_do_not_double_with_each_level():
    """If this fails, half a kilobyte holds everyone up for seconds."""
    app, got = taking(Ant)
    sent: dict[str, Any] = {"kind": "ant", "zz": 1}
    for _ in range(40):
        sent = {"kind": "ant", "kids": [sent]}
    begun = time.perf_counter()
    outcome = await app.call("take", {"x": sent}, claims=ASHA)
    # Doubling, it would take longer than the universe has lasted.
    assert time.perf_counter() - begun < 20
    assert isinstance(outcome, remit.Refused)
    assert outcome.issues[0].code == "unrecognized_keys:zz"
    assert got == []
    await app.close()


async def test_a_code_made_of_a_value_does_not_leave():
    """If this fails, a validator's own error type carries the value out."""

    def tell(value: str) -> str:
        raise PydanticCustomError(f"bad_{value}", "no")  # pyright: ignore[reportArgumentType]

    from pydantic import AfterValidator

    app, _ = taking(Annotated[str, AfterValidator(tell)])
    outcome = await app.call("take", {"x": "hunter2"}, claims=ASHA)
    assert isinstance(outcome, remit.Refused)
    assert [issue.code for issue in outcome.issues] == ["value_error"]
    assert "hunter2" not in repr(app.audit.rows())
    await app.close()


def test_a_secret_of_any_kind_does_not_wait_in_the_store():
    """If this fails, a secret waits in clear, or runs as asterisks."""
    app = remit.Remit("breaks")
    with pytest.raises(remit.DeclarationError, match="secret"):

        @app.tool(effect="write", approval=AGREED)
        def set_password(password: Secret[str]) -> None: ...


async def test_an_approval_that_waited_too_long_does_not_run():
    """If this fails, an expiry binds the decision and not the run."""
    clock, got = Clock(), list[Any]()
    app = remit.Remit("breaks", store="sqlite://", clock=clock)

    @app.tool(effect="write", approval=AGREED)
    def pay(cents: int) -> None:
        got.append(cents)

    assert (await app.call("request_pay", {"cents": 1}, claims=ASHA)).ok
    (request,) = await app.approvals.waiting()
    await app.approvals.decide(
        request.id, "approve", approver=EDITOR, digest=request.digest, run=False
    )
    clock.now += 11
    await app.approvals.sweep()
    assert got == []
    assert (await app.approvals.get(request.id)).state == "superseded"
    await app.close()


async def test_claims_changed_on_the_way_make_nobody_else():
    """If this fails, who asks is whoever last wrote into a dictionary."""
    inside, go, got = asyncio.Event(), asyncio.Event(), list[Any]()
    app = remit.Remit("breaks", store="sqlite://")

    async def waits(call: remit.Call) -> bool:
        inside.set()
        await go.wait()
        return True

    @app.tool(effect="write", require=remit.Require(waits), approval=AGREED)
    def pay(call: remit.Call, cents: int) -> None:
        got.append(call.principal.subject)

    claims = dict(ASHA)
    calling = asyncio.create_task(app.call("request_pay", {"cents": 1}, claims=claims))
    await inside.wait()
    claims["sub"] = "u_ravi"
    go.set()
    await calling
    (request,) = await app.approvals.waiting()
    await app.approvals.decide(request.id, "approve", approver=EDITOR, digest=request.digest)
    assert request.subject == "u_asha"
    assert got == ["u_asha"]
    await app.close()


class Tenant(remit.Principal):
    tenant: str


async def test_a_key_is_its_tenants_own_and_nobodys_without_a_principal():
    """If this fails, one tenant's key hands out another's result."""
    app, got = remit.Remit("breaks", principal=Tenant, store="sqlite://"), list[Any]()

    @app.tool(effect="write")
    def note(call: remit.Call[Tenant], text: str) -> str:
        got.append(call.principal.tenant)
        return call.principal.tenant

    @app.tool(effect="write", public=True)
    def shout(text: str) -> None:
        got.append(text)

    for tenant in ("a", "b", "a"):
        outcome = await app.call(
            "note", {"text": "x"}, claims={"sub": "u", "tenant": tenant}, idempotency_key="k"
        )
        assert isinstance(outcome, remit.Ok)
        assert outcome.data == tenant
    assert got == ["a", "b"]
    refused = await app.call("shout", {"text": "x"}, claims=None, idempotency_key="k")
    assert refused.code == "invalid_arguments"
    assert got == ["a", "b"]
    await app.close()


@pytest.mark.parametrize("thrown", [SystemExit, asyncio.CancelledError, ValueError])
async def test_no_hook_unsays_an_outcome(thrown: type[BaseException]):
    """If this fails, a caller hears of a failure that never was."""
    app, got = remit.Remit("breaks", store="sqlite://"), list[Any]()

    @app.after_call
    def after(event: remit.Event) -> None:
        raise thrown

    @app.tool(effect="write")
    def act() -> int:
        got.append(1)
        return 7

    outcome = await app.call("act", {}, claims=ASHA)
    assert isinstance(outcome, remit.Ok)
    assert outcome.data == 7
    assert [row.outcome for row in app.audit.rows()] == ["ok"]
    assert got == [1]
    await app.close()


async def test_many_wrong_items_cost_no_more_than_a_few():
    """If this fails, a large wrong list blocks the loop to make hints that nobody is shown."""
    app, got = taking(list[int])
    outcome = await app.call("take", {"x": ["a"] * 50_000}, claims=ASHA)
    assert isinstance(outcome, remit.Refused)
    assert len(outcome.issues) == 5
    assert outcome.more == 50_000 - 5
    assert got == []
    await app.close()
