"""Whatever JSON object a host's class is given, it hands on: key for key, type for type."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from remit.schema.forwarding import forwarding
from remit.schema.policy import SchemaError

NAMES = st.one_of(
    st.sampled_from(
        [
            "title",
            "copy",
            "json",
            "schema",
            "class",
            "model_config",
            "model_fields",
            "_x",
            "a-b",
            "dict",
        ]
    ),
    st.text(max_size=8),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [{"type": "string"}, {"type": "integer", "default": 1}, {"type": ["null", "number"]}, {}]
)
SCHEMAS = st.builds(
    lambda properties, policy: {"type": "object", "properties": properties, **policy},
    st.dictionaries(NAMES, KINDS, max_size=5),
    st.sampled_from(
        [{}, {"additionalProperties": False}, {"additionalProperties": {"type": "null"}}]
    ),
)


@given(schema=SCHEMAS, sent=st.dictionaries(NAMES, JSON, max_size=6), data=st.data())
def test_what_goes_in_comes_out(schema: dict[str, Any], sent: dict[str, Any], data: st.DataObject):
    """By dump, by attribute and by iteration, as LangChain, CrewAI and LlamaIndex take it out."""
    try:
        kind = forwarding(schema, "Tool")
    except SchemaError as error:
        assert "dict" in schema["properties"], error
        return
    for name in schema["properties"]:
        if data.draw(st.booleans()):
            sent[name] = data.draw(JSON)
    made = kind.model_validate(sent)
    text = json.dumps(sent)
    assert json.dumps(made.model_dump()) == text
    assert json.dumps(dict(made)) == text
    assert json.dumps(made.model_dump(exclude_unset=True, exclude_none=True, by_alias=True)) == text
    for name, value in sent.items():
        if not name.startswith("_") and name != "dict":
            assert json.dumps(getattr(made, name)) == json.dumps(value)
    assert kind.model_json_schema() == schema
