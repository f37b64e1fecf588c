"""The common style of all figures, and the drawing helpers that they share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.checks import check_path, shown
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"),
    *("#770066", "#8800FF", "#224422", "#0000DD", "#EE22FF", "#BB2299", "#8877EE", "#880000"),
    *("#5500AA", "#775577", "#88BB55", "#EE88FF", "#BB1144", "#BBAA99", "#224488", "#446600"),
)
"""Okabe and Ito's palette, which colour-blind readers can tell apart, strongest contrasts first. The sixteen behind it
were chosen one by one, each as far as can be from those before, for eyes of every kind."""

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
}
_COLUMN: Any = {"font.size": 8, "axes.titlesize": 8.5, "lines.linewidth": 1.2, "legend.fontsize": 7}
"""The same in one column of a journal."""
NARROW = 4.2
"""Inches: narrower figures are drawn for one column (3.3 in), with small letters, few ticks and the legend below."""
MOST_INSIDE = 6
"""With more curves the legend stands beside them."""
LINE = 1.55
"""The height of a line of a legend, in sizes of its letters."""
SMALLEST, TALLEST = 4.5, 0.45
"""Points of the letters of a crowded legend, at least; the share of a narrow figure's height that its legend takes."""


@contextmanager
def canvas(rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 4.0), **options: Any) -> Iterator[Any]:
    """A figure in the common style, made without pyplot, so that it needs no display and leaks nothing."""
    import matplotlib as mpl

    from driftbandits._common.figure import ShownFigure

    with mpl.rc_context(_STYLE | (_COLUMN if size[0] < NARROW else {})):
        figure = ShownFigure(figsize=size)
        yield figure, figure.subplots(rows, columns, **options)


@contextmanager
def panel(
    ax: Axes | None, figsize: tuple[float, float] | None, size: tuple[float, float], title: str | None
) -> Iterator[tuple[Figure, Axes]]:
    """The axes that a caller gave, or those of a new figure of ``figsize``, or else of ``size``; with their title.

    Axes of another figure keep that figure's style, so that everything in it looks alike.
    """
    if not (title is None or isinstance(title, str)):
        raise InputError(f"title must be text; got {shown(title)}")
    if ax is not None:
        from matplotlib.axes import Axes

        if not isinstance(ax, Axes):
            raise InputError(f"ax must be axes of matplotlib, as from plt.subplots(); got {type(ax).__name__}")
        if figsize is not None:
            raise InputError(
                "figsize is the size of a new figure, and ax belongs to one that has a size: give one of them"
            )
        yield ax.get_figure(root=True), ax  # type: ignore[misc]
        ax.set_title(title or "")
        return
    with canvas(size=size if figsize is None else check_size(figsize)) as (figure, axes):
        yield figure, axes
        axes.set_title(title or "")


@contextmanager
def pair(ax: Any, size: tuple[float, float], **options: Any) -> Iterator[tuple[Figure, Any]]:
    """Two axes that a caller gave, or those of a new figure side by side."""
    if ax is None:
        with canvas(1, 2, size, **options) as made:
            yield made
        return
    from matplotlib.axes import Axes

    given = list(np.ravel(ax))
    if len(given) != 2 or not all(isinstance(each, Axes) for each in given):
        raise InputError("ax must be two axes of matplotlib, as from plt.subplots(1, 2)")
    yield given[0].get_figure(root=True), given


def check_size(figsize: Any) -> tuple[float, float]:
    """Width and height of a figure in inches.

    >>> check_size((3.3, 0))
    Traceback (most recent call last):
    driftbandits.errors.InputError: figsize must be width and height in inches, each from 0.5 to 100; got (3.3, 0)
    """
    try:
        width, height = (float(side) for side in figsize)
        if 0.5 <= width <= 100 and 0.5 <= height <= 100:
            return width, height
    except (TypeError, ValueError):
        pass
    raise InputError(f"figsize must be width and height in inches, each from 0.5 to 100; got {shown(figsize)}")


def width_of(axes: Axes) -> float:
    """The width of axes in inches, nearly: before their figure is laid out."""
    figure = axes.get_figure(root=True)
    return 0.0 if figure is None else float(axes.get_position().width * figure.get_figwidth())


def is_narrow(axes: Axes) -> bool:
    """Whether axes are as narrow as those of a figure in one column."""
    return width_of(axes) < 0.8 * NARROW


def ticks_across(axes: Axes) -> int:
    """How many numbers such as 100,000 fit below axes; beside many curves the legend takes half of the width."""
    beside = len(axes.get_legend_handles_labels()[1]) > MOST_INSIDE and not is_narrow(axes)
    return max(2, min(6, int(width_of(axes) / (1.4 if beside else 0.7))))


def ticks_up(axes: Axes) -> int:
    """How many numbers fit beside axes: fewer where a long legend stands below."""
    figure, labels = axes.get_figure(root=True), axes.get_legend_handles_labels()[1]
    if figure is None or not is_narrow(axes):
        return 6
    size, columns = _below(figure, labels)
    left = figure.get_figheight() - 0.8 - LINE * size / 72 * -(-len(labels) // columns)
    return max(2, min(6, int(left / 0.2)))


def place_legend(figure: Figure, axes: Axes, ours: bool, note: str = "") -> None:
    """The legend where it covers no curve: inside if curves are few, below in a narrow figure of ours, else beside.

    Its lines are in the order of the curves' ends, the uppermost first. A ``note`` to the figure stands below
    everything.
    """
    handles, labels = by_last_value(axes)
    many, small = len(labels) > MOST_INSIDE, {"fontsize": 7, "color": "0.35"}
    height = 72 * figure.get_figheight()
    if not ours:
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        axes.legend(handles, labels, fontsize="small" if is_narrow(axes) else None, **(beside if many else {}))
    elif is_narrow(axes):
        size, columns = _below(figure, labels)
        options: Any = {"ncols": columns, "loc": "outside lower center", "title": note or None, "fontsize": size}
        below = figure.legend(handles, labels, **options)
        below.get_title().set(**small)
    else:
        if many:
            size = _letters(10, 0.95 * height, len(labels))
            options = {"handlelength": 2.6, "labelspacing": 0.35, "fontsize": size}
            figure.legend(handles, labels, loc="outside right upper", **options)
        else:
            axes.legend(handles, labels)
        figure.supxlabel(note, fontsize=8, color=small["color"])


def by_last_value(axes: Axes) -> tuple[list[Any], list[str]]:
    """The labelled curves by what they end at, the highest first, and their labels."""
    handles, labels = axes.get_legend_handles_labels()
    last = [float(np.ravel(each.get_ydata())[-1]) if hasattr(each, "get_ydata") else -np.inf for each in handles]
    order = sorted(range(len(labels)), key=lambda index: -last[index])
    return [handles[index] for index in order], [labels[index] for index in order]


def _below(figure: Figure, labels: Sequence[str]) -> tuple[float, int]:
    """The largest letters in which a legend below fits its figure, and in how many columns."""
    width, height = 72 * figure.get_figwidth(), 72 * figure.get_figheight()
    ems = 0.56 * max(map(len, labels), default=0) + 5.0
    fits = [
        (min(width / (columns * ems), _letters(7, TALLEST * height, -(-len(labels) // columns))), columns)
        for columns in (1, 2, 3)
    ]
    return max(fits)


def _letters(usual: float, room: float, lines: int) -> float:
    """The size of letters in which so many lines of a legend fit into so many points."""
    return max(SMALLEST, min(usual, room / (LINE * max(1, lines))))


def value_text(value: float) -> str:
    """A value as a legend tells it.

    >>> value_text(1234.5), value_text(12.345), value_text(-0.0123)
    ('1,234', '12.3', '-0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def chosen(names: Iterable[str], wanted: Sequence[str] | str | None, what: str = "policy") -> list[str]:
    """Those of ``names`` that a figure shall show: all, or the ``wanted`` ones in their order.

    >>> chosen(["a", "b"], ["c"])
    Traceback (most recent call last):
    driftbandits.errors.InputError: no policy is called 'c'; there are a, b
    """
    known = list(names)
    if wanted is None:
        return known
    try:
        wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    except TypeError:
        raise InputError(f"a figure shows a list of names; got {shown(wanted)}; there are {', '.join(known)}") from None
    for name in wanted:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"no {what} is called {shown(name)}; there are {', '.join(known)}")
    if not wanted:
        raise InputError(f"a figure shows at least one {what}; there are {', '.join(known)}")
    return wanted


def logarithmic(axes: Axes, log: bool | str) -> tuple[bool, bool]:
    """Make both axes logarithmic (True), or one ("x", "y"), or none (False); which of x and y became so."""
    if not isinstance(log, bool | str) or log not in (True, False, "x", "y"):
        raise InputError(f'log must be True, False, "x" or "y"; got {shown(log)}')
    x_log, y_log = log in (True, "x"), log in (True, "y")
    if x_log:
        axes.set_xscale("log")
    if y_log:
        axes.set_yscale("log")
    return x_log, y_log


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

    from driftbandits._common.figure import FILES

    ending = figure_ending(path)
    with mpl.rc_context(FILES), written_whole(path) as temporary:
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
