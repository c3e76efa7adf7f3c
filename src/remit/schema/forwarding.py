"""A class for hosts that insist on one: it judges nothing, and hands on what was sent.

Some hosts take a pydantic class, parse the model's arguments with it and give the tool the result.
A true field of such a class is a second judge: it coerces, fills in defaults, deletes what it
doesn't declare, and refuses in the host's own words. So this class *shows* the tool's schema, key
policies included, and *keeps* every key with its JSON value, also one that a strict object forbids:
only so does the contract come to judge it, refuse it by name and record that (laws L1 and L2).
Where a host takes a schema, give it the schema.
"""

from __future__ import annotations

import copy
import keyword
from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Final, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from remit.schema.derive import inlined
from remit.schema.document import Json, bounded
from remit.schema.policy import SchemaError

__all__ = ["forwarding"]

# What hosts call on an instance. A key of such a name would hide the method, or be hidden by it.
_CALLED: Final = frozenset(
    {"model_dump", "model_dump_json", "model_copy", "model_fields_set", "model_extra", "dict"}
)


class _Forwarding(BaseModel):
    """What came, as it came."""

    model_config = ConfigDict(extra="allow", protected_namespaces=())

    _shown: ClassVar[Json] = {}
    _sent: dict[str, Any] = PrivateAttr(default_factory=dict[str, Any])

    @model_validator(mode="wrap")
    @classmethod
    def _kept(cls, raw: Any, handler: ModelWrapValidatorHandler[_Forwarding]) -> _Forwarding:
        made = handler(raw)
        if isinstance(raw, dict):
            made._sent = dict(cast("Json", raw))  # noqa: SLF001 - in the order in which it came
        return made

    @model_serializer(mode="plain")
    def _written(self) -> Json:
        """Return what was sent, whatever the host asks to leave out or fill in."""
        return dict(self._sent)

    def __iter__(self) -> Generator[tuple[str, Any], None, None]:  # noqa: PYI058 - as pydantic has it
        """Yield what was sent."""
        yield from self._sent.items()

    def __getattribute__(self, name: str) -> Any:
        """Return what was sent under *name*, also where pydantic has a method of that name.

        LangChain reads each argument off the instance, so that one called ``copy`` came as code.
        """
        if not name.startswith("_") and name not in _CALLED:
            private: Any = object.__getattribute__(self, "__pydantic_private__")
            if private and name in private["_sent"]:
                return private["_sent"][name]
        return super().__getattribute__(name)

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> Json:
        """Return the tool's schema, whatever form is asked for: there is one truth."""
        return copy.deepcopy(cls._shown)

    @classmethod
    def __get_pydantic_json_schema__(cls, _: CoreSchema, __: GetJsonSchemaHandler) -> Json:
        """Return the schema for a place inside another one, where ``$defs`` can't be found."""
        return inlined(copy.deepcopy(cls._shown))


def forwarding(schema: Mapping[str, Any], name: str) -> type[BaseModel]:
    """Return a pydantic class that shows *schema* and forwards whatever it is called with.

    Its ``model_dump()``, in any mode, is what was sent, key for key; ``model_validate`` refuses
    nothing but what is no JSON object. So it is no check: give what it holds to `Remit.call`.

    Args:
        schema: A tool's advertised schema, or a flat or lowered one.
        name: The class's name, which some hosts show.

    Raises:
        SchemaError: If *schema* has a property that hides what hosts call on an instance, such as
            ``model_dump``, or is of a hostile size.
    """
    shown = bounded(copy.deepcopy(dict(schema)))
    names = [*cast("Json", shown.get("properties", {}))]
    if hidden := sorted(_CALLED.intersection(names)):
        text = "is a name that a host's class can't carry; give the parameter Field(alias=…)"
        raise SchemaError(("properties", hidden[0]), f"{hidden[0]!r} {text}")
    # Fields of no type, since LangChain calls a tool whose class has none without any argument.
    fields: dict[str, Any] = {}
    for index, one in enumerate(names or [""]):
        if _is_plain(one):
            fields[one] = (Any, None)
        else:
            fields[f"argument_{index}_"] = (Any, Field(default=None, alias=one))
    made = create_model(name, __base__=_Forwarding, **fields)
    made._shown = shown  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - its own class
    made.__doc__ = cast("str | None", shown.get("description"))
    return made


def _is_plain(name: str) -> bool:
    """Whether a class's field can have this name without hiding anything."""
    usable = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    return usable and not hasattr(BaseModel, name)
