"""From a function's signature to the parser of its arguments.

Reads names, types and defaults once, when the tool is declared. Whatever can't be kept is refused
there, with the tool, the parameter and the mend (law L12); nothing is guessed.
"""

from __future__ import annotations

import functools
import inspect
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from pydantic import ConfigDict, TypeAdapter, create_model
from pydantic.errors import (
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)

from remit.call import Call
from remit.contract import Body, DeclarationError, DeclarationWarning, Resource, Resourced
from remit.schema.naming import names_identity
from remit.schema.policy import SchemaError, with_policies
from remit.schema.walk import Node, as_json

__all__ = ["Signature", "refused", "signature"]


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes.

    Attributes:
        function: The function to call, unwrapped from nothing.
        fields: The core schema of the plain parameters' object, policies written out.
        body: The core schema of the body, or None.
        body_name: The parameter that takes the body.
        wires: Parameter name by the key that callers send.
        resources: The parameters that are records.
        call_parameter: The parameter that takes the `Call`, or None.
        called_for: The principal that its annotation names, or None.
        returns: The return annotation.
        extras: The arguments that the app adds, which its code finds in `Call.extras`.
    """

    function: Callable[..., Any]
    fields: Node
    body: Node | None
    body_name: str
    wires: Mapping[str, str]
    resources: tuple[Resourced, ...]
    call_parameter: str | None
    called_for: Any
    returns: Any
    extras: frozenset[str] = frozenset()
    is_async: bool = field(default=False)


def refused(tool: str, where: str, text: str) -> DeclarationError:
    """Return the error for what is wrong at *where* in the declaration of *tool*."""
    at = f"{where} of {tool}" if where else tool
    return DeclarationError(f"{at}: {text}")


def _whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a `functools.partial` binds arguments of, or *function* itself."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _hints(function: Callable[..., Any], tool: str, scope: Mapping[str, Any]) -> dict[str, Any]:
    target = inspect.unwrap(_whole(function))
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return get_type_hints(target, localns=dict(scope), include_extras=True)
    except NameError as error:
        text = (
            f"the annotation {error.name!r} can't be found at run time; import its type plainly, "
            "not under TYPE_CHECKING, and not inside a function that has ended"
        )
        raise refused(tool, _holder(target, str(error.name)), text) from error
    except (TypeError, SyntaxError) as error:
        raise refused(tool, "signature", f"an annotation can't be read: {error}") from error


def _holder(function: Any, name: str) -> str:
    """Return which parameter's annotation mentions *name*."""
    notes: dict[str, Any] = getattr(function, "__annotations__", {})
    held = (one for one, note in notes.items() if isinstance(note, str) and name in note)
    found = next(held, "")
    return "the result" if found == "return" else f"parameter {found!r}" if found else "signature"


def _bound(function: Callable[..., Any]) -> set[str]:
    """Return the names that a `functools.partial` has given values, nested ones included."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names |= function.keywords.keys()
        function = function.func
    return names


def _parts(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return an annotation's type and its metadata."""
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        return base, tuple(metadata)
    return annotation, ()


def _resource_in(annotation: Any) -> tuple[Resource, bool, bool] | None:
    """Return the resource of a parameter, whether it may be None, and whether it is a list."""
    base, metadata = _parts(annotation)
    for one in metadata:
        if isinstance(one, Resource):
            return one, False, False
    origin = get_origin(base)
    if origin in (Union, types.UnionType):
        arms = [arm for arm in get_args(base) if arm is not type(None)]
        found = _resource_in(arms[0]) if len(arms) == 1 else None
        return (found[0], True, found[2]) if found else None
    if (
        origin is list
        and (found := _resource_in(get_args(base)[0]))
        and not found[1]
        and not found[2]
    ):
        return found[0], False, True
    return None


def _loader_id(resource: Resource, tool: str, where: str) -> tuple[str, Any]:
    """Return the name and the type of the id that *resource*'s loader takes."""
    hints = _hints(resource.load, tool, {})
    named = list(inspect.signature(resource.load).parameters.values())
    if len(named) < 2 or named[1].name not in hints:
        text = (
            "its loader takes the call and a typed id, "
            "e.g. async def load_draft(call: Call, draft_id: DraftId)"
        )
        raise refused(tool, where, text)
    return named[1].name, hints[named[1].name]


def _alias(metadata: tuple[Any, ...]) -> str | None:
    for one in metadata:
        if isinstance(alias := getattr(one, "validation_alias", None), str):
            return alias
    return None


def _is_call(annotation: Any) -> bool:
    return annotation is Call or get_origin(annotation) is Call


class _Reader:
    """Collects one signature's parameters, and refuses at the first that can't be kept."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.plain: dict[str, tuple[Any, Any]] = {}
        self.renamed: dict[str, str] = {}
        self.resources: list[Resourced] = []
        self.body: tuple[str, Any] | None = None
        self.call: str | None = None
        self.called_for: Any = None

    def take(self, parameter: inspect.Parameter, annotation: Any) -> None:
        name = parameter.name
        where = f"parameter {name!r}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            text = (
                "a tool names each argument; "
                "for open arguments take a model with extra='allow' as remit.Body"
            )
            raise refused(self.tool, where, text)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise refused(self.tool, where, "arguments come by name; remove the '/'")
        if annotation is parameter.empty:
            mend = "call: remit.Call" if name == "call" else f"{name}: str"
            raise refused(self.tool, where, f"has no type; write e.g. {mend}")
        if _is_call(annotation):
            if self.call:
                raise refused(self.tool, where, f"{self.call!r} is the call already")
            self.call = name
            self.called_for = next(iter(get_args(annotation)), None)
            return
        _, metadata = _parts(annotation)
        default = ... if parameter.default is parameter.empty else parameter.default
        if found := _resource_in(annotation):
            self._record(name, annotation, default, found)
        elif any(one is Body or isinstance(one, Body) for one in metadata):
            if self.body:
                raise refused(
                    self.tool, where, f"{self.body[0]!r} is the body already; a tool has one"
                )
            if default is not ...:
                raise refused(self.tool, where, "a body has no default; give its fields defaults")
            self.body = (name, annotation)
        else:
            self._plain(name, annotation, default, where)

    def _plain(self, name: str, annotation: Any, default: Any, where: str) -> None:
        if names_identity(name):
            text = (
                f"{where} of {self.tool} may name the caller. If it does, delete it and use "
                "call.principal.subject; if it names a target, make it a Resource with a rule."
            )
            warnings.warn(text, DeclarationWarning, stacklevel=6)
        self.plain[name] = (annotation, default)

    def _record(
        self, name: str, annotation: Any, default: Any, found: tuple[Resource, bool, bool]
    ) -> None:
        resource, nullable, many = found
        where = f"parameter {name!r}"
        own_name, kind = _loader_id(resource, self.tool, where)
        if default not in (..., None):
            raise refused(self.tool, where, "a record's default is None, or there is none")
        wire = _alias(_parts(annotation)[1]) or (own_name + "s" if many else own_name)
        if many:
            kind = types.GenericAlias(list, (kind,))  # list[kind], of a kind that is a value
        if nullable or default is None:
            kind = kind | None if isinstance(kind, type) else Union[kind, None]  # noqa: UP007 - kind is a value
        self.plain[name] = (kind, default)
        self.renamed[name] = wire
        self.resources.append(Resourced(name, wire, many, resource))


def signature(
    function: Callable[..., Any],
    *,
    tool: str,
    scope: Mapping[str, Any],
    extras: Mapping[str, tuple[Any, Any]] | None = None,
) -> Signature:
    """Return what *function* takes, as core schemas with their policies written out.

    Args:
        function: The tool's code.
        tool: Its name, for errors.
        scope: The names visible where it was declared, for postponed annotations.
        extras: Annotation and default of each argument that the app adds, by name.

    Raises:
        DeclarationError: For anything that a tool can't take truthfully.
    """
    hints = _hints(function, tool, scope)
    reader = _Reader(tool)
    bound = _bound(function)
    if twice := (extras or {}).keys() & hints.keys():
        text = "is the name of the app's extension too; rename one"
        raise refused(tool, f"parameter {min(twice)!r}", text)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in bound:
            continue  # what a partial binds is the author's word, and no caller's
        reader.take(parameter, hints.get(parameter.name, parameter.empty))
    for name, (annotation, default) in (extras or {}).items():
        added = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        reader.take(added, annotation)
    if "return" not in hints:
        text = "says not what goes back; write e.g. -> DraftSummary, or -> None"
        raise refused(tool, "", text)
    fields = _fields(reader)
    body_name, body = "", None
    if reader.body:
        body_name, annotation = reader.body
        body = _core(functools.partial(_schema, annotation), tool, f"body {body_name!r}")
    wires: dict[str, str] = {}
    for name in reader.plain:
        for wire in _wires(_inner_fields(fields)["fields"][name], name):
            if wire in wires:
                text = (
                    f"the key {wire!r} stands for {wires[wire]!r} already; "
                    "give one of them Field(alias=…)"
                )
                raise refused(tool, f"parameter {name!r}", text)
            wires[wire] = name
    target = _whole(inspect.unwrap(function))
    return Signature(
        function=function,
        fields=fields,
        body=body,
        body_name=body_name,
        wires=wires,
        resources=tuple(reader.resources),
        call_parameter=reader.call,
        called_for=reader.called_for,
        returns=hints["return"],
        extras=frozenset(extras or ()),
        is_async=inspect.iscoroutinefunction(target)
        or inspect.iscoroutinefunction(getattr(target, "__call__", None)),  # noqa: B004
    )


def _wires(node: Node, name: str) -> list[str]:
    alias = node.get("validation_alias", name)
    return [alias] if isinstance(alias, str) else [way[0] for way in alias]


def _core(make: Callable[[], Any], tool: str, where: str) -> Node:
    """Return a type's core schema with policies, or say what is wrong with the type."""
    try:
        return with_policies(as_json(cast("Node", make())))
    except SchemaError as error:
        inside = f"{where} at {error.path}" if error.path else where
        raise refused(tool, inside, error.text) from error
    except PydanticUndefinedAnnotation as error:
        text = f"the annotation {error.name!r} can't be found at run time; import its type plainly"
        raise refused(tool, where, text) from error
    except (PydanticSchemaGenerationError, PydanticUserError, TypeError, DeclarationError) as error:
        first = str(error).splitlines()[0]
        raise refused(tool, where, f"its type has no JSON form remit can keep: {first}") from error


def _fields(reader: _Reader) -> Node:
    """Return the core schema of the plain parameters as one strict object, by their own names."""
    # Neutral names, since a parameter may be called model_dump or class.
    neutral = {f"p{i}": reader.plain[name] for i, name in enumerate(reader.plain)}

    def make() -> Node:
        model = create_model(
            "Arguments", __config__=ConfigDict(title="Arguments"), **cast("Any", neutral)
        )
        node = cast("Node", model.__pydantic_core_schema__)
        return _renamed(node, reader)

    try:
        return _core(make, reader.tool, "parameters")
    except DeclarationError:
        for name, (annotation, _) in reader.plain.items():
            # One by one, so that the error names the parameter.
            _core(functools.partial(_schema, annotation), reader.tool, f"parameter {name!r}")
        raise


def _schema(annotation: Any) -> Any:
    return TypeAdapter(annotation).core_schema


def _renamed(node: Node, reader: _Reader) -> Node:
    names = list(reader.plain)

    def field_of(index: int, value: Node) -> Node:
        wire = reader.renamed.get(names[index]) or value.get("validation_alias") or names[index]
        return {
            **value,
            "validation_alias": wire,
            "serialization_alias": wire if isinstance(wire, str) else wire[0][0],
        }

    inner = _inner_fields(node)
    fields = {
        names[index]: field_of(index, cast("Node", value))
        for index, value in enumerate(inner["fields"].values())
    }
    return _with_fields(node, {**inner, "fields": fields})


def _inner_fields(node: Node) -> Node:
    """Return the model-fields node of the arguments' own model."""
    while node["type"] != "model-fields":
        node = node["schema"]
    return node


def _with_fields(node: Node, fields: Node) -> Node:
    if node["type"] == "model-fields":
        return fields
    return {**node, "schema": _with_fields(node["schema"], fields)}
