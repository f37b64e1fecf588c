"""The common style of all figures, made without pyplot, so that they need no display."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

WIDTH = 5.0
"""Inches. On a phone's screen, some 340 points wide, lettering is then about as large as it is drawn."""
POINTS = 100
"""Points of a curve of regret: the page holds some sixty of them."""
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's palette, which colour-blind readers can tell apart, strongest contrasts first, and one more."""
DASHES: tuple[Any, ...] = (
    "-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 1.5, 2)), (0, (1, 1)), (0, (4, 1, 1, 1, 1, 1))
)  # fmt: skip
"""Line styles that go with the colours, so that a figure survives a black-and-white printer."""
ACTIVE, PASSIVE = "#E69F00", "#56B4E9"
"""Phases of SnoozeIt."""
STYLE: Any = {
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
}


@contextmanager
def canvas(rows: int = 1, columns: int = 1, height: float = 4.0, **options: Any) -> Iterator[Any]:
    """A figure and its axes."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, height))
        yield figure, figure.subplots(rows, columns, **options)


def line(index: int) -> dict[str, Any]:
    """Colour and dashes of the ``index``-th curve of a figure."""
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": DASHES[index % len(DASHES)]}


def shade(axes: Any, x: Any, low: Any, high: Any, index: int) -> None:
    """The band around the ``index``-th curve, where it is positive: a logarithmic axis draws the rest as a cliff."""
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    low, high = np.where(low > 0, low, np.nan), np.where(low > 0, high, np.nan)
    axes.fill_between(np.asarray(x), low, high, color=COLOURS[index % len(COLOURS)], alpha=0.18, linewidth=0)


def thin(length: int, most: int) -> Any:
    """Indices of at most ``most`` points of a long series, the last one included."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def thousands(*axes: Any) -> None:
    """Write 160,000 rather than 160000."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_major_formatter("{x:,.0f}")


def log_scale(axes: Any) -> None:
    """A logarithmic scale with ticks at 1 and 3 times the powers of ten, written as numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0), numticks=30))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:,.0f}")


def legend_below(figure: Any, axes: Any, columns: int = 2, note: str = "", size: float = 8.5) -> None:
    """The legend of some axes below everything, each label once."""
    panels = axes if isinstance(axes, (list, tuple)) else [axes]
    handles = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }  # fmt: skip
    figure.legend(
        handles.values(), handles.keys(), ncols=columns, loc="outside lower center", title=note or None,
        title_fontsize=8, fontsize=size,
    )  # fmt: skip
