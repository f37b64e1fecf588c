"""95 % intervals: Student's for a mean, so that few runs give a wide interval; Wilson's and Clopper and Pearson's.

scipy is imported when a quantile is asked for: simulating needs none.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

LEVEL = 0.95
Z = 1.96
"""Standard errors to each side, where their size is known."""


def t_quantile(freedom: Any, together: int = 1) -> Any:
    """How many standard errors the interval reaches on each side, with so many degrees of freedom; of 0, not a number.

    So many intervals ``together`` hold all at once at 95 % (Bonferroni).

    >>> t_quantile([1, 2, 9, 99, 10**6]).round(3).tolist(), round(float(t_quantile(9, together=10)), 3)
    ([12.706, 4.303, 2.262, 1.984, 1.96], 3.69)
    """
    from scipy.special import stdtrit

    return stdtrit(freedom, 1 - (1 - LEVEL) / (2 * together))


def half_width(deviation: Any, count: Any) -> Any:
    """How far the interval of a mean reaches on each side, of ``count`` values with this standard deviation."""
    return t_quantile(count - 1) * deviation / np.sqrt(count)


def mean_interval(values: Any, axis: int = 0) -> tuple[Any, Any, Any]:
    """The mean along ``axis`` and the ends of its interval; with one value the ends are not a number.

    >>> [round(float(x), 3) for x in mean_interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    values = np.asarray(values, dtype=np.float64)
    count = values.shape[axis]
    mean = values.mean(axis=axis)
    reach = half_width(values.std(axis=axis, ddof=1), count) if count > 1 else math.nan
    return mean, mean - reach, mean + reach


def positive_mean_interval(values: Any) -> tuple[float, float, float]:
    """The mean of numbers that cannot be negative, and the ends of an interval that cannot be negative either.

    Student's interval of ln(mean), the error of the mean divided by the mean: mean exp(-+ t s/(sqrt(n) mean)). It tends
    to Student's own for many values or small scatter. For ten skewed values it covers the mean more often: 93 % of the
    time for exponential ones, where Student's covers 89 % and the bootstrap's BCa interval 87 %.

    >>> [round(end, 3) for end in positive_mean_interval([1.0, 2.0, 12.0])]
    [5.0, 0.243, 102.67]
    """
    mean, low, _ = (float(value) for value in mean_interval(values))
    if mean <= 0.0 or math.isnan(low):
        return mean, mean if mean == low else math.nan, mean if mean == low else math.nan
    factor = math.exp(min((mean - low) / mean, 700.0))
    return mean, mean / factor, mean * factor


def share_interval(hits: int, count: int) -> tuple[float, float]:
    """The interval of Clopper and Pearson for a probability, after ``hits`` of ``count`` independent trials.

    >>> [round(end, 4) for end in share_interval(0, 100)], [round(end, 4) for end in share_interval(3, 10)]
    ([0.0, 0.0362], [0.0667, 0.6525])
    """
    from scipy.special import betaincinv

    low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, (1 - LEVEL) / 2))
    high = 1.0 if hits == count else float(betaincinv(hits + 1, count - hits, (1 + LEVEL) / 2))
    return low, high


def wilson_interval(mean: Any, count: Any, z: Any = Z) -> tuple[Any, Any]:
    """Return the ends of Wilson's interval for the mean of ``count`` rewards that are 0 or 1.

    It lies within [0, 1], and has a length also where all rewards are alike. ``count`` may be an effective number.

    >>> [[round(float(end), 4) for end in wilson_interval(*each)] for each in ((0.0, 20), (0.5, 100), (1.0, 1))]
    [[0.0, 0.1611], [0.4038, 0.5962], [0.2065, 1.0]]
    """
    square = z * z / count
    centre = (mean + square / 2) / (1 + square)
    reach = np.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
    return np.minimum(np.maximum(centre - reach, 0.0), mean), np.maximum(np.minimum(centre + reach, 1.0), mean)


def share_mean_interval(mean: Any, error: Any, count: Any, z: Any = Z) -> tuple[Any, Any]:
    """Return the ends of Wilson's interval for an average of 0/1 rewards whose standard ``error`` was estimated.

    The rewards may be weighted, stratified or dependent. The error tells how many independent rewards they are worth:
    mean (1 - mean)/error^2. Where it is 0, as all rewards are alike, they are worth ``count``.

    >>> [round(float(end), 3) for end in share_mean_interval(0.95, 0.05, 20)]
    [0.757, 0.991]
    >>> [round(float(end), 3) for end in share_mean_interval(1.0, 0.0, 20)]
    [0.839, 1.0]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.asarray(mean * (1 - mean))
        worth = np.where((np.asarray(error) > 0.0) & (spread > 0.0), spread / np.square(error), count)
        return wilson_interval(mean, worth, z)


def are_binary(count: Any, total: Any, squares: Any) -> Any:
    """Whether rewards with that sum, and sum of squares, are all 0 or 1.

    A reward between 0 and 1 is larger than its square: of rewards in [0, 1] both sums agree only if all are 0 or 1.

    >>> [bool(are_binary(len(x), sum(x), sum(each**2 for each in x))) for x in ([0, 1, 1], [0.5, 1], [2, 0.5])]
    [True, False, False]
    """
    return (np.asarray(total) == squares) & (np.asarray(total) >= 0) & (np.asarray(total) <= count)
