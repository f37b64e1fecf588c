"""Student's interval against his density, integrated in the plainest way."""

from __future__ import annotations

import math
from statistics import fmean, stdev

import numpy as np
import pytest

from driftbandits._common.intervals import mean_interval, t_quantile


def within(t: float, freedom: int) -> float:
    """P(|X| <= t), by Simpson's rule."""
    x = np.linspace(0.0, t, 20_001)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)
    density = scale * (1 + x * x / freedom) ** (-(freedom + 1) / 2)
    weights = np.where(np.arange(20_001) % 2 == 1, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    return 2 * float(weights @ density) * t / 20_000 / 3


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 99, 100, 999, 1_000, 1_001, 1_002, 5_000, 10**6])
def test_95_of_100_lie_within_the_quantile(freedom: int) -> None:
    """From 1,001 on it is the first two terms of a series; what they leave out moves the 95 % by 3e-7 at most."""
    assert within(t_quantile(freedom), freedom) == pytest.approx(0.95, abs=4e-7)


def test_more_freedom_makes_narrower_intervals() -> None:
    quantiles = [t_quantile(freedom) for freedom in (1, 2, 3, 50, 51, 998, 999, 1_000, 1_001, 1_002, 1_003, 10**9)]
    assert quantiles == sorted(quantiles, reverse=True)
    assert len(set(quantiles)) == len(quantiles)


def test_the_interval_of_a_mean_along_either_axis() -> None:
    rows = [[1.0, 2.0, 4.0], [3.0, 3.5, 9.0]]
    for values, axis in ((rows, 1), (np.transpose(rows), 0)):
        mean, low, high = mean_interval(values, axis)
        for at, row in enumerate(rows):
            reach = 4.302653 * stdev(row) / math.sqrt(3)
            wanted = (fmean(row), fmean(row) - reach, fmean(row) + reach)
            assert (mean[at], low[at], high[at]) == pytest.approx(wanted, rel=1e-6)


def test_one_value_has_no_interval() -> None:
    mean, low, high = mean_interval([[2.0, 3.0]])
    assert mean.tolist() == [2.0, 3.0]
    assert np.isnan([low, high]).all()
    assert mean_interval([5.0, 5.0]) == (5.0, 5.0, 5.0)
