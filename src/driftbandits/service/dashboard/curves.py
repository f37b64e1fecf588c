"""What the dashboard draws, from a Track's rows: rolling means, shares of traffic, the lead over each arm alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.intervals import Z, are_binary, wilson_interval
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
    few = recent["rewards"] < FEWEST
    around = means_with_intervals(recent["rewards"], recent["total"], recent["squares"], origin)
    mean, low, high = (np.where(few, np.nan, column) for column in around)
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
            "mean": mean,
            "low": low,
            "high": high,
            "lead": np.where(np.isnan(alone), np.nan, lead),
        },
    )


def means_with_intervals(count: Any, total: Any, squares: Any, origin: float) -> tuple[Array, Array, Array]:
    """Means with the ends of their 95 % intervals: Wilson's for rewards of 0 and 1, else 1.96 standard errors.

    ``origin`` was taken off each reward before they, and their squares, were added up. nan where too few are known.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        above = np.asarray(total / count)
        variance = np.maximum(squares - total * above, 0.0) / (count - 1)
        reach = np.where(count > 1, Z * np.sqrt(variance / count), np.nan)
        mean, rewards = above + origin, total + count * origin
        binary = are_binary(count, rewards, squares + origin * (total + rewards))
        low, high = wilson_interval(mean, count)
        return mean, np.where(binary, low, mean - reach), np.where(binary, high, mean + reach)


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
