"""One ASGI app with everything that is served over HTTP: MCP, its metadata, and a health check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import Unpack

from remit.surfaces.mcp import HttpApp, HttpOptions, http_app

if TYPE_CHECKING:
    from remit.app import Remit
    from remit.auth import Verifier

__all__ = ["serve"]


def serve(app: Remit, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> HttpApp:
    """Return *app* with MCP at ``/mcp`` and a health check at ``/healthz``.

    Args:
        app: The app.
        auth: Verifies each request's bearer token; without it only public tools can be called.
        options: See `remit.surfaces.mcp.http_app`.

    Raises:
        DeclarationError: If the options don't make a whole.
    """

    async def healthy(_: Request) -> Response:
        # Says that it serves, and nothing of what: anyone may ask.
        return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})

    return http_app(app, auth=auth, routes=[Route("/healthz", healthy)], **options)
