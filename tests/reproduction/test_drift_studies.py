"""T delta^(1/3) where Theorem 3 puts it, and ln T where drift is mild."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from driftbandits import Rexp3, RoundRobin, SnoozeIt, SWUCBSharp, simulate
from driftbandits.theory.bounds import minimax_lower, minimax_upper
from reproduction.report.figures import _together
from reproduction.statistics import fit_power_law, summarised
from reproduction.studies.drift import FAMILIES, HARD, DriftRow, RegretAgainstDrift, drift_rows, fit
from reproduction.studies.mild_drift import mild_row

HORIZON = 50_000
DRIFTS = [1e-5, 1e-4, 1e-3]


def policies(drift: float) -> dict[str, Any]:
    return {
        "printed": SnoozeIt(HORIZON, drift),
        "confidence 0.2": SnoozeIt(HORIZON, drift, confidence=0.2),
        "round robin": RoundRobin(),
        "SW-UCB#": SWUCBSharp(HORIZON, drift),
        "Rexp3": Rexp3(HORIZON, drift),
    }


@pytest.fixture(scope="module")
def hard() -> list[DriftRow]:
    return drift_rows(HARD, HORIZON, DRIFTS, policies, runs=10, seed=0)


def of(rows: list[DriftRow], policy: str) -> list[DriftRow]:
    return [row for row in rows if row.policy == policy]


def test_hard_instances_cost_every_policy_a_cube_root(hard: list[DriftRow]) -> None:
    for name in policies(1e-4):
        assert fit(of(hard, name)).exponent.value == pytest.approx(1 / 3, abs=0.05)


def test_regret_lies_between_the_bounds(hard: list[DriftRow]) -> None:
    for row in hard:
        assert row.lower / 3 < row.regret.low < row.regret.high < row.upper
        assert row.upper == minimax_upper(HORIZON, row.drift).total
        assert row.lower == minimax_lower(HORIZON, row.drift).bumps


def test_neither_confidence_sees_the_bumps(hard: list[DriftRow]) -> None:
    turns = [row.regret.value for row in of(hard, "round robin")]
    for name in ("printed", "confidence 0.2"):
        assert [row.regret.value for row in of(hard, name)] == turns
    assert turns == pytest.approx([row.turns for row in of(hard, "printed")])


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_means_over_instances(family: str) -> None:
    it = {"it": SnoozeIt(5_000, 1e-3, confidence=0.1)}
    (row,) = drift_rows(family, 5_000, [1e-3], lambda drift: it, runs=3, seed=5)
    regrets = []
    for seed in (5, 6, 7):
        instance = FAMILIES[family](5_000, 1e-3, seed)
        assert instance.drift_limit <= 1e-3 + 1e-12
        regrets.append(float(simulate(it, instance, runs=1, seed=seed).regret["it"][0, -1]))
    assert row.regret.value == pytest.approx(math.fsum(regrets) / 3)
    assert row.regret.low <= row.regret.value <= row.regret.high


def test_regret_is_logarithmic_where_drift_is_mild() -> None:
    rows = [mild_row(T, runs=10, seed=0) for T in (10_000, 50_000, 250_000, 1_000_000)]
    # The test passes about when the gap 1/2 equals 4 r(w), so w = 128 L; that many pulls cost 1/2 each.
    assert [row.per_log for row in rows] == pytest.approx([64.0] * 4, rel=0.15)
    law = fit_power_law([row.horizon for row in rows], [row.per_log for row in rows])
    assert law.exponent.value == pytest.approx(0.0, abs=0.045)
    assert [row.drift for row in rows] == [math.sqrt(math.log(row.horizon)) / row.horizon**1.5 for row in rows]


def test_curves_that_coincide_are_one_with_both_names() -> None:
    regrets = {"one": [10.0, 20.0, 40.0], "two": [10.005, 20.0, 40.0], "three": [10.0, 20.0, 41.0]}
    mean = summarised(np.ones(3))
    rows = [
        DriftRow("it", drift, name, replace(mean, value=value), 1.0, 1e6, 1.0)
        for name, values in regrets.items()
        for drift, value in zip(DRIFTS, values, strict=True)
    ]
    found = RegretAgainstDrift(3, tuple(rows), (), fit_power_law(DRIFTS, [1.0, 2.0, 4.0]), 0.0)
    assert _together(found, "it", list(regrets)) == [["one", "two"], ["three"]]
