"""What the dashboard draws, from a Track's rows: rolling means, shares of traffic, the lead over each arm alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.service.dashboard.tracks import ARMS, LAST, SUMS, Rows

ROLLING = 8
"""Rows that a rolling mean looks back on, its own included."""
FEWEST = 10
"""Rewards that a mean is shown of, at least: fewer tell nothing, and their scatter may be 0 by chance."""


class Curves(NamedTuple):
    """Columns by name: ``whole`` (rows,), ``arms`` (rows, arms). nan where nothing is known."""

    whole: dict[str, Array]
    arms: dict[str, Array]


def make_curves(rows: Rows, origin: float) -> Curves:
    """All curves; ``origin`` was taken off each reward before it was added up."""
    whole = {name: rows.last[:, index] for index, name in enumerate(LAST)}
    whole |= {name: rows.sums[:, index] for index, name in enumerate(SUMS)}
    arm: dict[str, Array] = {name: rows.arms[:, :, index] for index, name in enumerate(ARMS)}
    steps = arm["asks"].sum(axis=1, keepdims=True)
    recent = {name: _rolling(arm[name]) for name in ("rewards", "total", "squares", "weight", "weighted")}
    mean, half_width = mean_and_half_width(recent["rewards"], recent["total"], recent["squares"])
    mean = np.where(recent["rewards"] < FEWEST, np.nan, mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        alone = carried_forward(recent["weighted"] / recent["weight"])
        share, snoozed = _rolling(arm["asks"]) / _rolling(steps), arm["snoozed"] / steps
    answered, earned = arm["rewards"].sum(axis=1, keepdims=True), arm["total"].sum(axis=1, keepdims=True)
    lead = np.cumsum(np.where(np.isnan(alone), 0.0, earned - answered * alone), axis=0)
    rounding = 1e-9 * np.cumsum(np.abs(earned) + np.nan_to_num(np.abs(answered * alone)), axis=0)
    lead = np.where(np.abs(lead) <= rounding, 0.0, lead)
    return Curves(
        whole,
        {
            "share": share,
            "snoozed": snoozed,
            "mean": mean + origin,
            "low": mean - half_width + origin,
            "high": mean + half_width + origin,
            "lead": np.where(np.isnan(alone), np.nan, lead),
        },
    )


def mean_and_half_width(count: Any, total: Any, squares: Any) -> tuple[Array, Array]:
    """Means, and half the width of their 95 % intervals: 1.96 standard errors. nan where there are too few numbers."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.asarray(total / count)
        variance = np.maximum(squares - total * mean, 0.0) / (count - 1)
        return mean, np.where(count > 1, 1.96 * np.sqrt(variance / count), np.nan)


def carried_forward(values: Array) -> Array:
    """The last known value of each column, in place of nan."""
    known = np.where(np.isnan(values), 0, np.arange(len(values))[:, np.newaxis])
    filled: Array = np.take_along_axis(values, np.maximum.accumulate(known, axis=0), axis=0)
    return filled


def _rolling(values: Array) -> Array:
    """Sums over the last rows."""
    padded = np.concatenate([np.zeros((ROLLING, values.shape[1])), values])
    summed: Array = np.lib.stride_tricks.sliding_window_view(padded, ROLLING, axis=0).sum(axis=-1)
    return summed[1:]
