"""What a field's name suggests: who acts, what state a record is in, what must stay inside.

A name proves nothing: of arguments called ``user_id`` seven in ten are targets. So it asks for a
look, and is never an error.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["names_identity", "names_secret", "names_state"]

_IDENTITY: Final = re.compile(
    r"(user|author|owner|actor|caller|principal|subject|requester|on_behalf_of|acting_user|tenant)"
    r"(_?(id|name|email))?$"
)
_STATE: Final = re.compile(
    r"((is|has|can)_\w+|status|state|stage|phase|visibility|public|published|approved|verified"
    r"|confirmed|enabled|disabled|active|deleted|locked|admin|roles?|permissions?|scopes?|grants?"
    r"|(published|approved|verified|deleted|confirmed)_(at|by|on))$"
)


_SECRET: Final = re.compile(
    r"((\w+_)?(password|passphrase|passwd|secret|token|credentials?|private_key|api_key|cookie|salt"
    r"|hash|ssn|pin|cvv|iban|otp)(_hash|_key)?)$"
)


def names_identity(name: str) -> bool:
    """Tell whether a field called *name* may say who acts."""
    return _IDENTITY.match(_snake(name)) is not None


def names_state(name: str) -> bool:
    """Tell whether a field called *name* may set what only the product's own rules should."""
    return _STATE.match(_snake(name)) is not None


def names_secret(name: str) -> bool:
    """Tell whether a field called *name* may hold what should never leave."""
    return _SECRET.match(_snake(name)) is not None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
