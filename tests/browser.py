"""A real browser for the tests: the one on this machine, or on Debian, as root, the one its packages bring."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Headless Chromium; where there is none, and none can be installed, the test is skipped and says what to do."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=QUIET)
        yield browser
        browser.close()


def _chromium() -> str:
    if not _found() and _is_debian() and os.geteuid() == 0:
        _install()
    return _found() or pytest.skip(
        "install chromium: the tests in a browser need chromium or google-chrome on the PATH"
    )


def _found() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)


def _is_debian() -> bool:
    about = Path("/etc/os-release")
    return about.exists() and "ID=debian" in about.read_text().splitlines()


def _install() -> None:
    """Install once, though two processes may test at the same time."""
    import fcntl

    with open(Path(tempfile.gettempdir()) / "driftbandits-chromium.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _found():
            return
        for arguments in ("update", "install --yes --no-install-recommends chromium"):
            done = subprocess.run(
                ["apt-get", "--quiet", *arguments.split()],
                env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
                capture_output=True,
                text=True,
            )
            if done.returncode:
                pytest.fail(f"could not install chromium (apt-get {arguments}):\n{done.stderr}")
