"""The report of a short reproduction: as files, as data, and in a browser."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from jinja2 import UndefinedError
from playwright.sync_api import Browser, Page

from browser import open_browser, open_context
from reproduction import statements
from reproduction.context import Context, Settings
from reproduction.report import page as report
from reproduction.report.page import SECTIONS, write_report
from reproduction.statements import judge
from reproduction.studies import STUDIES
from reproduction.studies.gap_profile import facts_of_profile, figure_instance

SHORT = 8_000
SETTINGS = Settings(runs=2, horizon=SHORT)
DESKTOP, PHONE = (1300, 900), (400, 850)
KEPT = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\$[^$]*\$", re.DOTALL)
"""What no reader reads as a sentence: what Jinja computes, and formulas."""


def no_figure(page: Any, name: str, title: str, caller: Any) -> str:
    """The caption alone: to draw takes most of the time."""
    return f"<p>{title} {caller()}</p>"


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Context:
    return Context(SETTINGS, tmp_path_factory.mktemp("short"), workers=1)


@pytest.fixture(scope="module")
def results(context: Context) -> dict[str, Any]:
    """Every study of a short horizon, but for the gaps: at a short one nothing is detected."""
    found = {study.name: study.result(context) for study in STUDIES.values()}
    return {**found, "gap-profile": facts_of_profile(figure_instance(162_755))}


@pytest.fixture(scope="module")
def written(context: Context, results: dict[str, Any]) -> Path:
    """The page; its figures are those of two sections."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "ENDINGS", ("svg",))
        draw = report._Page.figure
        wanted = ("regret:toggling", "wave", "episode")
        patch.setattr(
            report._Page, "figure",
            lambda self, name, *given, **named: (draw if name in wanted else no_figure)(self, name, *given, **named),
        )  # fmt: skip
        return write_report(context, results).page


def kinds(results: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for one in judge(results):
        assert one.verdicts is not None
        found[one.statement.id] = {form: (it.kind, it.strength) for form, it in one.verdicts.items()}
    return found


def test_every_sentence_may_be_an_x_and_every_verdict_stays(
    context: Context, results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kinds(results)
    templates = tmp_path / "templates"
    shutil.copytree(report.TEMPLATES, templates)
    changed = 0
    for path in [*templates.rglob("*.md"), *templates.glob("*.j2")]:
        text = path.read_text(encoding="utf-8")
        kept = KEPT.findall(text)
        words = [re.sub(r"[A-Za-z][A-Za-z’',;:.() -]*", "x", piece) for piece in KEPT.split(text)]
        changed += sum(len(piece) for piece in KEPT.split(text)) - sum(map(len, words))
        path.write_text("".join(a + b for a, b in zip(words, [*kept, ""], strict=True)), encoding="utf-8")
    assert changed > 20_000
    toml = re.sub(
        r'^(says|quote|claimed|refuted_by) = ".*"$', r'\1 = "x"', statements.FILE.read_text("utf-8"), flags=re.M
    )
    (tmp_path / "statements.toml").write_text(toml, encoding="utf-8")
    monkeypatch.setattr(statements, "FILE", tmp_path / "statements.toml")
    monkeypatch.setattr(report, "TEMPLATES", templates)
    monkeypatch.setattr(report._Page, "figure", no_figure)
    out = Context(SETTINGS, tmp_path / "out")
    assert kinds(results) == before
    write_report(out, results)
    told = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    again = {one["id"]: {form: it["kind"] for form, it in one["verdicts"].items()} for one in told["statements"]}
    assert again == {name: {form: kind for form, (kind, _) in found.items()} for name, found in before.items()}


def renamed(result: Any, name: str) -> Any:
    """The same result, of a class in which one field has another name."""
    fields = [(f"{each.name}_renamed" if each.name == name else each.name) for each in dataclasses.fields(result)]
    methods = {key: value for key, value in vars(type(result)).items() if isinstance(value, types.FunctionType)}
    methods = {key: value for key, value in methods.items() if not key.startswith("__")}
    other = dataclasses.make_dataclass("Renamed", fields, namespace=methods, frozen=True)
    return other(*(getattr(result, each.name) for each in dataclasses.fields(result)))


@pytest.mark.parametrize("name", STUDIES)
def test_a_renamed_field_makes_the_run_fail(
    name: str, results: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever field of whichever result is renamed, a verdict or a section of the report asks for it in vain."""
    monkeypatch.setattr(report._Page, "figure", no_figure)
    for field in dataclasses.fields(results[name]):
        changed = {**results, name: renamed(results[name], field.name)}
        with pytest.raises((AttributeError, UndefinedError), match=field.name):
            write_report(Context(SETTINGS, tmp_path), changed)


def test_a_result_whose_fields_changed_on_disk_is_computed_again(
    context: Context, results: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = STUDIES["feasibility"]

    @dataclasses.dataclass(frozen=True)
    class Renamed:
        rows: tuple[int, ...]
        buffer_steps: float

    def compute(context: Context) -> Renamed:
        return Renamed((1,), 2.0)

    assert context.result(study.name, Renamed, compute) == Renamed((1,), 2.0)
    assert "computing it again" in capsys.readouterr().err
    assert study.result(context) == results[study.name]


def test_results_survive_their_files(context: Context, results: dict[str, Any]) -> None:
    again = Context(SETTINGS, context.out)
    for study in STUDIES.values():
        if study.name != "gap-profile":
            assert repr(study.result(again)) == repr(results[study.name])


def test_summary_holds_every_result_and_verdict(written: Path, results: dict[str, Any]) -> None:
    told = json.loads((written.parent / "summary.json").read_text(encoding="utf-8"))
    assert set(told["results"]) == set(STUDIES)
    assert len(told["statements"]) == len(statements.load())
    first = told["results"]["toggling"]["rows"][0]
    assert first["regret"]["value"] == pytest.approx(sum(first["runs"]) / 2)


def test_every_link_leads_somewhere_and_ids_are_unique(written: Path) -> None:
    page = written.read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    for link in re.findall(r'href="([^"]+)"', page):
        if link.startswith("#"):
            assert link[1:] in ids, link
        elif not link.endswith(("png", "pdf")):  # which this test does not draw
            assert link == "data:," or (written.parent / link).is_file(), link
    assert "://" not in re.sub(r'xmlns="[^"]+"', "", page)
    assert {f'id="{name}"' in page for name in SECTIONS} == {True}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(request: pytest.FixtureRequest, browser: Browser, written: Path) -> Iterator[Page]:
    width, height = request.param
    context = open_context(browser, viewport={"width": width, "height": height}, reduced_motion="reduce")
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(written.as_uri())
    yield opened
    context.close()
    assert not complaints


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def test_verdicts_are_on_the_first_screen(page: Page) -> None:
    first = page.locator(".verdicts .badge").first.bounding_box()
    assert first
    assert page.viewport_size
    assert first["y"] + first["height"] < page.viewport_size["height"]
    if page.viewport_size["width"] == DESKTOP[0]:
        last = page.locator(".verdicts tbody tr").last.bounding_box()
        assert last
        assert last["y"] + last["height"] <= DESKTOP[1]


def test_nothing_is_wider_than_the_screen_even_if_all_is_open(page: Page) -> None:
    assert overflow(page) <= 0
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert overflow(page) <= 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 700, "height": 1000})  # a sheet of paper
    assert overflow(page) <= 0


def test_wide_tables_are_cards_on_a_phone(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    widths = page.evaluate("[...document.querySelectorAll('.many')].map(each => each.getBoundingClientRect().width)")
    assert len(widths) > 8
    if page.viewport_size and page.viewport_size["width"] == PHONE[0]:
        assert max(widths) <= PHONE[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_follow_the_page(page: Page, scheme: Literal["light", "dark"]) -> None:
    page.emulate_media(color_scheme=scheme)
    ground = page.locator(".card").first.evaluate("card => getComputedStyle(card).backgroundColor")
    brightness = sum(map(float, re.findall(r"[\d.]+", ground)[:3])) / 3
    assert (brightness > 230) if scheme == "light" else (brightness < 60)


def test_a_link_opens_what_it_names(page: Page) -> None:
    page.locator(".verdicts a", has_text="Claim 2").click()
    assert page.locator("#claim-2").is_visible()


def test_search_shows_what_has_all_words_and_forgets_it(page: Page) -> None:
    page.locator("#contents").evaluate("contents => contents.open = true")
    page.locator("#search").fill("triangle wave")
    assert page.locator("#wave").evaluate("part => part.open")
    assert page.locator("#authors-run").is_hidden()
    assert re.fullmatch(r"\d+ found", page.locator("#found").inner_text())
    page.locator("#search").fill("")
    assert page.locator("#authors-run").is_visible()
    assert not page.locator("#wave").evaluate("part => part.open")


def test_the_switch_shows_the_papers_form(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.locator(".form-ours").first.is_visible()
    page.get_by_label("The paper’s form").check()
    assert page.locator(".form-paper").first.is_visible()
    assert page.locator(".form-ours").first.is_hidden()
