"""What a whole request may hold: how many strict tools, how much of everything, and which names."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.schema.document import Json, parts
from remit.schema.lowering.dialects import NAMES, Provider
from remit.schema.lowering.lowered import Lowered
from remit.schema.policy import SchemaError

__all__ = ["LIMITS", "Plan", "lowered_names", "measured", "planned"]

# The vendors' pages on structured outputs; each is summed over a request's strict tools.
LIMITS: Final[dict[str, dict[str, int]]] = {
    "anthropic": {"tools": 20, "optional parameters": 24, "union parameters": 16},
    "openai": {"properties": 5_000, "letters": 120_000, "enum values": 1_000},
}
_DEEPEST: Final = 10  # OpenAI, counted per definition
_MANY_TEXTS: Final = 250  # in one enum, after which its letters are limited
_LETTERS: Final = 15_000
_HASH: Final = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """Which tools of a request are strict.

    Attributes:
        strict: Their names.
        demoted: Those that could be, but for the request's budget, each with the reason.
    """

    strict: tuple[str, ...]
    demoted: Mapping[str, str]


def planned(
    tools: Mapping[str, Lowered], provider: Provider, *, priority: Sequence[str] = ()
) -> Plan:
    """Return which of *tools* fit together into one request as strict ones.

    Args:
        tools: The lowered schema of each tool, by name, in the order of the request.
        provider: Whose request it is.
        priority: The names to keep strict before all others.

    Raises:
        KeyError: If *priority* names a tool that isn't there.
    """
    if unknown := [name for name in priority if name not in tools]:
        raise KeyError(unknown[0])
    limits = LIMITS.get(provider, {})
    order = dict.fromkeys([*priority, *tools])
    spent: Counter[str] = Counter()
    strict: set[str] = set()
    demoted: dict[str, str] = {}
    for name in order:
        if not tools[name].strict:
            continue
        cost = measured(tools[name].schema)
        over = [what for what, most in limits.items() if spent[what] + cost[what] > most]
        if over:
            what = over[0]
            used, most = spent[what] + cost[what], limits[what]
            demoted[name] = f"{used} {what} in one request, of which {provider} takes {most}"
        elif provider == "openai" and cost["levels"] > _DEEPEST:
            demoted[name] = f"{cost['levels']} levels, of which openai takes {_DEEPEST}"
        elif provider == "openai" and cost["letters of a long enum"] > _LETTERS:
            demoted[name] = f"an enum of more than {_MANY_TEXTS} texts and {_LETTERS} letters"
        else:
            spent += cost
            strict.add(name)
    return Plan(tuple(name for name in tools if name in strict), demoted)


def measured(schema: Json) -> Counter[str]:
    """Return what a strict *schema* takes of a request's budget."""
    found: Counter[str] = Counter({"tools": 1})
    stack: list[tuple[Any, int]] = [(schema, 0)]
    while stack:
        node, level = stack.pop()
        if not isinstance(node, dict):
            continue
        here = cast("Json", node)
        known = cast("Json", here.get("properties", {}))
        if here.get("type") in ("object", "array"):
            level += 1
        found["levels"] = max(found["levels"], level)
        found["properties"] += len(known)
        found["optional parameters"] += len(known.keys() - {*here.get("required", ())})
        found["union parameters"] += "anyOf" in here or isinstance(here.get("type"), list)
        values = [*here.get("enum", ()), *([here["const"]] if "const" in here else [])]
        letters = sum(len(str(one)) for one in values)
        found["enum values"] += len(here.get("enum", ()))
        if len(values) > _MANY_TEXTS:
            found["letters of a long enum"] = max(found["letters of a long enum"], letters)
        found["letters"] += letters + sum(map(len, known)) + sum(map(len, here.get("$defs", ())))
        stack += [(part, 0 if steps[0] == "$defs" else level) for steps, part in parts(here)]
    return found


def lowered_names(names: Iterable[str], provider: Provider) -> dict[str, str]:
    """Return for each of *names* what the tool is called at *provider*, one to one.

    A name that the provider takes stays. Another gets the letters that it doesn't take replaced and
    a digest of its own appended, so that it is the same whichever tools stand beside it.

    Raises:
        SchemaError: If two tools have one name, or would have.
    """
    pattern, most = NAMES[provider]
    made: dict[str, str] = {}
    for name in names:
        if name in made:
            raise SchemaError((), f"two tools are called {name!r}; rename one")
        lowered = name
        if not pattern.fullmatch(name) or len(name) > most:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
            start = re.sub(r"[^A-Za-z0-9_]+", "_", name)[: most - _HASH - 1].strip("_")
            start = start if start[:1].isalpha() else f"tool_{start}"[: most - _HASH - 1]
            lowered = f"{start}_{digest}"
        made[name] = lowered
    several = [one for one, count in Counter(made.values()).items() if count > 1]
    if several:
        both = [name for name, one in made.items() if one == several[0]]
        raise SchemaError((), f"the tools {both} would all be {several[0]!r}; rename one")
    return made
