"""T1. Every object at every depth refuses undeclared keys, and the published schema says so.

tests/laws/test_l01 and test_matrix prove the refusals; here the schema as sent is walked to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

import remit
from tests.laws.lab import MCP, running

pytestmark = pytest.mark.anyio


class Tag(TypedDict):
    name: str


@dataclass
class Place:
    city: str
    tags: list[Tag]


class Node(BaseModel):
    place: Place | None = None
    under: dict[str, list[Node]] = {}


app = remit.Remit("deep")


@app.tool(effect="write")
def keep(node: Node, others: tuple[Place, Tag] | None = None) -> str:
    return "kept"


def objects(schema: Any, pointer: str = "#") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, list):
        for i, item in enumerate(schema):
            yield from objects(item, f"{pointer}/{i}")
    elif isinstance(schema, dict):
        if "properties" in schema:
            yield pointer, schema
        for key, item in schema.items():
            yield from objects(item, f"{pointer}/{key}")


@pytest.mark.parametrize("surface", MCP)
async def test_the_published_schema_closes_every_object(surface: str):
    """Each object of the schema that a client is sent says ``additionalProperties: false``.

    If this fails, nothing warns a model, and a provider's strict mode takes less than remit refuses.
    """
    async with running(app, surface) as made, made.client() as client:
        (tool,) = (await client.list_tools()).tools
        found = dict(objects(tool.input_schema))
        assert len(found) >= 4
        assert [
            at for at, one in found.items() if one.get("additionalProperties") is not False
        ] == []


async def test_the_nearest_name_is_told(surface: str):
    """A near miss is answered with the name that was meant, deep inside, too.

    If this fails, a model tries spellings one by one.
    """
    async with running(app, surface) as made:
        sent = {
            "node": {
                "under": {"x": [{"place": {"city": "c", "tags": [{"name": "n", "nmae": "m"}]}}]}
            }
        }
        refused = await made.call("keep", sent)
        (issue,) = refused.issues
        assert (issue.path, issue.code) == ("node.under.x.0.place.tags.0", "unrecognized_keys:nmae")
        assert "did you mean name?" in issue.hint
        assert [row.outcome for row in made.app.audit.rows()] == ["invalid_arguments"]
