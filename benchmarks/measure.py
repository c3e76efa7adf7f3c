"""Rounds that take every contender in turn, so that a drifting machine drifts for all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping

Once = Callable[[], Awaitable[object]]


async def microseconds(once: Once, *, calls: int) -> float:
    """Return the mean time of one awaited call, in microseconds."""
    begun = time.perf_counter()
    for _ in range(calls):
        await once()
    return (time.perf_counter() - begun) / calls * 1e6


async def rounds(
    contenders: Mapping[str, tuple[Once, int]], *, count: int
) -> dict[str, list[float]]:
    """Return each contender's times, one per round; a warm-up round is not counted.

    Args:
        contenders: By name: what to await, and how often in a round.
        count: How many rounds.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for index in range(count + 1):
        for name, (once, calls) in contenders.items():
            spent = await microseconds(once, calls=calls)
            if index:
                taken[name].append(spent)
    return taken


def ratios(taken: Mapping[str, list[float]], base: str) -> dict[str, float]:
    """Return each contender's median ratio to *base*, round by round."""
    return {
        name: statistics.median(one / other for one, other in zip(times, taken[base], strict=True))
        for name, times in taken.items()
    }
