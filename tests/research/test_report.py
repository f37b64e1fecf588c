"""The league's page, with invented content, read as a file and read in a browser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Locator, Page

from browser import open_browser, open_context
from driftbandits._common.plotting import WHITE
from driftbandits.errors import InputError
from driftbandits.research.league.report.content import Content, Drawing, Section
from driftbandits.research.league.report.inline_svg import inline_svg
from driftbandits.research.league.report.page import write_report
from synthetic_report import HOSTILE, synthetic_content

DESKTOP, PHONE = (1280, 900), (390, 844)


class Reader(HTMLParser):
    """What a page consists of: its elements with their attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def all(self, attribute: str) -> list[str]:
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Content, Path]:
    out = tmp_path_factory.mktemp("report")
    content = synthetic_content(out)
    return content, write_report(content, out)


@pytest.fixture(scope="module")
def reader(written: tuple[Content, Path]) -> Reader:
    return Reader(written[1].read_text(encoding="utf-8"))


def test_the_page_loads_nothing(written: tuple[Content, Path], reader: Reader) -> None:
    assert not reader.all("src") + reader.all("srcset") + reader.all("action")
    assert "://" not in written[1].read_text(encoding="utf-8")
    assert not {tag for tag, _ in reader.elements} & {"img", "iframe", "object", "embed", "video", "audio"}


def test_every_link_leads_somewhere(written: tuple[Content, Path], reader: Reader) -> None:
    out, ids = written[1].parent, set(reader.all("id"))
    (out / "summary.json").touch()
    for link in reader.all("href") + reader.all("xlink:href"):
        assert link == "data:," or (link[1:] in ids if link.startswith("#") else (out / link).is_file()), link


def test_no_two_things_have_one_id(reader: Reader) -> None:
    ids = reader.all("id")
    assert len(ids) == len(set(ids))


def test_figures_refer_only_to_what_they_hold(written: tuple[Content, Path], reader: Reader) -> None:
    references = set(re.findall(r"url\(#([^)]+)\)", written[1].read_text(encoding="utf-8")))
    assert references
    assert references <= set(reader.all("id"))


def test_every_drawing_is_there_in_each_form(written: tuple[Content, Path], reader: Reader) -> None:
    content = written[0]
    sections = content.opening + content.experiments + content.facts
    drawings = [drawing for section in sections for drawing in section.drawings]
    pictures = [attributes for tag, attributes in reader.elements if tag == "svg"]
    expected = [f"{drawing.title}. {drawing.caption}" for drawing in drawings for _ in drawing.forms]
    assert [picture["aria-label"] for picture in pictures] == expected
    links = reader.all("href")
    assert all(f"{stem}.{kind}" in links for d in drawings for stem in d.forms.values() for kind in ("png", "pdf"))


def test_words_are_never_markup(written: tuple[Content, Path], reader: Reader) -> None:
    assert HOSTILE not in written[1].read_text(encoding="utf-8")
    assert [tag for tag, _ in reader.elements].count("script") == 1


def test_a_table_leads_to_what_it_names(reader: Reader) -> None:
    assert reader.all("href").count("#experiment-toggling") > 3  # once in the contents, the rest in tables


def test_only_a_long_table_of_numbers_is_folded(written: tuple[Content, Path]) -> None:
    page = written[1].read_text(encoding="utf-8")
    assert re.findall(r"<details><summary>(.*?)</summary>", page) == ["Numbers (50 rows)"]


def test_only_greys_follow_the_page(tmp_path: Path) -> None:
    colours = {
        "#ffffff": "0%",
        "#000000": "100%",
        "#404040": "75%",
        "#0072b2": "var(--on-0072b2, #0072b2)",
        WHITE: WHITE,
    }
    shapes = "".join(f'<path style="fill: {colour}"/>' for colour in colours)
    (tmp_path / "x.svg").write_text(f'<svg viewBox="0 0 9 9">{shapes}</svg>', encoding="utf-8")
    styles = re.findall(r'<path style="(.*?)"', inline_svg(tmp_path / "x.svg", "a-", "label"))
    assert all(found in style for found, style in zip(colours.values(), styles, strict=True))
    assert ["var(--ink)" in style for style in styles] == [True, True, True, False, False]


def test_headings_step_down_one_at_a_time(reader: Reader) -> None:
    levels = [int(tag[1]) for tag, _ in reader.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_table_headers_say_what_they_head(reader: Reader) -> None:
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in reader.elements if tag == "th")


def test_a_report_of_one_part_has_no_empty_chapters(written: tuple[Content, Path], tmp_path: Path) -> None:
    alone = Section("gap", "The gap", ["Alone."], [], {"nothing": []})
    page = write_report(
        replace(written[0], experiments=[alone], claims=[], facts=[], left_open=[], opening=[]), tmp_path
    )
    reader = Reader(page.read_text(encoding="utf-8"))
    assert not {"opening", "verdicts", "claims", "facts", "decisions", "show-paper"} & set(reader.all("id"))
    assert not {tag for tag, _ in reader.elements} & {"table", "fieldset"}


def test_the_same_content_gives_the_same_bytes(written: tuple[Content, Path]) -> None:
    content, path = written
    before = path.read_bytes()
    assert write_report(content, path.parent).read_bytes() == before


def test_a_report_that_cannot_be_finished_leaves_the_old_one(written: tuple[Content, Path]) -> None:
    content, path = written
    before, files = path.read_bytes(), sorted(path.parent.iterdir())
    lost = Section("lost", "Lost", [], [Drawing("lost", "Lost", "No file.", {"ours": "no-such-file"})])
    with pytest.raises(FileNotFoundError):
        write_report(replace(content, facts=[lost]), path.parent)
    assert path.read_bytes() == before
    assert sorted(path.parent.iterdir()) == files


def test_a_place_that_cannot_be_written_is_named(written: tuple[Content, Path], tmp_path: Path) -> None:
    content = replace(written[0], experiments=[], facts=[], opening=[])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write"):
        write_report(content, tmp_path / "file")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, written: tuple[Content, Path]) -> Iterator[Page]:
    """The report on a screen; at the end nothing was complained about and nothing was asked of the network."""
    width, height = request.param
    context = open_context(browser, viewport={"width": width, "height": height})
    opened = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda asked: requests.append(asked.url))
    opened.goto(written[1].as_uri())
    yield opened
    context.close()
    assert not complaints
    assert {url.split("#")[0] for url in requests if not url.startswith("data:")} == {written[1].as_uri()}


def shown(page: Page) -> set[str]:
    """The forms that the reader sees of the figures that have two."""
    return {form for form in ("ours", "paper") if page.locator(f".form-{form}").first.is_visible()}


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def test_nothing_is_wider_than_the_screen(page: Page) -> None:
    assert overflow(page) <= 0
    page.locator("#contents").evaluate("contents => contents.open = true")
    assert overflow(page) <= 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # a sheet of paper
    assert overflow(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_as_light_or_dark_as_the_page(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    card = page.locator(".card").first
    ground, ink = (_brightness(card, f"getComputedStyle(card).{name}") for name in ("backgroundColor", "color"))
    patch = _brightness(card, "getComputedStyle(card.querySelector('svg [id*=patch_] path')).fill")
    letters = _brightness(card, "getComputedStyle(card.querySelector('svg [id*=text_] use')).fill")
    assert patch == pytest.approx(ground, abs=0.01)
    assert letters == pytest.approx(ink, abs=0.01)
    assert (ground > 0.9 > 0.3 > ink) if scheme == "light" else (ground < 0.2 < 0.8 < ink)


def _brightness(card: Locator, colour: str) -> float:
    """Of a colour as the browser computes it: rgb(0, 0, 0) or color(srgb 0 0 0)."""
    text = card.evaluate(f"card => {colour}")
    values = [float(value) for value in re.findall(r"[\d.]+", text)[:3]]
    return sum(values) / len(values) / (1 if "srgb" in text else 255)


def test_figures_fit_the_screen_or_scroll_in_their_card(page: Page) -> None:
    width = page.evaluate("innerWidth")
    boxes = [card.bounding_box() for card in page.locator(".card:visible").all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert page.locator("#opening .card .scroll").first.evaluate("card => card.scrollWidth - card.clientWidth") <= 0


def test_the_switch_works_by_mouse_and_keyboard(page: Page) -> None:
    assert shown(page) == {"ours"}
    page.get_by_label("The paper’s form").check()
    assert shown(page) == {"paper"}
    page.keyboard.press("ArrowUp")
    assert shown(page) == {"ours"}
    assert page.get_by_label("Our form").is_checked()


def test_the_address_remembers_the_form_and_the_section(page: Page, browser: Browser) -> None:
    page.get_by_label("The paper’s form").check()
    page.locator("#contents").evaluate("contents => contents.open = true")
    page.get_by_role("link", name="The facts").click()
    page.wait_for_url("**#facts&form=paper")
    context = open_context(browser)
    again = context.new_page()
    again.goto(page.url)
    assert shown(again) == {"paper"}
    assert again.evaluate("scrollY") > 0
    context.close()


def test_the_switch_works_without_scripts(browser: Browser, written: tuple[Content, Path]) -> None:
    context = open_context(browser, java_script_enabled=False)
    opened = context.new_page()
    opened.goto(written[1].as_uri())
    opened.get_by_label("The paper’s form").check()
    assert shown(opened) == {"paper"}
    context.close()


def test_contents_stand_open_on_a_desk_and_fold_on_a_phone(page: Page) -> None:
    on_a_desk = page.viewport_size is not None and page.viewport_size["width"] == DESKTOP[0]
    assert page.get_by_role("navigation").is_visible() == on_a_desk
