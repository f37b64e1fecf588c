"""The good event against every window one by one, its interval against sums, and Lemma 2 against a walk."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_studies as naive
from driftbandits import Bernoulli, Gaussian, InputError, Noise, RoundRobin, SnoozeIt, instances, simulate
from driftbandits._common.intervals import share_interval
from driftbandits._common.plotting import save_figure
from driftbandits.research.studies.good_event import (
    critical_confidences,
    good_event,
    largest_ratio,
    plot_good_event,
    unsafe_snoozes,
)

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


@pytest.mark.parametrize("noise", [Gaussian(0.5), Bernoulli()])
@pytest.mark.parametrize("horizon", [2, 3, 8, 40])
def test_critical_confidence_is_that_of_the_claim(noise: Noise, horizon: int) -> None:
    world = instances.sinusoid(horizon, 0.05, n_arms=3)
    found = critical_confidences(horizon, noise, runs=3, seed=4, instance=world)
    wanted = [naive.critical_confidence(world, noise, 4, run) for run in range(3)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-9)


def test_table_counts_runs_and_states_the_bounds() -> None:
    confidences = [0.3, 0.5, 0.6, 0.9, 1.0]
    table = good_event(1000, confidences, runs=50, seed=1)
    critical = critical_confidences(1000, runs=50, seed=1)
    assert table["failed"].to_list() == [float((critical >= confidence).mean()) for confidence in confidences]
    windows = 2 * 2 * sum(range(1, 501))
    assert table["union"].to_list() == pytest.approx([min(1, windows * 2 * 1000 ** (-4 * c**2)) for c in confidences])
    assert table["claim"][-1] == pytest.approx(2 / 1000)
    assert (table["union"] <= table["claim"]).all()
    assert table["failed"][0] == 1.0
    assert (table["low"] <= table["failed"]).all()
    assert (table["high"] >= table["failed"]).all()


def test_claim_1_holds_with_room_to_spare() -> None:
    """At T = 20,000 the union bound is 5e-8 for 20 runs of confidence 1; single rewards reach 3 sigma but for e^-70."""
    critical = critical_confidences(20_000, runs=20)
    assert critical.max() < 1
    assert critical.min() > 0.35


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (0, 30), (7, 30), (29, 30), (30, 30), (150, 200)])
def test_share_interval_leaves_a_fortieth_on_each_side(hits: int, count: int) -> None:
    low, high = share_interval(hits, count)
    assert low == 0.0 if hits == 0 else naive.binomial_tail(hits, count, low) == pytest.approx(0.025)
    assert high == 1.0 if hits == count else 1 - naive.binomial_tail(hits + 1, count, high) == pytest.approx(0.025)
    mirrored = share_interval(count - hits, count)
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-12)


def test_share_interval_of_many_trials_is_the_normal_one() -> None:
    reach = 1.96 * math.sqrt(0.2 * 0.8 / 1e5)
    assert share_interval(20_000, 100_000) == pytest.approx((0.2 - reach, 0.2 + reach), abs=2e-5)


@pytest.mark.parametrize("variant", ["modified", "original", "released"])
def test_lemma_1_failures_are_those_of_a_walk_through_every_snooze(variant: str) -> None:
    world = instances.walk(20_000, 1 / 4_800, reverse=1 / 2_000, seed=3)
    policy = SnoozeIt(20_000, 1 / 4_800, variant=variant, confidence=0.07)
    row = unsafe_snoozes(policy, world, runs=4, seed=2).row(0, named=True)
    events = simulate({"it": policy}, world, runs=4, seed=2, events=True).events["it"].rows(named=True)
    assert row["failures"] == naive.unsafe_snoozes(events, world) > 0
    assert row["snoozes"] == sum(event["snoozed"] for event in events)
    assert (row["low"], row["high"]) == share_interval(row["failures"], row["snoozes"])


def test_lemma_1_holds_as_printed_and_fails_where_the_radius_is_too_small() -> None:
    world = instances.toggling(162_755, 1 / 48_000, flat=20_000)
    printed = unsafe_snoozes(SnoozeIt(162_755, 1 / 48_000), world, runs=10).row(0, named=True)
    assert printed["snoozes"] > 0
    assert printed["failures"] == 0
    eager = unsafe_snoozes(SnoozeIt(162_755, 1 / 48_000, confidence=0.03), world, runs=10).row(0, named=True)
    assert eager["low"] > 0.01


def test_no_snooze_says_nothing() -> None:
    world = instances.toggling(20_000, 1 / 480, flat=400)
    row = unsafe_snoozes(SnoozeIt(20_000, 1 / 480), world, runs=2).row(0, named=True)
    assert row["snoozes"] == 0
    assert math.isnan(row["rate"])
    assert (row["low"], row["high"]) == (0.0, 1.0)


def test_wrong_input_is_an_error() -> None:
    with pytest.raises(InputError, match=r"Lemma 2 \(snooze safety\) is about the snoozes of SnoozeIt; got RoundRobin"):
        unsafe_snoozes(RoundRobin(), instances.toggling(100))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="they must be the same"):
        good_event(100, [1.0], instance=instances.toggling(99))
    with pytest.raises(InputError, match="horizon must be a whole number, at least 2"):
        good_event(1, [1.0])


def test_figure_is_drawn(tmp_path: Path) -> None:
    figure = plot_good_event(good_event(200, [0.9, 0.5, 0.7], runs=5), title="small")
    (axes,) = figure.axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert len(axes.get_lines()) == 3
    save_figure(figure, tmp_path / "good.png")
