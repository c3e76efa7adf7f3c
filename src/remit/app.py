"""`Remit`: declare tools once, build every surface from them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Never, Self, cast

from remit import idempotency
from remit.approvals import Approvals
from remit.audit import Audit, Record
from remit.call import Call, Link, Progress
from remit.contract import Approval, DeclarationError, Effect, Hints, Require, Tool
from remit.declaration import Options, declared
from remit.limits import Limits
from remit.outcome import Outcome, Refused
from remit.passage import Event, Passage
from remit.path import MAX_ARGUMENT_BYTES, RUN_STAGES, Path
from remit.permissions import Missing, permission, scope_permission
from remit.principal import Principal
from remit.projection import MAX_RESULT_BYTES
from remit.schema.merge import rooted
from remit.store import Store, StoreError

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.applications import Starlette
    from typing_extensions import Unpack

    from remit.auth import Verifier
    from remit.surfaces.mcp import HttpOptions

__all__ = ["Listed", "Remit"]

_log = logging.getLogger("remit")
_ORPHANED: Final = (
    60.0  # seconds beyond a tool's own time after which an open intent's process is gone
)


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


def _listed(tool: Tool) -> Listed:
    content = tool.projection.content and tool.approval is None
    wrapped = tool.approval is None and not content and rooted(tool.projection.schema)[1]
    shown = None if content else tool.output_schema
    return Listed(
        tool.name, tool.title, tool.description, tool.input_schema, shown, tool.hints, wrapped
    )


class Remit:
    """An app: its tools, whose they are, and where outcomes are kept.

    Args:
        name: The app's name, as surfaces show it.
        principal: What is read from a caller's verified claims.
        version: The app's version; an approval is bound to it.
        lifespan: An async context manager, or a function that gives one (it may take the app); what it
            yields is `Call.deps`.
        store: A SQLAlchemy URL. None means the environment's ``REMIT_STORE``, else
            ``sqlite:///remit.db``; ``sqlite://`` is memory, for tests.
        scopes: The scopes there are, by name. A tool that needs another is refused; None takes any.
        missing_scope: ``hide`` answers a caller who lacks a scope as if there were no such tool;
            ``challenge`` says which scope is missing.
        host_keys: Top-level keys that a host adds to every call. They are dropped and recorded, and
            never stand above a declared parameter.
        max_argument_bytes: The most bytes of one call's arguments as JSON.
        max_waiting: How many requests of one principal may wait for a person.
        clock: Seconds since the epoch.

    Raises:
        DeclarationError: For an option that can't be kept, or that there is none of.
    """

    def __init__(
        self,
        name: str,
        *,
        principal: type[Principal] = Principal,
        version: str = "0",
        lifespan: Callable[..., AbstractAsyncContextManager[Any]]
        | AbstractAsyncContextManager[Any]
        | None = None,
        store: str | None = None,
        scopes: AbstractSet[str] | Mapping[str, str] | None = None,
        missing_scope: Missing = "hide",
        host_keys: AbstractSet[str] = frozenset(),
        max_argument_bytes: int = MAX_ARGUMENT_BYTES,
        max_waiting: int = 20,
        clock: Callable[[], float] = time.time,
        **unknown: Never,
    ) -> None:
        _no_others(f"Remit({name!r})", unknown, Remit.__init__)
        if not isinstance(name, str) or not name:  # pyright: ignore[reportUnnecessaryIsInstance]
            text = "Remit: the first argument is the app's name, e.g. Remit('blog')"
            raise DeclarationError(text)
        if not (isinstance(principal, type) and issubclass(principal, Principal)):  # pyright: ignore[reportUnnecessaryIsInstance]
            text = f"Remit({name!r}): principal is a subclass of remit.Principal"
            raise DeclarationError(text)
        if missing_scope not in ("hide", "challenge"):
            text = f"Remit({name!r}): missing_scope is 'hide' or 'challenge', not {missing_scope!r}"
            raise DeclarationError(text)
        self.name = name
        self.version = version
        self._known_scopes = None if scopes is None else frozenset(scopes)
        self._host_keys = frozenset(host_keys)
        self._lifespan = lifespan
        self._store_url = store
        self._missing: Missing = missing_scope
        self._clock = clock
        self._tools: dict[str, Tool] = {}
        self._listed: dict[str, Listed] = {}
        self._visible: dict[frozenset[str] | None, tuple[Listed, ...]] = {}
        self._before: list[Callable[[Event], Any]] = []
        self._after: list[Callable[[Event], Any]] = []
        self._principal = principal
        self._settings: dict[str, Any] = {
            "max_argument_bytes": max_argument_bytes,
            "max_waiting": max_waiting,
        }
        self._store: Store | None = None
        self._deps: Any = None
        self._stack: AsyncExitStack | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting: asyncio.Lock | None = None
        self._assembled()

    def _assembled(self) -> None:
        self.approvals = Approvals(
            store=self._opened,
            tools=self._tools,
            execute=self._execute,
            clock=self._clock,
            max_waiting=self._settings["max_waiting"],
        )
        self._path = Path(
            tools=self._tools,
            principal=self._principal,
            store=self._opened,
            approvals=lambda: self.approvals,
            limits=Limits(clock=self._clock),
            clock=self._clock,
            missing=self._missing,
            before=self._before,
            after=self._after,
            max_argument_bytes=self._settings["max_argument_bytes"],
        )

    def __repr__(self) -> str:
        """Name the app; a store's URL may hold a password and stays out."""
        return f"<Remit {self.name}: {len(self._tools)} tools>"

    # Declaring. --------------------------------------------------------------------------------------

    def tool(
        self,
        *,
        effect: Effect | None = None,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        external: bool = False,
        idempotent: bool = False,
        scopes: AbstractSet[str] = frozenset(),
        public: bool = False,
        require: Require | None = None,
        approval: Approval | None = None,
        timeout: float = 60.0,
        limit: str | None = None,
        inline: bool = False,
        repair: AbstractSet[str] = frozenset(),
        errors: Mapping[type[Exception], Refused] | None = None,
        max_result_bytes: int = MAX_RESULT_BYTES,
        **unknown: Never,
    ) -> Callable[[Callable[..., Any]], Tool]:
        """Declare the decorated function as a tool.

        Args:
            effect: ``read``, ``write`` or ``irreversible``; must be said.
            name: The tool's name, where it isn't the function's.
            title: A short name for people.
            description: What the model reads, where it isn't the docstring.
            external: True if it reaches systems beyond the app's own.
            idempotent: True if repeating a call changes nothing further.
            scopes: What the caller's token must hold, all of it; empty means any signed-in principal.
            public: True if anyone may call it, signed in or not.
            require: A rule about the caller.
            approval: Who must agree before its code runs; it is then called ``request_…``.
            timeout: Seconds that its code may take.
            limit: Calls per principal, such as ``60/minute``.
            inline: True runs a plain function on the event loop; say it only of code that never waits.
            repair: Repairs of arguments to make, see `remit.arguments.REPAIRS`.
            errors: Which exceptions of its code the caller may know of, and in what words.
            max_result_bytes: The most bytes of a whole answer.

        Raises:
            DeclarationError: For whatever is wrong with it, naming the place and the mend.
        """
        _no_others("tool", unknown, Remit.tool)
        scope = dict(sys._getframe(1).f_locals)  # noqa: SLF001 - classes local to a function, under postponed annotations
        options = Options(
            effect=effect,
            name=name,
            title=title,
            description=description,
            external=external,
            idempotent=idempotent,
            scopes=scopes,
            public=public,
            require=require,
            approval=approval,
            timeout=timeout,
            limit=limit,
            inline=inline,
            repair=repair,
            errors=errors or {},
            max_result_bytes=max_result_bytes,
            host_keys=self._host_keys,
            known_scopes=self._known_scopes,
            version=self.version,
        )

        def declare(function: Callable[..., Any]) -> Tool:
            made = declared(function, options, scope=scope)
            if made.name in self._tools:
                text = (
                    f"{made.name}: two tools of {self.name} have this name; give one of them name=…"
                )
                raise DeclarationError(text)
            self._tools[made.name] = made
            self._listed[made.name] = _listed(made)
            self._visible.clear()
            return made

        return declare

    def before_call(self, hook: Callable[[Event], Any]) -> Callable[[Event], Any]:
        """Have *hook* told of every call before it is judged; raising `Refused` there refuses the call."""
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
        return frozenset(name for name, one in self._listed.items() if one.wrapped)

    def advertised(self, tool: str) -> dict[str, Any]:
        """Return the canonical schema of *tool*'s arguments (JSON Schema 2020-12).

        Raises:
            KeyError: If there is no such tool.
        """
        return self._tools[tool].input_schema

    # Calling. ----------------------------------------------------------------------------------------

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

    async def dispatch(
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
        if self._loop is not asyncio.get_running_loop():
            try:
                await self.start()
            except StoreError as error:
                _log.error("the store can't be opened", exc_info=error)  # noqa: TRY400 - one line, one trace
                text = "The server can't write its record, so the call was not made. Try later."
                return Refused("store_unavailable", text)
            except Exception:
                _log.exception("the app can't start")
                text = "The server can't start this app. Do not retry automatically; tell the user."
                return Refused("internal", text)
        link = None
        if progress is not None or answers or state is not None or can_ask:
            link = Link(progress, answers or {}, state, can_ask)
        passage = Passage(
            tool,
            raw_arguments,
            claims,
            surface=surface,
            deps=self._deps,
            at=self._clock(),
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
                raise Refused(
                    "unauthenticated", "Sign in: this call carries no valid identity."
                ) from None
        held = None if principal is None else principal.scopes & self._asked_scopes()
        by_scope = self._visible.get(held)
        if by_scope is None:
            by_scope = tuple(
                self._listed[name]
                for name, tool in self._tools.items()
                if scope_permission(tool, principal, self._missing).listed
            )
            if len(self._visible) < 1024:
                self._visible[held] = by_scope
        ruled = [one.name for one in by_scope if self._tools[one.name].require is not None]
        if not ruled:
            return by_scope
        await self.start()
        hidden: set[str] = set()
        for name in ruled:
            call = self._calling(name, principal, surface)
            try:
                decided = await permission(self._tools[name], call, self._missing)
            except Exception:
                _log.exception("the rule of tool %s failed; it is not listed", name)
                hidden.add(name)
            else:
                if not decided.listed:
                    hidden.add(name)
        if not hidden:
            return by_scope
        rest = tuple(one for one in by_scope if one.name not in hidden)
        return self._same_tuple(rest)

    def _same_tuple(self, tools: tuple[Listed, ...]) -> tuple[Listed, ...]:
        names = frozenset(f"tool:{one.name}" for one in tools)
        return self._visible.setdefault(names, tools) if len(self._visible) < 1024 else tools

    def _asked_scopes(self) -> frozenset[str]:
        return frozenset[str]().union(*(tool.scopes for tool in self._tools.values()))

    def _calling(self, tool: str, principal: Principal | None, surface: str) -> Call[Any, Any]:
        client = "" if principal is None else principal.client
        return Call(cast("Principal", principal), self._deps, "", tool, surface, client)

    async def _execute(self, row: Mapping[str, Any], compare: Callable[[Passage], Any]) -> Outcome:
        """Run a request's frozen arguments through the path, as the one who asked."""
        import json

        await self.start()
        decider = json.loads(row["decided_by"])
        passage = Passage(
            row["tool"],
            row["arguments"],
            json.loads(row["principal"]),
            surface="approvals",
            deps=self._deps,
            at=self._clock(),
            client=row["client"],
        )
        passage.kind, passage.request_id = "run", row["id"]
        passage.approver, passage.text = decider["subject"], row["arguments"]

        async def compared(_: Path, p: Passage) -> Refused | None:
            return await compare(p)

        stages = [(name, stage) for name, stage in RUN_STAGES]
        after_load = next(i for i, (name, _) in enumerate(stages) if name == "load") + 1
        stages.insert(after_load, ("compare", compared))
        return await self._path.walk(passage, stages)

    # Starting and ending. ----------------------------------------------------------------------------

    def _opened(self) -> Store:
        if self._store is None:
            url = self._store_url or os.environ.get("REMIT_STORE") or "sqlite:///remit.db"
            self._store = Store.open(url)
        return self._store

    @property
    def store(self) -> Store:
        """The app's store, opened and migrated at first use.

        Raises:
            StoreError: If it can't be.
        """
        return self._opened()

    @property
    def audit(self) -> Audit:
        """What was recorded: `Audit.rows` and `Audit.verify`."""
        return Audit(self._opened())

    async def start(self) -> None:
        """Open the store and enter the lifespan, once per event loop; every call does it where needed.

        Raises:
            StoreError: If the store can't be opened.
        """
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        if self._starting is None or self._loop is not None:
            self._starting = asyncio.Lock()
            self._loop = None
        async with self._starting:
            if self._loop is loop:
                return
            if self._store is None:
                await asyncio.to_thread(self._opened)
            stack = AsyncExitStack()
            lifespan: Any = self._lifespan
            if callable(lifespan):
                lifespan = lifespan(self) if _takes_app(lifespan) else lifespan()
            self._deps = None if lifespan is None else await stack.enter_async_context(lifespan)
            self._stack = stack
            self._loop = loop
            await self._close_orphans()

    async def _close_orphans(self) -> None:
        """Name the effects whose process died between intent and outcome; nobody knows of them."""
        longest = max((tool.timeout for tool in self._tools.values()), default=0.0)
        now = self._clock()
        for row in await self._opened().commit(work=idempotency.orphans(now - longest - _ORPHANED)):
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
            await self._opened().commit([record])

    async def close(self) -> None:
        """Leave the lifespan and close the store."""
        stack, self._stack, self._loop = self._stack, None, None
        if stack is not None:
            await stack.aclose()
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)

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
        made._store_url = store or self._store_url
        made._clock = clock or self._clock
        made._store, made._stack, made._loop, made._starting, made._deps = (
            None,
            None,
            None,
            None,
            None,
        )
        if deps is not ...:
            made._lifespan = lambda: _Given(deps)
        made._assembled()
        return made

    # Surfaces, imported where they are asked for. -----------------------------------------------------

    def mcp(self, *, claims: Mapping[str, Any] | None = None) -> Server[Any]:
        """Return the app as a low-level MCP server, both protocol eras at once.

        Args:
            claims: A fixed identity from configuration, for stdio and in-process use. Without it each
                request's own verified token says who calls, and without one only public tools can be.
        """
        from remit.surfaces import mcp

        return mcp.server(self, claims=claims)

    def mcp_app(self, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> Starlette:
        """Return the app over MCP's streamable HTTP; see `remit.surfaces.mcp.http_app`."""
        from remit.surfaces import mcp

        return mcp.http_app(self, auth=auth, **options)

    async def mcp_stdio(self, *, claims: Mapping[str, Any] | None) -> None:
        """Serve the app over stdio until its input ends, for the principal that *claims* name."""
        from remit.surfaces import mcp

        await mcp.stdio(self, claims=claims)

    def serve(self, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> Starlette:
        """Return one ASGI app with every HTTP surface; see `remit.surfaces.asgi.serve`."""
        from remit.surfaces import asgi

        return asgi.serve(self, auth=auth, **options)


class _Given(AbstractAsyncContextManager[Any]):
    """A lifespan that gives what it was given."""

    def __init__(self, deps: Any) -> None:
        self._deps = deps

    async def __aenter__(self) -> Any:
        return self._deps

    async def __aexit__(self, *_: object) -> None:
        return None


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


def _no_others(where: str, unknown: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse options that there are none of; a misspelt one would be a rule that nobody keeps."""
    if not unknown:
        return
    import difflib

    known = [
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    ]
    name = sorted(unknown)[0]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    text = f"{where}: there is no option {name!r}; {hint}"
    raise DeclarationError(text)
