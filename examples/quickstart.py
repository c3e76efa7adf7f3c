"""A first app: each signed-in person's own notes."""

import remit

app = remit.Remit("notes")
notes: dict[str, list[str]] = {}


@app.tool(effect="write")
def add_note(call: remit.Call, text: str) -> int:
    """Keep a note of yours, and say how many there are."""
    mine = notes.setdefault(call.principal.subject, [])
    mine.append(text)
    return len(mine)
