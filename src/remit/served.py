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

    def advertised(self, tool: str) -> dict[str, Any]:
        """Return the canonical schema of *tool*'s arguments (JSON Schema 2020-12).

        Raises:
            KeyError: If there is no such tool.
        """
        return self._app.declared(tool).input_schema

    def lowered(
        self, tool: str, provider: Provider, *, strict: Strict = "auto", fold_case: bool = False
    ) -> Lowered:
        """Return the schema of *tool*'s arguments as *provider* takes it; see `remit.schema.lower`.

        Raises:
            KeyError: If there is no such tool.
            SchemaError: If it can't be said, with path and reason.
        """
        return lower(
            self._app.declared(tool).input_schema, provider, strict=strict, fold_case=fold_case
        )

    def toolset(
        self,
        provider: Provider,
        *,
        tools: Iterable[Listed | str] | None = None,
        **options: Unpack[ToolsetOptions],
    ) -> Toolset:
        """Return the app's tools as one request to *provider* holds them.

        Args:
            provider: ``anthropic``, ``openai``, ``gemini`` or ``plain``.
            tools: Those of one caller, from `Remit.visible`, or some by name; None takes all.
            options: See `remit.toolset.ToolsetOptions`.

        Raises:
            DeclarationError: For tools that can't be sent so, all of them at once.
            KeyError: If there is no tool of a name.
        """
        app = self._app
        allowed = options.get("require_typed", ())
        if not isinstance(allowed, bool | str):
            for one in allowed:
                app.declared(one.partition("#")[0])
        some = app.tools if tools is None else tools
        listed = [Listed.of(app.declared(one)) if isinstance(one, str) else one for one in some]
        return toolset(listed, provider, **options)

    async def mcp_stdio(self, *, claims: Mapping[str, Any] | None, flat: bool = False) -> None:
        """Serve the app over stdio until its input ends, for the principal that *claims* name."""
        from remit.surfaces import mcp

        await mcp.stdio(self._app, claims=claims, flat=flat)

    def serve(self, *, auth: Verifier | None = None, **options: Unpack[HttpOptions]) -> HttpApp:
        """Return one ASGI app with every HTTP surface; see `remit.surfaces.asgi.serve`."""
        from remit.surfaces import asgi

        return asgi.serve(self._app, auth=auth, **options)
