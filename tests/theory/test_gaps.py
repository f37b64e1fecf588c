"""The detectable gap against its definition, and its picture."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_theory as naive
from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.theory import gaps
from driftbandits.theory.figures import plot_episode_bounds, plot_gap_profile
from driftbandits.theory.gaps import detectable_gap, gap_profile

GRID = 2.0**-20
"""Means on this grid have sums without rounding, so that a twin which adds in another order gives the same bits."""


def make(kind: str, horizon: int, size: float, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    steps = np.arange(horizon)
    if kind == "walk":
        difference = np.cumsum(rng.choice([-1, 0, 1], horizon)) * size / 10
    elif kind == "constant":
        difference = np.full(horizon, size)
    elif kind == "crossing":
        difference = size * np.sin(steps * rng.uniform(0.01, 0.5))
    elif kind == "spikes":
        difference = np.where(rng.random(horizon) < 0.1, 1.0, -size / 4)
    else:
        difference = rng.uniform(-1, 1, horizon)
    difference = np.clip(difference, -1, 1)
    means = np.column_stack([(1 + difference) / 2, (1 - difference) / 2])
    return np.round(means / GRID) * GRID


worlds = st.builds(
    make,
    st.sampled_from(["walk", "constant", "crossing", "spikes", "noise"]),
    st.integers(1, 300),
    st.floats(0, 1),
    st.integers(0, 2**32),
)
constants = st.one_of(st.floats(1e-4, 10), st.sampled_from([1e-9, 0.5, 1.0, 4 / math.log(64), 144.0, 1e6]))


@settings(deadline=None, derandomize=True, max_examples=500)
@given(worlds, constants, st.sampled_from([1, 10, 1000]))
@example(make("constant", 64, 1.0, 0), 4 / math.log(64), 1)  # a window that passes with equality
@example(make("constant", 64, 0.0, 0), 1.0, 1)
def test_it_is_the_definition_window_by_window(means: Any, c0: float, longer: int) -> None:
    horizon = len(means) * longer
    found = gap_profile(means, c0=c0, horizon=horizon)
    gap, window = naive.profile(means.tolist(), c0, horizon)
    assert found.window.tolist() == window
    assert found.gap.tolist() == gap


@settings(deadline=None, derandomize=True, max_examples=60)
@given(worlds, constants)
def test_it_is_the_supremum_of_the_printed_condition(means: Any, c0: float) -> None:
    """No lambda above lambda_t is detected, on a fine grid; just below lambda_t, one is."""
    T, table = len(means), means.tolist()
    found = gap_profile(means, c0=c0)
    for t in {1, (T + 1) // 2, T}:
        lam, w = found.gap[t - 1], found.window[t - 1]
        # For each window its smallest lambda, and some more: every interval of lambdas with one window is met.
        c = c0 * math.log(T)
        grid = [math.sqrt(c / v) * (1 + 1e-12) for v in range(max(1, math.ceil(c)), t + 1)] + [
            k / 500 for k in range(1, 501)
        ]
        detected = [x for x in grid if 0 < x <= 1 and naive.is_detected(table, t, x, c0, T)]
        if w > 0 and T > 1:
            assert all(x <= lam * (1 + 1e-9) for x in detected)
            assert lam == 0 or any(
                naive.is_detected(table, t, lam * (1 - shy), c0, T) for shy in (0, 1e-15, 1e-12, 1e-10)
            )
        else:
            assert not detected or T == 1


@settings(deadline=None, derandomize=True, max_examples=40)
@given(worlds, constants)
def test_compiled_and_interpreted_are_the_same_bits(means: Any, c0: float) -> None:
    c = c0 * math.log(len(means))
    arguments = means[:, 0] - means[:, 1], c, max(1, math.ceil(min(c, len(means) + 1.0))), True
    compiled, interpreted = gaps._profile(*arguments), gaps._profile.py_func(*arguments)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(compiled, interpreted)


@pytest.mark.parametrize("gap", [0.0, 0.05, 0.3, 0.62, 1.0])
@pytest.mark.parametrize("horizon", [1, 2, 5_000, 200_000])
def test_stationary_arms_have_a_detectable_gap_of_at_least_their_gap(horizon: int, gap: float) -> None:
    world = instances.stationary(horizon, ((1 + gap) / 2, (1 - gap) / 2))
    lam = detectable_gap(world)
    assert lam.min() >= gap - 1e-12
    window = math.ceil(144 * math.log(horizon) / gap**2) if gap else horizon + 1
    if 1 < window <= horizon:
        np.testing.assert_allclose(lam[window - 1 :], gap, rtol=1e-12)
        assert lam[window - 2] > gap


def test_rounding_does_not_grow_with_time() -> None:
    lam = detectable_gap(instances.stationary(2_000_000, (0.9, 0.2)))
    np.testing.assert_allclose(lam[-1_000_000:], 0.7, rtol=1e-12)


@pytest.mark.parametrize("build", [instances.toggling, instances.separated, instances.walk, instances.equal_drift])
def test_long_instances_agree_with_a_look_at_every_window(build: Any) -> None:
    """Prefix sums with rounding, T = 162,755, at some steps: every window at once with numpy."""
    world = build()
    found = gap_profile(world)
    T = world.horizon
    c = 144 * math.log(T)
    sums = gaps._sums(world.means[:, 0] - world.means[:, 1])
    for t in np.random.default_rng(0).integers(1, T + 1, 200):
        w = np.arange(math.ceil(c), t + 1)
        passing = w[np.abs(sums[t] - sums[t - w]) >= np.sqrt(c * w)]
        assert found.window[t - 1] == (passing[0] if len(passing) else 0)


def test_an_instance_its_table_and_a_list_give_the_same() -> None:
    world = instances.toggling(3_000)
    expected = detectable_gap(world)
    np.testing.assert_array_equal(detectable_gap(world.means), expected)
    np.testing.assert_array_equal(detectable_gap(world.means.tolist()), expected)
    np.testing.assert_array_equal(detectable_gap(world.means[:2_000], horizon=3_000), expected[:2_000])
    assert expected.shape == (3_000,)


@pytest.mark.parametrize(
    ("means", "options", "words"),
    [
        ([[0.1]], {}, "at least 2 arms"),
        ([[0.1, 0.2]], {"c0": 0}, "c0 must be positive"),
        ([[0.1, 0.2]], {"c0": math.nan}, "c0 must be positive"),
        ([[0.1, 0.2]] * 5, {"horizon": 4}, "at least 5"),
        ([[0.1, 1.2]], {}, "defined for means in .* got the mean 1.2 .* declare reward_range"),
        ([], {}, "two axes"),
    ],
)
def test_wrong_input_is_named(means: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        detectable_gap(means, **options)


@pytest.mark.parametrize(
    "world",
    [
        instances.toggling(),
        instances.stationary(1, (0.5, 0.5)),
        instances.stationary(2, (1.0, 0.0)),
        instances.stationary(61, (0.7, 0.2)),
        instances.stationary(5_000, (0.5, 0.5)),
        instances.walk(20_000),
    ],
)
def test_each_panel_shows_the_box_of_the_one_before(world: Any) -> None:
    panels = plot_gap_profile(world).axes
    assert len(panels) == 4
    for panel, following in itertools.pairwise(panels):
        across, up = (np.asarray(values, float) for values in panel.lines[-1].get_data())
        assert (across.min(), across.max()) == following.get_xlim()
        assert (up.min(), up.max()) == pytest.approx(following.get_ylim())
        assert panel.get_ylim()[0] <= following.get_ylim()[0] < following.get_ylim()[1] <= panel.get_ylim()[1]
        assert panel.get_xlim()[0] <= following.get_xlim()[0] < following.get_xlim()[1] <= panel.get_xlim()[1]


def test_the_last_panel_is_close_enough_to_see_single_windows() -> None:
    panel = plot_gap_profile(instances.toggling()).axes[-1]
    low, high = panel.get_ylim()
    assert high - low < 0.01
    (band,) = panel.collections
    assert 5 <= len(np.unique(np.asarray(band.get_paths()[0].vertices)[:, 1])) <= 60


def test_the_two_branches_of_the_episode_figure_meet_at_the_top() -> None:
    left, right = plot_episode_bounds(162_755, 1 / 48_000).axes
    tops = [np.max(line.get_data()[1]) for panel in (left, right) for line in panel.lines[:2]]
    assert tops == pytest.approx([tops[0]] * 4, rel=0.02)
    with pytest.raises(InputError, match="drift > 0"):
        plot_episode_bounds(1_000, 0.0)


def test_the_episode_figure_ends_where_tests_can_pass() -> None:
    above, below = plot_episode_bounds(162_755, 1 / 48_000).axes
    phases = [np.asarray(line.get_data()[0]) for line in above.lines[:2]]
    assert phases[0][0] == pytest.approx(2 * 865)  # the shortest window takes 865 pulls of each arm
    assert phases[1][-1] == pytest.approx(162_755)
    asleep = np.asarray(below.lines[0].get_data()[0])
    assert asleep.max() == pytest.approx(2 * 48_000 * math.sqrt(math.log(162_755) / 1_730))
    above, below = plot_episode_bounds(162_755, 1 / 4_800).axes  # no snooze is possible
    assert above.lines[0].get_label() == "(2) without a snooze"
    assert np.asarray(above.lines[0].get_data()[0])[0] == pytest.approx(1_730)
