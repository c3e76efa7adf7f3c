"""Every field report whose kind is built has a test that is named by its id."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tests.needs import shared

KINDS = (
    "unknown-keys",
    "input-values",
    "schema-fidelity",
    "provider-dialects",
    "outputs",
    "bounded-outputs",
    "errors",
    "identity",
    "authorization",
)
"""A kind joins this list with the part of remit that it is about."""


def named_in(kind: str) -> set[str]:
    """Return the ids that the tests in *kind*'s file are named by."""
    path = Path(__file__).with_name(f"test_{kind.replace('-', '_')}.py")
    names = (
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    found = (re.match(r"test_fr_(\d{3})_", name) for name in names)
    return {f"FR-{one[1]}" for one in found if one}


@pytest.mark.parametrize("kind", KINDS)
def test_each_report_of_a_kind_has_its_test(kind: str):
    lines = shared("cases/field-reports.jsonl").read_text().splitlines()
    reports = [json.loads(line) for line in lines if line.strip()]
    wanted = {report["id"] for report in reports if report["kind"] == kind}
    assert wanted
    assert named_in(kind) == wanted
