"""p-values and Holm's correction against their definitions, and how often a family of verdicts is wrong."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from reproduction.statistics import (
    FAILS,
    HOLDS,
    NOTHING,
    UNDECIDED,
    Evidence,
    all_of,
    correlation,
    decide,
    decide_all,
    exceeds,
    fit_line,
    fit_power_law,
    holm,
    is_positive,
    mean_interval,
    positive_interval,
    power_law_meets,
    share_interval,
    summarised,
    t_quantile,
)
from reproduction.studies.drift import DriftRow, fit


def test_a_p_value_is_that_of_students_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 15)
    found = is_positive(values)
    assert found.shown == pytest.approx(stats.ttest_1samp(values, 0, alternative="greater").pvalue)
    assert found.refuted == pytest.approx(stats.ttest_1samp(values, 0, alternative="less").pvalue)
    assert found.opposite == Evidence(found.refuted, found.shown)


def test_what_is_the_same_in_every_run_is_certain() -> None:
    assert is_positive(np.ones(5)) == Evidence(0.0, 1.0)
    assert is_positive(np.zeros(5)) == Evidence(1.0, 0.0)
    assert is_positive(np.ones(1)) == NOTHING
    assert exceeds(5.0, 0.0, 3, 5.0) == Evidence(1.0, 0.0)
    assert exceeds(5.0, math.nan, 1, 4.0) == NOTHING


def test_all_of_needs_the_weakest_and_corrects_the_strongest() -> None:
    found = all_of([Evidence(0.01, 0.99), Evidence(0.2, 0.8), Evidence(0.99, 0.01)])
    assert (found.shown, found.refuted) == pytest.approx((0.99, 0.03))


def test_verdicts_at_five_percent() -> None:
    assert decide(Evidence(0.02, 0.98)) == HOLDS
    assert decide(Evidence(0.98, 0.02)) == FAILS
    assert decide(Evidence(0.03, 0.97)) == UNDECIDED
    assert decide(Evidence(0.001, 0.999), p_value=0.06) == UNDECIDED


def test_holm_rejects_as_its_definition_does() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        p_values = rng.uniform(0, 0.08, 6).tolist()
        rejected = set()
        for place, index in enumerate(np.argsort(p_values)):
            if p_values[index] > 0.05 / (6 - place):
                break
            rejected.add(int(index))
        assert {index for index, p in enumerate(holm(p_values)) if p <= 0.05} == rejected


def test_a_family_of_true_verdicts_is_rarely_wrong() -> None:
    """Of 40 differences that are 0 in truth, 5 % of all families may decide one; uncorrected, 87 % would."""
    rng = np.random.default_rng(4)
    wrong = plain = 0
    for _ in range(300):
        family = {k: is_positive(rng.normal(size=10)) for k in range(40)}
        wrong += any(verdict != UNDECIDED for verdict in decide_all(family).values())
        plain += any(decide(one) != UNDECIDED for one in family.values())
    assert wrong <= 40  # 15 expected; more than 40 has a chance below 1e-7
    assert plain > 200


def ends(found: Any) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def test_positive_intervals_tend_to_students_and_cover_skewed_means_better() -> None:
    rng = np.random.default_rng(5)
    even = rng.normal(100, 1, 50)
    assert ends(positive_interval(even)) == pytest.approx(tuple(map(float, mean_interval(even))), rel=1e-4)
    covered = {"positive": 0, "student": 0}
    for _ in range(2_000):
        values = rng.exponential(size=10)
        for name, found in (("positive", ends(positive_interval(values))), ("student", mean_interval(values))):
            covered[name] += bool(found[1] <= 1 <= found[2])
    assert covered["positive"] > covered["student"] + 20
    assert covered["positive"] / 2_000 == pytest.approx(0.93, abs=0.03)


def test_positive_intervals_at_the_edge() -> None:
    assert ends(positive_interval([0.0, 0.0])) == (0.0, 0.0, 0.0)
    assert math.isnan(positive_interval([3.0]).low)
    mean, low, high = ends(positive_interval([0.0] * 9 + [1.0]))
    assert 0 < low < mean < high


def test_an_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(1).normal(size=12)
    wanted = stats.t.interval(0.95, 11, values.mean(), stats.sem(values))
    assert mean_interval(values)[1:] == pytest.approx(wanted)


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (0, 30), (7, 30), (29, 30), (150, 200)])
def test_a_share_has_the_interval_of_clopper_and_pearson(hits: int, count: int) -> None:
    wanted = stats.binomtest(hits, count).proportion_ci(0.95, "exact")
    assert share_interval(hits, count) == pytest.approx((wanted.low, wanted.high))


def test_correlations_are_fishers() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    found = correlation(x, y)
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert math.atanh(found.high) - math.atanh(found.low) == pytest.approx(2 * 1.959964 / math.sqrt(27))
    assert correlation(x, np.ones(30)).value == 0.0
    with pytest.raises(ValueError, match="at least 5 points; got 4"):
        correlation([1, 2, 3, 4], [1, 2, 3, 4])


def test_a_fit_is_that_of_scipy() -> None:
    rng = np.random.default_rng(2)
    x = np.geomspace(1e-6, 1e-2, 7)
    y = 40 * x**0.4 * np.exp(0.1 * rng.standard_normal(7))
    wanted = stats.linregress(np.log(x), np.log(y))
    found = fit_power_law(x, y).exponent
    assert found.value == pytest.approx(wanted.slope)
    assert found.high - found.value == pytest.approx(t_quantile(5) * wanted.stderr)
    assert fit_line(np.log(x), np.log(y))[0] == pytest.approx(wanted.intercept)
    assert fit_power_law([1e-4, 1e-3, 1e-2], [1.0, 10.0, 100.0]).bends is None


def test_bends_are_found_where_they_are() -> None:
    rng = np.random.default_rng(6)
    x = np.geomspace(1e-6, 1e-2, 9)
    straight = 3 * x**0.4 * np.exp(0.01 * rng.standard_normal(9))
    assert not fit_power_law(x, straight).bends
    bent = fit_power_law(x, straight * np.exp(-0.02 * np.log(x / 1e-4) ** 2))
    assert bent.bends
    assert bent.first > 0.4 > bent.last
    square, slope, _ = np.polyfit(np.log(x), np.log(straight), 2)
    assert fit_power_law(x, straight).first == pytest.approx(slope + 2 * square * np.log(x[0]))


@pytest.mark.parametrize("seed", range(20))
def test_a_line_meets_intervals_exactly_if_a_fine_search_finds_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.geomspace(1e-6, 1e-2, 6)
    log_x, middle = np.log(x), 0.4 * np.log(x) + rng.normal(0, 0.2, 6)
    slopes = np.linspace(-1, 2, 30_001)[:, None]
    missed = ((middle - slopes * log_x).max(axis=1) - (middle - slopes * log_x).min(axis=1)).min() / 2
    for share, meets in ((0.999, False), (1.001, True)):
        low, high = np.exp(middle - share * missed), np.exp(middle + share * missed)
        assert power_law_meets(x, low, high) is meets


def test_an_s_is_no_power_law_though_a_parabola_sees_no_bend() -> None:
    """SnoozeIt released on toggling: flat while drift is slow, flat again where it is round robin."""
    drifts = np.geomspace(1e-7, 1e-2, 11)
    regret = np.exp(8 + 3 * np.tanh(np.log(drifts / 10**-4.5) / 2))

    def rows(error: float) -> list[DriftRow]:
        mean = summarised([1.0, 1.0])
        means = [replace(mean, value=value, error=error * value, runs=10) for value in regret]
        return [DriftRow("it", drift, "it", one, 1.0, 1.0, 1.0) for drift, one in zip(drifts, means, strict=True)]

    assert not fit(rows(0.02)).bends
    assert fit(rows(0.02)).misses
    assert not fit(rows(1.0)).misses
