"""Two versions of tools or schemas: what changed where, for whom, and the value that shows it."""

from remit.schema.comparing.changes import diff
from remit.schema.comparing.findings import Change

__all__ = ["Change", "diff"]
