"""L1. Nothing vanishes.

Every key of every object, at any depth, is bound to a declared field, kept by a declared open
policy, or refused by name. Nothing is dropped, filled in or retyped behind the caller's back.
"""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

import remit
from tests.laws.lab import Lab, posted, running

pytestmark = pytest.mark.anyio


class Money(BaseModel):
    amount: int
    currency: str = "EUR"


class Line(BaseModel):
    sku: str
    price: Money


class Order(BaseModel):
    lines: list[Line]
    by_shop: dict[str, list[Line]] = {}
    first: tuple[Line, Money] | None = None
    parent: Order | None = None


def orders() -> tuple[remit.Remit, list[Any]]:
    """An app whose tool keeps what it was given."""
    app, got = remit.Remit("orders"), list[Any]()

    @app.tool(effect="write")
    def place(order: Order) -> int:
        got.append(order)
        return len(got)

    return app, got


LINE: dict[str, Any] = {"sku": "a", "price": {"amount": 1}}
EXTRA: dict[str, Any] = {"sku": "a", "price": {"amount": 1, "vat": 7}}


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ({"lines": [], "vat": 7}, "order"),
        ({"lines": [LINE, {**LINE, "vat": 7}]}, "order.lines.1"),
        ({"lines": [EXTRA]}, "order.lines.0.price"),
        ({"lines": [], "by_shop": {"x": [LINE, EXTRA]}}, "order.by_shop.x.1.price"),
        ({"lines": [], "first": [LINE, {"amount": 1, "vat": 7}]}, "order.first.1"),
        (
            {"lines": [], "parent": {"lines": [], "parent": {"lines": [], "vat": 7}}},
            "order.parent.parent",
        ),
    ],
    ids=["model", "list", "model in a list", "dict of lists", "tuple", "recursive"],
)
async def test_an_undeclared_key_is_refused_by_name_at_any_depth(
    surface: str, order: dict[str, Any], path: str
):
    """An object whose author declared no policy is strict inside a tool, wherever it stands.

    If this fails, a field that the model believes it set is thrown away and the call reports success.
    """
    app, got = orders()
    async with running(app, surface) as made:
        refused = await made.call("place", {"order": order})
        assert refused.code == "invalid_arguments"
        assert [(i.path, i.code) for i in refused.issues] == [(path, "unrecognized_keys:vat")]
        assert got == []
        assert [row.outcome for row in made.app.audit.rows()] == ["invalid_arguments"]


async def test_every_undeclared_key_is_named_at_once(lab: Lab):
    """One answer names all of an object's unknown keys, and what is declared.

    If this fails, a model pays a round trip for each key.
    """
    refused = await lab.asha.call(
        "save_draft",
        {"title": "t", "body": "b", "authorId": "u_ravi", "status": "published", "titel": "x"},
    )
    (issue,) = refused.issues
    assert issue.path == "(root)"
    assert issue.code.startswith("unrecognized_keys:")
    assert set(issue.code.partition(":")[2].split(",")) == {"authorId", "status", "titel"}
    assert "title" in issue.hint
    assert lab.drafts.rows == {}


@pytest.mark.parametrize(
    "name", ["__proto__", "constructor", "self", "call", "principal", "draft", "model_config", ""]
)
async def test_no_name_is_special(lab: Lab, name: str):
    """A key that means something to a language, to remit or to the handler is an unknown key.

    If this fails, an argument can reach what no field declares.
    """
    refused = await lab.asha.call("save_draft", {"title": "t", "body": "b", name: {}})
    assert (refused.code, refused.issues[0].code) == (
        "invalid_arguments",
        f"unrecognized_keys:{name}",
    )
    assert lab.drafts.rows == {}


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"count": "5"}, "count"),
        ({"count": True}, "count"),
        ({"count": 5.5}, "count"),
        ({"flag": 1}, "flag"),
        ({"flag": "true"}, "flag"),
        ({"text": 5}, "text"),
        ({"text": None}, "text"),
        ({"names": '["a"]'}, "names"),
        ({"names": "a"}, "names"),
        ({"names": None}, "names"),
        ({"ratio": "1.5"}, "ratio"),
        ({"order": '{"lines": []}'}, "order"),
    ],
)
async def test_nothing_is_retyped(surface: str, arguments: dict[str, Any], path: str):
    """A value has JSON's own type, or the call is refused: no text becomes a number, no 1 a true.

    If this fails, the handler works with a value that the caller never sent.
    """
    app, got = remit.Remit("exact"), list[Any]()

    @app.tool(effect="write")
    def keep(
        count: int = 0,
        flag: bool = False,
        text: str = "",
        names: list[str] = [],
        ratio: float = 0.0,
        order: Order | None = None,
    ) -> None:
        got.append((count, flag, text, names, ratio, order))

    async with running(app, surface) as made:
        refused = await made.call("keep", arguments)
        assert (refused.code, refused.issues[0].path) == ("invalid_arguments", path)
        assert got == []


@pytest.mark.parametrize("text", ["null", '{"a": 1}', "[]", "5", "true", '"x"', "NaN", ""])
async def test_a_text_stays_text(surface: str, text: str):
    """What looks like JSON inside a text is text.

    If this fails, the note "null" becomes no note, and "[]" is called no valid text.
    """
    app, got = remit.Remit("exact"), list[Any]()

    @app.tool(effect="write")
    def keep(note: str | None = None) -> None:
        got.append(note)

    async with running(app, surface) as made:
        assert (await made.call("keep", {"note": text})).ok
        assert got == [text]


async def test_absent_null_and_default_are_three_things(surface: str):
    """A key left out takes the default, ``null`` is ``None`` where it may be, and neither stands for the other.

    If this fails, "leave it as it is" and "clear it" can't be told apart.
    """
    app, got = remit.Remit("exact"), list[Any]()

    class Patch(BaseModel):
        note: str | None = "as it was"

    @app.tool(effect="write")
    def patch(change: Patch) -> None:
        got.append((change.note, sorted(change.model_fields_set)))

    async with running(app, surface) as made:
        assert (await made.call("patch", {"change": {}})).ok
        assert (await made.call("patch", {"change": {"note": None}})).ok
        assert (await made.call("patch", {"change": {"note": "as it was"}})).ok
    assert got == [("as it was", []), (None, ["note"]), ("as it was", ["note"])]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"title": "t", "body": "b"', "json_invalid"),
        ('{"title": "t", "body": "b"} {}', "json_invalid"),
        ("", "json_invalid"),
        ('{"title": "t", "body": "b", "title": "u"}', "duplicate_key"),
        ('{"title": "t", "body": "b", "tags": [{"a": 1, "a": 2}]}', "duplicate_key"),
        ('{"title": "t", "body": "b", "tags": NaN}', "finite_number"),
        ('{"title": "t", "body": "b", "tags": -Infinity}', "finite_number"),
        ('{"title": "t", "body": "b", "tags": 1e999}', "finite_number"),
        ("[]", "dict_type"),
        ("null", "dict_type"),
        ('"{}"', "dict_type"),
        ("5", "dict_type"),
        ('{"title":' + "[" * 500 + "]" * 500 + "}", "too_deep"),
        ('{"title": "\\ud800", "body": "b"}', "string_unicode"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
@pytest.mark.parametrize("surface", ["python", "cli"])
async def test_broken_text_is_refused_and_never_repaired(lab: Lab, text: str, code: str):
    """Where remit reads text itself, text that isn't one JSON object is refused, whatever it lacks.

    If this fails, a model's cut-off answer runs as a call that it never finished.
    """
    refused = await lab.asha.call("save_draft", text)
    assert (refused.code, refused.issues[0].code) == ("invalid_arguments", code)
    assert lab.drafts.rows == {}
    assert lab.outcomes() == ["invalid_arguments"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("surface", ["python"])
async def test_a_number_that_json_has_not_got_is_refused(surface: str, number: float):
    """NaN and the infinities are no numbers, also where a host hands objects over without text.

    If this fails, a comparison in the handler is false both ways, and a limit lets everything through.
    """
    app, got = remit.Remit("exact"), list[Any]()

    @app.tool(effect="write")
    def pay(amount: float) -> None:
        got.append(amount)

    async with running(app, surface) as made:
        refused = await made.call("pay", {"amount": number})
        assert (refused.code, refused.issues[0].code) == ("invalid_arguments", "finite_number")
        assert got == []


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
@pytest.mark.parametrize("surface", ["mcp-http", "mcp-http-legacy"])
async def test_a_number_that_json_has_not_got_is_refused_off_the_wire(surface: str, number: str):
    """The transport's own JSON parser lets NaN and 1e400 through; they end at the judge.

    If this fails, what no JSON can say reaches the handler all the same.
    """
    app, got = remit.Remit("exact"), list[Any]()

    @app.tool(effect="write")
    def pay(amount: float) -> None:
        got.append(amount)

    async with running(app, surface) as made:
        said = await posted(made, f'{{"name": "pay", "arguments": {{"amount": {number}}}}}')
        assert "invalid_arguments" in said
        assert "finite_number" in said
        assert got == []
        assert [row.outcome for row in made.app.audit.rows()] == ["invalid_arguments"]


async def test_a_host_key_is_declared_and_recorded_and_beats_no_parameter(surface: str):
    """The one tolerance: keys that a host is declared to add are left out, and the record says so.

    If this fails, a host's key is dropped in silence, or a declared parameter of that name is.
    """
    app = remit.Remit("hosted", host_keys={"sessionId", "title"})
    got = list[Any]()

    @app.tool(effect="write")
    def keep(title: str) -> None:
        got.append(title)

    async with running(app, surface) as made:
        assert (await made.call("keep", {"title": "t", "sessionId": "s"})).ok
        refused = await made.call("keep", {"title": "t", "sessionid": "s"})
        assert refused.issues[0].code == "unrecognized_keys:sessionid"
        assert got == ["t"]
        assert [row.ignored for row in made.app.audit.rows()] == [("sessionId",), ()]


async def test_the_users_own_class_is_left_alone(surface: str):
    """A model is strict inside a tool and behaves elsewhere as its author wrote it.

    If this fails, taking up remit changes what the rest of the program accepts.
    """
    app, got = orders()
    before = Order.model_json_schema()
    async with running(app, surface) as made:
        assert not (await made.call("place", {"order": {"lines": [], "vat": 7}})).ok
    assert got == []
    assert Order.model_validate({"lines": [], "vat": 7}) == Order(lines=[])
    assert Order.model_json_schema() == before


async def test_an_alias_is_the_only_name(surface: str):
    """A field is bound by the name that the schema shows, and by no other.

    If this fails, the same field has two spellings, and one of them escapes every check made on the other.
    """
    app, got = remit.Remit("exact"), list[Any]()

    @app.tool(effect="write")
    def keep(draft_title: Annotated[str, Field(alias="title")]) -> None:
        got.append(draft_title)

    async with running(app, surface) as made:
        refused = await made.call("keep", {"draft_title": "t"})
        assert "unrecognized_keys:draft_title" in [i.code for i in refused.issues]
        assert (await made.call("keep", {"title": "t"})).ok
        assert got == ["t"]
