"""The numbers of docs/league.md, from the league's own files: ``python -m driftbandits.research.league.markdown docs``.

It plays the league with its defaults, or reads what was played into ./league before, and replaces what stands between
``<!-- name -->`` and ``<!-- end of name -->`` in the page, so that no number there is copied by hand.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from driftbandits._common.files import written_whole
from driftbandits.research.league.league import League, league
from driftbandits.research.league.report.content import Section

PICTURES = ("answer", "late")
BEST = 4
"""Policies shown of those that are told as much."""


def write_numbers(result: League, out: Path, docs: Path) -> None:
    """Write the numbers and the pictures of a league whose files are below ``out``."""
    page = docs / "league.md"
    text = page.read_text(encoding="utf-8")
    for name, said in numbers(result).items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        text, replaced = marked.subn(lambda found, said=said: f"{found[1]}{said}\n{found[2]}", text)  # type: ignore[misc]
        if replaced != 1:
            raise SystemExit(f"{page} must have one place marked <!-- {name} --> ... <!-- end of {name} -->")
    with written_whole(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    for name in PICTURES:
        shutil.copy(out / "figures" / f"{name}.png", docs / f"league-{name}.png")


def numbers(result: League) -> dict[str, str]:
    """What stands at each mark, as Markdown."""
    sections = {section.name: section for section in result.content.experiments}
    shown = result.standings.group_by("told", maintain_order=True).head(BEST)
    columns = {"policy": "", "told": "", "drifting": ".2f", "worst_family": "", "worst": ".3g", "stationary": ".2f"}
    columns |= {"abrupt": ".2f", "real": ".2f", "changing_arms": ".2f", "ns_per_step": ".0f"}
    claims = [
        {"claim": claim.name, "policy": policy, "verdict": f"**{found.verdict}**", "numbers": found.numbers}
        for claim in result.content.claims
        for policy, found in claim.verdicts.items()
    ]
    return {
        "answer": f"**{result.content.opening[0].text[0]}**",
        "standings": table(shown.iter_rows(named=True), columns),
        "claims": table(claims),
        "kinds": _tables(sections["kinds"]),
        "recorded": _tables(sections["as-recorded"]),
        "late": _tables(sections["late"]),
    }


def _tables(section: Section) -> str:
    return "\n\n".join(f"{title}:\n\n{table(rows)}" for title, rows in section.tables.items() if rows)


def table(rows: Iterable[dict[str, Any]], formats: dict[str, str] | None = None) -> str:
    """Rows as a table in Markdown.

    >>> print(table([{"policy": "UCB1", "regret": 12.3456, "low": None}]))
    | policy | regret | low |
    |---|--:|---|
    | UCB1 | 12.3 | – |
    """
    rows = list(rows)
    columns = formats or dict.fromkeys(rows[0], "")
    ruled = "".join("--:|" if isinstance(rows[0][column], (int, float)) else "---|" for column in columns)
    lines = [f"| {' | '.join(column.replace('_', ' ') for column in columns)} |", f"|{ruled}"]
    for row in rows:
        lines.append(f"| {' | '.join(_written(row[column], style) for column, style in columns.items())} |")
    return "\n".join(lines)


def _written(value: Any, style: str) -> str:
    if value is None:
        return "–"
    return format(value, style or (".3g" if isinstance(value, float) else ""))


if __name__ == "__main__":
    write_numbers(league(), Path("league"), Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
