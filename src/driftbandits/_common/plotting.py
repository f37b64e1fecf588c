"""The common style of all figures, and the drawing helpers that they share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.checks import check_path
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette, which colour-blind readers can tell apart, strongest contrasts first."""

DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (1, 1)), (0, (4, 1, 1, 1, 1, 1)))
"""Line styles that go with the colours, so that a figure survives a black-and-white printer."""

WHITE, BLACK = "#fffffe", "#000001"
"""Lettering on a coloured ground. Unlike white, black and greys it does not follow a page that turns dark."""

DATELESS: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
"""The kinds of file that figures are written as, and how to leave the date out of each."""

_STYLE: Any = {
    "figure.dpi": 110,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.hashsalt": "driftbandits",
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
}


@contextmanager
def canvas(rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.0), **options: Any) -> Iterator[Any]:
    """A figure in the common style, made without pyplot, so that it needs no display and leaks nothing."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=size)
        yield figure, figure.subplots(rows, columns, **options)


def line_style(index: int) -> dict[str, Any]:
    """Colour and dashes of the ``index``-th curve of a figure."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def figure_ending(path: str | os.PathLike[str]) -> str:
    """The ending of a figure's name, when it is one that ``save_figure`` can write.

    >>> figure_ending("regret.PNG")
    'png'
    >>> figure_ending("regret")
    Traceback (most recent call last):
    driftbandits.errors.InputError: a figure's name must end in .svg, .pdf or .png; got 'regret'
    """
    ending = check_path("a figure", path).suffix[1:].lower()
    if ending not in DATELESS:
        raise InputError(f"a figure's name must end in .svg, .pdf or .png; got {os.fspath(path)!r}")
    return ending


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 200) -> None:
    """Write a figure as .png, .svg or .pdf, by the name's ending; no date inside, so equal runs give equal files."""
    import matplotlib as mpl

    ending = figure_ending(path)
    with mpl.rc_context(_STYLE), written_whole(path) as temporary:
        figure.savefig(temporary, format=ending, dpi=dpi, metadata=DATELESS[ending])


def thin(length: int, most: int = 4000) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Indices of at most ``most`` points of a long series, the last one included: enough for any screen or page."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def thousands(axis: Any, ticks: int = 6) -> None:
    """Write 160,000 rather than 160000 on an axis, at no more than ``ticks`` + 1 places."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(ticks, integer=True))
    axis.set_major_formatter("{x:,.0f}")


def shade(axes: Axes, x: Any, low: Any, high: Any, index: int) -> None:
    """The band around the ``index``-th curve."""
    axes.fill_between(x, low, high, color=COLOURS[index % len(COLOURS)], alpha=0.18, linewidth=0)
