"""One HTML page that needs nothing but itself, from templates, results, verdicts and figures."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import latex2mathml.converter
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pydantic_core import to_json

from reproduction import experiments
from reproduction.context import Context, versions, written_whole
from reproduction.report.figures import figure_forms
from reproduction.report.formats import FILTERS, table
from reproduction.report.style import STYLE
from reproduction.report.svg import inline_svg
from reproduction.statements import Judged, Statement, judge, slug
from reproduction.verdicts import Verdict

TEMPLATES = Path(__file__).with_name("templates")
ENDINGS = ("svg", "png", "pdf")
FOLDED = 8
"""A table with more rows is folded: a reader opens it at need."""

CHAPTERS = {
    "opening": ("snoozeit",),
    "experiments": (*experiments.EXPERIMENTS, "gap-profile", "trajectories", "episode-bounds"),
    "facts": (
        "cannot-snooze", "authors-run", "exp3s", "wave", "episodes", "sharp-bounds", "worst-gap",
        "regret-against-drift", "mild-drift", "change-of-measure", "confidence", "mechanisms", "provenance",
        "budgets",
    ),
    "decisions": ("decisions",),
}  # fmt: skip
"""The sections of each chapter, a template each."""
_NEEDS: dict[str, tuple[str, ...]] = {
    "snoozeit": ("trajectories",), "common-periods": ("common-periods", "many-drifts"),
    "equal-drift": ("equal-drift", "many-drifts"), "cannot-snooze": ("feasibility", "toggling"),
    "exp3s": ("mistaken-gamma",), "wave": ("wave", "episodic-regret"), "confidence": ("confidence", "good-event"),
    "decisions": (), "episode-bounds": (), "provenance": ("provenance", "separated", "toggling"),
}  # fmt: skip
SECTIONS = {name: _NEEDS.get(name, (name,)) for sections in CHAPTERS.values() for name in sections}
"""Every section, and the studies that it needs: the one of its name unless said otherwise."""


@dataclass(frozen=True)
class Section:
    """A rendered section: its heading, its first paragraph, and the rest."""

    name: str
    title: str
    lead: str
    body: str


@dataclass(frozen=True)
class Outcome:
    """What a reproduction found, and where it was written."""

    judged: list[Judged]
    page: Path


@cache
def _markdown() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    return reader.use(dollarmath_plugin, allow_space=False, renderer=_formula)


def _formula(text: str, options: Mapping[str, Any]) -> str:
    display = "block" if options["display_mode"] else "inline"
    mathml = latex2mathml.converter.convert(text, display=display)
    return re.sub(r"<mo>(&#x0002F;|/)</mo>", '<mo lspace="0" rspace="0">/</mo>', mathml)


def markdown(text: str) -> str:
    """Markdown with LaTeX between dollars, as HTML."""
    return str(_markdown().render(text))


def inline(text: str) -> str:
    """One line of it, without a paragraph around it."""
    return str(_markdown().renderInline(" ".join(text.split())))


def write_report(
    context: Context,
    results: Mapping[str, Any],
    step: Callable[[], None] = lambda: None,
    wanted: Collection[str] = SECTIONS,
) -> Outcome:
    """Write report.html, summary.json and the figures of the sections that are wanted."""
    judged = judge(results)
    page = _Page(context, results, judged)
    chapters: dict[str, list[Section]] = {}
    for chapter, sections in CHAPTERS.items():
        chapters[chapter] = []
        for name in (name for name in sections if name in wanted):
            chapters[chapter].append(page.section(name))
            step()
    text = page.environment.get_template("page.html.j2").render(
        chapters=chapters, judged=judged, summary=markdown(page.render("summary.md")), versions=versions(),
        css=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        js=(TEMPLATES / "report.js").read_text(encoding="utf-8"), switched=page.switched,
        titles={section.name: section.title for sections in chapters.values() for section in sections},
    )  # fmt: skip
    target = context.out / "report.html"
    with written_whole(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    with written_whole(context.out / "summary.json") as temporary:
        told = json.dumps(summary(context, results, judged), indent=1, ensure_ascii=False, allow_nan=False)
        temporary.write_text(told + "\n", encoding="utf-8")
    return Outcome(judged, target)


def summary(context: Context, results: Mapping[str, Any], judged: Sequence[Judged]) -> dict[str, Any]:
    """The settings, every result and every verdict, for a program to read."""
    statements = [
        {"id": one.statement.id, "place": one.statement.place, "name": one.statement.name, "verdicts": one.verdicts}
        for one in judged
    ]
    found = {"settings": asdict(context.settings), "versions": versions(), "results": dict(results)}
    told = to_json({**found, "statements": statements}, inf_nan_mode="null")
    return json.loads(told)  # type: ignore[no-any-return]


class _Page:
    """What templates can ask for."""

    def __init__(self, context: Context, results: Mapping[str, Any], judged: Sequence[Judged]) -> None:
        self.context, self.results, self.judged = context, results, judged
        self.numbers, self.switched = count(1), False
        self.environment = Environment(
            loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.environment.filters.update(FILTERS, md=inline, slug=slug)
        self.environment.globals.update(
            r={name.replace("-", "_"): found for name, found in results.items()},
            s=context.settings, x=experiments, figure=self.figure, table=self.table, verdict=self.verdict,
            said=self.said,
        )  # fmt: skip

    def render(self, template: str) -> str:
        return self.environment.get_template(template).render()

    def section(self, name: str) -> Section:
        """A template's first line is the heading, the paragraph after it what a folded section shows."""
        heading, _, rest = self.render(f"sections/{name}.md").strip().partition("\n")
        lead, _, body = rest.strip().partition("\n\n")
        return Section(name, inline(heading.removeprefix("# ")), markdown(lead), markdown(body))

    def verdict(self, claim: str, form: str = "printed") -> Verdict:
        """The verdict on one of the paper's claims."""
        (one,) = (one for one in self.judged if one.statement.claim == claim)
        if one.verdicts is None:
            raise KeyError(f"{claim} was not judged")
        return one.verdicts[form]

    def said(self, statement: Statement, form: str, verdict: Verdict) -> str:
        """What a statement's template makes of the verdict's numbers."""
        says = self.environment.from_string(statement.says)
        known = verdict.numbers or statement.verdict is None
        return inline(says.render(n=verdict.numbers, form=form)) if known else ""

    def table(self, rows: Sequence[Any], columns: Mapping[str, str], title: str, folded: bool | None = None) -> str:
        """Rows as a table. A column is a dotted path of fields, with a filter after a colon if it needs one."""
        if not rows:
            return ""
        found = {head: [self._cell(row, path) for row in rows] for head, path in columns.items()}
        shown = f"{table(found, title)}"
        if folded if folded is not None else len(rows) > FOLDED:
            return f"<details><summary>{inline(title)} ({len(rows)})</summary>{shown}</details>\n"
        return f'<p class="title">{inline(title)}</p>{shown}\n'

    def _cell(self, row: Any, path: str) -> Any:
        path, _, name = path.partition(":")
        for part in path.split("."):
            row = None if row is None else row[part] if isinstance(row, Mapping) else getattr(row, part)
        if not name or row is None:
            return row
        name, _, places = name.partition(" ")
        return FILTERS[name](row, *([int(places)] if places else []))

    def figure(self, name: str, title: str, caller: Callable[[], str]) -> str:
        """Draw a figure in all its forms and formats, and set it in the page; the call's body is its caption."""
        forms, n, caption = figure_forms(name, self.context, self.results), next(self.numbers), caller().strip()
        switched = len(forms) > 1
        self.switched |= switched
        drawings = []
        for form, draw in forms.items():
            stem = f"figures/{slug(name)}{f'-{form}' if switched else ''}"
            save(draw(), self.context.out / stem)
            label = re.sub(r"[$*_`\\]", "", f"{title}. {caption}")
            picture = inline_svg(self.context.out / f"{stem}.svg", f"figure-{n}-{form}-", label)
            drawings.append({"form": form, "stem": stem, "picture": picture})
        template = self.environment.get_template("figure.html.j2")
        parts = {"n": n, "title": inline(title), "caption": inline(caption)}
        return " ".join(template.render(drawings=drawings, switched=switched, **parts).split("\n")) + "\n"


def save(figure: Any, stem: Path) -> None:
    """Write a figure as SVG, PNG and PDF; no date inside, so that equal runs give equal files."""
    import matplotlib as mpl

    dateless: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once, not once per format
    for ending in ENDINGS:
        with mpl.rc_context(STYLE), written_whole(stem.with_name(f"{stem.name}.{ending}")) as temporary:
            figure.savefig(temporary, format=ending, dpi=200, metadata=dateless[ending])
