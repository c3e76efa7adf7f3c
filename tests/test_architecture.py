"""The shape of the code, held by reading it: what may import what, what stands where, how long it may be.

import-linter (``make check``) holds the layers; here stands what it can't say.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import remit
from tests.needs import ROOT, needs

SRC = ROOT / "src"
MODULES = sorted(path for path in SRC.rglob("*.py"))
MAX_LINES = 400

PUBLIC = {
    "Approval",
    "Ask",
    "Body",
    "Call",
    "Clip",
    "Decision",
    "DeclarationError",
    "DeclarationWarning",
    "Event",
    "Extension",
    "Issue",
    "Ok",
    "Outcome",
    "Page",
    "Principal",
    "Refused",
    "Remit",
    "Require",
    "Resource",
    "StoreError",
    "Tool",
}


def name_of(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that *path* imports anywhere, but for those that only its types need."""
    known = {name_of(module) for module in MODULES}
    typing_only = {
        inner
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in ast.walk(tree_of(path)):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: relative import; name the module in full"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in known else module


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_is_longer_than_a_newcomer_reads(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_no_import_cycle() -> None:
    """Late imports count too: a cycle is one, whenever it is walked."""
    known = {name_of(path) for path in MODULES}
    graph = {name_of(path): {name for name in imported(path) if name in known} for path in MODULES}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail[trail.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_module_imports_the_public_front(path: Path) -> None:
    """Inside, `from remit import X` would pull everything in, and hide which module is meant."""
    allowed = {"remit.cli", "remit.testing"}  # they stand in a user's place
    if not any(name_of(path) == name or name_of(path).startswith(f"{name}.") for name in allowed):
        assert "remit" not in set(imported(path))


def test_only_the_app_imports_the_path() -> None:
    importers = {name_of(path) for path in MODULES if "remit.path" in set(imported(path))}
    assert importers <= {"remit.app"}


def test_only_who_serves_imports_auth() -> None:
    """Below, claims are verified already: a stage that could verify a token could also not do so."""
    front = ("remit.auth", "remit.app", "remit.surfaces", "remit.cli", "remit.testing", "remit.web")
    importers = {
        name_of(path)
        for path in MODULES
        if any(name == "remit.auth" or name.startswith("remit.auth.") for name in imported(path))
    }
    assert {name for name in importers if not name.startswith(front)} == set()


def test_values_do_no_io() -> None:
    """Value modules decide the same thing each time: no clock, no chance, no socket, no store."""
    values = (
        "outcome",
        "contract",
        "arguments",
        "call",
        "principal",
        "schema",
        "issues",
        "signature",
    )
    banned = {
        *("asyncio", "socket", "ssl", "http", "urllib", "subprocess", "threading", "sqlite3"),
        *("time", "random", "secrets", "uuid", "os", "pathlib", "tempfile", "io"),
        *("sqlalchemy", "alembic", "mcp", "starlette", "uvicorn", "click", "anyio", "httpx", "jwt"),
    }
    for path in MODULES:
        if name_of(path).split(".")[1:2] and name_of(path).split(".")[1] in values:
            # urllib.parse only takes texts apart.
            names = (name for name in imported(path) if not name.startswith("urllib.parse"))
            found = {name.split(".")[0] for name in names} & banned
            assert not found, f"{name_of(path)} imports {sorted(found)}"


def test_only_the_path_reads_a_tools_function() -> None:
    """There is no unguarded way to a tool's code: one place reads it, and the path is that place."""
    readers: set[str] = set()
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            reads = (
                isinstance(node, ast.Attribute)
                and node.attr == "_function"
                and isinstance(node.ctx, ast.Load)
            )
            named = isinstance(node, ast.Constant) and node.value == "_function"
            if reads or named:
                readers.add(name_of(path))
    assert readers <= {"remit.path"}


def test_import_remit_is_light() -> None:
    """A surface, a command or a migration tool is paid for by who uses it, not by who imports remit."""
    code = "import sys, json, remit; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    loaded = set(json.loads(found.stdout))
    heavy = {
        *("mcp", "mcp_types", "click", "rich", "alembic", "uvicorn", "starlette", "jwt", "fastmcp"),
        *("psycopg", "httpx", "httpx2", "anyio", "cryptography", "jsonschema", "opentelemetry"),
        *("remit.surfaces", "remit.cli", "remit.auth", "remit.web", "remit.testing"),
    }
    assert {name for name in loaded if name in heavy or name.startswith("remit.surfaces")} == set()


def test_public_names_are_those_listed() -> None:
    """A name that users can import is a promise; adding one is a change to this list."""
    assert set(remit.__all__) == PUBLIC
    for name in remit.__all__:
        assert hasattr(remit, name), name


def public_objects() -> Iterator[tuple[str, object]]:
    """Yield every public module, class, function and method of the package under its full name."""
    for found in [remit, *walk(remit)]:
        yield found.__name__, found
        for name in getattr(found, "__all__", ()):
            value = getattr(found, name)
            if getattr(value, "__module__", None) != found.__name__:
                continue
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{found.__name__}.{name}", value
            if inspect.isclass(value):
                for inner, method in vars(value).items():
                    if not inner.startswith("_") and (
                        inspect.isfunction(method) or isinstance(method, property | classmethod)
                    ):
                        yield f"{found.__name__}.{name}.{inner}", method


def walk(package: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        # What Alembic loads by path runs only inside it.
        private = any(part.startswith("_") or part == "versions" for part in info.name.split("."))
        if not private and info.name != "remit.store.migrations.env":
            yield importlib.import_module(info.name)


def test_every_public_object_has_a_docstring() -> None:
    missing = [name for name, value in public_objects() if not inspect.getdoc(value)]
    assert missing == []


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    needs(
        "git's list of files", present=listed.returncode == 0, reason="looks through what is kept"
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_tracked_file_names_a_machine() -> None:
    """A path or a package index of one machine is wrong on every other."""
    place = re.compile(r"/(?:work|tmp/remit|home/\w+|root)/|index-url|PIP_INDEX")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked()
        if path.is_file() and path != Path(__file__) and path.name != "LICENSE"
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if place.search(line)
    ]
    assert wrong == []
