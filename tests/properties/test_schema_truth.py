"""Law L3 by generated models and generated JSON: the parser accepts exactly what the schema accepts."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Annotated, Any, Literal, Optional, Union

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, create_model
from typing_extensions import NotRequired, TypedDict

from remit.arguments import encode
from remit.contract import DeclarationError
from remit.declaration import Options, declared
from remit.outcome import Refused


class Colour(enum.Enum):
    RED = "red"
    BLUE = "Blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Node(BaseModel):
    """Recursive, and its author said nothing about further keys."""

    name: str
    kids: list[Node] = []


SCALARS: list[Any] = [
    str,
    int,
    float,
    bool,
    None,
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    uuid.UUID,
    decimal.Decimal,
    Colour,
    Level,
    Literal["a", "b"],
    Literal[1, "1"],
    Literal[True],
    Literal[0],
    Annotated[str, Field(min_length=1, max_length=3)],
    Annotated[int, Field(ge=0, le=5)],
    Annotated[str, Field(pattern=r"^\d\w?$")],
    Annotated[float, Field(gt=0)],
    Annotated[int, Field(multiple_of=2)],
    Any,
]
POLICIES = [None, "forbid", "ignore", "allow", "typed"]
NAMES = ["a", "b", "kind", "model_dump", "class"]


def _model(fields: dict[str, Any], policy: str | None, tag: str | None) -> Any:
    shown: dict[str, Any] = {
        f"f{i}": (annotation, Field(default if default is not ... else ..., alias=name))
        for i, (name, (annotation, default)) in enumerate(fields.items())
        if not (tag and name == "kind")
    }
    if tag:
        shown["kind"] = (Literal[tag], ...)
    config = {} if policy is None else {"extra": "allow" if policy == "typed" else policy}
    made = create_model("Made", __config__=ConfigDict(**config), **shown)
    if policy == "typed":

        class Typed(made):
            __pydantic_extra__: dict[str, int]

        return Typed
    return made


def _typed_dict(fields: dict[str, Any], closed: str | None) -> Any:
    body = {
        name: (annotation if default is ... else NotRequired[annotation])
        for name, (annotation, default) in fields.items()
    }
    if closed == "closed":
        return TypedDict("Closed", body, closed=True)
    if closed == "extra":
        return TypedDict("Extra", body, extra_items=int)
    return TypedDict("Plain", body)


def _dataclass(fields: dict[str, Any]) -> Any:
    required = [
        (n, a) for n, (a, d) in fields.items() if d is ... and n.isidentifier() and n != "class"
    ]
    optional = [
        (n, a, dataclasses.field(default=None))
        for n, (a, d) in fields.items()
        if d is not ... and n != "class"
    ]
    return dataclasses.make_dataclass("Data", [*required, *optional])


@st.composite
def _fields(draw: st.DrawFn, types: st.SearchStrategy[Any]) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    return {name: (draw(types), draw(st.sampled_from([..., None]))) for name in names}


def _containers(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def union(parts: list[tuple[dict[str, Any], str | None]]) -> Any:
        arms = [_model(fields, policy, f"t{i}") for i, (fields, policy) in enumerate(parts)]
        return Annotated[Union[tuple(arms)], Field(discriminator="kind")]  # noqa: UP007

    policies = st.sampled_from(POLICIES)
    return st.one_of(
        types.map(lambda t: list[t]),
        types.map(lambda t: dict[str, t]),
        types.map(lambda t: Optional[t]),
        st.tuples(types, types).map(lambda p: tuple[p[0], p[1]]),
        types.map(lambda t: tuple[t, ...]),
        st.sampled_from([str, int]).map(lambda t: set[t]),
        types.map(lambda t: Annotated[list[t], Field(max_length=2)]),
        st.just(Node),
        st.builds(lambda f, p: _model(f, p, None), _fields(types), policies),
        st.builds(_typed_dict, _fields(types), st.sampled_from([None, "closed", "extra"])),
        st.builds(_dataclass, _fields(types)),
        st.lists(st.tuples(_fields(types), policies), min_size=2, max_size=3).map(union),
    )


TYPES = st.recursive(st.sampled_from(SCALARS), _containers, max_leaves=4)

TEXTS = st.sampled_from(
    ["", "a", "b", "red", "Blue", "BLUE", "1", "12", "٣", "2020-01-31", "2020-02-31", "2020-01-31T10:00:00Z",
     "2020-01-31T10:00:00", "10:00:00", "10:00:00+01:00", "P1D", "PT5M", "P1Y", "1.50", "1e5", "NaN", "t0", "t1",
     "12345678-1234-5678-1234-567812345678", "12345678123456781234567812345678", "true", "null", "\u202ex"]
)  # fmt: skip
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 7),
        st.sampled_from([1.0, 2.0, 1.5, -0.5, 0.0, 5e-3]),
        TEXTS,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*NAMES, "name", "kids", "zz"]), inner, max_size=4),
    ),
    max_leaves=6,
)


def _instance(schema: Any, doc: dict[str, Any], draw: st.DrawFn, depth: int = 0) -> Any:
    """Draw a value near *schema*: mostly right, sometimes with one thing wrong."""
    if draw(st.integers(0, 19)) == 0 or depth > 6:
        return draw(JSON)
    if schema is True or not schema:
        return draw(JSON)
    if "$ref" in schema:
        return _instance(doc["$defs"][schema["$ref"].rsplit("/", 1)[-1]], doc, draw, depth + 1)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return _instance(draw(st.sampled_from(schema[word])), doc, draw, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw(st.sampled_from(schema["enum"]))
    match schema.get("type"):
        case "object":
            made = {
                name: _instance(below, doc, draw, depth + 1)
                for name, below in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or draw(st.booleans())
            }
            extra = schema.get("additionalProperties", True)
            if extra is not False and draw(st.booleans()):
                made["zz"] = _instance(extra, doc, draw, depth + 1)
            if draw(st.integers(0, 9)) == 0:
                made["zy"] = 1
            return made
        case "array":
            if "prefixItems" in schema:
                return [_instance(below, doc, draw, depth + 1) for below in schema["prefixItems"]]
            return [
                _instance(schema.get("items", True), doc, draw, depth + 1)
                for _ in range(draw(st.integers(0, 3)))
            ]
        case "integer":
            return draw(st.sampled_from([0, 1, 2, 3, 4, 6, 2.0, 1.5]))
        case "number":
            return draw(st.sampled_from([0, 1, 1.5, -2.0]))
        case "boolean":
            return draw(st.booleans())
        case "null":
            return None
        case _:
            return draw(TEXTS)


def _bound(raw: Any, given_keys: set[str], path: str = "") -> set[str]:
    """Return the paths of every key in *raw*."""
    if isinstance(raw, dict):
        for key, item in raw.items():
            given_keys.add(f"{path}{key}")
            _bound(item, given_keys, f"{path}{key}.")
    elif isinstance(raw, list):
        for i, item in enumerate(raw):
            _bound(item, given_keys, f"{path}{i}.")
    return given_keys


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    annotation = draw(TYPES)

    def tool(x: Any) -> None:
        """Take one argument."""

    tool.__annotations__ = {"x": annotation, "return": None}
    try:
        made = declared(tool, Options(effect="write"), scope={})
    except DeclarationError:
        # Ambiguous unions and the like are refused there; nothing can be called.
        return None, {}, {}
    return (
        made,
        made.input_schema,
        {"x": _instance(made.input_schema["properties"]["x"], made.input_schema, draw)},
    )


# pydantic warns of a closed TypedDict inside a model that says otherwise; remit keeps both.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.TypedDictExtraConfigWarning")
@pytest.mark.slow
@given(cases())
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_parser_accepts_exactly_what_the_schema_accepts(case: Any) -> None:
    """If this fails, a caller is refused what the schema allows, or allowed what it refuses."""
    tool, schema, raw = case
    if tool is None:
        return
    note(json.dumps(schema))
    note(json.dumps(raw))
    says = jsonschema_rs.validator_for(schema, validate_formats=True).is_valid(raw)
    try:
        parsed = tool.parser.parse(raw, encode(raw))
    except Refused as refused:
        assert refused.code == "invalid_arguments"
        assert not says, refused.issues
        return
    assert says
    # Nothing vanishes: what was dropped by a declared plain policy is named, all else is in the value.
    written = tool.frozen(parsed)
    kept = _bound(written, set())
    for path in _bound(raw, set()):
        hidden = any(path == gone or path.startswith(f"{gone}.") for gone in parsed.ignored)
        assert hidden or path in kept, path


@given(st.one_of(JSON, st.binary(max_size=40), st.text(max_size=40)))
@settings(max_examples=400, deadline=None)
def test_any_input_gives_a_value_or_a_refusal_and_nothing_else(raw: Any) -> None:
    """If this fails, some input ends a call in an exception of ours."""

    def tool(a: int, b: list[str] = [], c: Node | None = None) -> None:
        """Take some arguments."""

    made = declared(tool, Options(effect="write"), scope=globals())
    try:
        made.parser.parse(raw, encode(raw) if isinstance(raw, dict | str | bytes) else None)
    except Refused as refused:
        assert refused.code == "invalid_arguments"
        assert 1 <= len(refused.issues) <= 5
