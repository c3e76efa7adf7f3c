"""The threats are tried in the laws' lab; where a law proves one already, here is a sharper variant."""

from __future__ import annotations

from tests.laws.conftest import anyio_backend, lab, surface

__all__ = ["anyio_backend", "lab", "surface"]
