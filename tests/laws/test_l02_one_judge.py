"""L2. One judge.

The contract's own parser is the only one that runs, once, on the raw arguments. No SDK's parser
stands before it, so every refusal is remit's: same shape, same hooks, same audit row.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

import remit
from remit.outcome import wire
from tests.laws.lab import ASHA, VALID, Lab, running

pytestmark = pytest.mark.anyio

MALFORMED: list[tuple[dict[str, Any], str, str]] = [
    ({**VALID, "title": "   "}, "title", "string_pattern_mismatch"),
    ({**VALID, "tags": "api"}, "tags", "list_type"),
    ({**VALID, "tags": ["a", "b", "c", "d", "e", "f"]}, "tags", "too_long"),
    ({**VALID, "authorId": "u_ravi"}, "(root)", "unrecognized_keys:authorId"),
    ({**VALID, "status": "published"}, "(root)", "unrecognized_keys:status"),
    ({"body": "b"}, "title", "missing"),
    ({**VALID, "title": "x" * 161}, "title", "string_too_long"),
    ({**VALID, "tags": ["ok", 5]}, "tags.1", "string_type"),
]


@pytest.mark.parametrize(("arguments", "path", "code"), MALFORMED)
async def test_a_malformed_call_is_refused_by_path_and_code(
    lab: Lab, arguments: dict[str, Any], path: str, code: str
):
    """Each malformed call is ``invalid_arguments`` with the path and the code, and no row is written.

    If this fails, a model can't tell what to mend, or a wrong call has had an effect.
    """
    refused = await lab.asha.call("save_draft", arguments)
    assert not refused.ok
    assert refused.code == "invalid_arguments"
    assert [(i.path, i.code) for i in refused.issues] == [(path, code)]
    assert lab.drafts.rows == {}
    assert lab.drafts.ran == []
    assert lab.outcomes() == ["invalid_arguments"]


@pytest.mark.parametrize(("arguments", "path", "code"), MALFORMED)
async def test_the_refusal_is_the_same_on_every_surface(
    lab: Lab, arguments: dict[str, Any], path: str, code: str
):
    """What a surface answers is, to the letter, what the path said.

    If this fails, a host's own parser stands before remit's, or a surface adds words of its own.
    """
    here = await lab.asha.call("save_draft", arguments)
    direct = await lab.app.call("save_draft", arguments, claims=ASHA)
    assert wire(here) == wire(direct)


async def test_arguments_are_parsed_once(surface: str):
    """A validator of the author's runs once for each call.

    If this fails, two parsers stand behind one another, and they need not agree.
    """
    app, seen = remit.Remit("once"), list[str]()

    def count(text: str) -> str:
        seen.append(text)
        return text

    @app.tool(effect="write")
    def keep(text: Annotated[str, AfterValidator(count)]) -> None: ...

    async with running(app, surface) as made:
        assert (await made.call("keep", {"text": "a"})).ok
        assert seen == ["a"]


async def test_hooks_see_refused_arguments(surface: str):
    """``before_call`` and ``after_call`` are told of a call whose arguments are refused, and never of a value.

    If this fails, whatever is built on hooks (metrics, alarms, limits) is blind to an agent that probes.
    """
    app = remit.Remit("hooked")
    told = list[tuple[str, str, str | None]]()

    @app.before_call
    def before(event: remit.Event) -> None:
        told.append(("before", event.tool, None))

    @app.after_call
    async def after(event: remit.Event) -> None:
        assert "s3cret" not in repr(event)
        told.append(("after", event.tool, event.outcome.code if event.outcome else None))

    @app.tool(effect="write")
    def keep(count: Annotated[int, Field(ge=0)]) -> None: ...

    async with running(app, surface) as made:
        assert (await made.call("keep", {"count": "s3cret"})).code == "invalid_arguments"
        assert (await made.call("keep", {"cuont": 1, "count": 1})).code == "invalid_arguments"
    assert told == [("before", "keep", None), ("after", "keep", "invalid_arguments")] * 2


async def test_a_declared_tool_has_no_other_way_in(surface: str):
    """What a declaration gives back can be read and can't be called.

    If this fails, code that holds the tool can go around the path.
    """
    app = remit.Remit("one")

    @app.tool(effect="write")
    def keep(text: str) -> None: ...

    assert isinstance(keep, remit.Tool)
    assert not callable(keep)
    async with running(app, surface) as made:
        assert (await made.call("keep", {"text": "a"})).ok


async def test_a_tool_that_does_not_exist_is_refused_in_the_same_shape(lab: Lab):
    """An unknown name gets an outcome and a row like any other refusal, not a protocol fault.

    If this fails, a probe of names leaves no trace.
    """
    refused = await lab.asha.call("publish", {"draft_id": "d_asha0001"})
    assert refused.code == "unknown_tool"
    assert lab.outcomes() == ["unknown_tool"]
    assert lab.drafts.ran == []
