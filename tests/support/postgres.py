"""A real PostgreSQL for the tests: Debian's package, started on a free port in a directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from debian import found_or_installed
from ports import free_port
from waiting import wait_until

# The server ends with whoever holds the other end of its standard input, even one killed with -9.
UNTIL_INPUT_ENDS = """
"$0"/postgres -D "$1" -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$1" -c fsync="$3" \
    -c max_connections=200 > "$1/log" 2>&1 &
read -r _
kill -INT $! 2>/dev/null
wait
rm -rf "$1"
"""
NAMES = count()


class Server:
    """A PostgreSQL server that lives as long as this process, or until ``stop``.

    ``fsync`` costs time, and guards against loss of power, which tests of killed processes do not have.
    """

    def __init__(self, fsync: bool = False) -> None:
        self.binaries, self.user = found_or_installed("postgresql"), _user()
        binaries = self.binaries
        self.folder = folder = tempfile.mkdtemp(prefix="driftbandits-postgres-")
        if self.user:
            shutil.chown(folder, self.user, self.user)
        options = ("-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        _run([f"{binaries}/initdb", "-D", folder, *options], self.user)
        self.port, self._restarted = free_port(), False
        self._process = subprocess.Popen(
            ["sh", "-c", UNTIL_INPUT_ENDS, binaries, folder, str(self.port), "on" if fsync else "off"],
            stdin=subprocess.PIPE,
            **_as(self.user),
        )
        asks = [f"{binaries}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        try:
            wait_until(lambda: subprocess.run(asks, **_as(self.user)).returncode == 0, "PostgreSQL to start")
        except AssertionError as error:
            log = Path(folder, "log").read_text()
            self.stop()
            raise RuntimeError(f"PostgreSQL did not start:\n{log}") from error

    @contextmanager
    def database(self) -> Iterator[str]:
        """The URL of a new, empty database, which is dropped at the end."""
        name = f"test_{next(NAMES)}"
        self._execute(f"CREATE DATABASE {name}")
        try:
            yield f"postgresql://tester@127.0.0.1:{self.port}/{name}"
        finally:
            self._execute(f"DROP DATABASE {name} WITH (FORCE)")

    def freeze(self) -> None:
        """Nothing responds any more."""
        self._signal("STOP")

    def thaw(self) -> None:
        """It goes on as if nothing had been."""
        self._signal("CONT")

    def restart(self) -> None:
        """Crash, recover, go on."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        control = [f"{self.binaries}/pg_ctl", "-D", self.folder, "-w"]
        _run([*control, "-m", "immediate", "stop"], self.user)
        started = [*control, "-l", f"{self.folder}/log", "-o", f"{options} -c max_connections=200", "start"]
        subprocess.run(started, check=True, stdout=subprocess.DEVNULL, **_as(self.user))
        self._restarted = True

    def _signal(self, name: str) -> None:
        first = Path(self.folder, "postmaster.pid").read_text().split()[0]
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        subprocess.run(["kill", f"-{name}", first, *children], check=False)

    def stop(self) -> None:
        if self._restarted:  # it is no child of ours any more
            _run([f"{self.binaries}/pg_ctl", "-D", self.folder, "-m", "immediate", "stop"], self.user)
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(f"postgresql://tester@127.0.0.1:{self.port}/postgres", autocommit=True) as connection:
            connection.execute(statement.encode())


@cache
def server() -> Server:
    """The one server of this process; where there is none and none can be installed, the test is skipped."""
    import atexit

    started = Server()
    atexit.register(started.stop)
    return started


@contextmanager
def database() -> Iterator[str]:
    """The URL of a new, empty database on the one server of this process."""
    with server().database() as url:
        yield url


def _user() -> str | None:
    """PostgreSQL refuses to run as root."""
    return "postgres" if os.geteuid() == 0 else None


def _as(user: str | None) -> dict[str, Any]:
    return {"user": user, "group": user, "extra_groups": [], "cwd": "/"} if user else {}


def _run(command: list[str], user: str | None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, **_as(user))
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
