"""``remit serve``: one process that serves an app, with nothing half configured."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import click

from remit.app import Remit
from remit.arguments import read
from remit.cli.claims import CLAIMS_HELP, claims_from
from remit.cli.drawing import line, log_to_stderr, put
from remit.cli.failing import CommandError, UsageError, run
from remit.cli.loading import load
from remit.contract import DeclarationError
from remit.outcome import Refused

if TYPE_CHECKING:
    from remit.auth import Verifier
    from remit.surfaces.mcp import HttpOptions

__all__ = ["serve"]

MCP_PATH: Final = "/mcp"
HEALTH_PATH: Final = "/healthz"
LOOPBACK: Final = tuple(
    f"{name}{port}" for name in ("127.0.0.1", "localhost", "[::1]") for port in ("", ":*")
)

# Not the docstring: click's mark for lines that stay as they are is a backspace.
_TEXT: Final = """Serve the app MODULE:APP: MCP at /mcp, a health check at /healthz.

Callers are known by their bearer token: --issuer and --audience with --jwks-url or --key-file.
Without these only public tools can be called, and only from this machine.

\b
  remit serve blog:blog --dev                      the first hour
  remit serve blog:blog --issuer … --audience … --jwks-url …
  remit serve blog:blog --stdio --claims me.json   for a client that starts it
"""


@dataclass(frozen=True, slots=True)
class Auth:
    """What the options say of the tokens to accept; empty parts were not given."""

    issuer: str | None
    audience: str | None
    jwks_url: str | None
    key_file: str | None
    algorithms: tuple[str, ...]
    url: str | None

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        named = {
            "--issuer": self.issuer,
            "--audience": self.audience,
            "--jwks-url": self.jwks_url,
            "--key-file": self.key_file,
            "--algorithm": self.algorithms,
            "--url": self.url,
        }
        return [name for name, value in named.items() if value]

    def whole(self) -> bool:
        """Tell whether tokens are to be checked at all.

        Raises:
            UsageError: If the options say half of how.
        """
        if not self.given:
            return False
        lacking = [
            name
            for name, value in (("--issuer", self.issuer), ("--audience", self.audience))
            if not value
        ]
        if not self.jwks_url and not self.key_file:
            lacking.append("--jwks-url or --key-file")
        if lacking:
            raise UsageError(
                f"{', '.join(self.given)} is half an auth configuration, which would check less "
                f"than it seems; give {', '.join(lacking)} too"
            )
        if self.jwks_url and self.key_file:
            raise UsageError("--jwks-url and --key-file both say where the key is; give one")
        return True


@click.command(help=_TEXT, short_help="Serve an app: MCP at /mcp, a health check at /healthz.")
@click.argument("target", metavar="MODULE:APP")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@click.option("--issuer", metavar="URL", help="Who signs the tokens: their iss, exactly.")
@click.option("--audience", metavar="TEXT", help="For whom tokens are meant: their aud.")
@click.option("--jwks-url", metavar="URL", help="Where the issuer's keys are.")
@click.option(
    "--key-file", metavar="FILE", help="The issuer's public key: PEM, or a JWK or JWKS as JSON."
)
@click.option(
    "--algorithm", "algorithms", multiple=True, help="An algorithm to accept; once for each."
)
@click.option(
    "--url", metavar="URL", help="This server's public address, where --audience is no address."
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST",
    help="What Host may say beside this machine's names and the public address; once for each.",
)
@click.option("--dev", is_flag=True, help="For the first hour: a key and a token made on the spot.")
@click.option(
    "--stdio", is_flag=True, help="Serve MCP on stdin and stdout, for one fixed principal."
)
@click.option("--claims", metavar="FILE|JSON", help=f"{CLAIMS_HELP} With --stdio or --dev only.")
def serve(
    target: str,
    *,
    host: str,
    port: int,
    dev: bool,
    stdio: bool,
    claims: str | None,
    hosts: tuple[str, ...],
    **auth_options: Any,
) -> None:
    """Serve the app MODULE:APP until the process is told to end."""
    auth = Auth(**auth_options)
    if dev and stdio:
        raise UsageError("--dev serves HTTP and --stdio doesn't; give one of them")
    if (dev or stdio) and auth.given:
        word = "--dev makes its own key" if dev else "--stdio has one fixed principal"
        raise UsageError(f"{word}, so that {', '.join(auth.given)} would do nothing; leave it out")
    if claims is not None and not (dev or stdio):
        raise UsageError("over HTTP each call's own token says who calls; leave out --claims")
    checked = auth.whole()
    if dev and not _is_loopback(host):
        raise UsageError(f"--dev listens on this machine only; leave out --host {host}")
    if not (checked or dev or stdio) and not _is_loopback(host):
        raise UsageError(
            f"--host {host} is open to others and no token would be checked: give --issuer, "
            "--audience and --jwks-url or --key-file"
        )
    log_to_stderr("uvicorn")
    app = load(target)
    if stdio:
        _stdio(app, claims_from(claims))
    elif dev:
        _dev(app, host, port, claims_from(claims) if claims is not None else None)
    else:
        options: HttpOptions = {}
        if auth.url:
            options["resource_url"] = auth.url
        if hosts:
            named = [urlsplit(url).netloc for url in (auth.url, auth.audience) if url]
            options["allowed_hosts"] = [*LOOPBACK, *filter(None, named), *hosts]
        _http(app, host, port, auth=_verifier(auth) if checked else None, options=options)


# Over HTTP. ---------------------------------------------------------------------------------------


def _http(app: Remit, host: str, port: int, *, auth: Verifier | None, options: HttpOptions) -> None:
    with _bound(host, port) as listener:
        url = _url(host, listener)
        if auth is None:
            public = sorted(name for name, tool in app.tools.items() if tool.public)
            _note(f"No token is checked, so only public tools can be called: {_list(public)}.")
        _note(f"remit serves {app.name}: MCP at {url}{MCP_PATH}, health at {url}{HEALTH_PATH}")
        _serve(app, listener, auth=auth, options=options)


def _serve(
    app: Remit, listener: socket.socket, *, auth: Verifier | None, options: HttpOptions
) -> None:
    uvicorn = _needed("uvicorn", extra="mcp")
    _needed("mcp", extra="mcp")
    try:
        asgi = app.serve(auth=auth, **options)
    except DeclarationError as error:
        # The text names the options of Remit.serve; --url is its resource_url.
        raise UsageError(f"{error} (here: --url, --issuer, --allow-host)") from None
    # No log_config: uvicorn's own would write what callers sent undrawn, and to stdout.
    server = uvicorn.Server(uvicorn.Config(asgi, log_config=None, log_level="info"))
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        return
    if not server.started:
        raise CommandError(f"{app.name} did not start; the log above says why")


def _bound(host: str, port: int) -> socket.socket:
    """Return a listening socket, so that port 0 has its number before anything is printed."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CommandError(f"can't listen on {host}: {error.strerror}") from None
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(
            2048
        )  # uvicorn's own backlog; now, so that a taken port shows before the text
    except OSError as error:
        listener.close()
        raise CommandError(
            f"can't listen on {host}:{port}: {error.strerror}. --port 0 takes a free one."
        ) from None
    return listener


def _url(host: str, listener: socket.socket) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _verifier(auth: Auth) -> Verifier:
    _needed("jwt", extra="jwt")
    from remit.auth import JWT

    try:
        return JWT(
            issuer=auth.issuer or "",
            audience=auth.audience or "",
            jwks_url=auth.jwks_url,
            key=_key(auth.key_file) if auth.key_file else None,
            algorithms=auth.algorithms or None,
        )
    except DeclarationError as error:
        raise UsageError(f"this auth configuration can't be used: {error}") from None


def _key(file: str) -> str | Mapping[str, Any]:
    try:
        text = Path(file).read_text("utf-8")
        if not text.lstrip().startswith("{"):
            return text
        return cast("Mapping[str, Any]", read(text))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--key-file {file} can't be read: {error}") from None
    except Refused:
        raise UsageError(f"--key-file {file} begins like JSON and isn't") from None


def _needed(module: str, *, extra: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise CommandError(f"serving needs {module}: pip install 'remit[{extra}]'") from None


def _note(text: str) -> None:
    put(line(text), error=True)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "there is none"


# For the first hour, and on stdio. ----------------------------------------------------------------


def _dev(app: Remit, host: str, port: int, claims: Mapping[str, Any] | None) -> None:
    _needed("jwt", extra="jwt")
    from remit.cli.dev import development

    with _bound(host, port) as listener:
        url = f"{_url(host, listener)}{MCP_PATH}"
        made = development(app, url=url, claims=claims or {})
        put(made.text)
        sys.stdout.flush()
        _serve(app, listener, auth=made.verifier, options={})


def _stdio(app: Remit, claims: Mapping[str, Any] | None) -> None:
    _needed("mcp", extra="mcp")
    if claims is None:
        public = sorted(name for name, tool in app.tools.items() if tool.public)
        if not public:
            raise UsageError(
                f"{app.name} has no public tool and --stdio no principal: say on whose behalf with "
                "--claims FILE"
            )
        _note(f"No claims were given, so only public tools can be called: {_list(public)}.")
    run(app.mcp_stdio(claims=claims))
