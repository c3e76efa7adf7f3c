"""What every test runs under: in CI nothing is skipped, and no test sees this machine's settings."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

IN_CI = bool(os.environ.get("CI"))


def unskipped(report: Any) -> Any:
    """Return *report*, as a failure if it is a skip in CI.

    A skip says that this machine lacks something. A contributor may lack it; in CI it would hide a
    whole law behind a green run.
    """
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI takes for a failure: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    """Take a skipped test for a failed one in CI."""
    return unskipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    """Take a skipped module for a failed one in CI."""
    return unskipped((yield))


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    # A developer's own store or proxy must not decide what a test sees.
    for name in [*os.environ]:
        if name.startswith("REMIT_") or name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            monkeypatch.delenv(name)
