"""The command itself: finding the app, listing its tools, completion, and how failures read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import AUTHOR, DESK, Remit


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("tests.cli.desk", "Did you mean tests.cli.desk:app?"),
        ("tests.cli.desk:", "Did you mean tests.cli.desk:app?"),
        ("tests.cli.desk:ap", "Did you mean app?"),
        ("tests.cli.desk:app.nothing", "has no 'nothing'"),
        ("tests.cli.desk:nothing", "int, not a remit.Remit"),
        ("tests/cli/desk.py:app", "tests.cli.desk:app"),
        ("tests.cli.desc:app", "no module 'tests.cli.desc'"),
        (":app", "names no module"),
        ("srv:app", "no module 'srv'"),
    ],
)
def test_an_app_that_cant_be_found_says_the_mend(remit: Remit, target: str, hint: str) -> None:
    result = remit("tools", target)
    assert result.exit_code == 2
    assert hint in result.stderr


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("raise ValueError('bad \\x1b[31m')", "ValueError: bad \\u{001b}[31m"),
        ("import remit\nremit.Remit('x', stroe='y')", "did you mean store?"),
        ("raise SystemExit(0)", "ends the process"),
        ("x = (", "SyntaxError"),
    ],
)
def test_a_module_that_cant_be_imported_says_why(
    remit: Remit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, hint: str
) -> None:
    name = f"broken_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    result = remit("tools", f"{name}:app")
    assert result.exit_code == 1
    assert hint in result.stderr
    assert "\x1b" not in result.stderr


def test_tools_lists_effect_scopes_and_who_approves(remit: Remit) -> None:
    shown = remit("tools", DESK).stdout
    for text in ("ping", "public", "notes:read", "request_publish", "write", "editor"):
        assert text in shown
    assert not set("\x1b\u202e") & set(shown)
    assert "[bold]here[/bold]" in shown
    described = json.loads(remit("tools", DESK, "--json").stdout)["tools"]
    assert described["request_publish"]["approval"]["approvers"] == ["editor"]
    assert described["echo"]["input_schema"]["additionalProperties"] is False


def test_tools_for_a_principal_are_those_that_it_may_know_of(remit: Remit) -> None:
    def names(claims: str) -> set[str]:
        listed = remit("tools", DESK, "--json", "--claims", claims)
        return set(json.loads(listed.stdout)["tools"])

    assert "echo" in names(AUTHOR)
    assert {"echo", "request_publish"} & names('{"sub": "x"}') == set()
    assert remit("tools", DESK, "--claims", '{"sub": ""}').exit_code == 5


def test_the_version_is_the_packages(remit: Remit) -> None:
    from importlib.metadata import version

    assert version("remit") in remit("--version").stdout


@pytest.mark.parametrize("shell", ["zsh", "fish", "bash"])
def test_completion_prints_a_script(remit: Remit, shell: str) -> None:
    assert "_REMIT_COMPLETE" in remit("completion", shell).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("remit ", "approvals"),
        (f"remit call {DESK} ec", "echo"),
        (f"remit call {DESK} echo --ti", "--title"),
        ("remit call nothing:app ec", ""),
    ],
)
def test_completion_knows_the_tools_and_their_flags(
    remit: Remit, words: str, expected: str
) -> None:
    *before, last = words.split(" ")
    env = {
        "_REMIT_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(before)),
    }
    result = remit(env=env)
    assert expected in result.stdout
    assert not last or all(last in text for text in result.stdout.split())


def test_an_error_repeats_no_escape_sequence(remit: Remit) -> None:
    for args in (["call", DESK, "ping", "--\x1b[31m"], ["\x1b[31m"], ["tools", "\x1b[31m:app"]):
        result = remit(*args)
        assert result.exit_code == 2
        assert "\x1b" not in result.output


def test_without_the_extra_the_command_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules.update(click=None); sys.argv = ['remit'];"
        "import remit.cli; remit.cli.main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False, text=True
    )
    assert ended.returncode == 1
    assert "pip install 'remit[cli]'" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_store_that_cant_be_opened_is_no_traceback(remit: Remit, tmp_path: Path) -> None:
    env = {"REMIT_STORE": f"sqlite:///{tmp_path}/no/such/folder/x.db"}
    result = remit("audit", "tail", DESK, env=env)
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: ")
    result = remit("call", DESK, "ping", env=env)
    assert result.exit_code == 1
