"""Programs that some tests need: on Debian, as root, its packages are installed.

``python tests/support/debian.py`` installs them beforehand, while something else is waited for; it needs nothing but
Python.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str | None:
    """The program of a browser."""
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def postgresql() -> str | None:
    """The folder of the newest server; none on Windows, whose servers our shell can't start."""
    if os.name == "nt":
        return None
    by_version = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    initdb = str(by_version[-1]) if by_version else shutil.which("initdb")
    return str(Path(initdb).resolve().parent) if initdb else None


FOUND = {"chromium": browser, "postgresql": postgresql}
"""By package: what looks for what it brings."""


def found_or_installed(package: str) -> str:
    """What the package brings, after installing it if need be and we may; otherwise the test is skipped."""
    import pytest

    if trouble := _missing(package):
        pytest.fail(trouble)
    return FOUND[package]() or pytest.skip(f"install {package}: these tests need it")


def _missing(package: str) -> str:
    """Install a package that is missing, if we may; returns what went wrong."""
    if FOUND[package]() or not _is_debian() or os.geteuid() != 0:
        return ""
    with _alone():  # two processes may test at the same time
        return "" if FOUND[package]() else _install(package)


def _is_debian() -> bool:
    about = Path("/etc/os-release")
    return about.exists() and "ID=debian" in about.read_text().splitlines()


@contextmanager
def _alone() -> Iterator[None]:
    import fcntl

    with (Path(tempfile.gettempdir()) / "driftbandits-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(package: str) -> str:
    if package == "postgresql":
        _no_server_for_everyone()
    for arguments in ("update", f"install --yes --no-install-recommends {package}"):
        done = subprocess.run(
            ["apt-get", "--quiet", *arguments.split()],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1"},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return f"could not install {package} (apt-get {arguments}):\n{done.stderr}"
    return ""


def _no_server_for_everyone() -> None:
    """Debian would start one, and at every boot, unless it was told otherwise."""
    settings = Path("/etc/postgresql-common/createcluster.conf")
    if not settings.exists():
        settings.parent.mkdir(exist_ok=True)
        settings.write_text("create_main_cluster = false\n")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which a shell lets its background ignore; apt-get waits for dpkg
    for package in FOUND:
        _missing(package)  # what went wrong is told by the tests that miss it
