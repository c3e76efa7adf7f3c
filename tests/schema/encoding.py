"""What a model would send under a strict schema for what somebody means."""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from remit.schema.document import parts


def closed(schema: Any) -> Any:
    """Return *schema* with each object that names its keys, and says nothing of others, closed.

    To remit an object that says nothing drops other keys; to JSON Schema it ignores them. Only a
    schema that says it can be held to both.
    """
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for steps, one in parts(schema):
        here: Any = made
        for step in steps[:-1]:
            here[step] = here[step].copy()
            here = here[step]
        last: Any = steps[-1] if isinstance(here, dict) else int(steps[-1])
        here[last] = closed(one)
    named = isinstance(schema.get("properties"), dict) and schema["properties"]
    if named and schema.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


def encoded(value: Any, node: Any, root: Any) -> Any:
    """Return *value* with null for each required key that it leaves out."""
    while "$ref" in node:
        steps = node["$ref"].split("/")[1:]
        node = root
        for step in steps:
            node = node[step.replace("~1", "/").replace("~0", "~")]
    if "anyOf" in node:
        sent = [encoded(value, arm, root) for arm in node["anyOf"]]
        whole = [{**arm, "$defs": root.get("$defs", {})} for arm in node["anyOf"]]
        fits = [
            one for one, arm in zip(sent, whole, strict=True) if jsonschema_rs.is_valid(arm, one)
        ]
        return fits[0] if fits else value
    if isinstance(value, dict) and "properties" in node:
        known = node["properties"]
        made = {k: encoded(one, known[k], root) if k in known else one for k, one in value.items()}
        return {**{name: None for name in node.get("required", ()) if name not in value}, **made}
    if isinstance(value, list) and isinstance(node.get("items"), dict):
        return [encoded(one, node["items"], root) for one in value]
    return value
