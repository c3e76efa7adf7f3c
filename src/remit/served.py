"""What an app is reached through: each surface, imported where it is asked for.

Nothing is decided here. `remit.Remit` is the one class that is made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from remit.listing import Listed
from remit.schema.lowering import Lowered, Provider, Strict, lower
from remit.toolset import Toolset, ToolsetOptions, toolset

if TYPE_CHECKING:
    from mcp.server import Server

    from remit.app import Remit
    from remit.auth import Verifier
    from remit.surfaces.mcp import HttpApp, HttpOptions

__all__ = ["Served"]


class Served:
    """The surfaces of an app."""

    @property
    def _app(self) -> Remit:
        return cast("Remit", self)

    def mcp(self, *, claims: Mapping[str, Any] | None = None, flat: bool = False) -> Server[Any]:
        """Return the app as a low-level MCP server, both protocol eras at once.

        Args:
            claims: A fixed identity from configuration, for stdio and in-process use. Else each
                request's own verified token says who calls, and without one only public tools go.
            flat: True lists discriminated unions as one object, for clients that mangle ``oneOf``;
                calls are judged by the tool's own contract all the same.
        """
        from remit.surfaces import mcp

        return mcp.server(self._app, claims=claims, flat=flat)

    def mcp_app(self, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> HttpApp:
        """Return the app over MCP's streamable HTTP; see `remit.surfaces.mcp.http_app`."""
        from remit.surfaces import mcp

        return mcp.http_app(self._app, auth=auth, **options)

    def lowered(
        self, tool: str, provider: Provider, *, strict: Strict = "auto", fold_case: bool = False
    ) -> Lowered:
        """Return the schema of *tool*'s arguments as *provider* takes it; see `remit.schema.lower`.

        Raises:
            KeyError: If there is no such tool.
            SchemaError: If it can't be said, with path and reason.
        """
        return lower(self._app.advertised(tool), provider, strict=strict, fold_case=fold_case)

    def toolset(
        self,
        provider: Provider,
        *,
        tools: Iterable[Listed] | None = None,
        **options: Unpack[ToolsetOptions],
    ) -> Toolset:
        """Return the app's tools as one request to *provider* holds them.

        Args:
            provider: ``anthropic``, ``openai``, ``gemini`` or ``plain``.
            tools: Those of one caller, from `Remit.visible`; None takes all that are declared.
            options: See `remit.toolset.ToolsetOptions`.

        Raises:
            DeclarationError: For tools that can't be sent so, all of them at once.
        """
        every = (Listed.of(one) for one in self._app.tools.values())
        return toolset(every if tools is None else tools, provider, **options)

    async def mcp_stdio(self, *, claims: Mapping[str, Any] | None, flat: bool = False) -> None:
        """Serve the app over stdio until its input ends, for the principal that *claims* name."""
        from remit.surfaces import mcp

        await mcp.stdio(self._app, claims=claims, flat=flat)

    def serve(self, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> HttpApp:
        """Return one ASGI app with every HTTP surface; see `remit.surfaces.asgi.serve`."""
        from remit.surfaces import asgi

        return asgi.serve(self._app, auth=auth, **options)
