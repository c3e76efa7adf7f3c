"""An app's tools as one provider's request holds them: lowered, named, budgeted, all at once.

What can't be sent as asked is found when the toolset is built, for every tool together, so that
nobody mends one refusal to meet the next.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict

from typing_extensions import Unpack

from remit.contract import DeclarationError, no_others
from remit.listing import Listed
from remit.schema.document import untyped
from remit.schema.lowering import (
    PROVIDERS,
    Lowered,
    Provider,
    Strict,
    lower,
    lowered_names,
    planned,
)
from remit.schema.places import steps_of
from remit.schema.policy import SchemaError

__all__ = ["OnIncompatible", "Sent", "Toolset", "ToolsetOptions", "toolset"]

_log = logging.getLogger("remit")

OnIncompatible = Literal["refuse", "warn", "skip"]
_MEND: Final = "strict='auto' sends the tool, not strict"
_MOST: Final = 5  # places of one tool
_ANSWERS: Final = ("refuse", "warn", "skip")


class ToolsetOptions(TypedDict, total=False):
    """How a toolset is built.

    Attributes:
        strict: ``"auto"`` (the default) makes each tool strict that loses nothing but bounds said
            in words; True makes a tool that can't be one incompatible; False makes none strict.
        priority: Tools to keep strict before all others, where a request's budget is short.
        fold_case: See `remit.schema.lower`.
        require_typed: True asks that every property says its type; a tool with one that doesn't is
            incompatible. A set allows those that it names, as ``save_draft#/properties/meta``.
        on_incompatible: What becomes of tools that can't be sent so. ``refuse`` (the default)
            raises for all of them at once; ``warn`` sends them as well as they can be and logs why;
            ``skip`` leaves them out, and says so in `Toolset.skipped` and the log.
    """

    strict: Strict
    priority: Sequence[str]
    fold_case: bool
    require_typed: bool | Collection[str]
    on_incompatible: OnIncompatible


@dataclass(frozen=True, slots=True)
class Sent:
    """One tool as a provider is told of it.

    Attributes:
        name: What the provider calls it.
        tool: What remit calls it.
        description: What the model reads.
        lowered: The schema of its arguments, and the way back.
    """

    name: str
    tool: str
    description: str
    lowered: Lowered


@dataclass(frozen=True, slots=True)
class Toolset:
    """The tools of one request.

    Attributes:
        provider: Whose request.
        demoted: Tools that could be strict but for the request's budget, each with the reason.
        skipped: Tools that were left out, each with the reasons.
    """

    provider: Provider
    demoted: Mapping[str, str]
    skipped: Mapping[str, str]
    _sent: Mapping[str, Sent] = field(repr=False)

    def __iter__(self) -> Iterator[Sent]:
        """Yield each tool as it is sent."""
        yield from self._sent.values()

    def __len__(self) -> int:
        """Return how many tools are sent."""
        return len(self._sent)

    def __getitem__(self, name: str) -> Sent:
        """Return the tool that the provider calls *name*.

        Raises:
            KeyError: If no tool of this request is called so.
        """
        return self._sent[name]


def toolset(
    tools: Iterable[Listed], provider: Provider, **options: Unpack[ToolsetOptions]
) -> Toolset:
    """Return *tools* as one request to *provider* holds them.

    Args:
        tools: The tools, as `Remit.visible` gives them for a caller.
        provider: ``anthropic``, ``openai``, ``gemini``, or ``plain`` for any JSON Schema.
        options: See `ToolsetOptions`.

    Raises:
        DeclarationError: For an option that can't be kept, and under ``on_incompatible="refuse"``
            for every tool that can't be sent so, each with its path and mend.
    """
    no_others("toolset", options, ToolsetOptions.__annotations__)
    if provider not in PROVIDERS:
        raise DeclarationError(f"toolset: provider {provider!r} is one of {', '.join(PROVIDERS)}")
    answer = options.get("on_incompatible", "refuse")
    if answer not in _ANSWERS:
        raise DeclarationError(f"toolset: on_incompatible is one of {', '.join(_ANSWERS)}")
    if options.get("strict", "auto") not in (True, False, "auto"):
        raise DeclarationError("toolset: strict is True, False or 'auto'")
    typed = options.get("require_typed", False)
    if isinstance(typed, str):
        raise DeclarationError("toolset: require_typed is True, False or a set of names")
    each = {one.name: one for one in tools}
    wrong = _untyped(each, wanted=typed)
    ready: dict[str, Lowered] = {}
    for name, one in each.items():
        made = _lowered(one, provider, options, wrong)
        if made is not None and not (name in wrong and answer == "skip"):
            ready[name] = made
    _answered(wrong, answer, provider, ready)
    try:
        names = lowered_names(ready, provider)
        plan = planned(ready, provider, priority=_priority(options, each, ready))
    except SchemaError as why:
        raise DeclarationError(f"toolset for {provider}: {why.text}") from None
    sent = {
        names[name]: Sent(
            name=names[name],
            tool=name,
            description=each[name].description,
            lowered=one.relaxed() if name in plan.demoted else one,
        )
        for name, one in ready.items()
    }
    left_out = {name: "; ".join(texts) for name, texts in wrong.items() if name not in ready}
    return Toolset(provider, plan.demoted, left_out, sent)


def _lowered(
    one: Listed, provider: Provider, options: ToolsetOptions, wrong: dict[str, list[str]]
) -> Lowered | None:
    """Return *one* lowered as asked, or as it can be; what went wrong is added to *wrong*."""
    folds = options.get("fold_case", False)
    strict: Strict = options.get("strict", "auto")
    told = wrong.setdefault(one.name, [])
    made: Lowered | None = None
    try:
        made = lower(one.input_schema, provider, strict=strict and "auto", fold_case=folds)
        if strict is True and not made.strict:
            lost = [entry for entry in made.report if entry.action == "refused" or entry.lossy]
            told += [f"{_dotted(entry.pointer)}: {entry.text}; {_MEND}" for entry in lost[:_MOST]]
            told += [f"and {len(lost) - _MOST} more places"] if len(lost) > _MOST else []
            if not lost:  # a provider without such a mode says so itself
                lower(one.input_schema, provider, strict=True)
    except SchemaError as why:
        told.append(f"{why.path or '(root)'}: {why.text}")
    if not told:
        del wrong[one.name]
    return made


def _dotted(at: str) -> str:
    return ".".join(steps_of(at)) or "(root)"


def _untyped(each: Mapping[str, Listed], *, wanted: bool | Collection[str]) -> dict[str, list[str]]:
    """Return by tool which of its properties say no type, but for those that are allowed."""
    if wanted is False:
        return {}
    allowed = set[str]() if wanted is True else set(wanted)
    found = {f"{name}{at}" for name, one in each.items() for at in untyped(one.input_schema)}
    if unknown := sorted(one for one in allowed - found if one.partition("#")[0] in each):
        text = f"require_typed allows {unknown[0]!r}, which is no property without a type"
        raise DeclarationError(f"toolset: {text}; take it out")
    wrong: dict[str, list[str]] = {}
    for one in sorted(found - allowed):
        name, _, at = one.partition("#")
        text = f"it says no type; annotate it, or allow {one!r} in require_typed"
        wrong.setdefault(name, []).append(f"{_dotted(f'#{at}')}: {text}")
    return wrong


def _answered(
    wrong: Mapping[str, Sequence[str]],
    answer: OnIncompatible,
    provider: Provider,
    ready: Mapping[str, Any],
) -> None:
    """Refuse what went wrong, or log it."""
    if not wrong:
        return
    if answer == "refuse":
        lines = [f"  {name}: {text}" for name, texts in wrong.items() for text in texts]
        count = f"{len(wrong)} tool{'s' if len(wrong) > 1 else ''} can't be sent to {provider} so:"
        raise DeclarationError("\n".join([count, *lines]))
    for name, texts in wrong.items():
        done = "is sent all the same" if name in ready else "is left out"
        _log.warning("tool %s %s for %s: %s", name, done, provider, "; ".join(texts))


def _priority(
    options: ToolsetOptions, each: Mapping[str, Listed], ready: Mapping[str, Lowered]
) -> list[str]:
    names = options.get("priority", ())
    if unknown := [name for name in names if name not in each]:
        raise DeclarationError(f"toolset: priority names {unknown[0]!r}, which is no tool of it")
    return [name for name in names if name in ready]
