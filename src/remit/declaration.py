"""From a function and its options to a `Tool`: whatever can be wrong is refused here (law L12)."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from pydantic_core import (
    PydanticSerializationError,
    SchemaSerializer,
    SchemaValidator,
    core_schema,
)

from remit.arguments import Parsed, Parser
from remit.contract import Approval, DeclarationError, Effect, Tool
from remit.options import NAME, Options, checked
from remit.projection import projection
from remit.schema.derive import advertised
from remit.schema.exact import exact
from remit.schema.merge import ambiguous, merged, rooted
from remit.schema.policy import SchemaError
from remit.schema.walk import Node, children, rewritten
from remit.signature import Signature, refused, signature
from remit.unbound import dropped

__all__ = ["declared"]

REQUESTED: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "status": {"const": "awaiting_approval"},
        "request": {
            "type": "string",
            "description": "Short digest by which a person finds the request.",
        },
        "expires_at": {"type": "string", "format": "date-time"},
        "next": {"type": "string", "description": "What happens now."},
    },
    "required": ["status", "request", "expires_at", "next"],
    "additionalProperties": False,
}
"""What a tool that waits for a person answers; its own result comes to no agent by itself."""


def declared(function: Callable[..., Any], options: Options, *, scope: Mapping[str, Any]) -> Tool:
    """Return the `Tool` that *function* and *options* declare.

    Raises:
        DeclarationError: Naming the tool, the place in it, and the mend.
    """
    if not callable(function):
        text = f"{function!r} is no function; put @app.tool(effect=…) above a def"
        raise DeclarationError(text)
    own_name = options.name or getattr(function, "__name__", None) or type(function).__name__
    checked(options, own_name)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise refused(
            own_name, "", "is a generator; return the whole result, or a remit.Page of it"
        )
    name = own_name
    if options.approval is not None and not own_name.startswith("request_"):
        name = f"request_{own_name}"
        if not NAME.match(name):
            raise refused(
                own_name, "", f"is called {name} where a person must agree, which is too long"
            )
    if options.inline and inspect.iscoroutinefunction(function):
        raise refused(
            own_name, "inline", "is for plain functions; an async one never leaves the loop"
        )
    signed = signature(function, tool=own_name, scope=scope, extras=options.extras(own_name))
    _check_principal(signed, options, own_name)
    input_schema = _input_schema(signed, own_name)
    if options.approval is not None:
        _check_watchers(options.approval, signed, own_name)
        if '"writeOnly": true' in json.dumps(input_schema):
            text = (
                "would wait in the store in clear; have the tool's code fetch it after the approval"
            )
            raise refused(own_name, "a secret argument", text)
    for pointer, shared in ambiguous(input_schema):
        text = (
            f"an object with {shared} fits two alternatives; give them a discriminator "
            "(Literal field and Field(discriminator=…))"
        )
        raise refused(own_name, f"union at {pointer}", text)
    out = projection(
        signed.returns,
        ceiling=options.max_result_bytes,
        known=options.known_results,
        wrap=lambda error: refused(own_name, "result", str(error).splitlines()[0]),
    )
    result, _ = rooted(out.schema)
    description = inspect.cleandoc(options.description or inspect.getdoc(function) or "")
    if options.approval is not None:
        # First, since some clients show only a description's first line.
        gated = "Ask a person to agree to this; the call itself changes nothing:"
        description = f"{gated} {description}".strip()
        result = REQUESTED
    shown = {
        "name": name,
        "description": description,
        "input": input_schema,
        "output": result,
        "result": out.schema,
        "effect": [options.effect, options.external, options.idempotent],
        "scopes": sorted(options.scopes),
        "public": options.public,
        "approval": sorted(options.approval.approvers) if options.approval else None,
    }
    return Tool(
        name=name,
        title=options.title or name.replace("_", " ").capitalize(),
        description=description,
        effect=cast("Effect", options.effect),
        external=options.external,
        idempotent=options.idempotent,
        scopes=frozenset(options.scopes),
        public=options.public,
        require=options.require,
        approval=options.approval,
        timeout=float(options.timeout),
        limit=options.limit,
        inline=options.inline,
        errors=dict(options.errors),
        input_schema=input_schema,
        output_schema=result,
        version=options.version,
        digest=hashlib.sha256(json.dumps(shown, sort_keys=True, default=str).encode()).hexdigest(),
        parser=_parser(signed, input_schema, options, name),
        projection=out,
        resources=signed.resources,
        call_parameter=signed.call_parameter,
        extras=signed.extras,
        is_async=signed.is_async,
        frozen=_freezer(signed),
        _function=function,
    )


def _check_principal(signed: Signature, options: Options, tool: str) -> None:
    """Refuse a call whose annotation names a principal that this app never reads."""
    wanted = signed.called_for
    if wanted is Any or not isinstance(wanted, type):
        return
    if not issubclass(options.principal, wanted):
        text = f"wants {wanted.__name__}, and the app reads {options.principal.__name__}"
        raise refused(tool, f"parameter {signed.call_parameter!r}", text)


def _check_watchers(approval: Approval, signed: Signature, tool: str) -> None:
    """Refuse a *show* or *version* that asks for what the tool hasn't got."""
    named = {*signed.wires.values(), signed.body_name} - {""}
    records = {place.name for place in signed.resources}
    for option, function, there in (
        ("show", approval.show, named),
        ("version", approval.version, records),
    ):
        if function is None:
            continue
        parameters = list(inspect.signature(function).parameters.values())[1:]
        wanted = [
            p.name
            for p in parameters
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.default is p.empty
        ]
        if unknown := [name for name in wanted if name not in there]:
            choices = ", ".join(sorted(there)) or "nothing"
            text = f"asks for {unknown[0]!r}; after the call it can have {choices}"
            raise refused(tool, f"approval's {option}", text)


def _input_schema(signed: Signature, tool: str) -> dict[str, Any]:
    try:
        fields, _ = rooted(advertised(signed.fields))
        if signed.body is None:
            return fields
        return merged(fields, advertised(signed.body))
    except SchemaError as error:
        where = f"body {signed.body_name!r}" if signed.body is not None else "parameters"
        raise refused(tool, where, error.text) from error


def _compiled(node: Node, tool: str) -> SchemaValidator:
    try:
        return SchemaValidator(
            cast("Any", exact(node)), {"hide_input_in_errors": True}, _use_prebuilt=False
        )
    except SchemaError as error:
        raise refused(tool, f"parameters at {error.path}", error.text) from error
    except Exception as error:
        first = str(error).strip().splitlines()[-1]
        raise refused(tool, "parameters", f"pydantic can't build their parser: {first}") from error


def _root(node: Node) -> Node:
    """Return the fields node of the arguments' own model: a plain dict is all we need of it."""
    if node["type"] == "definitions":
        return {**node, "schema": _root(node["schema"])}
    return node if node["type"] == "model-fields" else _root(node["schema"])


def _parser(signed: Signature, schema: dict[str, Any], options: Options, tool: str) -> Parser:
    nodes = [signed.fields, *([signed.body] if signed.body is not None else [])]
    plain = any(part.get("extra_behavior") == "ignore" for node in nodes for part in children(node))
    arms = [schema, *schema.get("oneOf", ()), *schema.get("anyOf", ())]
    wires = dict(signed.wires)
    body_name = signed.body_name

    def unbound(raw: dict[str, Any], values: dict[str, Any]) -> list[str]:
        found: list[str] = []
        rest = {key: item for key, item in raw.items() if key not in wires}
        for key, item in raw.items():
            if key in wires:
                found += dropped(item, values.get(wires[key]), (key,))
        if body_name:
            found += dropped(rest, values.get(body_name))
        return found

    return Parser(
        tool=tool,
        fields=_compiled(_root(signed.fields), tool),
        schema=schema,
        declared=frozenset(signed.wires),
        body=None if signed.body is None else _compiled(signed.body, tool),
        body_name=signed.body_name,
        host_keys=frozenset(options.host_keys),
        repairs=frozenset(options.repair),
        unbound=unbound if plain else None,
        known=frozenset(key for arm in arms for key in arm.get("properties", {})),
    )


def _freezer(signed: Signature) -> Callable[[Parsed], dict[str, Any]]:
    """Return what writes parsed arguments back as JSON: by callers' keys, with defaults."""
    made: list[Any] = []

    def freeze(parsed: Parsed) -> dict[str, Any]:
        if not made:
            made.append(_serializer(signed))
        values = {
            name: value
            for name, value in parsed.values.items()
            if name != signed.body_name or not name
        }
        writer: SchemaSerializer = made[0][0]
        try:
            data: dict[str, Any] = writer.to_python(values, mode="json", by_alias=True)
        except PydanticSerializationError:
            # A default of the author's own making, such as UNSET = object(), stays unsaid.
            data = {}
            for name, value in values.items():
                try:
                    data |= writer.to_python({name: value}, mode="json", by_alias=True)
                except PydanticSerializationError:
                    if name in parsed.given:
                        raise
        if signed.body is not None:
            data |= made[0][1].to_python(
                parsed.values[signed.body_name], mode="json", by_alias=True
            )
        return data

    return freeze


def _as_sent(node: Node, _: tuple[str, ...]) -> Node:
    """Write a value as its caller would send it: by the keys that are read, and all of them."""
    for name in ("serialization", "serialization_exclude", "serialization_exclude_if"):
        node.pop(name, None)
    if node["type"] in ("set", "frozenset"):
        # A set has no order, and another process would write another one.
        node["serialization"] = core_schema.wrap_serializer_function_ser_schema(
            lambda value, write: sorted(write(value), key=json.dumps)
        )
    if "computed_fields" in node:
        node["computed_fields"] = []
    alias = node.get("validation_alias")
    if alias is not None:
        node["serialization_alias"] = alias if isinstance(alias, str) else alias[0][0]
    return node


def _serializer(signed: Signature) -> tuple[SchemaSerializer, SchemaSerializer | None]:
    def typed(node: Node) -> Node:
        if node["type"] == "definitions":
            return {**node, "schema": typed(node["schema"])}
        if node["type"] != "model-fields":
            return typed(node["schema"])
        fields = {
            name: core_schema.typed_dict_field(
                item["schema"], serialization_alias=item["serialization_alias"]
            )
            for name, item in node["fields"].items()
        }
        return cast("Node", core_schema.typed_dict_schema(fields, total=False))

    body = None
    if signed.body is not None:
        body = SchemaSerializer(cast("Any", rewritten(signed.body, _as_sent)))
    return SchemaSerializer(cast("Any", typed(rewritten(signed.fields, _as_sent)))), body
