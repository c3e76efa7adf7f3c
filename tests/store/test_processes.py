"""Several processes on one store, and what a killed one leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from remit.audit import Audit
from remit.store import Store
from tests.store.parts import call_ids, effect_ids

ROOT = Path(__file__).parents[2]


def process(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, *args]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def writer(url: str, name: str, count: int) -> subprocess.Popen[str]:
    return process("-m", "tests.store.writer", url, name, str(count))


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_acknowledged(lasting_url: str) -> None:
    writing = writer(lasting_url, "a", 1_000_000)
    assert writing.stdout is not None
    told = [writing.stdout.readline().strip() for _ in range(300)]
    writing.kill()
    told += writing.stdout.read().split()
    writing.wait(20)
    writing.stdout.close()

    store = Store.open(lasting_url)
    kept = store.read_sync(call_ids)
    assert set(told) <= set(kept)
    assert sorted(kept) == store.read_sync(effect_ids), "a work and its row, together or not at all"
    assert Audit(store).verify().ok
    store.commit_sync()
    store.close()


@pytest.mark.slow
def test_processes_that_start_and_write_at_once_make_one_chain(empty_url: str) -> None:
    writing = [writer(empty_url, name, 100) for name in "ab"]
    for one in writing:
        out, _ = one.communicate(timeout=40)
        assert one.returncode == 0
        assert len(out.split()) == 100
    store = Store.open(empty_url)
    assert len(store.read_sync(effect_ids)) == 200
    verdict = Audit(store).verify()
    assert (verdict.ok, verdict.rows) == (True, 200)
    store.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork: what a forked worker is told")
def test_a_forked_process_is_told_to_open_its_own(tmp_path: Path) -> None:
    script = f"""if True:
        import os, warnings
        from remit.store import Store, StoreError
        warnings.simplefilter("ignore")
        store = Store.open("sqlite:///{tmp_path}/remit.db")
        if os.fork():
            _, status = os.wait()
            store.commit_sync()
            os._exit(os.waitstatus_to_exitcode(status))
        try:
            store.commit_sync()
        except StoreError as error:
            os._exit(7 if "open it in each worker" in str(error) else 1)
        os._exit(2)
    """
    forked = process("-c", script)
    forked.communicate(timeout=40)
    assert forked.returncode == 7
