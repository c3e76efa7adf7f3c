"""On whose behalf a call is made: parsed from claims that a verifier has already checked.

Values only. A missing, renamed or mistyped claim is no principal (law L4): nothing here falls back
to an argument, a session or a default person.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["Principal"]


def _are_texts(value: object) -> bool:
    if not isinstance(value, list | tuple | set | frozenset):
        return False
    return all(isinstance(name, str) for name in cast("Iterable[object]", value))


def _names(value: object) -> object:
    """Split a space-separated claim (RFC 8693 section 4.2) or take a JSON array of texts."""
    if isinstance(value, str):
        # RFC 6749 section 3.3: a space and nothing else; str.split() would take other scripts' too.
        return frozenset(name for name in value.split(" ") if name)
    if _are_texts(value):
        return frozenset(cast("Iterable[str]", value))
    return value  # whatever else it is, the field's type refuses it


Names = Annotated[frozenset[str], BeforeValidator(_names)]


class Principal(BaseModel):
    """The person or service on whose behalf an agent calls.

    Subclass it to read further claims; a field without a default must be in the token. Values are
    exact: a claim of another JSON type is no principal.

    Attributes:
        subject: ``sub``, who (RFC 7519 section 4.1.2); never empty.
        issuer: ``iss``, who says so; empty for a principal from configuration.
        client: ``client_id`` or ``azp``, the agent or host that calls.
        scopes: ``scope`` (space-separated or a list), else ``scopes`` or ``scp``.
        roles: ``roles``, what a person may approve.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, strict=True, extra="ignore", hide_input_in_errors=True
    )

    subject: str = Field(validation_alias="sub", min_length=1, max_length=512)
    issuer: str = Field(default="", validation_alias="iss", max_length=2048)
    client: str = Field(
        default="", validation_alias=AliasChoices("client_id", "azp"), max_length=512
    )
    scopes: Names = Field(
        default=frozenset(), validation_alias=AliasChoices("scope", "scopes", "scp")
    )
    roles: Names = Field(default=frozenset(), validation_alias="roles")
