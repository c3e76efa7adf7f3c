"""Content blocks: results that a model sees or hears rather than reads as data.

They are those of MCP 2026-07-28, section *tools*. A tool whose return type is one of these, or a
list of them, sends them as they are; they have no output schema and are never cut: one that
doesn't fit is refused.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Audio", "Block", "Content", "Embedded", "Image", "Text", "TextResource"]


class Block(BaseModel):
    """What all blocks share: closed objects with the wire's own spelling."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", serialize_by_alias=True, validate_by_name=True
    )


class Text(Block):
    """Plain text."""

    type: Literal["text"] = "text"
    text: str


class Image(Block):
    """A picture: base64 in ``data``, its media type in ``mimeType``."""

    type: Literal["image"] = "image"
    data: str
    mime_type: Annotated[str, Field(alias="mimeType", pattern="^image/")]


class Audio(Block):
    """A sound: base64 in ``data``, its media type in ``mimeType``."""

    type: Literal["audio"] = "audio"
    data: str
    mime_type: Annotated[str, Field(alias="mimeType", pattern="^audio/")]


class TextResource(Block):
    """A text that has an address."""

    uri: str
    mime_type: Annotated[str, Field(alias="mimeType")] = "text/plain"
    text: str


class Embedded(Block):
    """A text with its address, sent along."""

    type: Literal["resource"] = "resource"
    resource: TextResource


Content = Annotated[Text | Image | Audio | Embedded, Field(discriminator="type")]
"""Any one block."""
