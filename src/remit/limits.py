"""How often a principal may call: windows by the `limits` library, keyed by verified identity.

The key is (issuer, client, subject, tool), never anything that the caller chooses, so that the
state is bounded by the principals there are; expired windows leave by themselves.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from remit.contract import Tool
from remit.outcome import Refused
from remit.principal import Principal

if TYPE_CHECKING:
    from limits import RateLimitItem
    from limits.strategies import MovingWindowRateLimiter

__all__ = ["Limits"]


class Limits:
    """The call windows of one app, in this process's memory."""

    def __init__(self) -> None:
        self._windows: MovingWindowRateLimiter | None = None
        self._parsed: dict[str, RateLimitItem] = {}

    def check(self, tool: Tool, principal: Principal | None) -> Refused | None:
        """Count one call; return the refusal if there was one too many."""
        if tool.limit is None:
            return None
        windows = self._windows or self._made()
        item = self._parsed.get(tool.limit)
        if item is None:
            from limits import parse

            item = self._parsed[tool.limit] = parse(tool.limit)
        who = (
            ("", "", "")
            if principal is None
            else (principal.issuer, principal.client, principal.subject)
        )
        if windows.hit(item, tool.name, *who):
            return None
        wait = max(1.0, windows.get_window_stats(item, tool.name, *who).reset_time - time.time())
        text = f"Too many calls of {tool.name}: at most {tool.limit}. Wait {wait:.0f} seconds."
        return Refused("rate_limited", text, retry_after=round(wait, 1))

    def _made(self) -> MovingWindowRateLimiter:
        # 80 ms to import, for the few apps that limit anything.
        from limits.storage import MemoryStorage
        from limits.strategies import MovingWindowRateLimiter

        self._windows = MovingWindowRateLimiter(MemoryStorage())
        return self._windows
