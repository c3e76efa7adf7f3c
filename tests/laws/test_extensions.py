"""An argument that the app adds to some tools: judged, loaded and asked about like the tool's own.

L1 and L5 hold for it as for any other, and a strict body never sees it.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel

import remit
from tests.laws.lab import EDITOR, running

pytestmark = pytest.mark.anyio

TENANTS = {"t_blue": {"u_asha"}, "t_red": {"u_ravi"}}


async def load_tenant(call: remit.Call, tenant_id: str) -> str | None:
    return tenant_id if tenant_id in TENANTS else None


def is_member(call: remit.Call, tenant: str) -> bool:
    return call.principal.subject in TENANTS[tenant]


MyTenant = Annotated[str, remit.Resource(load_tenant, allow=is_member)]


class Note(BaseModel):
    title: str


def app_of() -> tuple[remit.Remit, list[Any]]:
    ran: list[Any] = []
    app = remit.Remit(
        "tenants",
        extensions={"tenant": remit.Extension(MyTenant, on=lambda name: name != "plain")},
    )

    @app.tool(effect="write")
    async def noted(call: remit.Call, note: Annotated[Note, remit.Body]) -> str:
        """Keep a note."""
        ran.append((call.extras["tenant"], note))
        return "kept"

    @app.tool(effect="write")
    async def named(call: remit.Call, title: str) -> str:
        """Keep a title."""
        ran.append((call.extras["tenant"], title))
        return "kept"

    @app.tool(effect="write")
    async def plain(call: remit.Call, title: str) -> str:
        """Keep a title for nobody in particular."""
        ran.append((dict(call.extras), title))
        return "kept"

    return app, ran


@pytest.mark.parametrize("tool", ["noted", "named"])
async def test_what_the_app_adds_comes_resolved_and_beside_the_arguments(surface: str, tool: str):
    """The code gets the loaded record in `Call.extras`, and its own arguments without the key.

    If this fails, a strict body refuses what the schema advertises, or the code sees a raw id.
    """
    app, ran = app_of()
    shown = app.advertised(tool)
    assert sorted(shown["properties"]) == ["tenant_id", "title"]
    assert sorted(shown["required"]) == ["tenant_id", "title"]
    assert shown["additionalProperties"] is False
    async with running(app, surface) as made:
        outcome = await made.call(tool, {"title": "t", "tenant_id": "t_blue"})
    assert outcome.ok, outcome
    own = Note(title="t") if tool == "noted" else "t"
    assert ran == [("t_blue", own)]


@pytest.mark.parametrize("tool", ["noted", "named"])
async def test_anothers_and_a_missing_one_are_refused_alike(surface: str, tool: str):
    """Nothing runs for a tenant that isn't the caller's, and the answer doesn't say that it exists.

    If this fails, an extension is a way around the rule of the record that it names.
    """
    app, ran = app_of()
    async with running(app, surface) as made:
        said = [
            await made.call(tool, {"title": "t", "tenant_id": one}) for one in ("t_red", "t_none")
        ]
    assert [one.code for one in said] == ["not_found", "not_found"]
    assert said[0].issues == said[1].issues
    assert ran == []


@pytest.mark.parametrize(
    ("tool", "arguments", "issue"),
    [
        ("noted", {"title": "t"}, ("tenant_id", "missing")),
        ("noted", {"title": "t", "tenant_id": 7}, ("tenant_id", "string_type")),
        (
            "noted",
            {"title": "t", "tenant_id": "t_blue", "tenant": "t_red"},
            ("(root)", "unrecognized_keys:tenant"),
        ),
        ("named", {"title": "t"}, ("tenant_id", "missing")),
        # Learnt from another tool: this one has no such argument.
        ("plain", {"title": "t", "tenant_id": "t_blue"}, ("(root)", "unrecognized_keys:tenant_id")),
    ],
)
async def test_it_is_judged_like_the_tools_own(
    surface: str, tool: str, arguments: dict[str, Any], issue: tuple[str, str]
):
    """A missing, mistyped or misplaced one is refused by path and code, and nothing runs.

    If this fails, a key that only some tools have is lost on the others.
    """
    app, ran = app_of()
    async with running(app, surface) as made:
        outcome = await made.call(tool, arguments)
    assert outcome.code == "invalid_arguments", outcome
    assert [(one.path, one.code) for one in outcome.issues] == [issue]
    assert ran == []


async def test_a_tool_that_is_left_out_has_none(surface: str):
    """Where *on* says no, the tool is as it was declared."""
    app, ran = app_of()
    assert sorted(app.advertised("plain")["properties"]) == ["title"]
    async with running(app, surface) as made:
        outcome = await made.call("plain", {"title": "t"})
    assert outcome.ok, outcome
    assert ran == [({}, "t")]


def test_a_parameter_of_the_same_name_is_refused():
    """Two owners of one name are a mistake that shows when the tool is declared (L12)."""
    app = remit.Remit("tenants", extensions={"tenant": remit.Extension(MyTenant)})
    with pytest.raises(remit.DeclarationError, match="'tenant' of save: is the name of the app's"):

        @app.tool(effect="write")
        async def save(tenant: str) -> None: ...


def test_an_extension_that_is_none_is_refused():
    """A bare type is no extension, and the error shows how one is written."""
    with pytest.raises(remit.DeclarationError, match=r"extension 'tenant' is remit\.Extension"):
        remit.Remit("tenants", extensions={"tenant": str})


async def test_an_approved_run_has_it_too(surface: str):
    """The frozen arguments carry the key, so that the run a person agreed to resolves it again.

    If this fails, what runs is not what was approved.
    """
    app, ran = remit.Remit("tenants", extensions={"tenant": remit.Extension(MyTenant)}), list[Any]()

    @app.tool(effect="write", approval=remit.Approval(approvers={"editor"}))
    async def publish(call: remit.Call, title: str) -> str:
        """Publish a title."""
        ran.append((call.extras["tenant"], title))
        return "published"

    async with running(app, surface) as made:
        outcome = await made.call("request_publish", {"title": "t", "tenant_id": "t_blue"})
        assert outcome.code == "awaiting_approval", outcome
        assert ran == []
        (waiting,) = await made.app.approvals.waiting()
        await made.app.approvals.decide(
            waiting.id, "approve", approver=EDITOR, digest=waiting.digest
        )
    assert ran == [("t_blue", "t")]
