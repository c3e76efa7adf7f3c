"""Which tools a caller is shown: the very decision that its call would meet (law L4, FR-077)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.call import Call
from remit.contract import Hints, Tool
from remit.permissions import Missing, permission, scope_permission
from remit.principal import Principal
from remit.schema.flattening import flatten
from remit.schema.merge import rooted
from remit.schema.policy import SchemaError

__all__ = ["Listed", "Listing"]

_log = logging.getLogger("remit")

MOST: Final = 1024  # sets kept; more different ones than any issuer gives scopes


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """One tool as a surface lists it.

    Attributes:
        name: What to call.
        title: A short name for people.
        description: What the model reads.
        input_schema: JSON Schema of the arguments, an object at the root.
        output_schema: JSON Schema of the result, an object at the root; None for content blocks.
        annotations: The four hints.
        wrapped: True if a surface that wants an object puts the data under ``result``.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None
    annotations: Hints
    wrapped: bool

    @property
    def flat_schema(self) -> Mapping[str, Any]:
        """The arguments' schema without its unions (`remit.schema.flatten`).

        Where that can't be it is the schema as it is: one tool never costs a list all the others.
        """
        try:
            return flatten(self.input_schema)
        except SchemaError as why:
            _log.warning("tool %s is not listed flat: %s", self.name, why)
            return self.input_schema

    @classmethod
    def of(cls, tool: Tool) -> Listed:
        """Return *tool* as a surface lists it."""
        content = tool.projection.content and tool.approval is None
        return cls(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema,
            output_schema=None if content else tool.output_schema,
            annotations=tool.hints,
            wrapped=tool.approval is None and not content and rooted(tool.projection.schema)[1],
        )


class Listing:
    """The tools of one app, and the sets of them that callers may know of.

    Which tools the scopes of a token show never changes, so that each set is made once, and stays
    the same tuple: a surface can keep what it made of it. Rules are asked anew each time.
    """

    def __init__(self, missing: Missing) -> None:
        self._missing: Missing = missing
        self._tools: dict[str, Tool] = {}
        self._listed: dict[str, Listed] = {}
        self._asked: frozenset[str] = frozenset()
        self._by_scopes: dict[
            frozenset[str] | None, tuple[tuple[Listed, ...], tuple[str, ...]]
        ] = {}
        self._by_names: dict[frozenset[str], tuple[Listed, ...]] = {}

    def add(self, tool: Tool) -> None:
        """Take one more tool."""
        self._tools[tool.name] = tool
        self._listed[tool.name] = Listed.of(tool)
        self._asked |= tool.scopes
        self._by_scopes.clear()
        self._by_names.clear()

    @property
    def wrapped(self) -> frozenset[str]:
        """The tools whose data a surface that wants an object puts under ``result``."""
        return frozenset(name for name, one in self._listed.items() if one.wrapped)

    async def shown(
        self,
        principal: Principal | None,
        calling: Callable[[str], Awaitable[Call[Any, Any]]],
    ) -> tuple[Listed, ...]:
        """Return the tools that *principal* may know of.

        Args:
            principal: Who asks, or None.
            calling: Makes the call that a tool's rule is asked about.
        """
        tools, ruled = self._scoped(principal)
        if not ruled:
            return tools
        hidden: set[str] = set()
        for name in ruled:
            try:
                decided = await permission(self._tools[name], await calling(name), self._missing)
            except Exception:  # noqa: BLE001 - a rule that fails hides its tool, whatever it raises
                _log.exception("the rule of tool %s failed; it is not listed", name)
                hidden.add(name)
            else:
                if not decided.listed:
                    hidden.add(name)
        if not hidden:
            return tools
        rest = tuple(one for one in tools if one.name not in hidden)
        names = frozenset(one.name for one in rest)
        return self._by_names.setdefault(names, rest) if len(self._by_names) < MOST else rest

    def _scoped(self, principal: Principal | None) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
        """Return what the principal's scopes show, and which of that has a rule of its own."""
        held = None if principal is None else principal.scopes & self._asked
        found = self._by_scopes.get(held)
        if found is None:
            names = [
                name
                for name, tool in self._tools.items()
                if scope_permission(tool, principal, self._missing).listed
            ]
            ruled = tuple(name for name in names if self._tools[name].require is not None)
            found = (tuple(self._listed[name] for name in names), ruled)
            if len(self._by_scopes) < MOST:
                self._by_scopes[held] = found
        return found
