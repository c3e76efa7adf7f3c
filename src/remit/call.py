"""What a tool's code gets beside its arguments: who calls, with what, through which surface."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from remit.principal import Principal

__all__ = ["Call", "Progress"]

P = TypeVar("P", bound=Principal | None, default=Principal)
D = TypeVar("D", default=Any)

Progress = Callable[[float, float | None, str | None], Awaitable[None]]


async def _nobody_listens(done: float, total: float | None, text: str | None) -> None:
    """Take a progress report that no one asked for."""


@dataclass(frozen=True, slots=True)
class Call(Generic[P, D]):
    """One call: immutable, made anew for each, passed explicitly and never shared.

    Attributes:
        principal: On whose behalf, from this call's verified claims.
        deps: What the app's lifespan gave.
        id: This call's id, the same as in its audit row.
        tool: The tool's name.
        surface: ``python``, ``mcp``, ``cli`` …
        client: The agent or host, as the verified token names it.
        idempotency_key: The caller's key, or None.
        log: A logger that names the call; what it is given stays in the log.
        answers: What the client answered to an `Ask`: untrusted data, never identity or permission.
        state: What the tool gave with its last `Ask`, or None.
        can_ask: What this client can be asked: ``elicitation``, ``sampling``, ``roots``.
        report: Tells the caller how far the call is; see `progress`.
    """

    principal: P
    deps: D
    id: str
    tool: str
    surface: str
    client: str
    log: logging.LoggerAdapter[logging.Logger]
    idempotency_key: str | None = None
    answers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state: Any = None
    can_ask: frozenset[str] = frozenset()
    report: Progress = _nobody_listens

    async def progress(
        self, done: float, total: float | None = None, text: str | None = None
    ) -> None:
        """Tell the caller how far the call is, if it asked; never fails the call.

        Args:
            done: How much is done, growing.
            total: How much there is, in the same unit, if known.
            text: A few words for a person.
        """
        await self.report(done, total, text)
