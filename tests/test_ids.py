"""A call's id is its own, in every process that came of one."""

from __future__ import annotations

import subprocess
import sys

import pytest

FORKED = """
import os
from remit.passage import Passage

def made():
    return Passage("tool", {}, None, surface="python", deps=None, at=0.0).id

made()
reads, writes = os.pipe()
if os.fork() == 0:
    os.write(writes, made().encode())
    os._exit(0)
child = os.read(reads, 64).decode()
os.wait()
assert len(child) == 32 and child != made()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks on Windows")
def test_a_forked_process_gives_no_id_twice() -> None:
    """If this fails, two workers' calls share a reference, and their rows can't be told apart."""
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)
