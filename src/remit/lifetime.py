"""What an app opens and must close again: its store and its lifespan."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from remit import idempotency
from remit.audit import Record
from remit.contract import DeclarationError, Tool
from remit.store import Store

__all__ = ["Lifespan", "Lifetime", "given"]

Lifespan = Callable[..., AbstractAsyncContextManager[Any]] | AbstractAsyncContextManager[Any] | None

# Seconds beyond a tool's own time after which the process behind an open intent is gone.
_ORPHANED: Final = 60.0


class Lifetime:
    """One app's store and lifespan: opened at the first need, once per event loop.

    Attributes:
        deps: What the lifespan gave.
        loop: The event loop that it was entered on, or None.
    """

    def __init__(
        self,
        *,
        url: str | None,
        lifespan: Lifespan,
        clock: Callable[[], float],
        tools: Mapping[str, Tool],
    ) -> None:
        try:
            sa.make_url(url or "sqlite://")
        except exc.ArgumentError as error:
            mend = "write e.g. store='sqlite:///remit.db' or 'postgresql://user@host/db'"
            raise DeclarationError(f"Remit: store is a URL; {mend}") from error
        self.url = url
        self.lifespan = lifespan
        self.clock = clock
        self.deps: Any = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._tools = tools
        self._store: Store | None = None
        self._stack: AsyncExitStack | None = None
        self._starting: asyncio.Lock | None = None

    def store(self) -> Store:
        """Return the store, opened and migrated at first use.

        Raises:
            StoreError: If it can't be.
        """
        if self._store is None:
            self._store = Store.open(
                self.url or os.environ.get("REMIT_STORE") or "sqlite:///remit.db"
            )
        return self._store

    async def start(self, app: Any) -> None:
        """Open the store and enter the lifespan, if this loop's calls have not done it yet.

        Args:
            app: What a lifespan that takes an argument gets.

        Raises:
            StoreError: If the store can't be opened.
        """
        loop = asyncio.get_running_loop()
        if self.loop is loop:
            return
        if self._starting is None or self.loop is not None:
            # A loop has ended without `close`; what was entered on it can't be left any more.
            self._starting = asyncio.Lock()
            self.loop = None
        async with self._starting:
            if self._runs_on(loop):  # another call started it while this one waited
                return
            if self._store is None:
                await asyncio.to_thread(self.store)
            stack = AsyncExitStack()
            lifespan: Any = self.lifespan
            if callable(lifespan):
                lifespan = lifespan(app) if _takes_app(lifespan) else lifespan()
            self.deps = None if lifespan is None else await stack.enter_async_context(lifespan)
            self._stack = stack
            self.loop = loop
            await self._close_orphans()

    def _runs_on(self, loop: asyncio.AbstractEventLoop) -> bool:
        return self.loop is loop

    async def close(self) -> None:
        """Leave the lifespan and close the store."""
        stack, self._stack, self.loop = self._stack, None, None
        if stack is not None:
            await stack.aclose()
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)

    async def _close_orphans(self) -> None:
        """Name the effects whose process died between intent and outcome; nobody knows of them."""
        longest = max((tool.timeout for tool in self._tools.values()), default=0.0)
        now = self.clock()
        for row in await self.store().commit(work=idempotency.orphans(now - longest - _ORPHANED)):
            record = Record(
                call_id=row["id"],
                at=now,
                kind="orphan",
                tool=row["tool"],
                tool_version="",
                schema_digest="",
                principal=row["principal"],
                issuer=row["issuer"],
                client=row["client"],
                surface="",
                outcome="outcome_unknown",
                rule="broke off",
                arguments_digest=row["arguments_digest"],
                resources=(),
                ignored=(),
                repaired=(),
                reference=row["id"],
                duration=now - row["started"],
                request_id="",
                key="",
                approver="",
            )
            await self.store().commit([record])


def given(deps: Any) -> Lifespan:
    """Return a lifespan that gives *deps*."""
    return lambda: nullcontext(deps)


def _takes_app(lifespan: Callable[..., Any]) -> bool:
    try:
        needed = [
            p
            for p in inspect.signature(lifespan).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        return False
    return bool(needed)
