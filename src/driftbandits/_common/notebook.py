"""What a notebook shows: whether this is one, and the small tables of HTML that objects display as."""

from __future__ import annotations

import html
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this; IPython on a terminal is none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], heading: str = "", note: str = "") -> str:
    """A table with a heading and a note below; everything is text, whatever it looks like.

    >>> html_table(["arm"], [["<b>"]], "two < three")
    '<div><b>two &lt; three</b></div><table><tr><th>arm</th></tr><tr><td>&lt;b&gt;</td></tr></table>'
    """
    head = f"<tr>{_cells('th', columns)}</tr>" if any(columns) else ""
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    above = f"<div><b>{html.escape(heading)}</b></div>" if heading else ""
    below = f"<div><small>{html.escape(note)}</small></div>" if note else ""
    return f"{above}<table>{head}{body}</table>{below}"


def html_facts(facts: Mapping[str, Any], heading: str, note: str = "") -> str:
    """A table of two columns: what, and its value."""
    return html_table(["", ""], [(name, written(value)) for name, value in facts.items()], heading, note)


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The same for a terminal: the first column to the left, all others to the right.

    >>> text_table(["policy", "regret"], [["UCB1", "1,234.5"]])
    ['policy   regret', 'UCB1    1,234.5']
    """
    table = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(row[place]) for row in table) for place in range(len(columns))]
    lines = []
    for row in table:
        rest = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join([row[0].ljust(widths[0]), *rest]).rstrip())
    return lines


def html_curves(curves: Sequence[Sequence[float]], colours: Sequence[str], low: float, high: float) -> str:
    """A small picture of curves over the same time, of values from ``low`` to ``high``, as SVG; nan is left out.

    >>> html_curves([[0.0, 1.0]], ["red"], 0.0, 1.0).count("<polyline")
    1
    >>> html_curves([[0.0, 1.0, math.nan, 1.0, 0.0]], ["red"], 0.0, 1.0).count("<polyline")
    2
    """
    width, height = 320, 90
    lines = []
    for curve, colour in zip(curves, colours, strict=False):
        across = width / max(1, len(curve) - 1)
        heights = [height - 2 - (height - 4) * (value - low) / ((high - low) or 1.0) for value in curve]
        for is_gap, part in groupby(enumerate(heights), key=lambda point: math.isnan(point[1])):
            if not is_gap:
                points = " ".join(f"{across * index:.1f},{y:.1f}" for index, y in part)
                lines.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(lines)}</svg>'


def written(value: Any) -> str:
    """A value as people write it.

    >>> written(162755), written(1 / 48_000), written(1234.56), written(True), written("red")
    ('162,755', '2.083e-05', '1,234.6', 'True', 'red')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def _cells(kind: str, values: Iterable[Any]) -> str:
    return "".join(f"<{kind}>{html.escape(str(value))}</{kind}>" for value in values)
