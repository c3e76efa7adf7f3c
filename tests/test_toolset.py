"""One provider's request: every tool that can't be sent so is named at once, with its mend."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from pydantic import BaseModel

import remit
from remit.schema import untyped
from remit.toolset import Toolset
from tests.schema.checkers import CHECKERS


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Meta(BaseModel):
    model_config = {"extra": "allow"}
    a: int = 0


def app() -> remit.Remit:
    made = remit.Remit("sets", store="sqlite://")

    @made.tool(effect="read")
    async def plain(n: int) -> int:
        """Count."""
        return n

    @made.tool(effect="read")
    async def maps(labels: dict[str, str]) -> int:
        """Count labels."""
        return len(labels)

    @made.tool(effect="read", name="any-thing")
    async def anything(value: Any, meta: Meta | None = None) -> int:
        """Count anything."""
        return 1

    return made


def names(made: Toolset) -> list[str]:
    return [one.tool for one in made]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
def test_a_request_holds_each_tool_as_well_as_it_can_be_sent(provider: Any):
    made = app().toolset(provider)
    assert names(made) == ["plain", "maps", "any-thing"]
    for one in made:
        assert CHECKERS[provider](one.lowered.schema, strict=one.lowered.strict) == []
        assert made[one.name] is one
    assert made.skipped == {}
    assert next(iter(made)).lowered.strict is (provider != "gemini")
    assert [*made][2].name == "any-thing" or provider == "gemini"
    with pytest.raises(KeyError):
        made["gone"]


def test_refusing_names_every_tool_with_its_path_and_mend():
    with pytest.raises(remit.DeclarationError) as raised:
        app().toolset("openai", strict=True)
    text = str(raised.value)
    assert text.startswith("2 tools can't be sent to openai so:\n")
    assert "maps: properties.labels: " in text
    assert "any-thing: properties.value: " in text
    assert "strict='auto' sends the tool, not strict" in text


def test_warning_sends_them_as_they_can_be_and_says_so(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "remit"):
        made = app().toolset("openai", strict=True, on_incompatible="warn")
    assert names(made) == ["plain", "maps", "any-thing"]
    assert [one.lowered.strict for one in made] == [True, False, False]
    assert "tool maps is sent all the same for openai: properties.labels" in caplog.text


def test_skipping_leaves_them_out_and_says_so(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING, "remit"):
        made = app().toolset("openai", strict=True, on_incompatible="skip")
    assert names(made) == ["plain"]
    assert set(made.skipped) == {"maps", "any-thing"}
    assert "tool maps is left out for openai" in caplog.text


def test_every_property_says_its_type_or_is_allowed_not_to():
    with pytest.raises(remit.DeclarationError, match=r"any-thing: properties.value: .*annotate"):
        app().toolset("plain", require_typed=True)
    made = app().toolset("plain", require_typed={"any-thing#/properties/value"})
    assert len(made) == 3
    with pytest.raises(remit.DeclarationError, match="no property without a type"):
        app().toolset("plain", require_typed={"plain#/properties/n"})
    made = app().toolset("plain", require_typed=True, on_incompatible="skip")
    assert names(made) == ["plain", "maps"]


def test_what_says_a_type():
    schema = {
        "type": "object",
        "properties": {
            "a": {},
            "b": {"description": "Anything."},
            "c": True,
            "typed": {"type": "string"},
            "listed": {"enum": [1]},
            "one": {"const": 1},
            "union": {"anyOf": [{"type": "string"}]},
            "named": {"$ref": "#/$defs/D"},
            "deep/er": {"type": "object", "properties": {"x": {}}},
        },
        "$defs": {"D": {"type": "array", "items": {"type": "object", "properties": {"y": {}}}}},
    }
    assert untyped(schema) == [
        "#/$defs/D/items/properties/y",
        "#/properties/a",
        "#/properties/b",
        "#/properties/c",
        "#/properties/deep~1er/properties/x",
    ]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"strikt": True}, "strikt"),
        ({"on_incompatible": "ignore"}, "refuse, warn, skip"),
        ({"priority": ["plane"]}, "plane"),
    ],
)
def test_a_misspelt_option_is_refused(options: Any, text: str):
    with pytest.raises(remit.DeclarationError, match=text):
        app().toolset("openai", **options)
    with pytest.raises(remit.DeclarationError, match="provider 'claude'"):
        app().toolset("claude")  # type: ignore[arg-type]


def test_a_budget_that_is_short_demotes_openly():
    made = remit.Remit("many", store="sqlite://")
    for i in range(25):

        @made.tool(effect="read", name=f"t{i}")
        async def one(note: str | None = None) -> int:
            """Count."""
            return 1

    sent = made.toolset("anthropic", priority=["t24"])
    strict = [one.tool for one in sent if one.lowered.strict]
    # Each has one optional parameter that is a union too: 16 of those is what a request takes.
    assert strict == [f"t{i}" for i in range(15)] + ["t24"]
    assert "union parameters" in sent.demoted["t15"]
    assert len(sent) == 25


@pytest.mark.anyio
async def test_the_tools_of_one_caller():
    made = remit.Remit("scoped", store="sqlite://")

    @made.tool(effect="read", scopes={"a"})
    async def a() -> int:
        """A."""
        return 1

    @made.tool(effect="read", scopes={"b"})
    async def b() -> int:
        """B."""
        return 1

    visible = await made.visible({"sub": "u", "scope": "a"}, surface="python")
    assert names(made.toolset("anthropic", tools=visible)) == ["a"]
