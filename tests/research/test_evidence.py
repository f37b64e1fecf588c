"""p-values and Holm's correction against their definitions, and how often a family of verdicts is wrong."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from driftbandits._common.fits import fit_curvature, power_law_meets
from driftbandits._common.intervals import mean_interval, positive_mean_interval
from driftbandits.research.paper.evidence import (
    NOTHING,
    Evidence,
    all_of,
    decide,
    decide_all,
    exceeds,
    holm,
    is_positive,
)
from driftbandits.research.paper.facts import power_law
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED
from driftbandits.research.studies.regret_against_drift import fit_exponents


def test_a_p_value_is_that_of_students_test() -> None:
    values = np.random.default_rng(0).normal(0.3, 1, 15)
    found = is_positive(values)
    assert found.shown == pytest.approx(stats.ttest_1samp(values, 0, alternative="greater").pvalue)
    assert found.refuted == pytest.approx(stats.ttest_1samp(values, 0, alternative="less").pvalue)
    assert found.opposite == Evidence(found.refuted, found.shown)


def test_what_is_the_same_in_every_run_is_certain() -> None:
    assert is_positive(np.ones(5)) == (0.0, 1.0)
    assert is_positive(np.zeros(5)) == (1.0, 0.0)
    assert is_positive(np.ones(1)) == NOTHING
    assert exceeds(5.0, 0.0, 3, 5.0) == (1.0, 0.0)


def test_all_of_needs_the_weakest_and_corrects_the_strongest() -> None:
    found = all_of([Evidence(0.01, 0.99), Evidence(0.2, 0.8), Evidence(0.99, 0.01)])
    assert tuple(found) == pytest.approx((0.99, 0.03))


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


def test_positive_intervals_tend_to_students_and_cover_skewed_means_better() -> None:
    rng = np.random.default_rng(5)
    even = rng.normal(100, 1, 50)
    assert positive_mean_interval(even) == pytest.approx(tuple(map(float, mean_interval(even))), rel=1e-4)
    covered = {"positive": 0, "student": 0}
    for _ in range(2_000):
        values = rng.exponential(size=10)
        for name, interval in (("positive", positive_mean_interval), ("student", mean_interval)):
            _, low, high = interval(values)
            covered[name] += low <= 1 <= high
    assert covered["positive"] > covered["student"] + 20
    assert covered["positive"] / 2_000 == pytest.approx(0.93, abs=0.03)


def test_positive_intervals_at_the_edge() -> None:
    assert positive_mean_interval([0.0, 0.0]) == (0.0, 0.0, 0.0)
    assert math.isnan(positive_mean_interval([3.0])[1])
    mean, low, high = positive_mean_interval([0.0] * 9 + [1.0])
    assert 0 < low < mean < high


def test_bends_are_found_where_they_are() -> None:
    rng = np.random.default_rng(6)
    x = np.geomspace(1e-6, 1e-2, 9)
    straight = 3 * x**0.4 * np.exp(0.01 * rng.standard_normal(9))
    assert not fit_curvature(x, straight).bends
    bent = fit_curvature(x, straight * np.exp(-0.02 * np.log(x / 1e-4) ** 2))
    assert bent.bends
    assert bent.value == pytest.approx(-0.02, abs=0.002)
    assert bent.first_slope > 0.4 > bent.last_slope
    coefficients = np.polyfit(np.log(x), np.log(straight), 2)
    assert fit_curvature(x, straight).value == pytest.approx(coefficients[0])


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
    table = pl.DataFrame({"drift": drifts, "policy": "it", "regret": regret, "error": regret / 50, "runs": 10})
    (row,) = fit_exponents(table).iter_rows(named=True)
    assert not row["bends"]
    assert row["misses"]
    assert power_law(row) == "none: no line meets all intervals"
    wide = fit_exponents(table.with_columns(error=pl.col("regret"))).row(0, named=True)
    assert not wide["misses"]
    assert power_law(wide) == "power law"
