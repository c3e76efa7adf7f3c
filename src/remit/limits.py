"""How often a principal may call: windows by the `limits` library, keyed by verified identity.

The key is (issuer, client, subject, tool), never anything that the caller chooses, so that the state
is bounded by the principals there are; expired windows leave by themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from limits import RateLimitItem, parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from remit.contract import Tool
from remit.outcome import Refused
from remit.principal import Principal

__all__ = ["Limits"]


class Limits:
    """The call windows of one app, in this process's memory.

    Args:
        clock: Seconds since the epoch; only used to say when to come back.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._windows = MovingWindowRateLimiter(MemoryStorage())
        self._parsed: dict[str, RateLimitItem] = {}

    def check(self, tool: Tool, principal: Principal | None) -> Refused | None:
        """Count one call; return the refusal if there was one too many."""
        if tool.limit is None:
            return None
        item = self._parsed.get(tool.limit)
        if item is None:
            item = self._parsed[tool.limit] = parse(tool.limit)
        who = (
            ("", "", "")
            if principal is None
            else (principal.issuer, principal.client, principal.subject)
        )
        if self._windows.hit(item, tool.name, *who):
            return None
        wait = max(
            1.0, self._windows.get_window_stats(item, tool.name, *who).reset_time - self._clock()
        )
        text = f"Too many calls of {tool.name}: at most {tool.limit}. Wait {wait:.0f} seconds."
        return Refused("rate_limited", text, retry_after=round(wait, 1))
