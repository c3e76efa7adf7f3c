"""L12. Wrong at declaration, not in production.

A misspelt option, an unknown scope, a schema that can't be represented, a record with no rule for who
may touch it, two tools with one name: all refused when declared, naming the tool, the path and the mend.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AliasPath, BaseModel, Field

import remit
from tests.laws.lab import running

if TYPE_CHECKING:
    from fractions import Fraction

pytestmark = pytest.mark.anyio


class Note(BaseModel):
    id: str


def load(call: remit.Call, note_id: str) -> Note | None:
    return None


def untyped_loader(call: remit.Call, note_id):
    return None


def anyone(call: remit.Call, note: Note) -> bool:
    return True


class OwnInit(BaseModel):
    name: str

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)


class Opaque:
    pass


class Reaching(BaseModel):
    name: str = Field(validation_alias=AliasPath("deep", "name"))


class Round(BaseModel):
    radius: int
    label: str = ""


class Square(BaseModel):
    radius: int
    side: int = 0


@dataclass
class HoldsAnOpaque:
    inner: list[Opaque]


def app(**options: Any) -> remit.Remit:
    return remit.Remit("wrong", **options)


def sound(text: str = "") -> str:
    return text


def declare(**options: Any) -> Callable[[], Any]:
    """Declare a sound function with other options."""
    given = {"effect": "write", **options}
    return lambda: app().tool(**given)(sound)


def typed(annotation: Any, *, returns: Any = None, **options: Any) -> Callable[[], Any]:
    """Declare a function with one parameter of this type."""

    def tool(value):
        return None

    tool.__annotations__ = {"value": annotation, "return": returns}
    return lambda: app().tool(effect="write", **options)(tool)


def twice() -> None:
    one = app()
    one.tool(effect="write", name="same")(sound)
    one.tool(effect="write", name="same")(sound)


def untyped() -> None:
    @app().tool(effect="write")
    def tool(value) -> None: ...


def no_return() -> None:
    @app().tool(effect="write")
    def tool(value: int): ...


def only_checked() -> None:
    @app().tool(effect="write")
    def tool(value: Fraction) -> None: ...


def positional() -> None:
    @app().tool(effect="write")
    def tool(value: int, /) -> None: ...


def starred() -> None:
    @app().tool(effect="write")
    def tool(*values: int) -> None: ...


def double_starred() -> None:
    @app().tool(effect="write")
    def tool(**values: int) -> None: ...


def generator() -> None:
    @app().tool(effect="read")
    def tool() -> Iterator[int]:
        yield 1


def two_bodies() -> None:
    @app().tool(effect="write")
    def tool(one: Annotated[Note, remit.Body], two: Annotated[Note, remit.Body]) -> None: ...


def body_beside_its_own_key() -> None:
    @app().tool(effect="write")
    def tool(one: Annotated[Note, remit.Body], id: str) -> None: ...


def one_key_twice() -> None:
    @app().tool(effect="write")
    def tool(title: str, other: Annotated[str, Field(alias="title")]) -> None: ...


def record_inside() -> None:
    @app().tool(effect="write")
    def tool(notes: dict[str, Annotated[Note, remit.Resource(load, allow=anyone)]]) -> None: ...


def loader_without_type() -> None:
    @app().tool(effect="write")
    def tool(note: Annotated[Note, remit.Resource(untyped_loader, allow=anyone)]) -> None: ...


def show_asks_for_what_is_not_there() -> None:
    def show(call: remit.Call, draft: Note) -> str:
        return ""

    @app().tool(effect="write", approval=remit.Approval(approvers={"editor"}, show=show))
    def tool(text: str) -> None: ...


MISTAKES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    # options
    "misspelt option": (declare(scope={"a"}), ("'scope'", "did you mean scopes?")),
    "misspelt option of the app": (
        lambda: app(host_key={"a"}),
        ("'host_key'", "did you mean host_keys?"),
    ),
    "no effect": (
        lambda: app().tool()(sound),
        ("sound", "effect", "'read', 'write' or 'irreversible'"),
    ),
    "unknown effect": (declare(effect="delete"), ("sound", "effect", "'irreversible'")),
    "effect of another type": (declare(effect=True), ("sound", "effect")),
    "unknown scope": (
        lambda: app(scopes={"drafts:read"}).tool(effect="write", scopes={"drafts:raed"})(sound),
        ("sound", "'drafts:raed'", "drafts:read"),
    ),
    "scopes as a text": (declare(scopes="drafts:write"), ("sound", "scopes", "{'drafts:write'}")),
    "no scope at all": (declare(scopes={"a b"}), ("sound", "'a b'")),
    "public with scopes": (declare(public=True, scopes={"a"}), ("sound", "public=True", "scopes")),
    "flag as a text": (declare(external="no"), ("sound", "external", "True or False")),
    "timeout of nothing": (declare(timeout=0), ("sound", "timeout", "positive")),
    "timeout for ever": (declare(timeout=float("inf")), ("sound", "timeout")),
    "rate that can't be read": (declare(limit="often"), ("sound", "'often'", "60/minute")),
    "unknown repair": (declare(repair={"json"}), ("sound", "'json'", "json_text")),
    "errors with remit's own code": (
        declare(errors={ValueError: remit.Refused("internal", "x")}),
        ("sound", "ValueError", "'internal'"),
    ),
    "errors that maps no exception": (
        declare(errors={"x": remit.Refused("x")}),
        ("sound", "errors"),
    ),
    "ceiling too low": (declare(max_result_bytes=10), ("sound", "max_result_bytes", "4096")),
    "principal that is none": (lambda: app(principal=dict), ("principal", "remit.Principal")),
    "unknown missing_scope": (
        lambda: app(missing_scope="show"),
        ("missing_scope", "'hide' or 'challenge'"),
    ),
    # names
    "two tools with one name": (twice, ("same", "two tools", "name=")),
    "name with a dot": (declare(name="drafts.save"), ("drafts.save", "letters")),
    "name with a space": (declare(name="save draft"), ("save draft", "letters")),
    "name beyond 64": (declare(name="x" * 65), ("64",)),
    "name that starts with a digit": (declare(name="1st"), ("1st", "letter first")),
    "name too long once it is a request": (
        declare(name="x" * 60, approval=remit.Approval(approvers={"editor"})),
        ("request_", "too long"),
    ),
    # rules
    "resource without allow": (lambda: remit.Resource(load), ("allow",)),
    "resource with an allow that is none": (
        lambda: remit.Resource(load, allow=True),
        ("load", "allow", "allow=is_author"),
    ),
    "resource that loads nothing": (lambda: remit.Resource("notes", allow=anyone), ("load",)),
    "resource inside a type": (record_inside, ("tool", "Resource", "parameter")),
    "loader without a typed id": (loader_without_type, ("'note'", "tool", "typed id")),
    "require that is no rule": (declare(require=True), ("sound", "require", "remit.Require")),
    "require of no function": (lambda: remit.Require(True), ("Require", "function")),
    # approvals
    "approval by nobody": (lambda: remit.Approval(approvers=set()), ("approvers", "{'editor'}")),
    "approvers as a text": (
        lambda: remit.Approval(approvers="editor"),
        ("approvers", "{'editor'}"),
    ),
    "no approvers": (remit.Approval, ("approvers",)),
    "approval for ever": (
        lambda: remit.Approval(approvers={"editor"}, expires=timedelta(0)),
        ("expires", "timedelta(days=7)"),
    ),
    "approval that never expires": (
        lambda: remit.Approval(approvers={"editor"}, expires=None),
        ("expires",),
    ),
    "approval by a yes": (declare(approval=True), ("sound", "approval", "remit.Approval")),
    "approval of a read": (
        declare(effect="read", approval=remit.Approval(approvers={"editor"})),
        ("sound", "approval", "read"),
    ),
    "show that asks for what isn't there": (
        show_asks_for_what_is_not_there,
        ("tool", "show", "'draft'"),
    ),
    "self_approval by a text": (
        lambda: remit.Approval(approvers={"editor"}, self_approval="no"),
        ("self_approval",),
    ),
    # types
    "parameter without a type": (untyped, ("'value'", "tool", "value: str")),
    "no return type": (no_return, ("tool", "->")),
    "type only under TYPE_CHECKING": (only_checked, ("tool", "'Fraction'", "TYPE_CHECKING")),
    "positional parameter": (positional, ("'value'", "tool", "'/'")),
    "*args": (starred, ("'values'", "tool", "names each argument")),
    "**kwargs": (double_starred, ("'values'", "tool", "extra='allow'")),
    "generator": (generator, ("tool", "generator", "remit.Page")),
    "two bodies": (two_bodies, ("'two'", "tool", "'one'")),
    "body and parameter with one key": (body_beside_its_own_key, ("tool", "'id'", "rename")),
    "two parameters with one key": (one_key_twice, ("tool", "'title'", "alias")),
    "body that is no object": (typed(Annotated[int, remit.Body]), ("tool", "'value'", "object")),
    "class without a JSON form": (typed(Opaque), ("tool", "'value'")),
    "class without a JSON form, deeper": (typed(HoldsAnOpaque), ("tool", "'value'")),
    "function as an argument": (typed(Callable[[int], int]), ("tool", "JSON")),
    "complex number": (typed(complex), ("tool", "JSON")),
    "keys that are no texts": (typed(dict[int, str]), ("tool", "dict[str")),
    "model with its own __init__": (typed(OwnInit), ("tool", "OwnInit", "__init__")),
    "alias that reaches inside": (typed(Reaching), ("tool", "AliasPath")),
    "ambiguous union": (typed(Round | Square), ("tool", "discriminator")),
    "ambiguous union, deeper": (typed(dict[str, list[Round | Square]]), ("tool", "discriminator")),
    "result without a JSON form": (typed(int, returns=Opaque), ("tool", "result")),
    "no function": (lambda: app().tool(effect="read")("sound"), ("sound", "no function")),
    "clip of nothing": (lambda: remit.Clip(0), ("Clip", "Clip(80)")),
}


@pytest.mark.parametrize(("mistake", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_there_and_then(mistake: Callable[[], Any], said: tuple[str, ...]):
    """Each is a ``DeclarationError`` that says which tool, where in it, and what to write instead.

    If this fails, the mistake runs: a rule that nobody keeps, or an error at the first call of a customer.
    """
    with pytest.raises(remit.DeclarationError) as refused:
        mistake()
    text = str(refused.value)
    assert [part for part in said if part not in text] == [], text
    assert "Traceback" not in text
    assert len(text) < 500


@pytest.mark.parametrize(
    "name", ["user_id", "author", "owner", "tenant_id", "on_behalf_of", "caller"]
)
def test_a_parameter_that_may_name_the_caller_warns(name: str):
    """A parameter named like an identity is declared with a warning that says both ways to mend it.

    If this fails, ``author_id: str`` is back, and some prompt will make it name the wrong one.
    """

    tool = eval(f"lambda {name}: None")  # noqa: S307 - the name is ours
    tool.__name__ = "tool"
    tool.__annotations__ = {name: str, "return": None}
    with pytest.warns(remit.DeclarationWarning, match=f"'{name}' of tool") as told:
        app().tool(effect="write")(tool)
    assert "call.principal.subject" in str(told[0].message)
    assert "Resource" in str(told[0].message)


def test_other_names_do_not_warn():
    """A name that only contains such a word passes without noise.

    If this fails, the warning is switched off by everyone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @app().tool(effect="write")
        def tool(author_note: str, number_of_users: int, title: str) -> None: ...


async def test_what_was_refused_is_not_there(surface: str):
    """A tool whose declaration was refused can't be listed or called, and the others can.

    If this fails, one bad tool takes the others down, or stays reachable without its rule.
    """
    one, ran = app(), list[str]()

    @one.tool(effect="read")
    def good() -> str:
        return "good"

    with pytest.raises(remit.DeclarationError):

        @one.tool(effect="delete")  # type: ignore[arg-type]
        def bad() -> None:
            ran.append("bad")

    async with running(one, surface) as made:
        assert await made.tools() == ["good"]
        assert (await made.call("bad", {})).code == "unknown_tool"
        assert (await made.call("good", {})).data == "good"
        assert ran == []


def test_a_local_class_under_postponed_annotations_is_found():
    """A type declared inside the function that declares the tool is no mistake.

    If this fails, tests and factories can't declare tools.
    """

    class Local(BaseModel):
        name: str

    @app().tool(effect="write")
    def tool(value: Local) -> Local:
        return value

    assert "name" in str(tool.input_schema)
