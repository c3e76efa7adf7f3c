"""The one thing that remit asks of whoever checks tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

__all__ = ["Verifier"]


class Verifier(Protocol):
    """Checks bearer tokens: a JWT's signature, an introspection endpoint, a table of keys.

    An implementation must check that the token was made for this server (its audience) and that it
    hasn't expired; nothing behind it asks again. Its attributes ``issuer`` and ``audience``, where
    it has them, are what `remit.Remit.mcp_app` publishes about who gives tokens out.
    """

    async def verify(self, token: str, /) -> Mapping[str, Any] | None:
        """Return the claims of *token*, or None if it isn't valid now.

        The claims need a ``sub``, a text that names the principal; ``iss`` and ``client_id`` belong
        to the identity as well. A bad token is no exception; whatever is raised refuses it.
        """
        ...
