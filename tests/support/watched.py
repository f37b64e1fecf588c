"""Pages of the dashboard, with all they asked for and complained about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from browser import open_context

DESKTOP, PHONE = (1280, 900), (360, 740)
OFFENDERS = ("faint", "nameless", "repeated", "clipped", "wider")


class Watched:
    """A page, with all it asked for and complained about."""

    def __init__(
        self, browser: Browser, url: str, size: tuple[int, int] = DESKTOP, scheme: Any = "light", expected: str = "^$"
    ) -> None:
        self.url, self.expected = url, expected
        context = open_context(browser, viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        self.page: Page = context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type != "log" else None)

    def close(self) -> None:
        self.page.context.close()

    def open(self, experiment: str = "") -> Page:
        self.page.goto(f"{self.url}/#{experiment}")
        expect(self.page.locator("#pill")).to_have_text("live")
        return self.page


@contextmanager
def watching(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Pages; at the end each must have been quiet, and must have asked nobody else for anything."""
    pages: list[Watched] = []

    def new(url: str, **options: Any) -> Watched:
        pages.append(Watched(browser, url, **options))
        return pages[-1]

    yield new
    for watched in pages:
        watched.close()
        assert [said for said in watched.complaints if not re.search(watched.expected, said)] == []
        asked = {request.partition("/v1/")[0].partition("/static/")[0] for request in watched.requests}
        assert {each.rstrip("/") for each in asked if not each.startswith("blob:")} == {watched.url}


def offenders(page: Page) -> dict[str, list[Any]]:
    """What a reader with weak eyes, a keyboard or a screen reader would stumble over."""
    page.evaluate((Path(__file__).parent / "audit.js").read_text(encoding="utf-8"))
    found = {name: page.evaluate(f"audit.{name}()") for name in OFFENDERS}
    levels = page.evaluate("audit.levels()")
    steps = [(earlier, later) for earlier, later in pairwise([0, *levels]) if later - earlier > 1]
    return {name: those for name, those in {**found, "headings": steps}.items() if those}
