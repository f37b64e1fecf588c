"""How words and numbers are set in the report."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from markupsafe import Markup, escape

_MARKED = re.compile(r"(`[^`]+`)")
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
_NOTHING = re.compile(r"(?<![\w.)-])-(?=0(?:\.0+)?(?![\d.]))")
_TIGHT = re.compile(r" (=|≤|≥|<|>|±|to) (?=[−\d])| (?=%)")
_INFINITE = re.compile(r"\binf\b")
_SENTENCE = re.compile(r"(?<=\.) |(?<=\);) ")
_NUMBER = re.compile(r"(?:[\de\s.,+–±%/()\[\]∞=δ-]|to)+")
_SHORT = 24
_GLUE = "\N{NO-BREAK SPACE}"
_FOLDER = re.compile(r"(?<=[a-z_]/)(?=[\w/]+\.py)")


class Column(NamedTuple):
    """A column of a table as it is shown, and its kind: ``number``, ``short`` or ``long`` words."""

    title: Markup
    cells: list[Markup]
    kind: str


def prose(text: str) -> Markup:
    """Plain text as HTML: code between backticks, true minus signs, no line break in ``2 to 3``."""
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(piece[1:-1]) if len(piece) > 2 and piece[0] == piece[-1] == "`" else _words(piece)
        for piece in _MARKED.split(text)
    )


def _words(text: str) -> Markup:
    text = _INFINITE.sub("∞", _MINUS.sub("−", _NOTHING.sub("", text)))
    html = escape(_TIGHT.sub(lambda found: found[0].replace(" ", _GLUE), text))
    return Markup(_FOLDER.sub("<wbr>", html))  # a path may go over two lines


def sentences(text: str) -> list[Markup]:
    """A string of measurements, one to a line."""
    return [prose(part) for part in _SENTENCE.split(text)]


def columns(rows: list[dict[str, Any]]) -> list[Column]:
    """A table of plain rows, with as many decimals in every cell of a column as the column deserves."""
    return [_column(title, [row[title] for row in rows]) for title in rows[0]]


def _column(title: str, values: list[Any]) -> Column:
    style = _style([abs(value) for value in values if isinstance(value, float) and math.isfinite(value)])
    cells = [_written(value, style) for value in values]
    number = all(_NUMBER.fullmatch(cell) for cell in cells)
    short = all(len(cell) <= _SHORT for cell in cells)
    return Column(prose(title), [prose(cell) for cell in cells], "number" if number else "short" if short else "long")


def _style(sizes: list[float]) -> str:
    """The format of floating-point numbers of these sizes: about four digits of the largest."""
    if any(0 < size < 0.001 for size in sizes):
        return ".3g"
    largest = max(sizes, default=0.0)
    decimals = next((places for limit, places in ((1000, 0), (100, 1), (10, 2)) if largest >= limit), 3)
    needed = next((n for n in range(decimals) if all(round(size, n) == size for size in sizes)), decimals)
    return f",.{needed}f"


def _written(value: Any, style: str) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, style).replace("inf", "∞")
    return f"{value:,}" if isinstance(value, int) else str(value)
