"""A token is who it says only if everything about it was checked: each check has the token that it stops."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from remit import DeclarationError
from remit.auth import JWT, Dev
from remit.auth.jwks import MAX_SET_BYTES, PublishedKeySet

pytestmark = pytest.mark.anyio

ISSUER = "https://id.example.com"
AUDIENCE = "https://api.example.com/mcp"
SECRET = "planted-secret-0123456789abcdef-0123456789abcdef"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_PEM = RSA_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
EC_PEM = EC_KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
PRIVATE_PEM = RSA_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def rsa_jwk(key: Any = RSA_KEY, **members: Any) -> dict[str, Any]:
    return {**json.loads(RSAAlgorithm.to_jwk(key.public_key())), **members}


def ec_jwk(**members: Any) -> dict[str, Any]:
    return {**json.loads(ECAlgorithm.to_jwk(EC_KEY.public_key())), **members}


def payload(**changed: Any) -> dict[str, Any]:
    """Return valid claims with some changed; None leaves one out."""
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "u_asha", "iat": now, "exp": now + 60}
    return {name: value for name, value in {**claims, **changed}.items() if value is not None}


def token(
    claims: dict[str, Any] | None = None, *, key: Any = RSA_KEY, alg: str = "RS256", **header: Any
) -> str:
    return pyjwt.encode(payload() if claims is None else claims, key, algorithm=alg, headers=header)


def forged(header: dict[str, Any], claims: dict[str, Any], secret: bytes = b"") -> str:
    """Return a token as an attacker writes it: whatever header, signed with whatever is at hand."""
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
        for part in (header, claims)
    ]
    signed = b".".join(parts)
    mac = hmac.new(secret, signed, hashlib.sha256).digest() if secret else b""
    return (signed + b"." + base64.urlsafe_b64encode(mac).rstrip(b"=")).decode()


def verifier(**options: Any) -> JWT:
    return JWT(**{"issuer": ISSUER, "audience": AUDIENCE, "key": RSA_PEM, **options})


async def test_a_good_token_gives_its_whole_payload() -> None:
    claims = payload(scope="a b", roles=["editor"], tenant={"id": 7})
    assert await verifier().verify(token(claims)) == claims


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param(payload(aud="https://other.example.com"), id="another audience"),
        pytest.param(payload(aud=None), id="no audience"),
        pytest.param(payload(aud=[]), id="empty audience"),
        pytest.param(payload(iss="https://evil.example.com"), id="another issuer"),
        pytest.param(payload(iss=ISSUER + "/"), id="almost the issuer"),
        pytest.param(payload(iss=None), id="no issuer"),
        pytest.param(payload(exp=None), id="no expiry"),
        pytest.param(payload(exp=int(time.time()) - 3600), id="expired"),
        pytest.param(payload(exp=str(int(time.time()) + 3600)), id="expiry as text"),
        pytest.param(payload(exp=True), id="expiry as boolean"),
        pytest.param(payload(nbf=int(time.time()) + 3600), id="not yet"),
        pytest.param(payload(iat=int(time.time()) + 3600), id="from the future"),
        pytest.param(payload(sub=None), id="no subject"),
        pytest.param(payload(sub=""), id="empty subject"),
        pytest.param(payload(sub=7), id="subject as number"),
    ],
)
async def test_a_claim_that_is_wrong_or_missing_refuses(claims: dict[str, Any]) -> None:
    # The layer below PyJWT.encode, which would refuse to write some of these.
    raw = pyjwt.api_jws.PyJWS().encode(json.dumps(claims).encode(), RSA_KEY, algorithm="RS256")
    assert await verifier().verify(raw) is None


async def test_an_audience_among_several_is_enough() -> None:
    assert await verifier().verify(token(payload(aud=["https://other.example.com", AUDIENCE])))


async def test_the_clocks_may_differ_by_the_leeway_and_no_more() -> None:
    past = payload(exp=int(time.time()) - 20)
    assert await verifier(leeway=60).verify(token(past)) == past
    assert await verifier(leeway=5).verify(token(past)) is None
    ahead = payload(iat=int(time.time()) + 20, nbf=int(time.time()) + 20)
    assert await verifier(leeway=60).verify(token(ahead)) == ahead
    assert await verifier(leeway=5).verify(token(ahead)) is None


@pytest.mark.parametrize(
    "raw",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "not a token",
        "\ud800.\ud800.\ud800",
        "é" * 40,
        token()[:-4],
        token() + "x",
        token().replace(".", ""),
        "x" * 20_000,
        token() * 100,
        7,
        None,
        b"bytes",
    ],
    ids=range(15),
)
async def test_garbage_is_no_token_and_no_exception(raw: Any) -> None:
    assert await verifier().verify(raw) is None


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", None, 7, ["RS256"], "RS256 "])
async def test_no_signature_is_no_signature_however_spelt(alg: Any) -> None:
    assert await verifier().verify(forged({"typ": "JWT", "alg": alg}, payload())) is None


async def test_a_public_key_is_not_a_shared_secret() -> None:
    """The token says HS256 and is signed with the public key's own text, which everyone has."""
    for text in (RSA_PEM, RSA_PEM.strip()):
        raw = forged({"typ": "JWT", "alg": "HS256"}, payload(), text)
        assert await verifier().verify(raw) is None
        assert await verifier(key=rsa_jwk(kid="one")).verify(raw) is None


async def test_only_declared_algorithms_count() -> None:
    assert await verifier(algorithms=["RS512"]).verify(token()) is None
    assert await verifier(algorithms=["RS512"]).verify(token(alg="RS512"))
    assert await verifier(key=EC_PEM).verify(token(key=EC_KEY, alg="ES256"))


async def test_another_key_or_a_changed_payload_refuses() -> None:
    assert await verifier().verify(token(key=OTHER_RSA_KEY)) is None
    head, _, signature = token().split(".")
    body = base64.urlsafe_b64encode(json.dumps(payload(sub="u_editor")).encode()).rstrip(b"=")
    assert await verifier().verify(f"{head}.{body.decode()}.{signature}") is None


async def test_a_key_in_the_header_is_never_used() -> None:
    """RFC 8725 section 3.10: jwk, jku and x5u in a token are the attacker's."""
    for header in (
        {"jwk": rsa_jwk(OTHER_RSA_KEY)},
        {"jku": "http://127.0.0.1:9/keys"},
        {"x5u": "http://127.0.0.1:9/cert"},
    ):
        assert await verifier().verify(token(key=OTHER_RSA_KEY, **header)) is None


async def test_an_extension_that_must_be_understood_refuses() -> None:
    assert await verifier().verify(token(crit=["exotic"], exotic=True)) is None


async def test_a_shared_secret_that_was_declared_as_one() -> None:
    shared = verifier(key=SECRET, algorithms=["HS256"])
    assert await shared.verify(token(key=SECRET, alg="HS256"))
    assert await shared.verify(token(key=SECRET + "x", alg="HS256")) is None
    assert await shared.verify(token()) is None


# Key sets. ----------------------------------------------------------------------------------------


async def test_keys_are_told_apart_by_id() -> None:
    held = {"keys": [rsa_jwk(kid="a"), rsa_jwk(OTHER_RSA_KEY, kid="b"), ec_jwk(kid="a")]}
    one = verifier(key=held)
    assert await one.verify(token(kid="a"))
    assert await one.verify(token(key=OTHER_RSA_KEY, kid="b"))
    assert await one.verify(token(key=EC_KEY, alg="ES256", kid="a"))
    assert await one.verify(token(kid="b")) is None
    assert await one.verify(token(kid="c")) is None
    assert await one.verify(token()) is None, "two keys would do, and the token doesn't say which"


@pytest.mark.parametrize(
    "members", [{"use": "enc"}, {"alg": "RS512"}, {"key_ops": ["sign"]}, {"kty": "EC"}], ids=str
)
async def test_a_key_for_something_else_is_no_key(members: dict[str, Any]) -> None:
    held = {"keys": [rsa_jwk(kid="a", **members), rsa_jwk(OTHER_RSA_KEY, kid="b")]}
    assert await verifier(key=held).verify(token(kid="a")) is None


class Issuer:
    """A loopback server that publishes a key set, and counts who asks."""

    def __init__(self) -> None:
        self.asked = 0
        self.status = 200
        self.location = ""
        self.body: bytes = b""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked += 1
                self.send_response(issuer.status)
                if issuer.location:
                    self.send_header("Location", issuer.location)
                self.send_header("Content-Length", str(len(issuer.body)))
                self.end_headers()
                self.wfile.write(issuer.body)

            def log_message(self, *_: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks.json"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def publish(self, *keys: dict[str, Any]) -> None:
        self.body = json.dumps({"keys": keys}).encode()


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    made.publish(rsa_jwk(kid="a"))
    yield made
    made.server.shutdown()
    made.server.server_close()


def remote(issuer: Issuer, **options: Any) -> JWT:
    return verifier(key=None, jwks_url=issuer.url, **options)


async def test_a_published_set_is_fetched_once(issuer: Issuer) -> None:
    one = remote(issuer)
    for _ in range(5):
        assert await one.verify(token(kid="a"))
    assert issuer.asked == 1


async def test_callers_at_one_time_share_one_fetch(issuer: Issuer) -> None:
    import asyncio

    one = remote(issuer)
    verified = await asyncio.gather(*(one.verify(token(kid="a")) for _ in range(20)))
    assert all(verified)
    assert issuer.asked == 1


async def test_a_rotated_key_is_found_and_a_withdrawn_one_goes(issuer: Issuer) -> None:
    one = remote(issuer, cooldown=0)
    assert await one.verify(token(kid="a"))
    issuer.publish(rsa_jwk(OTHER_RSA_KEY, kid="b"))
    assert await one.verify(token(key=OTHER_RSA_KEY, kid="b"))
    assert await one.verify(token(kid="a")) is None


async def test_a_flood_of_made_up_ids_asks_the_issuer_once(issuer: Issuer) -> None:
    one = remote(issuer)
    for number in range(50):
        assert await one.verify(token(kid=f"made-up-{number}")) is None
    assert issuer.asked == 1
    assert await one.verify(token(kid="a"))


async def test_the_cooldown_ends() -> None:
    now, asked = [1000.0], [0]

    def fetch(_: str) -> bytes:
        asked[0] += 1
        return json.dumps({"keys": [rsa_jwk(kid="a")]}).encode()

    held = PublishedKeySet(
        "https://id.example.com/jwks", clock=lambda: now[0], fetch=fetch, cooldown=30
    )
    assert await held.find("a")
    assert not await held.find("b")
    assert asked[0] == 1
    now[0] += 31
    assert not await held.find("b")
    assert not await held.find("b")
    assert asked[0] == 2
    now[0] += 3601
    assert await held.find("a")
    assert asked[0] == 3, "a set is fetched anew when it is old, so that a withdrawn key goes"


async def test_keys_outlive_an_issuer_that_is_down_for_a_day_and_no_longer() -> None:
    now, down = [1000.0], [False]

    def fetch(_: str) -> bytes:
        if down[0]:
            raise OSError("down")
        return json.dumps({"keys": [rsa_jwk(kid="a")]}).encode()

    held = PublishedKeySet("https://id.example.com/jwks", clock=lambda: now[0], fetch=fetch)
    assert await held.find("a")
    down[0] = True
    now[0] += 3700
    assert await held.find("a")
    now[0] += 25 * 3600
    assert not await held.find("a")


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"[]", b"{}", b'{"keys": 7}', b'{"keys": "abc"}', b'{"keys": [7]}'],
    ids=str,
)
async def test_an_answer_that_is_no_key_set_gives_no_key(issuer: Issuer, body: bytes) -> None:
    issuer.body = body
    assert await remote(issuer).verify(token(kid="a")) is None


async def test_an_answer_that_is_too_large_or_leads_elsewhere_gives_no_key(issuer: Issuer) -> None:
    issuer.body += b" " * MAX_SET_BYTES
    assert await remote(issuer).verify(token(kid="a")) is None
    issuer.publish(rsa_jwk(kid="a"))
    issuer.status, issuer.location = 302, issuer.url + "?again"
    assert await remote(issuer).verify(token(kid="a")) is None
    assert issuer.asked == 2, "a redirect is not followed"


async def test_a_published_secret_or_private_key_is_not_used(issuer: Issuer) -> None:
    private = json.loads(RSAAlgorithm.to_jwk(RSA_KEY))
    issuer.publish({**private, "kid": "a"}, {"kty": "oct", "k": "c2VjcmV0", "kid": "b"})
    assert await remote(issuer).verify(token(kid="a")) is None


# Half a configuration. ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"issuer": ""}, "issuer is a text and can't be empty"),
        ({"audience": " "}, "audience is a text and can't be empty"),
        ({"audience": None}, "audience is a text"),
        ({"key": None}, "neither is given"),
        ({"jwks_url": "https://id.example.com/jwks"}, "both are given"),
        ({"key": None, "jwks_url": "http://id.example.com/jwks"}, "keys come by https"),
        ({"key": None, "jwks_url": "ftp://id.example.com/jwks"}, "keys come by https"),
        ({"key": None, "jwks_url": "file:///etc/jwks"}, "keys come by https"),
        ({"key": None, "jwks_url": "https://u:p@id.example.com/"}, "a user name or a password"),
        ({"algorithms": ["none"]}, "'none' is no signature to trust"),
        ({"algorithms": ["RS265"]}, "did you mean RS256?"),
        ({"algorithms": "RS256"}, "algorithms is a list"),
        ({"algorithms": []}, "algorithms is a list"),
        ({"algorithms": ["RS256", "HS256"]}, "keep one kind"),
        ({"algorithms": ["HS256"]}, "key gives public keys"),
        ({"algorithms": ["ES256"]}, "can't be used with ES256"),
        ({"key": None, "jwks_url": "https://x.example", "algorithms": ["HS256"]}, "jwks_url gives"),
        ({"key": SECRET}, "algorithms=['HS256']"),
        ({"key": SECRET, "algorithms": ["RS256"]}, "RS256 needs a public key"),
        ({"key": "short", "algorithms": ["HS256"]}, "too short for HS256"),
        ({"key": PRIVATE_PEM}, "private key"),
        ({"key": json.loads(RSAAlgorithm.to_jwk(RSA_KEY))}, "private key"),
        ({"key": b"-----BEGIN PUBLIC KEY-----\nnonsense"}, "can't be read"),
        ({"key": {}}, "neither a JWK set"),
        ({"key": {"keys": []}}, "without a key"),
        ({"key": rsa_jwk(), "algorithms": ["ES256"]}, "no key fits ES256"),
        ({"key": rsa_jwk(n="!!")}, "can't be read"),
        ({"key": 7}, "PEM text, a JWK"),
        ({"leeway": 3600}, "leeway is a number"),
        ({"leeway": float("nan")}, "leeway is a number"),
        ({"leeway": True}, "leeway is a number"),
        ({"cooldown": -1}, "cooldown is a number"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_half_a_configuration_is_refused_with_the_mend(options: dict[str, Any], said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        verifier(**options)
    assert str(caught.value).startswith("JWT: ")
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_key_is_in_no_repr() -> None:
    shared = verifier(key=SECRET, algorithms=["HS256"])
    assert repr(shared) == f"JWT(issuer='{ISSUER}', audience='{AUDIENCE}')"
    for one in (shared, Dev(), verifier(key=rsa_jwk(kid="a"))):
        assert SECRET not in repr(one)
        assert "PRIVATE" not in repr(one)
    assert repr(Dev()).startswith("Dev(issuer=")


async def test_a_refused_token_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    raw = token(payload(aud="planted-audience"))
    assert await verifier().verify(raw) is None
    assert await verifier().verify("planted.garbage.token") is None
    assert "refused" in caplog.text
    for planted in ("planted", *raw.split(".")):
        assert planted not in caplog.text


def test_without_pyjwt_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jwt", None)
    with pytest.raises(ImportError, match=r"pip install 'remit\[jwt\]'"):
        verifier()
    with pytest.raises(ImportError, match=r"pip install 'remit\[jwt\]'"):
        Dev()


# The key of the first hour. -----------------------------------------------------------------------


async def test_a_development_key_verifies_its_own_tokens_and_no_others() -> None:
    one, other = Dev(), Dev()
    raw = one.token("u_asha", scopes={"drafts:write"}, roles=["editor"], can_request=True)
    claims = await one.verifier.verify(raw)
    assert claims is not None
    assert claims["sub"] == "u_asha"
    assert claims["scope"] == "drafts:write"
    assert claims["roles"] == ["editor"]
    assert claims["client_id"] == "remit-dev"
    assert claims["can_request"] is True
    assert claims["exp"] - time.time() <= 3600
    assert await other.verifier.verify(raw) is None


def test_a_development_token_is_short_lived_and_says_what_it_says() -> None:
    with pytest.raises(ValueError, match="at most"):
        Dev().token("u_asha", seconds=90 * 86400)
    with pytest.raises(ValueError, match="'exp' has a parameter"):
        Dev().token("u_asha", exp=2**40)
