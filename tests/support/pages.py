"""Fixtures: a service in this process, and pages of it in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # a plugin is imported by every process, and a browser's driver is slow to import
    from playwright.sync_api import Browser

    from in_process import Running
    from watched import Watched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from browser import open_browser

    with open_browser() as browser:
        yield browser


@pytest.fixture
def running() -> Iterator[Running]:
    from in_process import serving

    with serving() as running:
        yield running


@pytest.fixture
def watch(browser: Browser) -> Iterator[Callable[..., Watched]]:
    from watched import watching

    with watching(browser) as new:
        yield new
