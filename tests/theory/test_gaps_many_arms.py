"""The detectable gaps of K arms: their definition, for two arms the paper's, and what they say of SnoozeItK's test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
import naive_theory as naive
from driftbandits import instances
from driftbandits.theory.gaps import detectable_gap, detectable_gaps, gap_profile

GRID = 2.0**-20
"""Means on this grid have sums without rounding, so that a twin which adds in another order gives the same bits."""


def table(n_arms: int, horizon: int, size: float, seed: int) -> Any:
    steps = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], (horizon, n_arms))
    return np.round(np.clip(0.5 + size * np.cumsum(steps, axis=0), 0, 1) / GRID) * GRID


tables = st.builds(table, st.integers(2, 4), st.integers(1, 25), st.floats(0, 1), st.integers(0, 2**32))


@settings(deadline=None, derandomize=True, max_examples=50)
@given(tables, st.sampled_from([1e-3, 0.05, 0.5, 1.0, 144.0]), st.sampled_from([1, 100]))
def test_they_are_the_definition(means: Any, c0: float, longer: int) -> None:
    horizon = len(means) * longer
    expected = np.array(naive.gaps_of_arms(means.tolist(), c0, horizon))
    np.testing.assert_allclose(detectable_gaps(means, c0=c0, horizon=horizon), expected, rtol=1e-14)
    np.testing.assert_allclose(detectable_gap(means, c0=c0, horizon=horizon), np.sort(expected)[:, 1], rtol=1e-14)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.integers(1, 400), st.floats(0, 1), st.integers(0, 2**32), st.sampled_from([1e-3, 0.5, 144.0]))
def test_the_larger_of_two_is_the_paper_s(horizon: int, size: float, seed: int, c0: float) -> None:
    means = table(2, horizon, size, seed)
    both = detectable_gaps(means, c0=c0)
    assert both.max(axis=1).tolist() == gap_profile(means, c0=c0).gap.tolist() == detectable_gap(means, c0=c0).tolist()


@pytest.mark.parametrize("means", [(0.9, 0.3, 0.5), (0.2, 0.7, 0.7, 0.9)])
def test_of_arms_that_stand_still_they_are_the_gaps(means: tuple[float, ...]) -> None:
    T, K = 30_000, len(means)
    gaps = max(means) - np.array(means)
    found = detectable_gaps(instances.stationary(T, means), c0=10.0)[-1]
    undetected = math.sqrt(K / 2 * 10 * math.log(T) / T)
    assert found == pytest.approx(np.where(gaps > 0, gaps, undetected))
    assert detectable_gap(instances.stationary(T, means), c0=10.0)[-1] == pytest.approx(np.sort(gaps)[1])


def first_pass(seen: float, n_arms: int, horizon: int) -> tuple[int, int]:
    """Steps and pairs of the first test that passes, on arms without chance of which one is better by ``seen``."""
    world = instances.stationary(horizon, (seen,) + (0.0,) * (n_arms - 1))
    policy = db.SnoozeItK(horizon, 0.0)
    result = db.simulate({"it": policy}, world, db.Gaussian(0.0), runs=1, events=True, checkpoints=1)
    steps = int(result.events["it"]["passed"][0])
    return steps, -(-steps // n_arms)


@pytest.mark.parametrize("n_arms", [2, 3, 6])
def test_a_lead_detectable_with_37_5_has_passed_and_one_with_less_need_not(n_arms: int) -> None:
    """Seen one radius too close, the lead at which the test passes is 2.5 radii: c0 is 37.5, and 10 % less is wrong."""
    T, seen = 100_000, 0.2
    L = math.log(T)
    steps, w = first_pass(seen, n_arms, T)
    true = seen + math.sqrt(3 * L / w)
    n = steps - n_arms
    before = instances.stationary(n, (true,) + (0.0,) * (n_arms - 1))
    assert (detectable_gaps(before, c0=37.5, horizon=T)[-1, 1:] == math.sqrt(37.5 * n_arms / 2 * L / n)).all()
    assert detectable_gaps(before, c0=0.9 * 37.5, horizon=T)[-1, 1:] == pytest.approx(true)


@pytest.mark.parametrize("n_arms", [2, 3, 6])
def test_a_test_that_passes_shows_a_lead_detectable_with_1_5(n_arms: int) -> None:
    """Seen one radius too far apart, the true lead is half a radius: c0 is 1.5, and 10 % more is wrong."""
    T, seen = 100_000, 0.2
    L = math.log(T)
    _, w = first_pass(seen, n_arms, T)
    true = seen - math.sqrt(3 * L / w)
    world = instances.stationary(n_arms * w, (true,) + (0.0,) * (n_arms - 1))
    assert detectable_gaps(world, c0=1.5, horizon=T)[-1, 1:] == pytest.approx(true)
    assert (detectable_gaps(world, c0=1.1 * 1.5, horizon=T)[-1, 1:] > 1.01 * true).all()


def test_turns_hide_a_drift_for_each_arm_but_one() -> None:
    """Mean lead over K steps - lead at the two pulls <= delta (K - 1), and close to it for many arms."""
    K, drift, worst = 40, 1e-3, 0.0
    up, down = drift * np.arange(K), -drift * np.arange(K)
    for better in (up, down):
        for worse in (up, down):
            for s in range(K):
                for u in range(K):
                    if s != u:
                        worst = max(worst, (better - worse).mean() - (better[s] - worse[u]))
    assert worst <= drift * (K - 1)
    assert worst > 0.9 * drift * (K - 1)


@pytest.mark.parametrize("n_arms", [3, 6])
def test_with_chance_the_test_passes_in_between(n_arms: int) -> None:
    """Gaussian rewards: after about (1.5/2.5)^2 = 0.36 of the steps after which it must; noise rarely comes near r."""
    T, gap = 100_000, 0.3
    world = instances.stationary(T, (0.8,) + (0.8 - gap,) * (n_arms - 1))
    result = db.simulate({"it": db.SnoozeItK(T, 0.0)}, world, runs=10, events=True, checkpoints=1)
    must = 37.5 * n_arms / 2 * math.log(T) / gap**2
    shares = result.events["it"]["passed"].to_numpy() / must
    assert 0.1 < shares.min() <= shares.max() < 1
