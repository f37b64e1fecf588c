"""A real browser for the tests: the one on this machine, or on Debian, as root, the one its packages bring."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from debian import found_or_installed

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
        browser = playwright.chromium.launch(executable_path=found_or_installed("chromium", _found), args=QUIET)
        yield browser
        browser.close()


def _found() -> str | None:
    return next((path for path in map(shutil.which, NAMES) if path), None)
