"""An app that the command line loads by name: one tool for each way to fail."""

from __future__ import annotations

from typing import Any

import remit

SECRET = "dsn-with-hunter2"
app = remit.Remit("desk")


@app.tool(effect="read", public=True)
def add(number: int = 1) -> int:
    return number + 1


@app.tool(effect="read", public=True)
def broken() -> str:
    raise RuntimeError(SECRET)


@app.tool(effect="read", public=True)
def closed() -> str:
    raise remit.Refused("closed", "Customer 12 is closed.")


@app.tool(effect="read", public=True)
def says_error() -> dict[str, Any]:
    return {"error": "not found"}


@app.tool(effect="read", scopes={"vault:read"})
def vault() -> str:
    return SECRET
