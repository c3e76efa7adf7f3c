"""T14. An output is checked against its schema and bounded as a whole, with valid JSON.

tests/laws/test_l09 proves the data; here are the bytes that HTTP carries.
"""

from __future__ import annotations

import json

import jsonschema_rs
import pytest
from pydantic import BaseModel

import remit
from remit.projection import MAX_RESULT_BYTES
from tests.laws.lab import posted, running

pytestmark = pytest.mark.anyio

HTTP = ("mcp-http", "mcp-http-legacy")


class Report(BaseModel):
    title: str
    lines: list[str]
    notes: dict[str, str]


def app_of() -> remit.Remit:
    app = remit.Remit("reports")

    @app.tool(effect="read")
    def report(size: int) -> Report:
        nasty = '"\\\n\u0001ü🎉'
        return Report(title=nasty * size, lines=[nasty * 20] * size, notes={"a": nasty * size})

    @app.tool(effect="read")
    def wrong() -> Report:
        return {"title": "t", "lines": "not a list", "notes": {}}  # type: ignore[return-value]

    return app


@pytest.mark.slow
@pytest.mark.parametrize("surface", HTTP)
@pytest.mark.parametrize("size", [1, 20, 3000, 20_000])
async def test_the_whole_answer_is_bounded_and_valid(surface: str, size: int):
    """All of an answer's bytes, text and structure and metadata, stay under the ceiling and are JSON.

    If this fails, the bound is of the data, and escapes make six bytes of each of them.
    """
    async with running(app_of(), surface) as made:
        body = await posted(made, f'{{"name": "report", "arguments": {{"size": {size}}}}}')
        assert len(body.encode()) <= MAX_RESULT_BYTES
        result = json.loads(body)["result"]
        assert not result["isError"]
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        schema = made.app.tools["report"].output_schema
        jsonschema_rs.validator_for(schema).validate(result["structuredContent"])
        assert ("remit/more" in result["_meta"]) is (size >= 3000)


@pytest.mark.parametrize("surface", HTTP)
async def test_what_does_not_fit_the_schema_does_not_leave(surface: str):
    """A result of another shape than declared is an error result with a reference.

    If this fails, the schema is a hope.
    """
    async with running(app_of(), surface) as made:
        body = await posted(made, '{"name": "wrong", "arguments": {}}')
        result = json.loads(body)["result"]
        assert result["isError"]
        assert "structuredContent" not in result
        assert "not a list" not in body
        assert [row.outcome for row in made.app.audit.rows()] == ["internal"]


@pytest.mark.parametrize("surface", HTTP)
async def test_an_error_is_bounded_as_well(surface: str):
    """A request of many thousand wrong keys gets an answer of a few hundred bytes.

    If this fails, an error is the amplifier.
    """
    keys = ", ".join(f'"{"k" * 60}{i}": 1' for i in range(5000))
    async with running(app_of(), surface) as made:
        body = await posted(made, f'{{"name": "report", "arguments": {{{keys}}}}}')
        assert len(body.encode()) < 8192
        assert "invalid_arguments" in body
