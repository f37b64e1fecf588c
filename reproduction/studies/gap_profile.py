"""The paper's Figure 1 and its four statements on the detectable gap, measured under two definitions.

The paper defines lambda_t as the largest gap that is detected, S(w)/w as a rule, w the shortest window that detects
one. The authors' released code plots 12 sqrt(L/w) in its place: the smallest lambda with that window. The two differ by
less than a window's width, but only the second takes one value per window.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import C0, SLOW

PAPER, AUTHORS = "as defined", "as in the released code"
LAGS = 40
"""How many lags are tried to see whether the detectable gap trails the gap."""
CLOSEST = 60
"""Steps in the closest panel."""


@dataclass(frozen=True)
class ProfileFacts:
    """One definition of the detectable gap on one instance.

    ``first``: steps in which nothing is detected, of which ``early_as_said`` says that the gap is sqrt(c0 L/t) there.
    ``jump`` and ``variation``: the largest step and the sum of all; ``values`` taken in the ``steps`` of a close view.
    """

    definition: str
    first: int
    early_as_said: bool
    together: float
    lag: int
    at_lag: float
    jump: float
    variation: float
    values: int
    steps: int


@dataclass(frozen=True)
class GapProfile:
    """Both definitions; the largest step and the total variation of the gap itself. No rows: nothing is detected.

    ``least_window`` and ``inverse_square``: the shortest window with which a gap lambda shows, times lambda^2, is
    c0 L for every detected gap up to rounding; these are the least and the largest of that product over c0 L.
    """

    rows: tuple[ProfileFacts, ...]
    gap_step: float
    gap_variation: float
    least_product: float
    largest_product: float

    def of(self, definition: str) -> ProfileFacts:
        """The row of a definition."""
        return next(row for row in self.rows if row.definition == definition)


def figure_instance(horizon: int) -> db.Instance:
    """An instance of Experiment 3, delta = 1/48,000; the paper's own was not released."""
    return db.instances.common_periods(3, horizon, SLOW)


def profiles(instance: db.Instance) -> dict[str, Any]:
    """The detectable gap under both definitions; where nothing is detected both are sqrt(c0 L/t)."""
    found = db.gap_profile(instance)
    T = instance.horizon
    windows = np.where(found.window > 0, found.window, np.arange(1, T + 1))
    return {PAPER: found.gap, AUTHORS: np.sqrt(C0 * math.log(T) / windows)}


def gap_profile(context: Context) -> GapProfile:
    """The four statements on an instance of Experiment 3."""
    return facts_of_profile(figure_instance(context.settings.horizon))


def facts_of_profile(instance: db.Instance) -> GapProfile:
    """The numbers behind the four statements of the caption, under both definitions."""
    found, scale = db.gap_profile(instance), C0 * math.log(instance.horizon)
    detected = found.window > 0
    gap_step = float(np.abs(np.diff(instance.gap)).max())
    if not detected.any():
        return GapProfile((), gap_step, 0.0, math.nan, math.nan)
    first = int(np.argmax(detected))
    gap, early = instance.gap[first:], np.sqrt(scale / np.arange(1, first + 1))
    view, rows = closest_view(instance), []
    for definition, profile in profiles(instance).items():
        later = profile[first:]
        moves = np.abs(np.diff(later))
        rows.append(ProfileFacts(
            definition, first, bool(np.array_equal(profile[:first], early)), _correlation(later, gap),
            *_best_lag(later, gap), float(moves.max(initial=0.0)), float(moves.sum()),
            len(np.unique(profile[view])), view.stop - view.start,
        ))  # fmt: skip
    product = found.window[detected] * found.gap[detected] ** 2 / scale
    variation = float(np.abs(np.diff(gap)).sum())
    return GapProfile(tuple(rows), gap_step, variation, float(product.min()), float(product.max()))


def closest_view(instance: db.Instance) -> slice:
    """The steps of the closest panel: where windows move by about one in six steps."""
    windows = db.gap_profile(instance).window
    steps = min(CLOSEST, instance.horizon)
    known = windows > 0
    moves = np.where(known[1:] & known[:-1], np.abs(np.diff(windows)), instance.horizon)
    travelled = np.concatenate([[0], np.cumsum(moves)])
    score = np.abs(travelled[steps - 1 :] - travelled[: len(travelled) - steps + 1] - steps // 6)
    best = np.flatnonzero(score == score.min())
    start = int(best[len(best) // 2])
    return slice(start, start + steps)


def _correlation(one: Any, other: Any) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if np.ptp(one) > 0 and np.ptp(other) > 0 else 0.0


def _best_lag(profile: Any, gap: Any) -> tuple[int, float]:
    """The lag, of a grid up to a quarter of the time, at which the profile correlates best with the gap before."""
    n = len(gap)
    lags = np.unique(np.linspace(0, n // 4, LAGS).astype(np.int64))
    scores = [_correlation(profile[lag:], gap[: n - lag]) for lag in lags]
    best = int(np.argmax(scores))
    return int(lags[best]), scores[best]
