"""What a page shows runs: its Python, its commands, its quick start from a real client."""

from __future__ import annotations

import asyncio
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser

import remit
from remit.cli.root import command as root
from tests.docs.pages import PAGES, README, blocks, commands, named
from tests.needs import ROOT

WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_COMMANDS = [page for page in PAGES if commands(page)]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=named)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch):
    """If this fails, whoever pastes from the page gets an error."""
    monkeypatch.chdir(tmp_path)
    document = Document.parse(str(page), PythonCodeBlockParser())
    examples = [*document.examples()]
    assert len(examples) == len(blocks(page, "python"))
    for example in examples:
        example.evaluate()
        for value in [*document.namespace.values()]:
            if isinstance(value, remit.Remit):
                asyncio.run(value.close())


def test_a_wrong_block_would_be_seen(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("```python\nassert 1 == 2\n```\n")
    (example,) = Document.parse(str(page), PythonCodeBlockParser()).examples()
    with pytest.raises(AssertionError):
        example.evaluate()


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=named)
def test_the_commands_of_a_page_are_there(page: Path):
    """If this fails, the page tells of a target, a command, an option or an extra that isn't."""
    wrong = [f"{line}: {why}" for line in commands(page) if (why := unknown(line))]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "make demos",
        "remit server blog:blog",
        "remit serve blog:blog --jwks https://id.example.com",
        "remit approvals settle blog:blog",
        "remit audit tail --n 5",
        "pip install -e '.[web]'",
        "pip install remit[mcp]",
        "npm install",
    ],
)
def test_a_wrong_command_would_be_seen(line: str):
    assert unknown(line)


def unknown(line: str) -> str:
    """Return what in a command line there is none of."""
    program, *words = shlex.split(line)
    if program == "cd":
        return "" if (ROOT / words[0]).is_dir() else f"no folder {words[0]}"
    if program == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        return ", ".join(f"no target {word}" for word in words if word not in targets)
    if program == "pip":
        extras = re.fullmatch(r"install -e \.\[([a-z,]+)\]", " ".join(words))
        if extras is None:
            return "remit is installed from a checkout"
        return ", ".join(set(extras[1].split(",")) - PROJECT["optional-dependencies"].keys())
    return unknown_to_remit(words) if program == "remit" else f"no program {program}"


def unknown_to_remit(words: list[str]) -> str:
    """Return which subcommand or option is not in the command's own ``--help``."""
    command, path = root, list[str]()
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"no command {words[0]}"
        path.append(words[0])
        command, words = command.commands[words[0]], words[1:]
    told = CliRunner().invoke(root, [*path, "--help"]).output
    options = {*re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told.partition("\nOptions:")[2])}
    given = [word for word in words if re.match(r"--?[a-z]", word)]
    return ", ".join(f"no option {word}" for word in given if word not in options)


# The quick start. ---------------------------------------------------------------------------------


def test_the_quick_start_is_the_example():
    """If this fails, the page's first code is not the code that is tested."""
    assert blocks(README, "python")[0] == (ROOT / "examples/quickstart.py").read_text("utf-8")


@pytest.mark.slow
def test_the_quick_start_is_served_and_called_as_the_readme_says(tmp_path: Path):
    """Its app under its command, its client beside it, and the client prints what the page shows.

    If this fails, a new user's first five minutes end in an error.
    """
    app, client = blocks(README, "python")[:2]
    (tmp_path / "quickstart.py").write_text(app, "utf-8")
    (tmp_path / "client.py").write_text(client, "utf-8")
    (line,) = [one for one in commands(README) if one.startswith("remit serve --dev")]
    words = [*shlex.split(line)[1:], "--port", "0"]
    serving = subprocess.Popen(
        [str(Path(sys.executable).with_name("remit")), *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    try:
        url, token = "", ""
        assert serving.stdout is not None
        for text in serving.stdout:
            url = text.split()[1] if text.startswith("  MCP ") else url
            if re.fullmatch(r"  [\w-]+\.[\w-]+\.[\w-]+\n", text):
                token = text.strip()
                break
        done = subprocess.run(
            [sys.executable, "client.py", url, token],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=50,
        )
    finally:
        serving.terminate()
        serving.communicate(timeout=10)
    assert done.returncode == 0, done.stderr
    assert done.stdout == blocks(README, "text")[0]
