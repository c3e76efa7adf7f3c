"""Public keys by id: a JSON Web Key Set (RFC 7517) that was given, or that an issuer publishes.

A published set is fetched off the event loop, kept, and fetched again when it is old or when a
token names a key that it doesn't have; the latter at most once in a while, since anyone can make up
names.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol, cast
from urllib.parse import urlsplit

__all__ = ["FAMILIES", "Jwk", "KeySet", "Keys", "PublishedKeySet", "is_list", "is_loopback", "read"]

MAX_SET_BYTES: Final = 256 * 1024  # the largest public set met: 30 KiB, with certificate chains
MAX_AGE: Final = 3600.0  # seconds after which a set is fetched again, so that a withdrawn key goes
MAX_STALE: Final = 24 * 3600.0  # seconds that keys outlive an issuer which can't be reached
TIMEOUT: Final = 5.0  # seconds for one step of a fetch
_SOON: Final = 5.0  # seconds until a failed fetch is tried again

FAMILIES: Final[Mapping[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("HS256", "HS384", "HS512"), ("oct", None)),
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms there are, and the key type and curve that each needs (RFC 7518, RFC 8037)."""

_log = logging.getLogger("remit")


class Jwk:
    """One key of a set; what it is stays out of its repr."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = dict(data)
        self._made: dict[str, Any] = {}

    @property
    def kid(self) -> object:
        """The key's id, or None."""
        return self._data.get("kid")

    @property
    def kty(self) -> object:
        """The key's type."""
        return self._data.get("kty")

    @property
    def private(self) -> bool:
        """True if it can sign, which a verifier has no use for."""
        return "d" in self._data

    def fits(self, algorithm: str) -> bool:
        """Return whether this key may verify *algorithm*, by everything it says of itself."""
        kty, curve = FAMILIES[algorithm]
        operations: object = self._data.get("key_ops")
        return (
            self.kty == kty
            and (curve is None or self._data.get("crv") == curve)
            and self._data.get("use", "sig") == "sig"
            and self._data.get("alg", algorithm) == algorithm
            and (operations is None or (isinstance(operations, list) and "verify" in operations))
        )

    def key(self, algorithm: str) -> Any:
        """Return the key as PyJWT takes it.

        Raises:
            jwt.PyJWTError: If it isn't what it says.
        """
        if algorithm not in self._made:
            import jwt

            self._made[algorithm] = jwt.PyJWK(self._data, algorithm).key
        return self._made[algorithm]

    def __repr__(self) -> str:
        """Name the key."""
        return f"<Jwk {self.kid!r}>"


def is_object(value: object) -> bool:
    """Return whether *value* can be a JSON object."""
    return isinstance(value, Mapping)


def is_list(value: object) -> bool:
    """Return whether *value* is a list of things, which a text is not."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def read(document: object) -> tuple[Jwk, ...]:
    """Return the keys of a JWK set, or the one JWK, that *document* is.

    Raises:
        ValueError: If it is neither.
    """
    if not isinstance(document, Mapping):
        raise ValueError("no JSON object")  # noqa: TRY004 - JSON of another shape is a value
    held = cast("Mapping[str, Any]", document)
    listed: Any = held.get("keys", [held] if "kty" in held else None)
    if not is_list(listed):
        raise ValueError("neither a JWK set ('keys') nor a JWK ('kty')")
    # RFC 7517 section 5: what a reader doesn't understand in a set, it leaves alone.
    return tuple(Jwk(one) for one in listed if is_object(one))


class Keys(Protocol):
    """Where keys are looked up."""

    async def find(self, kid: str | None) -> Sequence[Jwk]:
        """Return the keys with this id, or all if the token names none."""
        ...


def _named(keys: Iterable[Jwk], kid: str | None) -> list[Jwk]:
    return [key for key in keys if kid is None or key.kid == kid]


class KeySet:
    """Keys that were given."""

    def __init__(self, keys: Sequence[Jwk]) -> None:
        self._keys = tuple(keys)

    async def find(self, kid: str | None) -> Sequence[Jwk]:
        """Return the keys with this id; a key without one answers to any."""
        return [key for key in self._keys if kid is None or key.kid in (None, kid)]


class PublishedKeySet:
    """Keys that an issuer publishes at *url*.

    Args:
        url: Where. ``https``, or ``http`` on this machine.
        cooldown: Seconds between two fetches for ids that the set doesn't have.
        clock: Seconds that only grow.
        fetch: Returns the document; called in a thread.

    Raises:
        ValueError: If keys from *url* couldn't be trusted.
    """

    def __init__(
        self,
        url: str,
        *,
        cooldown: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        fetch: Callable[[str], bytes] | None = None,
    ) -> None:
        parts = urlsplit(url)
        loopback = is_loopback(parts.hostname or "")
        if not parts.hostname or not (
            parts.scheme == "https" or (parts.scheme == "http" and loopback)
        ):
            raise ValueError("keys come by https, or by http from this machine alone")
        if parts.username or parts.password:
            raise ValueError("a key set is public; the address holds a user name or a password")
        self._url = url
        self._cooldown = cooldown
        self._clock = clock
        self._fetch = fetch or _fetched
        self._keys: tuple[Jwk, ...] = ()
        self._read_at = float("-inf")
        self._next = float("-inf")
        self._task: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> Sequence[Jwk]:
        """Return the keys with this id, asking the issuer where this set may be too old to know."""
        if self._clock() - self._read_at > MAX_AGE:
            await self._refresh()
            if self._clock() - self._read_at > MAX_STALE:
                self._keys = ()
        found = _named(self._keys, kid)
        if not found:
            await self._refresh()
            found = _named(self._keys, kid)
        return found

    async def _refresh(self) -> None:
        """Fetch the set anew unless that was done just now; callers at one time share one fetch."""
        loop = asyncio.get_running_loop()
        task = self._task
        if task is None or task.done() or task.get_loop() is not loop:
            if self._clock() < self._next:
                return
            self._next = self._clock() + self._cooldown
            task = self._task = loop.create_task(self._read())
        # Shielded: the one who happened to start it may go away, the others still wait for it.
        await asyncio.shield(task)

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(2 * TIMEOUT):
                document = await asyncio.to_thread(self._fetch, self._url)
            keys = read(json.loads(document))
        except Exception as error:  # noqa: BLE001 - whatever it is, the keys at hand stay in use
            self._next = min(self._next, self._clock() + _SOON)
            _log.error("can't read the key set %s: %s", self._url, type(error).__name__)
            return
        if any(key.private for key in keys):
            _log.error("%s publishes private keys; they are not used", self._url)
        self._keys = tuple(key for key in keys if not key.private and key.kty != "oct")
        self._read_at = self._clock()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow none: who is redirected trusts whoever can redirect."""


def _fetched(url: str) -> bytes:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect()]
    if is_loopback(urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    # The scheme was checked when the set was made.
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310
    with opener.open(request, timeout=TIMEOUT) as response:
        document: bytes = response.read(MAX_SET_BYTES + 1)
    if len(document) > MAX_SET_BYTES:
        raise ValueError("the key set is too large")
    return document


def is_loopback(host: str) -> bool:
    """Return whether *host* names this machine and no other."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
