"""Things a test needs that a clone alone doesn't have; the test is skipped without them, and CI fails.

CASES = [*map(json.loads, shared("cases/field-reports.jsonl").read_text().splitlines())]
"""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def needs(name: str, *, present: bool, reason: str) -> None:
    """Skip this test, or this module when called at its top, on a machine without *name*.

    Args:
        name: What is missing, e.g. ``PostgreSQL``.
        present: Whether this machine has it.
        reason: What the test does with it, so that whoever reads the skip knows what isn't tested.
    """
    if not present:
        pytest.skip(f"needs {name}: {reason}", allow_module_level=True)


def shared(path: str) -> Path:
    """Return *path* in the folder ``shared`` that lies beside the clone."""
    found = ROOT.parent / "shared" / path
    needs(f"../shared/{path}", present=found.exists(), reason="the cases are kept beside the clone")
    return found
