"""Intervals, fits and p-values, and how verdicts follow from them.

A claim that says several things at once ("rises at each of three steps") is shown only when every one of them is, so
its p-value is the largest of theirs. It is refuted when one of them is; the chance of one false alarm among k is at
most k times that of each, so that p-value is k times the smallest (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from scipy import special

Key = TypeVar("Key")
LEVEL = 0.05
"""The chance of a false verdict that is allowed; in a family of verdicts, of even one."""


@dataclass(frozen=True)
class Interval:
    """A number and its 95 % interval; not numbers where there is one run only."""

    value: float
    low: float
    high: float


def t_quantile(freedom: Any, together: int = 1) -> Any:
    """Standard errors to each side, so that so many intervals hold ``together`` at 95 % (Bonferroni)."""
    return special.stdtrit(freedom, 1 - LEVEL / (2 * together))


def mean_interval(values: Any, axis: int = 0) -> tuple[Any, Any, Any]:
    """The mean along an axis and Student's interval.

    >>> [round(float(x), 3) for x in mean_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    values = np.asarray(values, np.float64)
    count, mean = values.shape[axis], values.mean(axis=axis)
    reach = t_quantile(count - 1) * values.std(axis=axis, ddof=1) / np.sqrt(count) if count > 1 else math.nan
    return mean, mean - reach, mean + reach


def interval(values: Any) -> Interval:
    """The mean of one number per run, with Student's interval."""
    return Interval(*(float(value) for value in mean_interval(values)))


def positive_interval(values: Any) -> Interval:
    """The mean of numbers that cannot be negative: Student's interval of its logarithm.

    >>> found = positive_interval([1.0, 2.0, 12.0])
    >>> round(found.low, 3), round(found.high, 2)
    (0.243, 102.67)
    """
    mean, low, _ = (float(value) for value in mean_interval(values))
    if mean <= 0.0 or math.isnan(low):
        end = mean if mean == low else math.nan
        return Interval(mean, end, end)
    factor = math.exp(min((mean - low) / mean, 700.0))
    return Interval(mean, mean / factor, mean * factor)


def share_interval(hits: int, count: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a probability, after ``hits`` of ``count`` trials."""
    low = 0.0 if hits == 0 else float(special.betaincinv(hits, count - hits + 1, LEVEL / 2))
    high = 1.0 if hits == count else float(special.betaincinv(hits + 1, count - hits, 1 - LEVEL / 2))
    return low, high


@dataclass(frozen=True)
class Mean(Interval):
    """A mean regret with its interval, its standard error and the number of runs."""

    error: float
    runs: int


def summarised(values: Any) -> Mean:
    """The mean regret over runs."""
    found, (_, error) = positive_interval(values), mean_and_error(values)
    return Mean(found.value, found.low, found.high, error, len(values))


# ---- p-values

HOLDS, FAILS, UNDECIDED = "holds", "fails", "not decidable"


@dataclass(frozen=True)
class Evidence:
    """p-values: how likely such numbers are if the claim is false (``shown``), and if it is true (``refuted``)."""

    shown: float
    refuted: float

    @property
    def p_value(self) -> float:
        """That of the better supported side, doubled since there are two."""
        return min(1.0, 2 * min(self.shown, self.refuted))

    @property
    def opposite(self) -> Evidence:
        """The same numbers for the claim's opposite."""
        return Evidence(self.refuted, self.shown)


NOTHING = Evidence(1.0, 1.0)
"""What a single run says."""


def is_positive(values: Any) -> Evidence:
    """Whether the mean of these differences, one per run, exceeds 0 (Student's test)."""
    mean, error = mean_and_error(values)
    return exceeds(mean, error, len(values), 0.0)


def mean_and_error(values: Any) -> tuple[float, float]:
    """The mean and its standard error; one value has none."""
    values = np.asarray(values, np.float64)
    spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return float(values.mean()), spread / math.sqrt(len(values))


def exceeds(mean: float, error: float, runs: int, limit: float) -> Evidence:
    """Whether the expectation behind a mean of so many runs exceeds ``limit``."""
    if runs < 2:
        return NOTHING
    if error == 0.0:  # the same in every run: nothing is left to chance
        return Evidence(0.0, 1.0) if mean > limit else Evidence(1.0, 0.0)
    score = (mean - limit) / error
    return Evidence(float(special.stdtr(runs - 1, -score)), float(special.stdtr(runs - 1, score)))


def all_of(parts: Sequence[Evidence]) -> Evidence:
    """Whether all of these are true."""
    return Evidence(max(part.shown for part in parts), min(1.0, len(parts) * min(part.refuted for part in parts)))


def beats(regret: Any, others: Sequence[Any]) -> Evidence:
    """Whether a policy's regret is below that of all others, run by run."""
    return all_of([is_positive(np.subtract(values, regret)) for values in others])


def rises(regrets: Sequence[Any]) -> Evidence:
    """Whether regret rises from each instance to the next."""
    return all_of([is_positive(np.subtract(after, before)) for before, after in pairwise(regrets)])


def decide(evidence: Evidence, p_value: float | None = None) -> str:
    """The verdict at 5 %; ``p_value`` is one that was corrected for the other verdicts of its family."""
    if (evidence.p_value if p_value is None else p_value) > LEVEL:
        return UNDECIDED
    return HOLDS if evidence.shown < evidence.refuted else FAILS


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p-values; no independence is needed, as the claims of a family share their noise.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = np.argsort(p_values, kind="stable")
    corrected, least = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = least
    return corrected


def decide_all(family: Mapping[Key, Evidence]) -> dict[Key, str]:
    """The verdicts of a family, with a chance of 5 % that even one of them is false."""
    corrected = holm([one.p_value for one in family.values()])
    return {key: decide(one, p) for (key, one), p in zip(family.items(), corrected, strict=True)}


# ---- correlations and fits

LEAST_POINTS = 5


def correlation(x: Any, y: Any) -> Interval:
    """Pearson's r with Fisher's interval; r is 0 where y does not change at all.

    Fisher's interval treats the points as a sample. Here they are a grid of drifts, so it says how far the grid could
    mislead, not how far the noise of the runs could, which is much less.

    >>> round(correlation(range(8), [1, 2, 4, 3, 5, 7, 6, 8]).value, 2)
    0.95
    """
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < LEAST_POINTS:
        raise ValueError(f"a correlation with an interval needs at least {LEAST_POINTS} points; got {len(x)}")
    varies = all(float(np.ptp(one)) > 1e-9 * float(np.abs(one).max()) for one in (x, y))
    r = float(np.corrcoef(x, y)[0, 1]) if varies else 0.0
    reach = 1.959964 / math.sqrt(len(x) - 3)
    centre = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12))
    return Interval(r, math.tanh(centre - reach), math.tanh(centre + reach))


def fit_line(x: Any, y: Any) -> tuple[float, Interval]:
    """Least squares: the offset, and the slope with its 95 % interval."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    reach = float(t_quantile(len(x) - 2)) * math.sqrt(float(left @ left) / (len(x) - 2) / spread)
    return float(y.mean()) - slope * float(x.mean()), Interval(slope, slope - reach, slope + reach)


@dataclass(frozen=True)
class PowerLaw:
    """The exponent b of y = a x^b, and what speaks against every power law."""

    exponent: Interval
    bends: bool | None
    """A parabola through the logarithms excludes a straight line; unknown with fewer than four points."""
    first: float
    """The parabola's slope at the smallest x ..."""
    last: float
    """... and at the largest."""
    misses: bool = False
    """No straight line passes through the intervals of all means, taken together at 95 %."""


def fit_power_law(x: Any, y: Any) -> PowerLaw:
    """Least squares of logarithms, by a line and by a parabola.

    >>> law = fit_power_law([1, 10, 100, 1000, 10000], [1.0, 3.0, 6.0, 7.0, 7.1])
    >>> law.bends, round(law.first, 2), round(law.last, 2)
    (True, 0.54, -0.13)
    """
    log_x, log_y = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    _, exponent = fit_line(log_x, log_y)
    if len(log_x) < 4:
        return PowerLaw(exponent, None, exponent.value, exponent.value)
    centre = log_x.mean()
    terms = np.vander(log_x - centre, 3, increasing=True)
    inverse = np.linalg.inv(terms.T @ terms)
    _, slope, bend = found = inverse @ terms.T @ log_y
    left = log_y - terms @ found
    error = math.sqrt(float(left @ left) / (len(log_x) - 3) * float(inverse[2, 2]))
    reach = float(t_quantile(len(log_x) - 3)) * error
    first, last = (float(slope + 2 * bend * (end - centre)) for end in (log_x.min(), log_x.max()))
    return PowerLaw(exponent, bool(abs(bend) > reach), first, last)


def power_law_meets(x: Any, low: Any, high: Any) -> bool:
    """Whether some y = a x^b passes through all the intervals low .. high.

    It finds what a parabola overlooks: a curve that bends one way and then the other, as an S does.

    >>> power_law_meets([1, 10, 100, 1000], [0.9, 0.9, 7.9, 7.9], [1.1, 1.1, 8.1, 8.1])
    False
    """
    log_x, below, above = (np.log(np.asarray(values, np.float64)) for values in (x, low, high))
    first, second = np.triu_indices(len(log_x), 1)
    run = log_x[second] - log_x[first]
    slopes = np.concatenate([(ends[second] - ends[first]) / run for ends in (below, above)])
    # The room that a slope leaves is concave in it, and largest where two ends on one side lie on one line.
    room = (above - slopes[:, None] * log_x).min(axis=1) - (below - slopes[:, None] * log_x).max(axis=1)
    return bool(room.max(initial=-math.inf) >= -1e-9)  # intervals without width are met up to rounding
