"""The server that the conformance suite calls: remit's declarations under the suite's tool names.

Prints its address and serves until it is ended. Everything is public and on loopback, since the
suite brings no token.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import struct
import zlib
from typing import Annotated, Any, Literal

import uvicorn
from pydantic import BaseModel, ConfigDict, Field, model_validator

import remit
from remit.content import Audio, Content, Embedded, Image, Text, TextResource

app = remit.Remit("remit-conformance", version="1.0.0")
Call = remit.Call

reads: dict[str, Any] = {"effect": "read", "public": True}


# --- Results ----------------------------------------------------------------------------------


def _png() -> bytes:
    """Return one red pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def _wav() -> bytes:
    """Return one silent sample."""
    shape = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8)
    data = struct.pack("<4sI", b"data", 2) + b"\x80\x80"
    return struct.pack("<4sI", b"RIFF", 4 + len(shape) + len(data)) + b"WAVE" + shape + data


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


IMAGE = Image(data=_base64(_png()), mime_type="image/png")


@app.tool(**reads)
async def test_simple_text(call: Call) -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@app.tool(**reads)
async def test_image_content(call: Call) -> Image:
    """Return an image."""
    return IMAGE


@app.tool(**reads)
async def test_audio_content(call: Call) -> Audio:
    """Return a sound."""
    return Audio(data=_base64(_wav()), mime_type="audio/wav")


@app.tool(**reads)
async def test_embedded_resource(call: Call) -> Embedded:
    """Return a document."""
    text = "This is an embedded resource content."
    return Embedded(resource=TextResource(uri="test://embedded-resource", text=text))


@app.tool(**reads)
async def test_multiple_content_types(call: Call) -> list[Content]:
    """Return a text, an image and a document."""
    document = TextResource(
        uri="test://mixed-content-resource",
        mime_type="application/json",
        text='{"test":"data","value":123}',
    )
    return [Text(text="Multiple content types test:"), IMAGE, Embedded(resource=document)]


@app.tool(**reads)
async def test_error_handling(call: Call) -> str:
    """Fail, as the author foresaw."""
    raise remit.Refused("always", "This tool intentionally returns an error for testing")


@app.tool(**reads)
async def test_tool_with_progress(call: Call) -> str:
    """Say three times how far it is."""
    for done in (0, 50, 100):
        await call.progress(done, 100)
        await asyncio.sleep(0.05)
    return "Done."


@app.tool(**reads)
async def test_logging_tool(call: Call) -> str:
    """Log a line, which must stay in the log."""
    call.log.info("a line for the operator")
    return "Logged."


# --- Schemas and headers ----------------------------------------------------------------------


class address(BaseModel):
    """A place."""

    model_config = ConfigDict(json_schema_extra={"$anchor": "addressDef"})

    street: str = ""
    city: str = ""


Address = address  # a field of the same name would shadow it


class Contact(BaseModel):
    """Somebody to reach, by phone or by mail."""

    model_config = ConfigDict(
        json_schema_extra={
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {
                "properties": {"contactMethod": {"const": "phone"}},
                "required": ["contactMethod"],
            },
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
        }
    )

    name: str = ""
    address: Address = Address()
    contactMethod: Literal["phone", "email"] = "email"  # noqa: N815 - the suite's spelling
    phone: str | None = None
    email: str | None = None

    @model_validator(mode="after")
    def _reachable(self) -> Contact:
        wanted = "phone" if "contactMethod" in self.model_fields_set else "email"
        if self.contactMethod == "email":
            wanted = "email"
        if wanted not in self.model_fields_set:
            message = f"{wanted} is missing"
            raise ValueError(message)
        return self


@app.tool(**reads)
async def json_schema_2020_12_tool(call: Call, contact: Annotated[Contact, remit.Body]) -> str:
    """Tool with JSON Schema 2020-12 features."""
    return contact.contactMethod


@app.tool(**reads)
async def test_header_mirror(
    call: Call, region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]
) -> str:
    """Take an argument that a client repeats as a header, for gateways to route by."""
    return region


# --- Questions to the client ------------------------------------------------------------------


def form(message: str, **properties: str) -> dict[str, Any]:
    """Return the question that shows *message* and a form of *properties* (name and JSON type)."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": [*properties],
    }
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


def sample(text: str) -> dict[str, Any]:
    """Return the question that the client's model answers."""
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 100}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}


def filled(call: Call, key: str, field: str) -> Any:
    """Return what the form *key* says in *field*, or None if it wasn't accepted and filled in."""
    answer = call.answers.get(key)
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return None
    content = answer.get("content")
    return content.get(field) if isinstance(content, dict) else None


@app.tool(**reads)
async def test_input_required_result_elicitation(call: Call) -> str:
    """Ask for a name, then greet."""
    name = filled(call, "user_name", "name")
    if not isinstance(name, str):
        raise remit.Ask({"user_name": form("What is your name?", name="string")})
    return f"Hello, {name}!"


@app.tool(**reads)
async def test_input_required_result_sampling(call: Call) -> str:
    """Ask the client's model, then say what it said."""
    if "capital_question" not in call.answers:
        raise remit.Ask({"capital_question": sample("What is the capital of France?")})
    return str(call.answers["capital_question"])


@app.tool(**reads)
async def test_input_required_result_list_roots(call: Call) -> str:
    """Ask for the client's roots, then name them."""
    if "client_roots" not in call.answers:
        raise remit.Ask({"client_roots": ROOTS})
    return str(call.answers["client_roots"])


@app.tool(**reads)
async def test_input_required_result_request_state(call: Call) -> str:
    """Ask, and find the state again."""
    if filled(call, "confirm", "ok") is None or call.state != {"round": 1}:
        raise remit.Ask({"confirm": form("Please confirm", ok="boolean")}, state={"round": 1})
    return "state-ok"


@app.tool(**reads)
async def test_input_required_result_tampered_state(call: Call) -> str:
    """Ask, with a state that must not come back changed."""
    if call.state != {"round": 1}:
        raise remit.Ask({"confirm": form("Please confirm", ok="boolean")}, state={"round": 1})
    return "state-ok"


@app.tool(**reads)
async def test_input_required_result_multiple_inputs(call: Call) -> str:
    """Ask three things at once."""
    questions = {
        "user_name": form("What is your name?", name="string"),
        "greeting": sample("Generate a greeting"),
        "client_roots": ROOTS,
    }
    if not questions.keys() <= call.answers.keys() or call.state is None:
        raise remit.Ask(questions, state={"asked": sorted(questions)})
    return "All answered."


@app.tool(**reads)
async def test_input_required_result_multi_round(call: Call) -> str:
    """Ask twice, each round knowing the one before."""
    if call.state is None:
        question = form("Step 1: What is your name?", name="string")
        raise remit.Ask({"step1": question}, state={"round": 1})
    if call.state == {"round": 1}:
        question = form("Step 2: What is your favorite color?", color="string")
        raise remit.Ask({"step2": question}, state={"round": 2})
    return "Both answered."


@app.tool(**reads)
async def test_input_required_result_capabilities(call: Call) -> str:
    """Ask only what this client can be asked."""
    questions = {
        "elicitation": ("ask", form("What is your name?", name="string")),
        "sampling": ("think", sample("Say hello")),
    }
    asked = dict(question for able, question in questions.items() if able in call.can_ask)
    if asked and not asked.keys() <= call.answers.keys():
        raise remit.Ask(asked)
    return "Nothing left to ask."


@app.tool(**reads)
async def test_missing_capability(call: Call) -> str:
    """Ask for sampling, whether or not the client has it."""
    if "think" not in call.answers:
        raise remit.Ask({"think": sample("Say hello")})
    return "Said."


@app.tool(**reads)
async def test_streaming_elicitation(call: Call) -> str:
    """Ask while a stream may be open."""
    if "ask" not in call.answers:
        raise remit.Ask({"ask": form("What is your name?", name="string")})
    return "Answered."


def main() -> None:
    """Serve on a free port of the loopback interface."""
    # Answers stream, as progress reports need.
    config = uvicorn.Config(app.mcp_app(json_response=False), log_level="warning")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # from here on a client waits rather than fails
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
