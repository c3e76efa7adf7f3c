"""``make demo`` does what it says, leaves nothing behind, and would say if something didn't hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from examples.blog.transcript import Transcript
from tests.needs import ROOT

SHOWN = (
    "unrecognized_keys:author_id,status,approved",
    "unrecognized_keys:status",
    "unrecognized_keys:approved",
    "another author's draft and one that never was get the same bytes back",
    "awaiting_approval",
    "$ remit approvals approve",
    "the post is live, as Asha's, as it was sent",
    "a second approval is refused, and the post moved once",
    "not_editable",
    "14 rows, each as it was written",
    "it is live, under the editor's name",
    "the undeclared key was dropped, and the model told that all went well",
    "the whole row went back, edit_token and all",
    "claude mcp add --transport http",
)


@pytest.mark.slow
@pytest.mark.timeout(120)  # 7 s by itself; nine processes start, and a busy machine takes its time
def test_the_whole_story_holds_and_leaves_nothing_behind(tmp_path: Path):
    # One test: run by several workers, the story would be told by each.
    done = subprocess.run(
        [sys.executable, "-m", "examples.blog.demo"],
        cwd=ROOT,
        env={"HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "NOT SO" not in done.stdout
    assert "NO LONGER SO" not in done.stdout
    assert [line for line in SHOWN if line not in done.stdout] == []
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_promise_that_fails_is_remembered(capsys: pytest.CaptureFixture[str]):
    tell = Transcript()
    tell.shows("water runs down", held=True)
    tell.shows("water runs up", held=False)
    assert tell.broken == ["water runs up"]
    assert "NOT SO: water runs up" in capsys.readouterr().out
