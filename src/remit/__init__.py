"""remit gives an AI agent exactly its remit, and nothing more.

Declare each operation an agent may use once: strict typed arguments, who may call it, which record
it may touch, whether a person must agree, what goes back. The public names are these; surfaces are
reached through `Remit`, whose methods import them where they are asked for.
"""

from remit.app import Remit
from remit.approvals import Decision
from remit.call import Call
from remit.contract import (
    Approval,
    Body,
    Clip,
    DeclarationError,
    DeclarationWarning,
    Page,
    Require,
    Resource,
    Tool,
)
from remit.options import Extension
from remit.outcome import Ask, Issue, Ok, Outcome, Refused
from remit.passage import Event
from remit.principal import Principal
from remit.store import StoreError

__all__ = [
    "Approval",
    "Ask",
    "Body",
    "Call",
    "Clip",
    "Decision",
    "DeclarationError",
    "DeclarationWarning",
    "Event",
    "Extension",
    "Issue",
    "Ok",
    "Outcome",
    "Page",
    "Principal",
    "Refused",
    "Remit",
    "Require",
    "Resource",
    "StoreError",
    "Tool",
]
