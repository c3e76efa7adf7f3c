"""The advertised schema: JSON Schema 2020-12, made from the very tree that the parser is made from.

It says ``additionalProperties`` as each object behaves, carries the text forms that the parser
holds dates and ids to, and drops the titles that pydantic makes of names, as they say nothing new.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, cast

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaWarningKind

from remit.schema.exact import DECIMAL, FORMS
from remit.schema.policy import SchemaError
from remit.schema.walk import Node, fields_of

__all__ = ["advertised", "inlined"]

Json = dict[str, Any]


class _Truthful(GenerateJsonSchema):
    """pydantic's generator with the parser's own rules in place of its conventions."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Stay silent: a default without a JSON form is left out, which says nothing false."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        """Leave out titles made of field names."""
        return False

    def model_fields_schema(self, schema: Any) -> Json:
        """Say what the object does with undeclared keys."""
        return self._policy(super().model_fields_schema(schema), schema)

    def dataclass_args_schema(self, schema: Any) -> Json:
        """Say what the object does with undeclared keys."""
        return self._policy(super().dataclass_args_schema(schema), schema)

    def typed_dict_schema(self, schema: Any) -> Json:
        """Say what the object does with undeclared keys."""
        return self._untitled(self._policy(super().typed_dict_schema(schema), schema), schema)

    def model_schema(self, schema: Any) -> Json:
        """Drop the title made of the class's name, and a docstring that pydantic brought along."""
        return self._untitled(super().model_schema(schema), schema)

    def dataclass_schema(self, schema: Any) -> Json:
        """Drop the title made of the class's name."""
        return self._untitled(super().dataclass_schema(schema), schema)

    def enum_schema(self, schema: Any) -> Json:
        """Drop the title made of the enum's name."""
        return self._untitled(super().enum_schema(schema), schema)

    def _untitled(self, made: Json, schema: Any) -> Json:
        cls = schema.get("cls")
        if cls is not None and made.get("title") == cls.__name__:
            del made["title"]
        return made

    def _policy(self, made: Json, schema: Any) -> Json:
        target = self.resolve_ref_schema(made)
        match schema.get("extra_behavior"):
            case "forbid":
                target["additionalProperties"] = False
            case "allow":
                extras = schema.get("extras_schema")
                target["additionalProperties"] = (
                    True
                    if extras is None or extras["type"] == "any"
                    else self.generate_inner(extras)
                )
            case _:
                target.pop("additionalProperties", None)
        if self.mode == "validation":
            _add_choices(target, schema)
        return made

    def date_schema(self, schema: Any) -> Json:
        """State the one form that the parser takes."""
        return self._form(super().date_schema(schema), "date")

    def datetime_schema(self, schema: Any) -> Json:
        """State the one form that the parser takes; a naive one is no RFC 3339 date-time."""
        naive = schema.get("tz_constraint") == "naive"
        made = self._form(
            super().datetime_schema(schema), "datetime-naive" if naive else "datetime"
        )
        if naive:
            made.pop("format", None)
        return made

    def time_schema(self, schema: Any) -> Json:
        """State the one form that the parser takes; without an offset it is no RFC 3339 time."""
        made = self._form(super().time_schema(schema), "time")
        made.pop("format", None)
        return made

    def timedelta_schema(self, schema: Any) -> Json:
        """State the one form that the parser takes; it may have a sign, so no RFC 3339 duration."""
        made = self._form(super().timedelta_schema(schema), "timedelta")
        made.pop("format", None)
        return made

    def uuid_schema(self, schema: Any) -> Json:
        """State the one form that the parser takes."""
        return self._form(super().uuid_schema(schema), "uuid")

    def _form(self, made: Json, kind: str) -> Json:
        # In a result pydantic may write fewer digits or "Z"; the format alone is what it promises.
        return {**made, "pattern": FORMS[kind]} if self.mode == "validation" else made

    def decimal_schema(self, schema: Any) -> Json:
        """State the text form of a decimal, and keep the bounds on its number form."""
        made = super().decimal_schema(schema)
        if self.mode == "validation":
            for arm in made.get("anyOf", ()):
                if arm.get("type") == "string":
                    arm["pattern"] = DECIMAL
        return made

    def int_schema(self, schema: Any) -> Json:
        """Keep pydantic's bounds under JSON Schema's ``integer``."""
        return super().int_schema(schema)


def _add_choices(target: Json, schema: Any) -> None:
    """Publish every name of a field that has several, and refuse two at once as the parser does."""
    for field in fields_of(schema):
        alias = field.get("validation_alias")
        if not isinstance(alias, list):
            continue
        names = [way[0] for way in cast("list[list[str]]", alias)]
        main = next(name for name in names if name in target["properties"])
        for name in names:
            if name != main:
                about = {"description": f"Another name for {main}."}
                target["properties"][name] = {**target["properties"][main], **about}
        rules: list[Json] = target.setdefault("allOf", [])
        required = target.get("required", [])
        if main in required:
            required.remove(main)
            rules.append({"oneOf": [{"required": [name]} for name in names]})
        else:
            rules.extend(
                {"not": {"required": [one, other]}}
                for i, one in enumerate(names)
                for other in names[i + 1 :]
            )
        if not required:
            target.pop("required", None)


def advertised(node: Node, *, mode: JsonSchemaMode = "validation") -> Json:
    """Return the JSON Schema of *node*, a core schema whose policies are written out.

    Raises:
        SchemaError: If a part of it has no JSON Schema.
    """
    try:
        made = _Truthful(by_alias=True, ref_template="#/$defs/{model}").generate(
            cast("Any", copy.copy(node)), mode=mode
        )
    except PydanticInvalidForJsonSchema as error:
        text = f"{str(error.message).split('(')[0].strip()}; take a type that JSON can carry"
        raise SchemaError((), text) from error
    return made


def inlined(schema: Json) -> Json:
    """Return *schema* with references replaced by what they point to, but for true recursion.

    Made for readers that drop ``$defs``. It accepts exactly what *schema* accepts; a
    discriminator's mapping, which would point into ``$defs``, goes with them.
    """
    defs: Json = schema.get("$defs", {})
    kept: set[str] = set()

    def walk(value: Any, open_refs: tuple[str, ...]) -> Any:
        if isinstance(value, list):
            return [walk(item, open_refs) for item in cast("Sequence[Any]", value)]
        if not isinstance(value, dict):
            return value
        here = cast("Json", value)
        ref = here.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/$defs/"):
            name = ref.removeprefix("#/$defs/")
            if name in open_refs or name not in defs:
                kept.add(name)
                return here
            target = walk(defs[name], (*open_refs, name))
            beside = {k: walk(v, open_refs) for k, v in here.items() if k != "$ref"}
            annotations = {"description", "default", "title", "examples", "deprecated"}
            if beside.keys() <= annotations:
                return {**target, **beside}
            return {"allOf": [target], **beside}
        kept_keys = {k: walk(v, open_refs) for k, v in here.items() if k != "$defs"}
        if isinstance(picks := here.get("discriminator"), dict):
            kept_keys["discriminator"] = {"propertyName": cast("Json", picks)["propertyName"]}
        return kept_keys

    made: Json = walk({k: v for k, v in schema.items() if k != "$defs"}, ())
    if kept:
        # What recursion still points to stays as it was, with all that it reaches.
        made["$defs"] = copy.deepcopy(defs)
    return made
