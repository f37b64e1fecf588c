"""Programs that some tests need: on Debian, as root, its packages are installed."""

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def found_or_installed(
    package: str, found: Callable[[], str | None], prepare: Callable[[], None] = lambda: None
) -> str:
    """What ``found`` finds, after installing the package if need be and we may; otherwise the test is skipped."""
    if not found() and _is_debian() and os.geteuid() == 0:
        _install(package, found, prepare)
    return found() or pytest.skip(f"install {package}: these tests need it")


def _is_debian() -> bool:
    about = Path("/etc/os-release")
    return about.exists() and "ID=debian" in about.read_text().splitlines()


def _install(package: str, found: Callable[[], str | None], prepare: Callable[[], None]) -> None:
    """Install once, though two processes may test at the same time."""
    with FileLock(Path(tempfile.gettempdir()) / "driftbandits-install.lock"):
        if found():
            return
        prepare()
        for arguments in ("update", f"install --yes --no-install-recommends {package}"):
            done = subprocess.run(
                ["apt-get", "--quiet", *arguments.split()],
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive", "UCF_FORCE_CONFFOLD": "1"},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                pytest.fail(f"could not install {package} (apt-get {arguments}):\n{done.stderr}")
