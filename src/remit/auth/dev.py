"""A key for the first hour: made on the spot, gone with the process."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any, Final

from remit.auth.jwt import JWT, library

__all__ = ["Dev"]

MAX_SECONDS: Final = 12 * 3600.0  # a token that outlives the day is a password
_OURS: Final = frozenset({"iss", "aud", "sub", "iat", "exp", "scope", "roles", "client_id"})


class Dev:
    """Issues short-lived tokens with a key that nobody else has, and verifies them.

    Not for production. Anyone who can call `token` can be anyone: keep it to a server on the
    loopback interface.

    Args:
        issuer: What it calls itself. Nobody answers at that address.
        audience: For whom its tokens are: the address of the MCP endpoint.

    Attributes:
        public: The public key, a JWK.
        verifier: Takes this key's tokens and no others.

    Raises:
        ImportError: If PyJWT isn't installed.
    """

    def __init__(
        self,
        *,
        issuer: str = "https://dev.remit.invalid",
        audience: str = "http://127.0.0.1:8000/mcp",
    ) -> None:
        library()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from jwt.algorithms import OKPAlgorithm

        self._key = Ed25519PrivateKey.generate()
        self.public: dict[str, Any] = json.loads(OKPAlgorithm.to_jwk(self._key.public_key()))
        self.verifier: JWT = JWT(
            issuer=issuer, audience=audience, key=self.public, algorithms=["EdDSA"]
        )

    def __repr__(self) -> str:
        """Say that it is one, and nothing of its key."""
        return f"Dev(issuer={self.verifier.issuer!r}, audience={self.verifier.audience!r})"

    def token(
        self,
        subject: str,
        *,
        scopes: Iterable[str] = (),
        roles: Iterable[str] = (),
        client: str = "remit-dev",
        seconds: float = 3600.0,
        **claims: Any,
    ) -> str:
        """Return a token for *subject*.

        Args:
            subject: On whose behalf.
            scopes: What it may do.
            roles: What it may approve.
            client: The agent or host that will carry it.
            seconds: How long it holds; twelve hours at most.
            claims: Further claims that the app's principal reads.

        Raises:
            ValueError: If it would hold too long, or *claims* would replace what the others say.
        """
        import jwt

        if not 0 < seconds <= MAX_SECONDS:
            raise ValueError(f"a development token holds at most {MAX_SECONDS:g} seconds")
        if taken := sorted(_OURS & claims.keys()):
            raise ValueError(f"claim {taken[0]!r} has a parameter of its own")
        now = int(time.time())
        return jwt.encode(
            {
                **claims,
                "iss": self.verifier.issuer,
                "aud": self.verifier.audience,
                "sub": subject,
                "client_id": client,
                "scope": " ".join(scopes),
                "roles": sorted(roles),
                "iat": now,
                "exp": now + int(seconds),
            },
            self._key,
            algorithm="EdDSA",
        )
