"""What a tool's code gets beside its arguments: who calls, with what, through which surface."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
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
_NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class Call(Generic[P, D]):
    """One call: made anew for each, read-only, passed explicitly and never shared."""

    # Properties over slots: a frozen dataclass takes three times as long to make, on every call.
    __slots__ = (
        "_client",
        "_deps",
        "_extras",
        "_id",
        "_key",
        "_link",
        "_principal",
        "_surface",
        "_tool",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - made by remit alone, positionally for speed
        self,
        principal: P,
        deps: D,
        id: str,  # noqa: A002 - the attribute's own name
        tool: str,
        surface: str,
        client: str,
        idempotency_key: str | None = None,
        link: Link = _ALONE,
        extras: Mapping[str, Any] = _NONE,
    ) -> None:
        self._principal = principal
        self._deps = deps
        self._id = id
        self._tool = tool
        self._surface = surface
        self._client = client
        self._key = idempotency_key
        self._link = link
        self._extras = extras

    def __repr__(self) -> str:
        """Name the call; deps may hold secrets and stay out."""
        return f"<Call {self._id} of {self._tool}>"

    @property
    def principal(self) -> P:
        """On whose behalf, from this call's verified claims."""
        return self._principal

    @property
    def deps(self) -> D:
        """What the app's lifespan gave."""
        return self._deps

    @property
    def id(self) -> str:
        """This call's id, the same as in its audit row."""
        return self._id

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self._tool

    @property
    def surface(self) -> str:
        """Through which surface, such as ``python``, ``mcp`` or ``cli``."""
        return self._surface

    @property
    def client(self) -> str:
        """The agent or host, as the verified token names it."""
        return self._client

    @property
    def idempotency_key(self) -> str | None:
        """The caller's key, or None."""
        return self._key

    @property
    def extras(self) -> Mapping[str, Any]:
        """What the app's extensions of this tool were resolved to, by name (`remit.Extension`)."""
        return self._extras

    def extended(self, extras: Mapping[str, Any]) -> Call[P, D]:
        """Return this call with *extras*."""
        return Call(
            self._principal,
            self._deps,
            self._id,
            self._tool,
            self._surface,
            self._client,
            self._key,
            self._link,
            MappingProxyType(dict(extras)),
        )

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that names the call; what it is given stays in the log."""
        return logging.LoggerAdapter(_log, {"call_id": self._id, "tool": self._tool})

    @property
    def answers(self) -> Mapping[str, Any]:
        """What the client answered to an `Ask`: untrusted data, never identity or permission."""
        return self._link.answers

    @property
    def state(self) -> Any:
        """What the tool gave with its last `Ask`, or None."""
        return self._link.state

    @property
    def can_ask(self) -> frozenset[str]:
        """What this client can be asked: ``elicitation``, ``sampling``, ``roots``."""
        return self._link.can_ask

    async def progress(
        self, done: float, total: float | None = None, text: str | None = None
    ) -> None:
        """Tell the caller how far the call is, if it asked; never fails the call.

        Args:
            done: How much is done, growing.
            total: How much there is, in the same unit, if known.
            text: A few words for a person.
        """
        if self._link.report is not None:
            await self._link.report(done, total, text)
