"""A real browser for the tests: the one on this machine, or on Debian, as root, the one its packages bring."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from debian import found_or_installed
from waiting import PATIENCE

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
    program = found_or_installed("chromium")
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET, timeout=1000 * PATIENCE)
        yield browser
        browser.close()


def open_context(browser: Browser, **options: Any) -> BrowserContext:
    """Pages that wait as long as tests do, not half a minute."""
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    return context
