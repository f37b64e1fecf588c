"""The site as ``make docs`` built it, opened in a browser from the file system; ``make site-check`` runs this file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Request, expect

import driftbandits as db
from browser import open_browser, open_context

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
PAGES = sorted(path for path in SITE.rglob("*.html") if path.name != "404.html")
HIDDEN = """[...document.querySelectorAll('.md-typeset__scrollwrap, .formula')]
    .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText.slice(0, 40))"""
"""Tables and formulas that the reader must push sideways."""
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


class _Addresses(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attributes}
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("next", "prev", "canonical"):
            self.loads.append(given.get("href", ""))
        elif given.get("src"):
            self.loads.append(given["src"])


@pytest.fixture(scope="module")
def addresses() -> dict[Path, _Addresses]:
    assert PAGES, "there is no site: say make docs"
    return {path: _Addresses(path) for path in PAGES}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def test_every_link_leads_somewhere(addresses: dict[Path, _Addresses]) -> None:
    broken = []
    for path, page in addresses.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or link in ("#", ".", "#__skip"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = addresses.get(target)
            if not target.is_file() or (parts.fragment and found and unquote(parts.fragment) not in found.names):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert not broken, "\n".join(broken)


def test_links_to_the_repository_name_files_of_it(addresses: dict[Path, _Addresses]) -> None:
    start = "https://github.com/driftbandits/driftbandits/blob/main/"
    named = {link.removeprefix(start) for page in addresses.values() for link in page.links if link.startswith(start)}
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_nothing_is_loaded_from_elsewhere(addresses: dict[Path, _Addresses]) -> None:
    for path, page in addresses.items():
        assert not [load for load in page.loads if urlsplit(load).scheme not in ("", "data")], path


def test_every_public_name_has_an_entry(addresses: dict[Path, _Addresses]) -> None:
    named = {name for path, page in addresses.items() if path.parent.name == "reference" for name in page.names}
    for name in dir(db):
        entry = f"driftbandits.{name}"
        page = SITE / "policies" / f"{name}.html"
        assert page.exists() or any(each == entry or each.startswith(f"{entry}.") for each in named), entry


def test_formulas_are_set() -> None:
    text = (SITE / "policies" / "SnoozeIt.html").read_text(encoding="utf-8")
    assert text.count("<math>") > 20
    assert 'display="block"' in (SITE / "snoozeit.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)], ids=["desktop", "phone"])
def test_every_page_opens_whole_and_alone(browser: Browser, scheme: str, size: dict[str, int]) -> None:
    """No request but to files, no error, nothing wider than the screen, every picture there, colours as asked for."""
    page = open_context(browser, viewport=size, color_scheme=scheme).new_page()
    complaints: list[str] = []
    page.on("request", lambda request: complaints.extend([request.url] * (not _local(request.url))))
    page.on("requestfailed", lambda request: complaints.extend(_failed(request)))
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    for path in PAGES:
        page.goto(path.as_uri())
        wide = page.evaluate("document.documentElement.scrollWidth")
        missing = page.evaluate("[...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)")
        lightness = int(re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[0])
        if size is DESKTOP and (hidden := page.evaluate(HIDDEN)):
            complaints.append(f"{path.name}: the right of {hidden} is out of sight")
        if wide > size["width"]:
            complaints.append(f"{path.name} is {wide} pixels wide on a screen of {size['width']}")
        if missing or (lightness < 128) != (scheme == "dark"):
            complaints.append(f"{path.name}: pictures {missing}, background {lightness}")
    assert not complaints, "\n".join(complaints)


def _failed(request: Request) -> list[str]:
    """A request that the next page cut short, as that for the icon in the tab on a busy machine, has not failed."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"failed, {request.failure}: {request.url}"]


def _local(url: str) -> bool:
    return url.startswith(("file:", "data:", "blob:", "about:"))


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_search_works_from_the_file_system(browser: Browser, size: dict[str, int]) -> None:
    page = open_context(browser, viewport=size).new_page()
    page.goto((SITE / "policies" / "index.html").as_uri())
    _search(page, size, "convex hull")
    expect(page.locator(".md-search-result__link").first).to_be_visible()
    page.locator(".md-search-result__link", has_text="SnoozeIt").first.click()
    page.wait_for_url(re.compile(r"h=convex"))


def _search(page: Page, size: dict[str, int], words: str) -> None:
    if size is PHONE:
        page.locator("header label[for=__search]").first.click()
    else:
        page.locator(".md-search__input").click()
    page.locator(".md-search__input").press_sequentially(words)


def test_the_reader_can_choose_dark(browser: Browser) -> None:
    page = open_context(browser, viewport=DESKTOP, color_scheme="light").new_page()
    page.goto((SITE / "index.html").as_uri())
    page.locator("label[title=Dark]").click()
    expect(page.locator("body")).to_have_attribute("data-md-color-scheme", "slate")
