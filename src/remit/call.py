"""What a tool's code gets beside its arguments: who calls, with what, through which surface."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from remit.principal import Principal

__all__ = ["Call", "Link", "Progress"]

P = TypeVar("P", bound=Principal | None, default=Principal)
D = TypeVar("D", default=Any)

Progress = Callable[[float, float | None, str | None], Awaitable[None]]

_log = logging.getLogger("remit")


@dataclass(frozen=True, slots=True)
class Link:
    """What a surface can carry between a tool and its caller while the call runs.

    Attributes:
        report: Takes progress reports, or None where nobody listens.
        answers: What the client answered to an `Ask`.
        state: What the tool gave with that `Ask`.
        can_ask: What the client can be asked: ``elicitation``, ``sampling``, ``roots``.
    """

    report: Progress | None = None
    answers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state: Any = None
    can_ask: frozenset[str] = frozenset()


_ALONE: Final = Link()


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
        link: What the surface can carry; see `progress`, `answers` and `can_ask`.
    """

    principal: P
    deps: D
    id: str
    tool: str
    surface: str
    client: str
    idempotency_key: str | None = None
    link: Link = _ALONE

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the call; what it is given stays in the log."""
        return logging.LoggerAdapter(_log, {"call_id": self.id, "tool": self.tool})

    @property
    def answers(self) -> Mapping[str, Any]:
        """What the client answered to an `Ask`: untrusted data, never identity or permission."""
        return self.link.answers

    @property
    def state(self) -> Any:
        """What the tool gave with its last `Ask`, or None."""
        return self.link.state

    @property
    def can_ask(self) -> frozenset[str]:
        """What this client can be asked: ``elicitation``, ``sampling``, ``roots``."""
        return self.link.can_ask

    async def progress(
        self, done: float, total: float | None = None, text: str | None = None
    ) -> None:
        """Tell the caller how far the call is, if it asked; never fails the call.

        Args:
            done: How much is done, growing.
            total: How much there is, in the same unit, if known.
            text: A few words for a person.
        """
        if self.link.report is not None:
            await self.link.report(done, total, text)
