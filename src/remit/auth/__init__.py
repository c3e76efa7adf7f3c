"""Who calls: verifiers of bearer tokens, and the key of a first hour.

A verifier turns a token into claims that hold for one request. It decides nothing about tools: that
is the path's, which reads a `remit.Principal` from the claims.
"""

from __future__ import annotations

from remit.auth.dev import Dev
from remit.auth.jwt import JWT
from remit.auth.verifier import Verifier

__all__ = ["JWT", "Dev", "Verifier"]
