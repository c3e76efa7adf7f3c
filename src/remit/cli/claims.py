"""On whose behalf a command acts: claims from a file or the command line, never from the data.

They count as verified. Whoever may run this command against an app's store can be anyone to it, so
that the store and the machine are what has to be guarded.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final, cast

from remit.arguments import read
from remit.cli.failing import CommandError, UsageError
from remit.outcome import Refused
from remit.principal import Principal

__all__ = ["CLAIMS_HELP", "VARIABLE", "claims_from", "operator_from"]

VARIABLE: Final = "REMIT_CLAIMS"
CLAIMS_HELP: Final = (
    f'On whose behalf: a JSON file, or JSON such as \'{{"sub": "asha"}}\'. Else ${VARIABLE}.'
)


def claims_from(given: str | None) -> dict[str, Any] | None:
    """Return the claims that *given* or the environment holds; None if neither does.

    Raises:
        UsageError: If it is neither a file nor a JSON object.
    """
    text, source = given, "--claims"
    if text is None:
        text, source = os.environ.get(VARIABLE) or None, f"${VARIABLE}"
    if text is None:
        return None
    if not text.lstrip().startswith("{"):
        source = f"{source} {text}"
        try:
            text = Path(text).read_text("utf-8")
        except OSError as error:
            raise UsageError(
                f"{source}: {error.strerror}. Give a JSON file, or JSON itself: "
                '--claims \'{"sub": "asha"}\''
            ) from None
        except UnicodeDecodeError:
            raise UsageError(f"{source}: the file isn't UTF-8 text") from None
    try:
        value = read(text)
    except Refused as refusal:
        raise UsageError(f"{source}: {refusal.issues[0].hint or refusal.message}") from None
    if type(value) is not dict:
        raise UsageError(f'{source}: claims are a JSON object, e.g. {{"sub": "asha"}}')
    return cast("dict[str, Any]", value)


def operator_from(given: str | None) -> dict[str, Any]:
    """Return the claims of the person who looks at requests or decides them.

    Raises:
        CommandError: If nobody is named, or somebody without a role.
    """
    claims = claims_from(given)
    if claims is None:
        raise CommandError(
            "a request is looked at and decided by somebody: say who you are with --claims or "
            f'${VARIABLE}, e.g. --claims \'{{"sub": "asha", "roles": ["editor"]}}\'',
            number=5,
        )
    try:
        person = Principal.model_validate(claims)
    except ValueError:
        raise CommandError(
            "these claims name nobody: they need a text sub, and roles as a list of texts",
            number=5,
        ) from None
    if not person.roles:
        raise CommandError(
            f"{person.subject} has no roles in these claims; approvals are decided by role, "
            'e.g. "roles": ["editor"]',
            number=5,
        )
    return claims
