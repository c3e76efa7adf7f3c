"""The app over the Model Context Protocol: stdio, streamable HTTP, in process, in both eras.

Who calls is read from the verified token of the very request, or is fixed by configuration;
``_meta``, ``clientInfo`` and arguments are never asked.
"""

from __future__ import annotations

try:
    import mcp.server  # noqa: F401  # pyright: ignore[reportUnusedImport] - says early what is missing
except ImportError as _missing:
    raise ImportError("the MCP surface needs the MCP SDK: pip install 'remit[mcp]'") from _missing

from remit.surfaces.mcp.hosting import HttpApp, HttpOptions, http_app, serving, stdio
from remit.surfaces.mcp.server import IDEMPOTENCY_KEY, server

__all__ = ["IDEMPOTENCY_KEY", "HttpApp", "HttpOptions", "http_app", "server", "serving", "stdio"]
