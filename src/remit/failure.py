"""What a caller is told when it wasn't its own call that was wrong: a reference, and what to do.

The exception, the SQL and the stack stay in the operator's log under that reference (law L8). No
text here proposes a repetition that might do a thing twice (law L11).
"""

from __future__ import annotations

import logging

from remit.outcome import Refused
from remit.passage import Passage
from remit.store import StoreError

__all__ = ["cancelled", "failed", "late", "no_store", "unknown", "unreturned", "unshown"]

_log = logging.getLogger("remit")


def _may_have_acted(p: Passage) -> bool:
    return p.began and p.known is not None and p.known.effect != "read"


def late(p: Passage) -> Refused:
    """Return the refusal for code that took longer than its tool declared."""
    tool = p.tool
    _log.warning("tool %s took longer than %s s; reference %s", tool.name, tool.timeout, p.id)
    what = f"{tool.name} took longer than {tool.timeout:g} seconds"
    if tool.effect == "read" or tool.idempotent:
        return Refused("timeout", f"{what} and was stopped. Repeating it is safe.")
    return unknown(p, what)


def unknown(p: Passage, what: str) -> Refused:
    """Return the refusal for an effect that may or may not have happened."""
    text = (
        f"{what}; whether it took effect is unknown. Do not repeat it: check first, "
        f"or give a person the reference {p.id}."
    )
    return Refused("outcome_unknown", text, reference=p.id)


def cancelled(p: Passage) -> Refused:
    """Return what is recorded of a call whose caller went away."""
    if _may_have_acted(p) and not p.tool.idempotent:
        return unknown(p, "The call was cancelled while it ran")
    return Refused("cancelled", "The caller cancelled the call.")


def failed(p: Passage, error: BaseException | None) -> Refused:
    """Log *error* under a reference, once; that reference is all that leaves."""
    _logged(p, "failed", error)
    text = (
        "The operation failed inside the server. Do not retry automatically; "
        f"tell the user to quote reference {p.id}."
    )
    return Refused("internal", text, reference=p.id)


def unreturned(p: Passage, error: Exception) -> Refused:
    """Return the refusal for a result that isn't what its tool declared; the code has run."""
    if not _may_have_acted(p):
        return failed(p, error)
    _logged(p, "ran and gave a wrong result", error)
    text = (
        "The operation was carried out, but its result can't be shown. Do not repeat it; "
        f"tell the user to quote reference {p.id}."
    )
    return Refused("internal", text, reference=p.id)


def unshown(p: Passage, refused: Refused) -> Refused:
    """Return *refused*, about a result that doesn't fit, without asking for an effect again."""
    if not _may_have_acted(p):
        return refused
    text = (
        "The operation was carried out, but its result is too large to show. Do not repeat it; "
        f"the reference is {p.id}."
    )
    return Refused(refused.code, text, reference=p.id)


def no_store(p: Passage, error: StoreError) -> Refused:
    """Return the refusal for a store that fails: nothing was done, or nobody can say."""
    _logged(p, "meets a store that refuses", error)
    if _may_have_acted(p):
        return unknown(p, "The outcome could not be written down")
    text = (
        f"The server can't write its record, so the call was not made. Try later; reference {p.id}."
    )
    return Refused("store_unavailable", text, reference=p.id)


def _logged(p: Passage, what: str, error: BaseException | None) -> None:
    name = "(unknown)" if p.known is None else p.known.name
    extra = {"call_id": p.id}
    _log.error("tool %s %s; reference %s", name, what, p.id, exc_info=error, extra=extra)
