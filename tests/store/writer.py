"""A process that commits until it is told to stop, or killed: `python -m tests.store.writer URL NAME COUNT`.

It writes the id of each commit to standard output once the store has acknowledged it.
"""

from __future__ import annotations

import asyncio
import os
import sys

from remit.store import Store
from tests.store.parts import effect, record

CALLERS = 8


async def main(url: str, name: str, count: int) -> None:
    store = await asyncio.to_thread(Store.open, url)
    numbers = iter(range(count))

    async def caller() -> None:
        for number in numbers:
            call_id = f"{name}-{number}"
            await store.commit([record(number, call_id=call_id)], effect(call_id))
            os.write(1, f"{call_id}\n".encode())  # one write: a kill leaves no half line

    await asyncio.gather(*(caller() for _ in range(CALLERS)))
    store.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
