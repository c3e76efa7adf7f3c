"""What each provider answers to a schema, from the table in facts/agent-sdks.md, section 5a.

Written from the table alone and sharing nothing with what it checks, so that a misreading there
doesn't excuse itself here. Where the table says *not listed*, the answer is a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

A_WORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"),
    *("$ref", "$defs", "description", "title", "default", "format", "pattern", "minItems"),
}
O_WORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"),
    *("$ref", "$defs", "description", "title", "format", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minItems", "maxItems"),
}
G_WORDS = {
    *("type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum"),
    *("anyOf", "$ref", "$defs", "description", "format", "minimum", "maximum"),
    *("minItems", "maxItems"),
}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
ROOT = {"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"}


def nodes(schema: Any, at: str = "#", *, optional: bool = True) -> Iterator[tuple[str, Any, bool]]:
    """Each schema of *schema* with its pointer, and whether it may be left out."""
    yield at, schema, optional
    if not isinstance(schema, dict):
        return
    needed = schema.get("required", [])
    for name, one in schema.get("properties", {}).items():
        yield from nodes(one, f"{at}/properties/{name}", optional=name not in needed)
    for name, one in schema.get("$defs", {}).items():
        yield from nodes(one, f"{at}/$defs/{name}")
    for word in ("anyOf", "prefixItems"):
        for index, one in enumerate(schema.get(word, [])):
            yield from nodes(one, f"{at}/{word}/{index}", optional=optional)
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            yield from nodes(schema[word], f"{at}/{word}")


def cycles(schema: Any, *, skip_optional: bool) -> list[str]:
    """References by which a definition leads to itself; through what must be there, if asked."""
    targets = {"#": schema} | {
        f"#/$defs/{name}": one for name, one in schema.get("$defs", {}).items()
    }
    edges: dict[str, set[str]] = {}
    for name, one in targets.items():
        bare = {key: value for key, value in one.items() if key != "$defs"}
        edges[name] = set()
        for at, node, _ in nodes(bare):
            if isinstance(node, dict) and "$ref" in node:
                if skip_optional and escapes(bare, at):
                    continue
                edges[name].add(node["$ref"])
    found: list[str] = []
    for start, first in edges.items():
        seen: set[str] = set()
        stack = [*first]
        while stack:
            here = stack.pop()
            if here == start:
                found.append(start)
                break
            if here not in seen:
                seen.add(here)
                stack += edges.get(here, ())
    return found


def escapes(schema: Any, at: str) -> bool:
    """Whether the way to *at* passes something that may be left out or be empty."""
    steps = at.split("/")[1:]
    node: Any = schema
    for word, name in zip(steps, [*steps[1:], ""], strict=True):
        if isinstance(node, dict) and word in ("items", "additionalProperties"):
            return True
        known = node.get("properties", {}) if isinstance(node, dict) else {}
        if word == "properties" and name in known and name not in node.get("required", []):
            return True
        node = node[int(word)] if isinstance(node, list) else node[word]
    return False


def root_wrongs(schema: Any) -> list[str]:
    wrong = [f"#: {word} at the root" for word in ROOT if word in schema]
    if schema.get("type") != "object":
        wrong.append("#: the root is no object")
    return wrong


def strict_wrongs(schema: Any, words: set[str]) -> Iterator[str]:
    """What both strict modes refuse."""
    yield from root_wrongs(schema)
    for at, node, _ in nodes(schema):
        if not isinstance(node, dict):
            yield f"{at}: a boolean schema"
            continue
        yield from (f"{at}: {word}" for word in node if word not in words)
        kinds = node["type"] if isinstance(node.get("type"), list) else [node.get("type")]
        if "object" in kinds or "properties" in node:
            if node.get("additionalProperties") is not False:
                yield f"{at}: additionalProperties is not false"
            if not set(node.get("required", ())) <= set(node.get("properties", ())):
                yield f"{at}: required keys without a schema"
        if not {"type", "anyOf", "$ref", "enum", "const"} & node.keys():
            yield f"{at}: no type"
        if "array" in kinds and "items" not in node:
            yield f"{at}: no items"
        if any(isinstance(one, list | dict) for one in node.get("enum", ())):
            yield f"{at}: enum of lists or objects"
        if "$ref" in node and len(node) > 1:
            yield f"{at}: siblings of $ref"
        if "$ref" in node and not re.fullmatch(r"#(/\$defs/[^/]+)?", node["$ref"]):
            yield f"{at}: $ref {node['$ref']}"


def anthropic(schema: Any, *, strict: bool) -> list[str]:
    if not strict:
        return root_wrongs(schema)
    wrong = [*strict_wrongs(schema, A_WORDS)]
    wrong += [f"{ref}: recursion" for ref in cycles(schema, skip_optional=False)]
    for at, node, _ in nodes(schema):
        if node.get("minItems", 0) not in (0, 1):
            wrong.append(f"{at}: minItems {node['minItems']}")
        if "format" in node and node["format"] not in FORMATS | {"uri"}:
            wrong.append(f"{at}: format {node['format']}")
        if re.search(r"\(\?[=!<]|\\b|\\[1-9]|\{\d{4,}", str(node.get("pattern", ""))):
            wrong.append(f"{at}: pattern {node['pattern']}")
        if isinstance(node.get("type"), list):
            wrong.append(f"{at}: a list of types")  # the vendor's own helper crashes on one
        texts = [one for one in node.get("enum", ()) if isinstance(one, str)]
        if len({one.casefold() for one in texts}) < len(texts):
            wrong.append(f"{at}: texts that differ in case only")
    return wrong


def openai(schema: Any, *, strict: bool) -> list[str]:
    if not strict:
        return root_wrongs(schema)
    wrong = [*strict_wrongs(schema, O_WORDS)]
    for at, node, _ in nodes(schema):
        if sorted(node.get("required", ())) != sorted(node.get("properties", ())):
            wrong.append(f"{at}: not every property is required")
        if "format" in node and node["format"] not in FORMATS:
            wrong.append(f"{at}: format {node['format']}")
        if re.search(r"\(\?<?[=!]", str(node.get("pattern", ""))):
            wrong.append(f"{at}: pattern {node['pattern']}")
    return wrong


def gemini(schema: Any, *, strict: bool) -> list[str]:
    wrong = root_wrongs(schema)
    if strict:
        wrong.append("#: strict, which Gemini has not")
    wrong += [f"{ref}: recursion with no end" for ref in cycles(schema, skip_optional=True)]
    items = 0
    for at, node, _ in nodes(schema):
        if not isinstance(node, dict):
            continue
        wrong += [f"{at}: {word}" for word in node if word not in G_WORDS]
        if "format" in node and node["format"] not in {"date-time", "date", "time"}:
            wrong.append(f"{at}: format {node['format']}")
        if any(
            not isinstance(one, str | int | float) or isinstance(one, bool)
            for one in node.get("enum", ())
        ):
            wrong.append(f"{at}: enum of other than texts and numbers")
        if "$ref" in node and any(not word.startswith("$") for word in node):
            wrong.append(f"{at}: siblings of $ref")
        items += node.get("maxItems", 0)
    if items > 960:
        wrong.append(f"#: maxItems sum up to {items}")
    return wrong


CHECKERS = {"anthropic": anthropic, "openai": openai, "gemini": gemini}
