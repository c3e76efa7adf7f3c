"""A skip is a contributor's convenience and CI's failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SKIPS = """
    import pytest
    from needs import needs, shared

    def test_inside(): needs("a moon", present=False, reason="to look at")
    def test_present(): needs("a moon", present=True, reason="to look at")
    @pytest.mark.skip(reason="lazy")
    def test_marked(): pass
    @pytest.mark.xfail(reason="known")
    def test_known(): assert False
"""
MODULE = """
    from needs import shared
    shared("no/such/file")
    def test_never(): pass
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    here = Path(__file__).parent
    for name in ("conftest", "needs"):
        pytester.makepyfile(**{name: (here / f"{name}.py").read_text()})
    pytester.makepyfile(test_skips=SKIPS, test_module=MODULE)
    return pytester


def run(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *, ci: str | None) -> str:
    if ci is None:
        monkeypatch.delenv("CI", raising=False)
    else:
        monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PYTHONPATH", os.fspath(project.path))
    result = project.runpytest_subprocess("-p", "no:randomly", "-p", "no:xdist", "-rs")
    return result.stdout.str()


@pytest.mark.slow
def test_a_contributor_may_skip(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    out = run(project, monkeypatch, ci=None)
    assert "1 passed, 3 skipped, 1 xfailed" in out
    assert "needs a moon: to look at" in out
    assert "needs ../shared/no/such/file" in out


@pytest.mark.slow
def test_ci_takes_each_skip_for_a_failure(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = run(project, monkeypatch, ci="true")
    assert "1 error" in out, "a module that skips itself stops the collection"
    (project.path / "test_module.py").unlink()
    out = run(project, monkeypatch, ci="true")
    assert "1 failed, 1 passed, 1 xfailed, 1 error" in out
    assert "skipped, which CI takes for a failure" in out
