"""The good event against every window one by one, its interval against sums, and Lemma 2 against a walk."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
import naive_studies as naive
from reproduction.context import Context, Settings
from reproduction.statistics import share_interval
from reproduction.studies.confidence import failed_snoozes
from reproduction.studies.good_event import critical_confidences, good_event, largest_ratio

steps = st.one_of(
    st.lists(st.floats(-1e3, 1e3), max_size=40),
    st.lists(st.sampled_from([-1.0, 0.0, 1.0]), max_size=40),
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(steps)
def test_largest_ratio_is_that_of_every_pair(increments: list[float]) -> None:
    sums = np.concatenate([[0.0], np.cumsum(increments)])
    wanted = naive.largest_ratio(sums.tolist())
    plain: Any = largest_ratio
    assert largest_ratio(sums, 0.0) == plain.py_func(sums, 0.0) == wanted
    assert largest_ratio(sums, wanted + 1.0) == wanted + 1.0


def test_largest_ratio_of_long_walks() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        sums = np.concatenate([[0.0], np.cumsum(rng.standard_normal(3000) + 0.1 * seed)])
        windows = range(1, len(sums))
        assert largest_ratio(sums, 0.0) == max(np.abs(sums[w:] - sums[:-w]).max() / math.sqrt(w) for w in windows)


@pytest.mark.parametrize("noise", [db.Gaussian(0.5), db.Bernoulli()])
@pytest.mark.parametrize("horizon", [2, 4, 8, 40])
def test_critical_confidence_is_that_of_the_claim(noise: db.Noise, horizon: int) -> None:
    instance = db.instances.stationary(horizon, (0.5,) * 3)
    found = critical_confidences(horizon, 3, 4, noise, arms=3)
    wanted = [naive.critical_confidence(instance, noise, 4, run) for run in range(3)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-9)


def test_the_table_counts_runs_and_states_the_bounds(tmp_path: Path) -> None:
    found = good_event(Context(Settings(runs=50, seed=1, horizon=1000), tmp_path))
    critical = critical_confidences(1000, 50, 1)
    windows = 2 * 2 * sum(range(1, 501))
    for row in found.rows:
        failed = int((critical >= row.confidence).sum())
        assert (row.failed, row.low, row.high) == (failed / 50, *share_interval(failed, 50))
        assert row.union == pytest.approx(min(1, windows * 2 * 1000 ** (-4 * row.confidence**2)))
        assert row.union <= row.claim
    assert found.at(1.0).claim == pytest.approx(2 / 1000)
    assert found.rows[0].failed == 1.0


def test_claim_1_holds_with_room_to_spare() -> None:
    """At T = 20,000 the union bound is 5e-8 for 20 runs of confidence 1; single rewards reach 3 sigma but for e^-70."""
    critical = critical_confidences(20_000, 20, 0)
    assert critical.max() < 1
    assert critical.min() > 0.35


@pytest.mark.parametrize("variant", ["modified", "original", "released"])
def test_unsafe_snoozes_are_those_of_a_walk_through_every_snooze(variant: str) -> None:
    instance = db.instances.walk(20_000, 1 / 4_800, reverse=1 / 2_000, seed=3)
    policy = db.SnoozeIt(20_000, 1 / 4_800, variant=variant, confidence=0.07)
    played = db.simulate({"it": policy}, instance, runs=4, seed=2, events=True)
    events = played.events["it"].rows(named=True)
    snoozes, failures = failed_snoozes(played, "it")
    assert failures == naive.unsafe_snoozes(events, instance) > 0
    assert snoozes == sum(event["snoozed"] for event in events)
