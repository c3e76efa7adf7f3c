"""JSON Web Tokens (RFC 7519), checked as RFC 8725 and RFC 9068 ask.

What is fixed when the verifier is made: the issuer, the audience, the algorithms, where keys come
from. Nothing of that is ever read from a token, and no option leaves a check out.
"""

from __future__ import annotations

import difflib
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from remit.auth.jwks import FAMILIES, Jwk, Keys, KeySet, PublishedKeySet, is_list, read
from remit.contract import DeclarationError

__all__ = ["DEFAULT_ALGORITHMS", "JWT", "library"]

DEFAULT_ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
MAX_TOKEN: Final = 16 * 1024  # characters; most servers refuse larger headers anyway
MAX_LEEWAY: Final = 300.0
# cryptography's names for the curves that a JWK spells otherwise (RFC 7518 section 6.2.1.1)
_CURVES: Final = {"P-256": "secp256r1", "P-384": "secp384r1", "P-521": "secp521r1"}

_log = logging.getLogger("remit")


class _InvalidError(Exception):
    """The token is not valid, for a reason that PyJWT doesn't look at."""


class JWT:
    """Verifies JWTs of one issuer for one audience.

    Each token needs ``exp``, ``iss``, ``aud`` and ``sub``. `verify` returns the whole payload or
    None; it never raises for a bad token.

    Args:
        issuer: ``iss`` as the issuer writes it, to the letter.
        audience: What this server is called in ``aud``; for MCP the address of its endpoint.
        jwks_url: Where the issuer publishes its keys: ``https``, or ``http`` on this machine.
        key: Instead: a public key (PEM text, a JWK or a JWK set), or for ``HS256`` and its like a
            shared secret.
        algorithms: What a token may be signed with. Without it `DEFAULT_ALGORITHMS`, as far as the
            key fits them; a shared secret needs it said.
        leeway: Seconds by which clocks may differ.
        cooldown: Seconds between two fetches of the key set for keys that it doesn't have.

    Raises:
        DeclarationError: If something is left out or doesn't fit together.
        ImportError: If PyJWT isn't installed.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str,
        jwks_url: str | None = None,
        key: str | bytes | Mapping[str, Any] | None = None,
        algorithms: Sequence[str] | None = None,
        leeway: float = 30.0,
        cooldown: float = 30.0,
    ) -> None:
        pyjwt = library()
        self.issuer: str = _text("issuer", issuer, "https://id.example.com")
        self.audience: str = _text("audience", audience, "https://api.example.com/mcp")
        if (key is None) == (jwks_url is None):
            which = "both are given" if key is not None else "neither is given"
            raise DeclarationError(
                f"JWT: keys come from jwks_url or from key, and {which}; "
                "write e.g. jwks_url='https://id.example.com/.well-known/jwks.json'"
            )
        if not _number(leeway) or not 0 <= leeway <= MAX_LEEWAY:
            raise DeclarationError(f"JWT: leeway is a number of seconds from 0 to {MAX_LEEWAY:g}")
        if not _number(cooldown) or cooldown < 0:
            raise DeclarationError("JWT: cooldown is a number of seconds, 0 or more")
        asked = None if algorithms is None else _algorithms(algorithms)
        self._prepared: dict[str, Any] | None = None
        self._keys: Keys | None = None
        if jwks_url is not None:
            self._algorithms = _asymmetric(asked or DEFAULT_ALGORITHMS, "jwks_url")
            try:
                self._keys = PublishedKeySet(
                    _text("jwks_url", jwks_url, "https://…"), cooldown=cooldown
                )
            except ValueError as error:
                raise DeclarationError(f"JWT: jwks_url: {error}") from None
        elif isinstance(key, Mapping):
            held = _given(key)
            self._algorithms = _fitting(asked, held)
            self._keys = KeySet(held)
        else:
            self._prepared = _prepared(cast("str | bytes", key), asked)
            self._algorithms = tuple(self._prepared)
        self._leeway = leeway
        # enforce_minimum_key_length: RFC 7518 sections 3.2 and 3.3; PyJWT itself only warns.
        self._decoder = pyjwt.PyJWT(
            {"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True}
        )
        self._errors = (pyjwt.PyJWTError, _InvalidError)

    def __repr__(self) -> str:
        """Say whose tokens and for whom; never a key."""
        return f"JWT(issuer={self.issuer!r}, audience={self.audience!r})"

    async def verify(self, token: str, /) -> Mapping[str, Any] | None:
        """Return the payload of *token*, or None if it isn't valid."""
        try:
            return await self._verified(token)
        except self._errors as error:
            # The kind alone: PyJWT's texts repeat parts of the token.
            _log.info("a bearer token was refused: %s", type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a token that no one foresaw is still a bad token
            _log.warning("a bearer token was refused: %s", type(error).__name__)
        return None

    async def _verified(self, token: str) -> dict[str, Any]:
        import jwt

        # 1. Its size, before any of it is read.
        if type(token) is not str or not 0 < len(token) <= MAX_TOKEN:
            raise _InvalidError
        # 2. Its algorithm is one of those declared, so that it doesn't choose how it is checked.
        header = jwt.get_unverified_header(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self._algorithms:
            raise jwt.InvalidAlgorithmError
        # 3. Its key is ours, and is for this algorithm.
        key = await self._key(algorithm, kid)
        # 4. Its signature, issuer, audience and times.
        claims: dict[str, Any] = self._decoder.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=self.audience,
            issuer=self.issuer,
            leeway=self._leeway,
        )
        # 5. What PyJWT takes more easily than RFC 7519: a date as text, a principal without a name.
        if not all(_number(claims[name]) for name in ("exp", "nbf", "iat") if name in claims):
            raise _InvalidError
        if not claims["sub"]:
            raise _InvalidError
        return claims

    async def _key(self, algorithm: str, kid: object) -> Any:
        if self._prepared is not None:
            return self._prepared[algorithm]
        if kid is not None and type(kid) is not str:
            raise _InvalidError
        found = [one for one in await cast("Keys", self._keys).find(kid) if one.fits(algorithm)]
        # Without an id there must be no choice; with one, keys of several types may share it.
        if not found or (kid is None and len(found) > 1):
            raise _InvalidError
        return found[0].key(algorithm)


def library() -> Any:
    """Return PyJWT, or say how to install it."""
    try:
        import jwt
        import jwt.algorithms
    except ImportError as error:
        raise ImportError("JWT: this needs PyJWT: pip install 'remit[jwt]'") from error
    if not jwt.algorithms.has_crypto:
        raise ImportError("JWT: this needs cryptography beside PyJWT: pip install 'remit[jwt]'")
    return jwt


def _text(name: str, value: object, example: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DeclarationError(f"JWT: {name} is a text and can't be empty, e.g. {name}={example!r}")
    return value


def _number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(cast("float", value))


def _algorithms(algorithms: Any) -> tuple[str, ...]:
    if not is_list(algorithms) or not algorithms:
        raise DeclarationError("JWT: algorithms is a list of names, e.g. algorithms=['RS256']")
    names: tuple[str, ...] = (*algorithms,)
    for name in names:
        if name not in FAMILIES:
            near = difflib.get_close_matches(str(name), FAMILIES, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(FAMILIES)}"
            raise DeclarationError(f"JWT: algorithms: {name!r} is no signature to trust; {hint}")
    shared = [name for name in names if FAMILIES[name][0] == "oct"]
    if shared and len(shared) < len(names):
        # The classic attack: a public key, which anyone has, taken for the shared secret.
        raise DeclarationError(
            f"JWT: algorithms mixes {shared[0]}, which has a shared secret, with public keys; "
            "keep one kind"
        )
    return names


def _asymmetric(names: tuple[str, ...], source: str) -> tuple[str, ...]:
    if FAMILIES[names[0]][0] == "oct":
        raise DeclarationError(
            f"JWT: {names[0]} is checked with a shared secret, and {source} gives public keys; "
            "leave algorithms out, or say which of RS256, PS256, ES256, EdDSA"
        )
    return names


def _given(document: Mapping[str, Any]) -> tuple[Jwk, ...]:
    try:
        held = read(document)
    except ValueError as error:
        raise DeclarationError(f"JWT: key is {error}") from None
    if not held:
        raise DeclarationError("JWT: key is a JWK set without a key")
    if any(one.private for one in held):
        raise DeclarationError(
            "JWT: key is a private key; a verifier needs the public one, without its member 'd'"
        )
    return held


def _fitting(asked: tuple[str, ...] | None, held: Sequence[Jwk]) -> tuple[str, ...]:
    """Return the algorithms to accept with these keys, each of which must be usable now."""
    import jwt

    names = asked or tuple(
        name for name in DEFAULT_ALGORITHMS if any(one.fits(name) for one in held)
    )
    if not names:
        raise DeclarationError(
            "JWT: no key fits the default algorithms; "
            "say which to accept, e.g. algorithms=['HS256']"
        )
    for name in names:
        usable = [one for one in held if one.fits(name)]
        if not usable:
            raise DeclarationError(f"JWT: algorithms: no key fits {name} (kty, crv, use or alg)")
        for one in usable:
            try:
                _check(name, one.key(name))
            except jwt.PyJWTError:
                raise DeclarationError(f"JWT: key: the JWK for {name} can't be read") from None
    return names


def _prepared(key: object, asked: tuple[str, ...] | None) -> dict[str, Any]:
    """Return the key made ready for each algorithm; parsing a PEM costs more than its use."""
    if not isinstance(key, str | bytes) or not key:
        raise DeclarationError("JWT: key is a PEM text, a JWK, a JWK set, or a shared secret")
    raw = key.encode() if isinstance(key, str) else key
    public = raw.lstrip().startswith((b"-----BEGIN", b"ssh-", b"ecdsa-"))
    if public and b"PRIVATE KEY-----" in raw:
        raise DeclarationError("JWT: key is a private key; a verifier needs the public one")
    if asked is None and not public:
        raise DeclarationError(
            "JWT: key is no PEM text; if it is a shared secret, say so: algorithms=['HS256']"
        )
    for name in asked or ():
        if public:
            _asymmetric((name,), "key")
        elif FAMILIES[name][0] != "oct":
            raise DeclarationError(f"JWT: {name} needs a public key, and key is no PEM text")
    made = {name: _ready(name, raw) for name in asked or DEFAULT_ALGORITHMS}
    if unfit := [name for name, ready in made.items() if ready is None and asked]:
        raise DeclarationError(f"JWT: key can't be used with {unfit[0]}; is it of another type?")
    usable = {name: ready for name, ready in made.items() if ready is not None}
    if not usable:
        raise DeclarationError("JWT: key can't be read as a public key (PEM, SubjectPublicKeyInfo)")
    for name, ready in usable.items():
        _check(name, ready)
    return usable


def _ready(name: str, raw: bytes) -> Any:
    """Return the key as PyJWT takes it for this algorithm, or None if it is of another type."""
    import jwt

    try:
        ready: Any = jwt.get_algorithm_by_name(name).prepare_key(raw)
    except (jwt.PyJWTError, ValueError, TypeError):
        return None
    curve = _CURVES.get(FAMILIES[name][1] or "")
    return ready if curve is None or ready.curve.name == curve else None


def _check(name: str, ready: Any) -> None:
    import jwt

    if jwt.get_algorithm_by_name(name).check_key_length(ready):
        raise DeclarationError(f"JWT: key is too short for {name} (RFC 7518 section 3)")
