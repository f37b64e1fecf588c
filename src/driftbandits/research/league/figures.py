"""The league at a glance: every policy on every family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from driftbandits._common import plotting as figures
from driftbandits.research.league.standings import against, by_family, mean_regrets, published

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

LIGHTEST = 64.0
"""Ratios from 1/4 to this have colours of their own."""


def plot_ratios(runs: pl.DataFrame, order: list[str]) -> Figure:
    """A heat map: regret of each policy, in ``order``, over that of the best published policy on each instance."""
    from matplotlib.colors import LogNorm

    regrets = mean_regrets(runs)
    families = by_family(against(regrets, published(regrets)))
    columns = families["family"].unique(maintain_order=True).to_list()
    ratios = {(policy, family): ratio for policy, family, ratio in families.select("policy", "family", "ratio").rows()}
    table = np.array([[ratios.get((policy, family), math.nan) for family in columns] for policy in order])
    figure: Figure
    with figures.canvas(size=(1.8 + 0.72 * len(columns), 1.5 + 0.27 * len(order))) as (figure, axes):
        norm = LogNorm(1 / 4, LIGHTEST, clip=True)
        image = axes.imshow(table, cmap="cividis", norm=norm, aspect="auto")
        for (row, column), ratio in np.ndenumerate(table):
            dark = not ratio > math.sqrt(LIGHTEST)
            colour = "0.4" if math.isnan(ratio) else figures.WHITE if dark else figures.BLACK
            axes.text(column, row, _written(ratio), ha="center", va="center", fontsize=8, color=colour)
        axes.set_xticks(range(len(columns)), columns, rotation=35, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(order)), order)
        axes.grid(visible=False)
        axes.tick_params(length=0)
        bar = figure.colorbar(image, ax=axes, ticks=[0.25, 1, 4, 16, 64], extend="both", shrink=0.6)
        bar.ax.set_yticklabels(["1/4", "1", "4", "16", "64"])
        bar.set_label("regret over the best published policy's")
        bar.minorticks_off()
    return figure


def _written(ratio: float) -> str:
    if math.isnan(ratio):
        return "–"
    return f"{ratio:.2f}" if ratio < 9.95 else f"{ratio:,.0f}"
