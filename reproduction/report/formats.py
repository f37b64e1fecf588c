"""How numbers are written in the report: the filters of its templates."""

import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reproduction.statistics import Interval

GLUE = "\N{NO-BREAK SPACE}"
NOTHING = "–"
_NUMBER = re.compile(r"(?:[\de\s.,+−–±%/()\[\]∞=δ-]|to|×|10)+")
SHORT = 24
"""Characters of a cell that is not broken into lines."""


def fixed(value: float | None, places: int = 0) -> str:
    """A number with so many decimals, thousands apart, and a true minus sign.

    >>> fixed(-1234.56, 1), fixed(-0.001, 2), fixed(float("inf"))
    ('−1,234.6', '0.00', '∞')
    """
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.{places}f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def share(value: float | None) -> str:
    """A share as a percentage."""
    return NOTHING if value is None or math.isnan(value) else f"{100 * value:.0f}{GLUE}%"


def change(value: float) -> str:
    """A relative change with its sign, to a tenth of a per cent."""
    return f"{'+' if value >= 0 else ''}{fixed(100 * value, 1)}{GLUE}%"


def sci(value: float) -> str:
    """A small number as 2.1 · 10^−5, and zero as zero."""
    if value == 0:
        return "0"
    digits, _, power = f"{value:.1e}".partition("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits}{GLUE}·{GLUE}10{raised}"


def plain(value: float) -> str:
    """A number with three digits, or all of its whole digits.

    >>> plain(1234.5), plain(0.12345)
    ('1,234', '0.123')
    """
    return fixed(value, 0) if abs(value) >= 100 else f"{value:.3g}".replace("-", "−")


def span(found: Interval | None, places: int = 0) -> str:
    """A number and its interval; of one run, the number alone."""
    if found is None:
        return NOTHING
    if math.isnan(found.low):
        return fixed(found.value, places)
    ends = f"{fixed(found.low, places)}{GLUE}to{GLUE}{fixed(found.high, places)}"
    return f"{fixed(found.value, places)} ({ends})"


def span_share(found: Interval | None) -> str:
    """A share and its interval, to a tenth of a per cent."""
    if found is None:
        return NOTHING
    value, low, high = (f"{100 * end:.1f}" for end in (found.value, found.low, found.high))
    return f"{value}{GLUE}% ({low}{GLUE}to{GLUE}{high})"


FILTERS: dict[str, Callable[..., str]] = {
    "whole": fixed, "fixed": fixed, "share": share, "change": change, "sci": sci, "plain": plain, "span": span,
    "span_share": span_share,
}  # fmt: skip


def style_of(values: Sequence[Any]) -> Callable[[float], str]:
    """How all floating-point numbers of a column are written: about four digits of the largest."""
    sizes = [abs(value) for value in values if isinstance(value, float) and math.isfinite(value)]
    if any(0 < size < 0.001 for size in sizes):
        return sci
    largest = max(sizes, default=0.0)
    places = next((n for limit, n in ((1000, 0), (100, 1), (10, 2)) if largest >= limit), 3)
    needed = next((n for n in range(places) if all(round(size, n) == size for size in sizes)), places)
    return lambda value: fixed(value, needed)


def table(columns: Mapping[str, Sequence[Any]], label: str) -> str:
    """An HTML table from its columns; words on the left, numbers on the right."""
    written, kinds = [], []
    for values in columns.values():
        style = style_of(values)
        cells = [html.escape(_cell(value, style)) for value in values]
        number = all(_NUMBER.fullmatch(cell) for cell in cells)
        kinds.append("number" if number else "short" if all(len(cell) <= SHORT for cell in cells) else "long")
        written.append(cells)
    heads = "".join(
        f'<th scope="col" class="{k}">{html.escape(head)}</th>' for head, k in zip(columns, kinds, strict=True)
    )
    rows = []
    for row in zip(*written, strict=True):
        body = [
            f'<td class="{k}" data-label="{html.escape(head)}">{cell}</td>'
            for head, k, cell in zip(columns, kinds, row, strict=True)
        ]
        rows.append(f"<tr>{''.join(body)}</tr>")
    many = ' class="many"' if len(columns) > 4 else ""
    return (
        f'<div class="scroll"><table{many} aria-label="{html.escape(label)}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(value: Any, style: Callable[[float], str]) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Interval):
        return span(value)
    if isinstance(value, float):
        return style(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
