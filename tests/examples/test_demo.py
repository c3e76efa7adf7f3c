"""``make demo`` does what it says, leaves nothing behind, and would say if something didn't hold."""

from __future__ import annotations

import subprocess
import sys

import pytest

from examples.blog.transcript import Transcript
from tests.needs import ROOT


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [sys.executable, "-m", "examples.blog.demo"],
        cwd=ROOT,
        env={"PATH": "", "HOME": str(folder), "TMPDIR": str(folder), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=50,
        check=False,
    )
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert left == [], "the demo left files behind"
    return done


@pytest.mark.slow
def test_the_whole_story_holds(demo: subprocess.CompletedProcess[str]):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "NOT SO" not in demo.stdout
    assert demo.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "unrecognized_keys:author_id",
        "unrecognized_keys:status",
        "unrecognized_keys:approved",
        "another author's draft and one that never was get the same bytes back",
        "awaiting_approval",
        "$ remit approvals approve",
        "the post is live, as Asha's, as it was sent",
        "a second approval is refused, and the post moved once",
        "not_editable",
        "verified:",
        "it is live, under the editor's name",
        "the undeclared key was dropped, and the model told that all went well",
        "the whole row went back, edit_token and all",
        "claude mcp add --transport http",
    ],
)
def test_the_transcript_shows(demo: subprocess.CompletedProcess[str], line: str):
    assert line in demo.stdout


def test_a_promise_that_fails_is_remembered(capsys: pytest.CaptureFixture[str]):
    tell = Transcript()
    tell.shows("water runs down", held=True)
    tell.shows("water runs up", held=False)
    assert tell.broken == ["water runs up"]
    assert "NOT SO: water runs up" in capsys.readouterr().out
