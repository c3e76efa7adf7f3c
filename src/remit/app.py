"""`Remit`: declare tools once, build every surface from them."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Any, Never, Self, cast

from typing_extensions import Unpack

from remit.approvals import Approvals, Compare
from remit.audit import Audit
from remit.call import Call, Link, Progress
from remit.contract import DeclarationError, Tool, no_others
from remit.declaration import declared
from remit.lifetime import Lifespan, Lifetime, given
from remit.limits import Limits
from remit.listing import Listed, Listing
from remit.options import Extension, Options, ToolOptions
from remit.outcome import Outcome, Refused
from remit.passage import Event, Passage
from remit.path import MAX_ARGUMENT_BYTES, Path
from remit.permissions import Missing
from remit.principal import Principal
from remit.projection import Known
from remit.served import Served
from remit.store import Store, StoreError

__all__ = ["Listed", "Remit"]

_log = logging.getLogger("remit")


class Remit(Served):
    """An app: its tools, whose they are, and where outcomes are kept.

    Args:
        name: The app's name, as surfaces show it.
        principal: What is read from a caller's verified claims.
        version: The app's version; an approval is bound to it.
        lifespan: An async context manager, or a function that gives one (it may take the app); what
            it yields is `Call.deps`.
        store: A SQLAlchemy URL. None means the environment's ``REMIT_STORE``, else
            ``sqlite:///remit.db``; ``sqlite://`` is memory, for tests.
        scopes: The scopes there are, by name. A tool that needs another is refused; None takes any.
        missing_scope: ``hide`` answers a caller who lacks a scope as if there were no such tool;
            ``challenge`` says which scope is missing.
        host_keys: Top-level keys that a host adds to every call. They are dropped and recorded, and
            never stand above a declared parameter.
        extensions: Arguments that the app adds to its tools, by the name in `Call.extras`.
        max_argument_bytes: The most bytes of one call's arguments as JSON.
        max_waiting: How many requests of one principal may wait for a person.
        clock: Seconds since the epoch.

    Raises:
        DeclarationError: For an option that can't be kept, or that there is none of.
    """

    def __init__(  # noqa: PLR0913 - an app's options, each named by who makes it
        self,
        name: str,
        *,
        principal: type[Principal] = Principal,
        version: str = "0",
        lifespan: Lifespan = None,
        store: str | None = None,
        scopes: AbstractSet[str] | Mapping[str, str] | None = None,
        missing_scope: Missing = "hide",
        host_keys: AbstractSet[str] = frozenset(),
        extensions: Mapping[str, Extension] | None = None,
        max_argument_bytes: int = MAX_ARGUMENT_BYTES,
        max_waiting: int = 20,
        clock: Callable[[], float] = time.time,
        **unknown: Never,
    ) -> None:
        no_others(f"Remit({name!r})", unknown, Remit.__init__.__kwdefaults__ or ())
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DeclarationError("Remit: the first argument is its name, e.g. Remit('blog')")
        if not (isinstance(principal, type) and issubclass(principal, Principal)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise DeclarationError(f"Remit({name!r}): principal is a subclass of remit.Principal")
        if missing_scope not in ("hide", "challenge"):
            raise DeclarationError(f"Remit({name!r}): missing_scope is 'hide' or 'challenge'")
        for added, one in (extensions or {}).items():
            if not isinstance(one, Extension):  # pyright: ignore[reportUnnecessaryIsInstance]
                text = (
                    f"extension {added!r} is remit.Extension(…), with what its annotation would be"
                )
                raise DeclarationError(f"Remit({name!r}): {text}")
        self.name = name
        self.version = version
        self._known_scopes = None if scopes is None else frozenset(scopes)
        self._host_keys = frozenset(host_keys)
        self._extensions = dict(extensions or {})
        self._known_results: Known = {}
        self._missing: Missing = missing_scope
        self._tools: dict[str, Tool] = {}
        self._listing = Listing(missing_scope)
        self._before: list[Callable[[Event], Any]] = []
        self._after: list[Callable[[Event], Any]] = []
        self._principal = principal
        self._max_argument_bytes = max_argument_bytes
        self._max_waiting = max_waiting
        self._lifetime = Lifetime(url=store, lifespan=lifespan, clock=clock, tools=self._tools)
        self._assembled()

    def _assembled(self) -> None:
        """Put the path and the approvals on the app's present surroundings."""
        around = self._lifetime
        self.approvals: Approvals = Approvals(
            store=around.store,
            tools=self._tools,
            execute=self._approved,
            clock=around.clock,
            max_waiting=self._max_waiting,
        )
        self._path = Path(
            tools=self._tools,
            principal=self._principal,
            store=around.store,
            approvals=lambda: self.approvals,
            limits=Limits(),
            clock=around.clock,
            missing=self._missing,
            before=self._before,
            after=self._after,
            max_argument_bytes=self._max_argument_bytes,
        )

    def __repr__(self) -> str:
        """Name the app; a store's URL may hold a password and stays out."""
        return f"<Remit {self.name}: {len(self._tools)} tools>"

    def tool(
        self, *bare: Never, **options: Unpack[ToolOptions]
    ) -> Callable[[Callable[..., Any]], Tool]:
        """Declare the decorated function as a tool.

        Args:
            bare: Nothing; catches ``@app.tool`` without its parentheses.
            options: See `remit.options.ToolOptions`.

        Raises:
            DeclarationError: For whatever is wrong with it, naming the place and the mend.
        """
        if bare:
            raise DeclarationError("tool: say its effect: @app.tool(effect='read') above the def")
        no_others("tool", options, ToolOptions.__annotations__)
        # Classes local to a function, under postponed annotations, are found only there.
        scope = dict(sys._getframe(1).f_locals)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        said = Options(
            **options,
            host_keys=self._host_keys,
            known_scopes=self._known_scopes,
            version=self.version,
            principal=self._principal,
            extensions=self._extensions,
            known_results=self._known_results,
        )

        def declare(function: Callable[..., Any]) -> Tool:
            made = declared(function, said, scope=scope)
            if made.name in self._tools:
                text = f"{made.name}: two tools of {self.name} have this name; give one name=…"
                raise DeclarationError(text)
            self._tools[made.name] = made
            self._listing.add(made)
            return made

        return declare

    def before_call(self, hook: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Have *hook* told of every call before it is judged; raising `Refused` refuses it."""
        self._before.append(hook)
        return hook

    def after_call(self, hook: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Have *hook* told of every outcome, refusals included, once it is on record."""
        self._after.append(hook)
        return hook

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The declared tools by name."""
        return dict(self._tools)

    @property
    def wrapped(self) -> frozenset[str]:
        """The tools whose data a surface that wants an object puts under ``result``."""
        return self._listing.wrapped

    @property
    def settings(self) -> dict[str, Any]:
        """What holds for every tool, as JSON values."""
        scopes = None if self._known_scopes is None else sorted(self._known_scopes)
        return {
            "version": self.version,
            "scopes": scopes,
            "missing_scope": self._missing,
            "host_keys": sorted(self._host_keys),
            "max_argument_bytes": self._max_argument_bytes,
            "max_waiting": self._max_waiting,
        }

    def declared(self, tool: str) -> Tool:
        """Return the tool of that name.

        Raises:
            KeyError: If there is none, with the name that is nearest.
        """
        if tool in self._tools:
            return self._tools[tool]
        gated = f"request_{tool}"
        near = [gated] if gated in self._tools else get_close_matches(tool, self._tools, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise KeyError(f"{self.name} has no tool {tool!r}{hint}")

    # Calling.

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str | bytes,
        *,
        claims: Mapping[str, Any] | None,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Call a tool from Python, through the same path as every surface.

        Args:
            tool: The tool's name.
            arguments: A mapping of JSON values, or raw JSON text.
            claims: Already verified, as a token verifier gave them; None is nobody.
            idempotency_key: Under which the first outcome is kept.

        Returns:
            `Ok` or `Refused`; neither is raised.
        """
        return await self.dispatch(
            tool, arguments, claims, surface="python", idempotency_key=idempotency_key
        )

    async def dispatch(  # noqa: PLR0913 - what any surface may carry, each by its name
        self,
        tool: str,
        raw_arguments: Any,
        claims: Mapping[str, Any] | None,
        *,
        surface: str,
        client: str = "",
        idempotency_key: str | None = None,
        progress: Progress | None = None,
        answers: Mapping[str, Any] | None = None,
        state: Any = None,
        can_ask: frozenset[str] = frozenset(),
    ) -> Outcome:
        """Take a surface's call through the path; for authors of surfaces.

        Args:
            tool: The name as it came.
            raw_arguments: The arguments as they came, unparsed by anyone else.
            claims: Verified for this very call, or None.
            surface: The surface's name, for the record.
            client: The agent or host, as its verified credential names it.
            idempotency_key: The caller's key, or None.
            progress: Takes the tool's progress reports.
            answers: What the client answered to an `Ask`.
            state: What the tool gave with it.
            can_ask: What the client can be asked.

        Raises:
            asyncio.CancelledError: If the caller was cancelled.
        """
        if self._lifetime.loop is not asyncio.get_running_loop():
            try:
                await self.start()
            except StoreError as error:
                _log.error("the store can't be opened", exc_info=error)
                return Refused("store_unavailable", "The server can't write its record. Try later.")
            except Exception:  # noqa: BLE001 - a lifespan may raise anything; the caller gets a refusal
                _log.exception("the app can't start")
                return Refused("internal", "The server can't start this app. Tell the user.")
        link = None
        if progress is not None or answers or state is not None or can_ask:
            link = Link(progress, answers or {}, state, can_ask)
        passage = Passage(
            tool,
            raw_arguments,
            claims,
            surface=surface,
            deps=self._lifetime.deps,
            at=self._lifetime.clock(),
            client=client,
            key=idempotency_key,
            link=link,
        )
        return await self._path.walk(passage)

    async def visible(
        self, claims: Mapping[str, Any] | None, *, surface: str
    ) -> tuple[Listed, ...]:
        """Return the tools that this caller may know of, by the decision that its call would meet.

        The same tuple comes back for the same set, so that a surface can keep what it made of it.

        Raises:
            Refused: ``unauthenticated`` if there are claims and they make no principal.
        """
        principal = None
        if claims is not None:
            try:
                principal = self._principal.model_validate(claims)
            except ValueError:
                text = "Sign in: this call carries no valid identity."
                raise Refused("unauthenticated", text) from None

        async def calling(tool: str) -> Call[Any, Any]:
            await self.start()
            client = "" if principal is None else principal.client
            deps = self._lifetime.deps
            return Call(cast("Principal", principal), deps, "", tool, surface, client)

        return await self._listing.shown(principal, calling)

    async def _approved(self, row: Mapping[str, Any], compare: Compare) -> Outcome:
        await self.start()
        return await self._path.approved(row, compare, deps=self._lifetime.deps)

    # Starting and ending.

    @property
    def store(self) -> Store:
        """The app's store, opened and migrated at first use.

        Raises:
            StoreError: If it can't be.
        """
        return self._lifetime.store()

    @property
    def audit(self) -> Audit:
        """What was recorded: `Audit.rows` and `Audit.verify`."""
        return Audit(self._lifetime.store())

    async def start(self) -> None:
        """Open the store and enter the lifespan, once per event loop; calls do it where needed.

        Raises:
            StoreError: If the store can't be opened.
        """
        await self._lifetime.start(self)

    @property
    def running(self) -> bool:
        """True if the app was started on the running event loop and not closed since."""
        return self._lifetime.loop is asyncio.get_running_loop()

    async def close(self) -> None:
        """Leave the lifespan and close the store."""
        await self._lifetime.close()

    async def __aenter__(self) -> Self:
        """Start the app."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the app."""
        await self.close()

    def replaced(
        self, *, deps: Any = ..., store: str | None = None, clock: Callable[[], float] | None = None
    ) -> Remit:
        """Return an app with the same tools and other surroundings, as tests want it.

        Args:
            deps: What `Call.deps` is, in place of the lifespan.
            store: Another store's URL.
            clock: Another clock.
        """
        made = Remit.__new__(Remit)
        made.__dict__.update(self.__dict__)
        old = self._lifetime
        made._lifetime = Lifetime(  # noqa: SLF001 - another of the same class
            url=store or old.url,
            lifespan=old.lifespan if deps is ... else given(deps),
            clock=clock or old.clock,
            tools=self._tools,
        )
        made._assembled()  # noqa: SLF001
        return made
