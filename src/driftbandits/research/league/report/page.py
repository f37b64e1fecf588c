"""The report: one HTML file that needs nothing but itself, with links to the figures' other formats beside it."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from driftbandits._common.files import written_whole
from driftbandits.research.league.report.content import (
    CONSISTENT,
    FAILS,
    HOLDS,
    UNDECIDED,
    Claim,
    Content,
    Drawing,
    Section,
)
from driftbandits.research.league.report.inline_svg import inline_svg
from driftbandits.research.league.report.typesetting import Column, columns, prose, sentences

FORMS = {
    "ours": "pseudo-regret, 95 % interval",
    "paper": "realised regret, band of mean ± sd/2",
}
"""The two forms of a figure of regret, as the switch names them."""

SHOWN = "shown in"
"""The title of a column that names sections."""
FOLDABLE = 40
"""Tables of more rows are folded, unless they have sentences: a reader opens them at need."""

_MARKS = {HOLDS: "✓", FAILS: "✗", UNDECIDED: "?", CONSISTENT: "≈"}


def write_report(content: Content, out: Path) -> Path:
    """Write the page below ``out``, whole or not at all, around the figures that already lie there."""
    here = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    here.filters.update(prose=prose, sentences=sentences, slug=_slug)
    here.filters["columns"] = lambda rows: [_linked(column, _places(content)) for column in columns(rows)]
    numbers = count(1)
    page = here.get_template("template.html.j2").render(
        content=content,
        chapters=_chapters(content),
        judged=list(dict.fromkeys(form for claim in content.claims for form in claim.verdicts)),
        switched=any(
            len(drawing.forms) > 1 for section in content.experiments + content.facts for drawing in section.drawings
        ),
        tally=lambda form: _tally(content.claims, form),
        forms=FORMS,
        marks=_MARKS,
        foldable=FOLDABLE,
        number=lambda: next(numbers),
        picture=lambda drawing, form, number: _picture(out, drawing, form, number),
    )
    target = out / content.page.file
    with written_whole(target) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return target


def _chapters(content: Content) -> list[tuple[str, str, list[Section]]]:
    """Kind, heading and sections of each chapter that has any."""
    sections = content.experiments, content.facts, content.left_open
    headed = zip(content.page.chapters.items(), sections, strict=True)
    return [(kind, title, chapter) for (kind, title), chapter in headed if chapter]


def _places(content: Content) -> dict[str, Markup]:
    """A link to every section, by its name."""
    link = Markup('<a href="#{}-{}">{}</a>')
    return {
        section.name: link.format(kind, _slug(section.name), prose(section.title))
        for kind, _, sections in _chapters(content)
        for section in sections
    }


def _linked(column: Column, places: dict[str, Markup]) -> Column:
    """A column that says where things are shown leads there."""
    if column.title != SHOWN:
        return column
    cells = [Markup(", ").join(places.get(name, name) for name in str(cell).split(", ")) for cell in column.cells]
    return column._replace(cells=cells, kind="long")


def _picture(out: Path, drawing: Drawing, form: str, number: int) -> Markup:
    label = f"{drawing.title}. {drawing.caption}"
    return Markup(inline_svg(out / f"{drawing.forms[form]}.svg", f"figure-{number}-{form}-", label))


def _tally(claims: list[Claim], form: str) -> str:
    """How many claims got each verdict."""
    found = [claim.verdicts[form].verdict for claim in claims if form in claim.verdicts]
    return ", ".join(f"{found.count(verdict)} {verdict}" for verdict in _MARKS if verdict in found)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
