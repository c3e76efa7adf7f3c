"""What ``remit serve --dev`` makes and prints: a key, a token, and a client's configuration."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from remit.app import Remit
from remit.auth import Dev, Verifier
from remit.cli.drawing import json_text, line, moment
from remit.cli.failing import UsageError, run
from remit.outcome import Refused

__all__ = ["Development", "development"]

SECONDS: Final = 3600.0  # how long the token holds
_SIGNED: Final = ("iss", "aud", "exp", "iat", "nbf")


@dataclass(frozen=True, slots=True)
class Development:
    """A development server's way in.

    Attributes:
        verifier: Takes this process's own tokens and no other.
        token: The one that was made.
        text: What the person who started the server is told.
    """

    verifier: Verifier
    token: str
    text: str


def development(app: Remit, *, url: str, claims: Mapping[str, Any]) -> Development:
    """Return a key and a token made on the spot for *app*, served at *url*.

    Args:
        app: The app; the token has all scopes that its tools ask for.
        url: The MCP endpoint, which is the token's audience.
        claims: Claims to add, or to put in place of those.

    Raises:
        UsageError: If the claims can't be in a token, or make no principal of the app.
    """
    if taken := sorted(claims.keys() & set(_SIGNED)):
        raise UsageError(
            f"--claims: the key made here signs {', '.join(taken)} itself; leave it out"
        )
    scopes = sorted(frozenset[str]().union(*(tool.scopes for tool in app.tools.values())))
    said: dict[str, Any] = {"sub": "dev", "scope": " ".join(scopes), "client_id": "remit-dev"}
    said |= claims
    key = Dev(audience=url)
    _principal(app, {**said, "iss": key.verifier.issuer})
    more = {k: v for k, v in said.items() if k not in ("sub", "scope", "client_id", "roles")}
    ends = time.time() + SECONDS
    try:
        token = key.token(
            said["sub"],
            scopes=_names("scope", said["scope"]),
            roles=_names("roles", said.get("roles", ())),
            client=said["client_id"],
            seconds=SECONDS,
            **more,
        )
    except (TypeError, ValueError) as error:
        raise UsageError(f"--claims: {error}") from None
    return Development(key.verifier, token, _text(app, url, token, said, ends))


def _principal(app: Remit, claims: Mapping[str, Any]) -> None:
    """Refuse claims that each call would be refused for."""

    async def asked() -> None:
        try:
            await app.visible(claims, surface="mcp")
        finally:
            await app.close()

    try:
        run(asked(), refusals=True)
    except Refused:
        raise UsageError(
            f"a token with these claims is nobody to {app.name}: its principal reads claims that "
            'they lack. Add them: --claims \'{"sub": "dev", …}\''
        ) from None


def _names(claim: str, value: object) -> list[str]:
    names = value.split() if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        raise UsageError(f"--claims: {claim} is a text of names or a list of them")
    for name in cast("list[object]", names):
        if not isinstance(name, str):
            raise UsageError(f"--claims: {claim} is a text of names or a list of them")
    return [*cast("list[str]", names)]


def _text(app: Remit, url: str, token: str, claims: Mapping[str, Any], ends: float) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", app.name).strip("-") or "remit"
    header = f"Authorization: Bearer {token}"
    add = f"claude mcp add --transport http {name} {shlex.quote(url)} --header {json.dumps(header)}"
    scopes = " ".join(_names("scope", claims["scope"]))
    config = {
        "mcpServers": {
            name: {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {token}"}}
        }
    }
    return f"""\
{line(app.name)} for development, on this machine only.

This is no production set-up: the key was made just now and is gone when this process ends, and
whoever reads this can be {line(claims["sub"])}. In production tell serve whose tokens to take:
--issuer, --audience and --jwks-url.

  MCP      {url}
  health   {url.removesuffix("/mcp")}/healthz
  who      {line(claims["sub"])}, with {line(scopes) or "no scopes"}
  until    {moment(ends)}

Claude Code:

  {add}

Other clients:

{json_text(config, indent=2)}

The token alone:

  {token}
"""
