"""The same blog as a tool that passes every check its author thought to add.

It stands on a plain ``MCPServer``, has types, a schema and an annotation that says it destroys
nothing. The demo sends it what it sends to ``tools.py``, and shows what then is in the table.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import sys
from typing import Literal

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

posts = sqlite3.connect(
    os.environ.get("NAIVE_POSTS", ":memory:"), isolation_level=None, check_same_thread=False
)
posts.execute("CREATE TABLE IF NOT EXISTS posts (id, author_id, status, title, body, edit_token)")

server = MCPServer("naive-blog", log_level="WARNING")


@server.tool(annotations=ToolAnnotations(destructive_hint=False))
def create_post(
    title: str, body: str, author_id: str, status: Literal["draft", "published"]
) -> str:
    """Create a blog post."""
    row = {
        "id": f"p_{secrets.token_hex(4)}",
        "author_id": author_id,
        "status": status,
        "title": title,
        "body": body,
        "edit_token": f"et_secret_{secrets.token_hex(8)}",
    }
    posts.execute("INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?)", list(row.values()))
    return json.dumps(row)


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]))
