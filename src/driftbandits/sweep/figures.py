"""Figures of a sweep: regret against any parameter, and over any two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits._common.fits import LEAST_POINTS, fit_power_law
from driftbandits.errors import InputError
from driftbandits.sweep.summary import check_parameter, curves, parameters_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

MOST_CURVES, MOST_PANELS = 8, 6
MOST_TOGETHER = len(figures.COLOURS)
"""Curves in a single panel, if they differ in one thing alone, such as the policy."""
WIDE = 5.0
"""A positive axis whose ends differ by this factor is logarithmic."""
MOST_WRITTEN = 120
"""A heat map with more cells has no numbers in them."""


def plot_against(table: pl.DataFrame, against: str, title: str) -> Figure:
    """Mean regret at T against a parameter, with 95 % intervals, and fitted exponents where both axes are logarithmic.

    One curve for each combination of the other parameters; when they are too many for one panel, the policy (or the
    parameter with fewest values) has a panel for each of its values.
    """
    check_parameter(table, against)
    panels = _panels(table, against)
    x_log, y_log = _is_wide(table[against]), _is_wide(table["regret"])
    fitted = x_log and y_log
    figure: Figure
    most = max(sum(1 for _ in curves(part, against)) for part in panels.values())
    columns = 1 if most <= MOST_CURVES else 2
    height = 5.2 if most <= MOST_CURVES else 4.0 + 0.19 * -(-most // columns)
    with _canvas(len(panels), 4.8 * columns, height, sharex=True, sharey=True) as (figure, grid):
        for axes, (heading, part) in zip(grid, panels.items(), strict=False):
            for index, (common, curve) in enumerate(curves(part, against)):
                x, y = _positions(table, against, curve), curve["regret"].to_numpy()
                label = f"{_label(common) or 'mean regret'}: {figures.value_text(float(y[-1]))}"
                if fitted and len(x) >= LEAST_POINTS and (y > 0).all():
                    fit = fit_power_law(x, y)
                    label += f"; exponent {fit.exponent:.2f} ± {(fit.high - fit.low) / 2:.2f}"
                axes.plot(x, y, marker="o", markersize=4, label=label, **figures.line_style(index))
                low = np.maximum(curve["low"], y / 100) if y_log else curve["low"]  # where no axis shows 0
                figures.shade(axes, x, low, curve["high"], index)
            _mark(axes.xaxis, table, against)
            axes.set(xscale="log" if x_log else "linear", yscale="log" if y_log else "linear", title=heading)
            axes.set(xlabel=_spelled(against), ylabel="regret at T")
            axes.tick_params(labelbottom=True, labelleft=True)  # though scales are shared: a panel can be read alone
            if y_log:
                axes.set_ylim(bottom=table["regret"].to_numpy().min() / 2)
            below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16 * 3.4 / (height - 1.8))}
            options = {"ncols": columns, "fontsize": 8, "handlelength": 3.5}
            axes.legend(*figures.by_last_value(axes), **options, **below)  # never over the curves
        figure.suptitle(title, fontsize=11)
        scales = "all panels have the same scales; " if len(panels) > 1 else ""
        note = f"{scales}bands: 95 % interval of the mean" + (
            "; ±: 95 % interval of the fitted exponent" if fitted else ""
        )
        figure.supxlabel(note, fontsize=8, color="0.35")
    return figure


def plot_heat(table: pl.DataFrame, across: str, up: str, title: str) -> Figure:
    """Mean regret at T over two parameters, a panel for each combination of the others."""
    if check_parameter(table, across) == check_parameter(table, up):
        raise InputError(f"a heat map needs two different parameters; got {across} twice")
    table = table.drop_nulls([across, up])
    others = [name for name in parameters_of(table) if name not in (across, up)]
    groups = table.group_by(others, maintain_order=True) if others else [((), table)]
    panels = {_label(dict(zip(others, key, strict=True))): part for key, part in groups}
    _check_count(len(panels), MOST_PANELS, "panels", others)
    columns, rows = (table[name].unique().sort().to_list() for name in (across, up))
    figure: Figure
    import matplotlib as mpl

    regrets = table["regret"].to_numpy()
    kind: Any = mpl.colors.LogNorm if _is_wide(table["regret"]) else mpl.colors.Normalize
    scale = kind(regrets.min(), regrets.max())
    with _canvas(len(panels), 4.4, 1.4 + 0.4 * max(4, min(len(rows), 12))) as (figure, grid):
        for axes, (heading, part) in zip(grid, panels.items(), strict=False):
            values = np.full((len(rows), len(columns)), np.nan)
            for x, y, regret in part.select(across, up, "regret").iter_rows():
                values[rows.index(y), columns.index(x)] = regret
            image = axes.imshow(values, origin="lower", aspect="auto", cmap="cividis", norm=scale)
            axes.grid(visible=False)
            axes.set(title=heading, xlabel=_spelled(across), ylabel=_spelled(up))
            axes.set_xticks(range(len(columns)), [_short(value) for value in columns], rotation=45, ha="right")
            axes.set_yticks(range(len(rows)), [_short(value) for value in rows])
            if values.size <= MOST_WRITTEN:
                for (y, x), value in np.ndenumerate(values):
                    if np.isfinite(value):
                        dark = scale(value) < 0.55
                        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
                        axes.text(x, y, _short(value), color="white" if dark else "black", **style)
        figure.colorbar(image, ax=grid[: len(panels)].tolist(), label="mean regret at T")
        figure.suptitle(title, fontsize=11)
    return figure


def _canvas(panels: int, width: float, height: float, **options: Any) -> Any:
    columns = min(panels, 3)
    rows = -(-panels // columns)
    size = (max(6.8, width * columns), 0.4 + height * rows)
    return _Flat(figures.canvas(rows, columns, size, squeeze=False, **options), panels)


class _Flat:
    """A canvas whose axes come as one row, without those that no panel needs."""

    def __init__(self, canvas: Any, panels: int) -> None:
        self._canvas, self._panels = canvas, panels

    def __enter__(self) -> tuple[Any, Any]:
        figure, grid = self._canvas.__enter__()
        for axes in grid.ravel()[self._panels :]:
            axes.remove()
        return figure, grid.ravel()

    def __exit__(self, *problem: object) -> Any:
        return self._canvas.__exit__(*problem)


def _panels(table: pl.DataFrame, against: str) -> dict[str, pl.DataFrame]:
    count = sum(1 for _ in curves(table, against))
    others = [name for name in parameters_of(table) if name != against]
    if count <= MOST_CURVES - 2 or (len(others) == 1 and count <= MOST_TOGETHER):
        return {"": table}
    by = "policy" if "policy" in others else min(others, key=lambda name: table[name].n_unique())
    panels = {_label({by: key[0]}): part for key, part in table.group_by([by], maintain_order=True)}
    _check_count(len(panels), MOST_PANELS, "panels", [by])
    most = max(sum(1 for _ in curves(part, against)) for part in panels.values())
    _check_count(most, MOST_CURVES, "curves in a panel", others)
    return panels


def _check_count(count: int, most: int, what: str, parameters: list[str]) -> None:
    if count > most:
        names = ", ".join(parameters)
        raise InputError(
            f"a figure would have {count} {what}, and at most {most} can be told apart: keep some cells only, "
            f"with --where NAME=VALUE, by {names}"
        )


def _is_wide(values: pl.Series) -> bool:
    known = values.drop_nulls()
    if not known.dtype.is_numeric() or not len(known) or not (known > 0).all():
        return False
    return float(known.max() / known.min()) >= WIDE  # type: ignore[operator, arg-type]


def _positions(table: pl.DataFrame, name: str, part: pl.DataFrame) -> Any:
    """Where the values of a parameter stand on its axis: at themselves, or side by side when they are no numbers."""
    if table[name].dtype.is_numeric():
        return part[name].to_numpy()
    places = table[name].drop_nulls().unique().sort().to_list()
    return np.array([places.index(value) for value in part[name]])


def _mark(axis: Any, table: pl.DataFrame, name: str) -> None:
    if not table[name].dtype.is_numeric():
        places = table[name].drop_nulls().unique().sort().to_list()
        axis.set_ticks(range(len(places)), [str(place) for place in places], rotation=20, ha="right")


def _label(common: dict[str, Any]) -> str:
    named = {name: value for name, value in common.items() if value is not None}
    return ", ".join(_short(value) if name == "policy" else f"{name} {_short(value)}" for name, value in named.items())


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _spelled(name: str) -> str:
    known = {"drift": "drift limit δ (per step)", "horizon": "horizon T (steps)", "n_arms": "number of arms K"}
    return known.get(name, name.replace("_", " "))
