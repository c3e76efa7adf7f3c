"""Where the MCP server runs: stdio, and streamable HTTP as an ASGI app, alone or inside another.

Host and Origin are checked on every request. Half of an auth configuration is refused: the SDK by
itself serves a server with settings and no verifier to anyone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypedDict
from urllib.parse import urlsplit

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.authentication import AuthCredentials
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from remit.auth.jwks import is_loopback
from remit.contract import DeclarationError
from remit.principal import Principal
from remit.surfaces.mcp.server import server

if TYPE_CHECKING:
    from remit.app import Remit
    from remit.auth import Verifier

__all__ = ["HttpApp", "HttpOptions", "http_app", "serving", "stdio"]

SWEEP: Final = 1.0  # seconds between two looks for what was approved elsewhere, or has expired

_LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_log = logging.getLogger("remit")


class HttpOptions(TypedDict, total=False):
    """The options of `http_app`, which says what they mean."""

    path: str
    stateless: bool
    json_response: bool
    allowed_hosts: Sequence[str] | None
    allowed_origins: Sequence[str] | None
    resource_url: str | None
    issuer: str | None
    required_scopes: Sequence[str]
    state_keys: Sequence[str | bytes] | None
    flat: bool


async def stdio(app: Remit, *, claims: Mapping[str, Any] | None, flat: bool = False) -> None:
    """Serve *app* over stdin and stdout until the input ends.

    Args:
        app: The app.
        claims: Who calls, from configuration; None is nobody, for whom there are public tools only.
        flat: See `remit.surfaces.mcp.server`.
    """
    made = server(app, claims=claims, flat=flat)
    async with serving(app), stdio_server() as (incoming, outgoing):
        await made.run(incoming, outgoing, made.create_initialization_options())


@asynccontextmanager
async def serving(app: Remit) -> AsyncGenerator[None]:
    """Run *app* as a serving process does, and close it again unless it ran before.

    Meanwhile it runs what was approved elsewhere, and ends what has expired.
    """
    ran = app.running
    await app.start()
    sweeper = asyncio.create_task(_sweep(app))
    try:
        yield
    finally:
        sweeper.cancel()
        await asyncio.wait([sweeper])
        if not ran:
            await app.close()


async def _sweep(app: Remit) -> None:
    while True:
        await asyncio.sleep(SWEEP)
        try:
            await app.approvals.sweep()
        except Exception:  # noqa: BLE001 - the next look may find the store again
            _log.exception("approved requests could not be looked at; trying again")


class HttpApp(Starlette):
    """The app over streamable HTTP.

    Inside another ASGI app its own lifespan doesn't run, so that the other must run it::

        tools = app.mcp_app(auth=…, path="/")
        Starlette(routes=[Mount("/tools", app=tools)], lifespan=tools.lifespan)

    The metadata of RFC 9728 belongs at the root of the host: put ``tools.metadata``, which are
    routes, beside the mount.
    """

    metadata: list[BaseRoute]

    def __init__(
        self, app: Remit, *, endpoint: _Endpoint, path: str, door: ASGIApp, **options: Any
    ) -> None:
        super().__init__(lifespan=self.lifespan, **options)
        self._app = app
        self._endpoint = endpoint
        self._path = path
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; one for the endpoint goes to it without a walk through the routes."""
        if scope["type"] != "http" or scope["path"] != self._path or self.user_middleware:
            await super().__call__(scope, receive, send)
        else:
            await self._door(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncGenerator[None]:
        """Start the app and its sessions, and end them; once at a time, and again afterwards."""
        async with serving(self._app), self._endpoint.running():
            yield


class _Endpoint:
    """The ASGI app at the MCP path."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Take requests until the block ends.

        Raises:
            RuntimeError: If it takes them already.
        """
        if self._manager is not None:
            raise RuntimeError("this MCP app runs already: give each server process its own")
        manager = StreamableHTTPSessionManager(**self._options)
        async with manager.run():
            self._manager = manager
            try:
                yield
            finally:
                self._manager = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            raise RuntimeError(
                "this MCP app was not started: inside another ASGI app, run its lifespan there, "
                "e.g. Starlette(routes=[Mount('/tools', app=tools)], lifespan=tools.lifespan)"
            )
        await self._manager.handle_request(scope, receive, send)


class _Bearer:
    """Who a request's bearer token says calls (RFC 6750 section 2.1: in the header alone).

    Not Starlette's middleware, which makes four objects of each request and reads its headers
    three times. What it finds stands where that would put it, and *app* refuses who isn't there.
    """

    def __init__(self, app: ASGIApp, verifier: Verifier) -> None:
        self._app = app
        self._verifier = verifier

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # An app around this one may have put a user of its own there, by other rules.
        scope = {**scope, "user": None, "auth": None}
        # Of two tokens, a proxy may have checked the other.
        sent = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = sent[0].partition(b" ") if len(sent) == 1 else (b"", b"", b"")
        if scheme.lower() == b"bearer" and token:
            user = await self._user(token.decode("latin-1"))
            if user is not None:
                scope["user"], scope["auth"] = user, AuthCredentials(user.scopes)
        await self._app(scope, receive, send)

    async def _user(self, token: str) -> AuthenticatedUser | None:
        try:
            claims = await self._verifier.verify(token)
        except Exception as error:  # noqa: BLE001 - a verifier that fails has verified nothing
            _log.error("the token verifier failed: %s", type(error).__name__)
            return None
        if claims is None:
            return None
        try:
            who = Principal.model_validate(claims)
        except ValidationError:
            _log.warning("a verified token names nobody: claims need sub, a text")
            return None
        # Client, issuer and subject are who owns a session, so that a refreshed token goes on with
        # it. The token itself stays here: nothing behind could pass it on (MCP, token passthrough).
        verified = AccessToken(
            token="",
            client_id=who.client,
            scopes=sorted(who.scopes),
            subject=who.subject,
            claims=dict(claims),
        )
        return AuthenticatedUser(verified)


def http_app(  # noqa: PLR0913 - one option, one thing to say
    app: Remit,
    *,
    auth: Verifier | None = None,
    path: str = "/mcp",
    stateless: bool = True,
    json_response: bool = True,
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] | None = None,
    resource_url: str | None = None,
    issuer: str | None = None,
    required_scopes: Sequence[str] = (),
    state_keys: Sequence[str | bytes] | None = None,
    flat: bool = False,
    routes: Sequence[BaseRoute] = (),
) -> HttpApp:
    """Return *app* over MCP's streamable HTTP, both protocol eras on one endpoint.

    Without *auth* every caller is nobody, and only public tools can be called.

    Args:
        app: The app.
        auth: Verifies each request's bearer token; a request without a valid one gets 401.
        path: Where the endpoint is.
        stateless: False keeps sessions for clients of 2025-11-25 and before; later ones have none.
        json_response: False streams, which progress reports need.
        allowed_hosts: What ``Host`` may say, such as ``api.example.com`` or ``127.0.0.1:*``.
            Without it this machine's names and the host of *resource_url*.
        allowed_origins: The same for ``Origin``, which browsers send.
        resource_url: The endpoint's public address (RFC 9728). Without it *auth*'s audience, where
            that is an address.
        issuer: Who gives tokens out; without it *auth*'s.
        required_scopes: What every token needs here, whatever the tool; less gets 403.
        state_keys: See `remit.surfaces.mcp.server`.
        flat: See there too.
        routes: Further routes of the same app.

    Raises:
        DeclarationError: If the options don't make a whole.
    """
    if not path.startswith("/"):
        raise DeclarationError(f"http_app: path begins with a slash, e.g. path='/{path}'")
    settings = _settings(auth, resource_url, issuer, required_scopes)
    public = None if settings is None else str(settings.resource_server_url)
    endpoint = _Endpoint(
        app=server(app, state_keys=state_keys, flat=flat),
        json_response=json_response,
        stateless=stateless,
        security_settings=_checked(allowed_hosts, allowed_origins, public),
    )
    if auth is None or settings is None:
        if private := sum(not tool.public for tool in app.tools.values()):
            _log.warning("%s: no auth, so that %d tools can't be called", app.name, private)
        made = HttpApp(
            app,
            endpoint=endpoint,
            path=path,
            door=endpoint,
            routes=[Route(path, endpoint), *routes],
        )
        made.metadata = []
        return made
    assert settings.resource_server_url is not None  # noqa: S101 - for the type checker
    metadata: list[BaseRoute] = [
        *create_protected_resource_routes(
            settings.resource_server_url,
            [settings.issuer_url],
            scopes_supported=sorted(
                frozenset[str]().union(*(t.scopes for t in app.tools.values()))
            ),
            resource_name=app.name,
        )
    ]
    guarded = RequireAuthMiddleware(
        endpoint,
        settings.required_scopes or [],
        build_resource_metadata_url(settings.resource_server_url),
    )
    # Not the SDK's context variable beside it: who calls is read from the request alone.
    door = _Bearer(guarded, auth)
    made = HttpApp(
        app, endpoint=endpoint, path=path, door=door, routes=[Route(path, door), *metadata, *routes]
    )
    made.metadata = metadata
    return made


def _settings(
    auth: Verifier | None, resource_url: str | None, issuer: str | None, scopes: Sequence[str]
) -> AuthSettings | None:
    if auth is None:
        given = {"resource_url": resource_url, "issuer": issuer, "required_scopes": scopes}
        if idle := [name for name, value in given.items() if value]:
            raise DeclarationError(
                f"http_app: {idle[0]} says how tokens are checked, and auth, which checks them, is "
                "missing; give auth=remit.auth.JWT(…)"
            )
        return None
    if not callable(getattr(auth, "verify", None)):
        raise DeclarationError("http_app: auth has no verify; give e.g. auth=remit.auth.JWT(…)")
    if isinstance(scopes, str):
        raise DeclarationError(f"http_app: required_scopes is a list, e.g. [{scopes!r}]")
    audience = getattr(auth, "audience", None)
    resource = resource_url or (audience if _is_url(audience) else None)
    if not _is_url(resource):
        raise DeclarationError(
            "http_app: clients must learn what this server is called (RFC 9728): "
            "give its public address, e.g. resource_url='https://api.example.com/mcp'"
        )
    named = issuer or getattr(auth, "issuer", None)
    if not _is_url(named):
        raise DeclarationError(
            "http_app: clients must learn who gives tokens out (RFC 9728): "
            "give its https address, e.g. issuer='https://id.example.com'"
        )
    return AuthSettings.model_validate(
        {
            "issuer_url": named,
            "resource_server_url": resource,
            "required_scopes": list(scopes),
            # The verifier checks the audience, and remit's own can't be made without one.
            "validate_token_resource": False,
        }
    )


def _is_url(value: object) -> bool:
    if not isinstance(value, str):
        return False
    parts = urlsplit(value)
    host = parts.hostname or ""
    secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
    return bool(host) and secure and parts.username is None and not parts.fragment


def _checked(
    hosts: Sequence[str] | None, origins: Sequence[str] | None, public: str | None
) -> TransportSecuritySettings:
    """Return the check of Host and Origin; there is no way to leave it out (DNS rebinding)."""
    for name, given in (("allowed_hosts", hosts), ("allowed_origins", origins)):
        if isinstance(given, str):
            raise DeclarationError(f"http_app: {name} is a list, e.g. {name}=[{given!r}]")
        for one in given or ():
            if "*" in one.removesuffix(":*"):
                raise DeclarationError(
                    f"http_app: {name}: {one!r}: only the port can be any, e.g. 'api.example.com:*'"
                )
    parts = urlsplit(public or "")
    known = [*_LOOPBACK, *([parts.netloc] if parts.netloc else [])]
    if hosts is None:
        hosts = [host for name in known for host in (name, f"{name}:*")]
    if origins is None:
        local = [f"http://{name}{port}" for name in _LOOPBACK for port in ("", ":*")]
        origins = [*local, *([f"{parts.scheme}://{parts.netloc}"] if parts.netloc else [])]
    return TransportSecuritySettings(allowed_hosts=[*hosts], allowed_origins=[*origins])
