"""A schema as one provider takes it, with the way back and a report of what it can't say.

A provider's strict mode holds decoding to the schema but takes only part of JSON Schema. What words
can stand in for goes into descriptions; if more would be lost, the schema is sent as it is, not
strict, and the reasons are given. Nothing is emptied, and the contract judges in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from remit.schema.document import Document, Json, bounded
from remit.schema.flattening.flat import flattened
from remit.schema.flattening.shelf import hoisted
from remit.schema.lowering.decoding import Decoded, Decoder
from remit.schema.lowering.dialects import GEMINI, PROVIDERS, STRICT, Provider
from remit.schema.lowering.speaking import Speaking
from remit.schema.places import Places, copied, items_of, named_of, steps_of
from remit.schema.policy import SchemaError
from remit.schema.report import Entry
from remit.schema.variants import UNIONS

__all__ = ["Lowered", "Strict", "lower"]

Strict = Literal["auto"] | bool

# What no provider takes at a root.
_FOLDED: Final = frozenset(
    {
        *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const", "$ref"),
        *("dependentSchemas", "dependentRequired", "dependencies"),
    }
)


# What may keep keys that an arm doesn't declare itself.
_KEEPING: Final = frozenset(
    {
        *("additionalProperties", "patternProperties", "unevaluatedProperties", *UNIONS),
        *("dependentSchemas", "if", "then", "else", "not"),
    }
)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A schema as a provider takes it.

    Attributes:
        provider: Which one.
        schema: What to send; read-only.
        strict: What to send as the tool's ``strict``.
        report: What became of which keyword; what it doesn't name is sent as it is. If the schema
            isn't strict though strict was asked for, the entries that are ``refused`` say why.
    """

    provider: Provider
    schema: Json
    strict: bool
    report: tuple[Entry, ...]
    _decoder: Decoder | None = field(default=None, repr=False, compare=False)
    _source: Json = field(default_factory=dict[str, Any], repr=False, compare=False)

    @property
    def lossless(self) -> bool:
        """Whether the schema says all that the original says, in keywords or in words."""
        return not any(one.lossy for one in self.report)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it isn't strict, each with its JSON Pointer; empty if it is, or needn't be."""
        return tuple(f"{one.pointer}: {one.text}" for one in self.report if one.action == "refused")

    def decode(self, arguments: Mapping[str, Any]) -> Json:
        """Return what a model sent under the schema, as the contract means it.

        A null that only stood for *left out* is left out; everything else is as it was sent.

        Args:
            arguments: The arguments, read from JSON: an object.

        Raises:
            TypeError: If they are text, which nobody has read yet.
        """
        return self.decoded(arguments).arguments

    def decoded(self, arguments: Mapping[str, Any]) -> Decoded:
        """Return what `decode` returns, with what was repaired on the way."""
        if not isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(arguments).__name__
            raise TypeError(f"decode takes an object that was read from JSON, not {kind}")
        if self._decoder is None:
            return Decoded(dict(arguments))
        return self._decoder.decoded(arguments)

    def relaxed(self) -> Lowered:
        """Return the same schema lowered, but not strict."""
        return lower(self._source, self.provider, strict=False) if self.strict else self


def lower(
    schema: Mapping[str, Any],
    provider: Provider,
    *,
    strict: Strict = "auto",
    fold_case: bool = False,
) -> Lowered:
    """Return *schema* as *provider* takes it.

    Args:
        schema: A tool's JSON Schema, an object at its root; not changed.
        provider: ``anthropic``, ``openai``, ``gemini``, or ``plain`` for any JSON Schema.
        strict: ``"auto"`` is strict if words can say whatever keywords can't; True refuses
            otherwise; False never is.
        fold_case: Whether a listed text that comes in another capitalisation is taken for the one
            it must be, where a strict mode doesn't guarantee it (Anthropic's). Each is recorded.

    Raises:
        SchemaError: If it is of a hostile size, no object at the root or holds a reference that
            leads nowhere; and under ``strict=True`` if it can't be strict, with path and reason.
        ValueError: If there is no such provider, or *strict* is none of these.
    """
    _checked(provider, strict)
    source: Json = copied(bounded(schema))
    _resolved(Places(Document(source)))
    if provider == "plain":
        _object_at(source)
        return Lowered(provider, source, strict=False, report=(), _source=source)
    dialect = STRICT.get(provider)
    root, told = _rooted(source)
    if dialect is None:
        places = Places(Document(root))
        if places.foreign:
            text = f"it is sent as it is, and may be misread, since {places.foreign}"
            entry = Entry("#", "$id", "kept", lossy=True, text=text)
            return Lowered(provider, root, strict=False, report=(*told, entry), _source=source)
        made = Speaking(places, GEMINI)
        spoken = made.whole()
        return Lowered(provider, spoken, strict=False, report=(*told, *made.report), _source=source)
    if strict is False:
        return Lowered(provider, root, strict=False, report=told, _source=source)
    made = Speaking(Places(Document(root)), dialect, fold_case=fold_case)
    try:
        spoken, found = made.whole(), made.report
    except SchemaError as why:
        spoken, found = {}, (Entry(why.path or "#", "$ref", "refused", lossy=False, text=why.text),)
    refused = tuple(one for one in found if one.action == "refused")
    lossy = [one for one in told if one.lossy]
    if refused or lossy:
        if strict is True:
            first, more = [*refused, *lossy][0], len(refused) + len(lossy) - 1
            text = f"{dialect.title}'s strict mode can't have {first.keyword}: {first.text}"
            raise SchemaError(steps_of(first.pointer), text + (f" ({more} more)" if more else ""))
        # A root that only words say whole is as little strict as one that can't be said.
        refused += tuple(
            Entry(one.pointer, one.keyword, "refused", lossy=False, text=one.text) for one in lossy
        )
        return Lowered(provider, root, strict=False, report=(*told, *refused), _source=source)
    back = Decoder(spoken, made.absent, made.folds)
    return Lowered(
        provider, spoken, strict=True, report=(*told, *found), _decoder=back, _source=source
    )


def _checked(provider: object, strict: object) -> None:
    """Refuse what can't be asked for, whatever the schema."""
    if provider not in PROVIDERS:
        raise ValueError(f"unknown provider {provider!r}; take one of {', '.join(PROVIDERS)}")
    if strict not in (True, False, "auto"):
        raise ValueError(f"strict is True, False or 'auto', not {strict!r}")
    if provider == "plain" and strict is True:
        raise SchemaError((), "plain JSON Schema has no strict mode; take strict='auto'")
    if provider == "gemini" and strict is True:
        text = "Gemini has no strict mode per tool; set the request's calling mode to VALIDATED"
        raise SchemaError((), text)


def _resolved(places: Places) -> None:
    """Raise for a reference that leads nowhere, or round in a ring."""
    ends: set[str] = set()
    for place, _ in () if places.foreign else places.references:
        chain: dict[str, None] = {}
        node: Any = place.node
        while isinstance(node, dict) and isinstance(one := cast("Json", node).get("$ref"), str):
            if one in ends:
                break
            if one in chain:
                text = f"the reference {one!r} leads back to itself"
                raise SchemaError(place.pointer, text)
            chain[one] = None
            try:
                node = places.document.target(one)
            except SchemaError as why:
                raise SchemaError(place.pointer, why.text) from None
        ends.update(chain)


def _object_at(root: Json) -> None:
    kinds = root.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        text = f"a tool's arguments are an object, not {kinds!r}; put this under a property"
        raise SchemaError((), text)


def _rooted(root: Json) -> tuple[Json, tuple[Entry, ...]]:
    """Return *root* as an object that says so itself, which every provider asks of a tool.

    A union at the root becomes one object; what can't is left to the contract, and reported.
    """
    _object_at(root)
    told: tuple[Entry, ...] = ()
    if any(items_of(root, word) for word in UNIONS):
        flat = flattened(root)
        root, told = copied(flat.schema), flat.report
    if _FOLDED.isdisjoint(root) and root.get("type") == "object":
        return root, told
    places = Places(Document(root))
    # What leads to the root, or into what goes from it, keeps what it led to.
    aimed = {ref: None for _, ref in places.references if _moves(steps_of(ref))}
    if aimed and not places.foreign:
        root, _ = hoisted(places, aimed, {})
    speaking = Speaking(Places(Document(root)), GEMINI)
    made = dict(speaking.opened(root))
    lost: list[Entry] = []
    for word in sorted(_FOLDED & made.keys()):
        if word in UNIONS:
            _take_in(made, [speaking.opened(one) for one in items_of(made, word)])
        del made[word]
        text = f"{word} at the root, which no provider takes, is left to the contract"
        lost.append(Entry("#", word, "rewritten", lossy=True, text=text))
    definitions = {word: root[word] for word in ("$defs", "definitions") if word in root}
    made = bounded({**made, "type": "object", **definitions})
    _object_at(made)
    return copied(made), (*told, *speaking.report, *lost)


def _moves(steps: tuple[str, ...]) -> bool:
    return not steps or steps[0] in _FOLDED


def _take_in(made: Json, arms: Sequence[Json]) -> None:
    """Give the object *made* the properties that only the arms of its union have."""
    if "additionalProperties" not in made and any(not _KEEPING.isdisjoint(arm) for arm in arms):
        made["additionalProperties"] = True  # what one arm keeps must come through
    own = named_of(made, "properties")
    closed = made.get("additionalProperties") is False
    found: dict[str, list[Any]] = {}
    for arm in arms:
        for name, one in named_of(arm, "properties").items():
            if name not in own:
                found.setdefault(name, []).append(one)
    if not found or closed:
        return  # a closed object refuses what only its arms name
    same = {name: all(one == some[0] for one in some) for name, some in found.items()}
    everywhere = {name for name, some in found.items() if len(some) == len(arms)}
    made["properties"] = {
        **own,
        **{
            name: some[0] if same[name] and name in everywhere else {}
            for name, some in found.items()
        },
    }
