"""What a user installs: the wheel, not this tree."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.needs import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    place = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        place,
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(Path(place).glob("*.whl")))


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package(wheel: zipfile.ZipFile) -> None:
    """A migration or the type marker left out would be missed only on a user's machine."""
    src = ROOT / "src"
    kept = {
        str(path.relative_to(src))
        for path in (src / "remit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == kept
    assert "remit/py.typed" in held


@pytest.mark.slow
def test_the_wheel_says_what_it_needs(wheel: zipfile.ZipFile) -> None:
    """The core installs with few: a surface's needs are its extra's."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    needs = metadata.get_all("Requires-Dist") or []
    core = {re.split(r"[^\w-]", need)[0] for need in needs if "extra ==" not in need}
    assert core == {
        "alembic",
        "limits",
        "pydantic",
        "pydantic-core",
        "sqlalchemy",
        "typing-extensions",
    }
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
