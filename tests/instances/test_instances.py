"""Every family against its plain twin, the public checker against broken instances, and files against damage."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_instances as naive
from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.instances import FAMILIES, Instance, table
from driftbandits.testing.instances import check_instance

HORIZON = math.ceil(math.exp(12))
PAPER: list[Callable[..., Instance]] = [
    instances.separated,
    instances.toggling,
    *[lambda k=k, **rest: instances.common_periods(k, **rest) for k in (1, 2, 3, 4)],
    *[lambda k=k, **rest: instances.equal_drift(k, **rest) for k in (1, 2, 3, 4)],
]
PAPER_DRIFTS = [
    1 / 48_000,
    1 / 4_800,
    *(d / 48_000 for d in (0.33, 0.66, 1, 1.33)),
    *(k / 48_000 for k in (1, 2, 3, 4)),
]

horizons = st.integers(1, 400)
unhurried = settings(deadline=None)  # a busy machine is no failure
drifts = st.one_of(st.floats(0, 1), st.floats(1e-6, 1e-2))


def assert_twins(instance: Instance, twin: list[list[float]]) -> None:
    assert instance.means.shape == (len(twin[0]), len(twin))
    np.testing.assert_allclose(instance.means, np.column_stack(twin), rtol=0, atol=1e-12)


def build(name: str, folder: Path, **arguments: Any) -> Instance:
    """An instance of any family, the one that reads files included."""
    if name == "table":
        instances.walk(**arguments).save(folder / "walk.csv")
        return table(folder / "walk.csv")
    return FAMILIES[name](**arguments)


def families_with(argument: str) -> set[str]:
    return {name for name, build_one in FAMILIES.items() if argument in inspect.signature(build_one).parameters}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_passes_the_checker(name: str, tmp_path: Path) -> None:
    check_instance(build(name, tmp_path, horizon=2_000))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_defaults_and_an_explanation(name: str, tmp_path: Path) -> None:
    instance = build(name, tmp_path)
    assert instance.horizon == HORIZON
    assert (instance.recipe is None) == (name == "table")
    assert ">>>" in (inspect.getdoc(FAMILIES[name]) or "")
    assert getattr(instances, name) is FAMILIES[name]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_can_be_one_step_long(name: str, tmp_path: Path) -> None:
    needed: dict[str, dict[str, float]] = {"lower_bound": {"drift": 1.0}, "abrupt": {"jumps": 0}}
    instance = build(name, tmp_path, horizon=1, **needed.get(name, {}))
    assert instance.horizon == 1
    assert instance.drift_limit == 0
    check_instance(instance)


@pytest.mark.parametrize("name", sorted(families_with("drift") - {"table"}))  # a table has the drift of its file
@pytest.mark.parametrize("drift", [1e-3, 0.3, 1.0])
def test_every_family_keeps_to_its_drift(name: str, drift: float) -> None:
    assert FAMILIES[name](horizon=3_000, drift=drift).drift_limit <= drift + 1e-12


@pytest.mark.parametrize("name", sorted(families_with("seed")))
def test_seeds_make_a_difference_and_nothing_else_does(name: str) -> None:
    first, again, other = (FAMILIES[name](horizon=2_000, seed=seed).means for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(("build_paper", "drift"), list(zip(PAPER, PAPER_DRIFTS, strict=True)))
def test_paper_instances_have_the_drift_they_state(build_paper: Callable[..., Instance], drift: float) -> None:
    assert build_paper().drift_limit == pytest.approx(drift, rel=0, abs=1e-12)
    assert build_paper(drift=1e-5).drift_limit == pytest.approx(1e-5, rel=0, abs=1e-12)


def test_paper_instances_are_their_twins_at_full_length() -> None:
    assert_twins(instances.separated(), naive.separated(HORIZON, 1 / 48_000))
    assert_twins(instances.toggling(), naive.toggling(HORIZON, 1 / 4_800, 4_000, (0.9, 0.1)))
    assert_twins(instances.common_periods(4), naive.common_periods(HORIZON, 1.33 / 48_000))
    assert_twins(instances.equal_drift(3), naive.equal_drift(3, HORIZON, 3 / 48_000))


@given(horizons, drifts)
@unhurried
def test_separated_and_common_periods_are_their_twins(horizon: int, drift: float) -> None:
    assert_twins(instances.separated(horizon, drift), naive.separated(horizon, drift))
    assert_twins(instances.common_periods(2, horizon, drift), naive.common_periods(horizon, drift))


@given(st.integers(1, 7), horizons, drifts)
@unhurried
def test_equal_drift_is_its_twin(k: int, horizon: int, drift: float) -> None:
    assert_twins(instances.equal_drift(k, horizon, drift), naive.equal_drift(k, horizon, drift))


@given(horizons, drifts, st.integers(1, 90), st.tuples(st.floats(0, 1), st.floats(0, 1)))
@unhurried
def test_toggling_is_its_twin(horizon: int, drift: float, flat: int, start: tuple[float, float]) -> None:
    assert_twins(instances.toggling(horizon, drift, flat, start), naive.toggling(horizon, drift, flat, start))


@given(horizons)
@unhurried
def test_equal_drift_with_k_1_has_the_common_periods(horizon: int) -> None:
    equal, common = instances.equal_drift(1, horizon, 1e-3), instances.common_periods(1, horizon, 1e-3)
    assert np.array_equal(equal.means, common.means)


def test_toggling_by_hand() -> None:
    means = instances.toggling().means
    by_hand = {
        0: (0.9, 0.1),
        3_999: (0.9, 0.1),  # 4,000 flat steps
        4_000: (0.9 - 1 / 4_800, 0.1 + 1 / 4_800),
        6_399: (0.4, 0.6),  # 2,400 steps of drift are half a unit
        7_999: (0.9 - 4_000 / 4_800, 0.1 + 4_000 / 4_800),
        11_999: (0.9 - 4_000 / 4_800, 0.1 + 4_000 / 4_800),
        12_000: (0.9 - 3_999 / 4_800, 0.1 + 3_999 / 4_800),
        15_999: (0.9, 0.1),
        20_000: (0.9 - 1 / 4_800, 0.1 + 1 / 4_800),
    }
    for step, expected in by_hand.items():
        assert means[step] == pytest.approx(expected, rel=0, abs=1e-12), step


def test_round_robin_on_toggling_regrets_what_was_computed_elsewhere() -> None:
    instance = instances.toggling()
    pulled = instance.means[np.arange(HORIZON), np.arange(HORIZON) % 2]
    assert round(float((instance.best_mean - pulled).sum())) == 51_128


@given(st.integers(1, 300), drifts, st.integers(2, 6), st.floats(0.01, 0.5))
@unhurried
def test_sinusoid_and_wave_are_their_twins(horizon: int, drift: float, n_arms: int, amplitude: float) -> None:
    assert_twins(
        instances.sinusoid(horizon, drift, n_arms, amplitude), naive.sinusoid(horizon, drift, n_arms, amplitude)
    )
    assert_twins(instances.wave(horizon, drift, n_arms), naive.wave(horizon, drift, n_arms))


@given(st.floats(1e-4, 1), st.integers(0, 2**32), st.integers(0, 5))
@unhurried
def test_lower_bound_is_made_of_the_blocks_of_the_proof(drift: float, seed: int, blocks: int) -> None:
    bump = naive.bump(drift)
    horizon = (blocks + 1) * len(bump) + len(bump) // 2
    instance = instances.lower_bound(horizon, drift, seed)
    assert instance.drift_limit <= drift + 1e-15
    flat = np.full(len(bump), 0.5)
    for block in range(blocks + 1):
        means = instance.means[block * len(bump) : (block + 1) * len(bump)].T
        bumps = [np.allclose(arm, flat + bump, rtol=0, atol=1e-15) for arm in means]
        flats = [np.array_equal(arm, flat) for arm in means]
        assert all(np.logical_or(bumps, flats))
        assert any(flats)
    assert (instance.means[(blocks + 1) * len(bump) :] == 0.5).all()


def test_lower_bound_draws_each_of_the_three_cases_a_third_of_the_time() -> None:
    instance = instances.lower_bound(drift=1e-3)
    peaks = instance.means[31::63][: HORIZON // 63] > 0.5
    shares = [peaks[:, 0].mean(), peaks[:, 1].mean(), (~peaks).all(axis=1).mean()]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=0.04)  # 2,583 blocks: four standard deviations


def test_walk_moves_in_every_step_and_turns_as_often_as_asked() -> None:
    means = instances.walk(drift=1e-6, n_arms=3, reverse=0.01, seed=5).means
    steps = np.diff(means, axis=0)
    np.testing.assert_allclose(np.abs(steps), 1e-6, rtol=0, atol=1e-12)
    turned = np.sign(steps[1:]) != np.sign(steps[:-1])
    assert turned.mean(axis=0) == pytest.approx(0.01, abs=0.001)
    assert len(np.unique(means[0])) == 3
    with pytest.warns(UserWarning, match="more arms, 400, than steps, 2"):
        first_steps = np.diff(instances.walk(horizon=2, n_arms=400).means, axis=0)
    assert (first_steps > 0).mean() == pytest.approx(0.5, abs=0.1)  # four standard deviations


@given(st.floats(0.01, 1), st.integers(0, 1000))
@unhurried
def test_walk_turns_back_at_the_walls(drift: float, seed: int) -> None:
    path = instances.walk(200, drift, reverse=0.0, seed=seed).means[:, 0]
    start, up = float(path[0]), [1] * 199
    twins = [naive.bounce(start, drift, up), naive.bounce(start, -drift, up)]
    assert min(np.abs(path - twin).max() for twin in twins) <= 1e-12


def test_fading_has_rayleigh_amplitudes_and_follows_the_doppler() -> None:
    # P(|h|^2 <= x) = 1 - exp(-x) for many echoes, so mu = exp(-1/(s |h|^2)) has the median exp(-1/(s ln 2)).
    wide = instances.fading(horizon=20_000, n_arms=50, doppler=0.01, snr_db=5.0).means
    assert np.median(wide) == pytest.approx(math.exp(-1 / (10**0.5 * math.log(2))), abs=0.02)
    slow, fast = (instances.fading(50_000, doppler=doppler, seed=1).drift_limit for doppler in (1e-5, 2e-5))
    assert 1.2 * slow < fast < 3 * slow
    assert instances.fading(100, doppler=0.0).drift_limit == 0


def test_fading_survives_a_perfect_null(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("driftbandits.instances.fading")
    monkeypatch.setattr(module, "_power", lambda horizon, doppler, rng: np.zeros(horizon))
    assert (instances.fading(100).means == 0).all()


def test_abrupt_jumps_as_often_as_asked() -> None:
    means = instances.abrupt(horizon=500, n_arms=4, jumps=499, seed=3).means
    assert len(np.unique(means)) == 500 * 4
    assert (np.diff(instances.abrupt(horizon=500, jumps=7).means, axis=0) != 0).all(axis=1).sum() == 7


def test_stationary_stays() -> None:
    means = instances.stationary(horizon=50, means=[0.1, 0.2, 0.3]).means
    assert (means == [0.1, 0.2, 0.3]).all()


WRONG: list[tuple[Callable[[], Instance], str]] = [
    (lambda: instances.toggling(horizon=0), "horizon must be a whole number, at least 1; got 0"),
    (lambda: FAMILIES["separated"](horizon=2.5), "horizon must be a whole number, at least 1; got 2.5"),
    (lambda: FAMILIES["separated"](horizon=math.inf), "horizon .* got inf"),
    (lambda: FAMILIES["separated"](horizon=math.nan), "horizon .* got nan"),
    (lambda: FAMILIES["separated"](horizon="many"), "horizon .* got 'many'"),
    (lambda: instances.separated(horizon=True), "horizon .* got True"),
    (lambda: instances.separated(horizon=10**400), "horizon"),
    (lambda: instances.wave(horizon=10**9, n_arms=5), r"at most 500,000,000: .* horizon <= 100,000,000"),
    (lambda: instances.toggling(drift=-0.1), r"drift must lie in \[0, 1\], since means do; got -0.1"),
    (lambda: instances.walk(drift=math.nan), "drift .* got nan"),
    (lambda: instances.equal_drift(drift=2), "drift .* got 2"),
    (lambda: instances.toggling(flat=0), "flat .* at least 1; got 0"),
    (lambda: instances.toggling(start=(0.5,)), r"each of 2 arms, .* got \(0.5,\)"),
    (lambda: instances.toggling(start=(0.5, 1.5)), r"start\[1\] must lie in \[0, 1\]; got 1.5"),
    (lambda: instances.common_periods(5), "k must be a whole number, from 1 to 4; got 5"),
    (lambda: instances.equal_drift(0), "k must be .* got 0"),
    (lambda: instances.lower_bound(drift=0), "drift=0 .* take drift > 0"),
    (lambda: instances.lower_bound(horizon=62, drift=1e-3), "m = 63 steps .* take horizon >= 63"),
    (lambda: instances.lower_bound(seed=-1), "seed must be a whole number, at least 0; got -1"),
    (lambda: instances.sinusoid(amplitude=0.6), "amplitude .* got 0.6"),
    (lambda: instances.sinusoid(n_arms=1), "n_arms .* at least 2; got 1"),
    (lambda: instances.walk(reverse=1.1), "reverse .* got 1.1"),
    (lambda: instances.fading(doppler=0.6), "doppler .* got 0.6"),
    (lambda: instances.fading(snr_db=math.nan), "snr_db .* got nan"),
    (lambda: instances.stationary(means=(0.5,)), r"each of 2 arms or more, .* got \(0.5,\)"),
    (lambda: instances.stationary(means=(0.5, -1)), r"means\[1\] .* got -1"),
    (lambda: instances.abrupt(horizon=3, jumps=3), "jumps=3 .* take jumps <= 2"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_are_named(call: Callable[[], Instance], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_drift_that_lower_bound_proposes_is_enough() -> None:
    with pytest.raises(InputError, match=r"drift of at least 0\.0011") as caught:
        instances.lower_bound(horizon=60, drift=1e-3)
    assert instances.lower_bound(horizon=60, drift=float(str(caught.value).split()[-1])).horizon == 60


def test_whole_floats_and_numpy_numbers_are_numbers() -> None:
    instance = instances.toggling(horizon=np.int64(100), drift=np.float32(0.25), flat=1e1, start=np.array([0.9, 0.1]))  # type: ignore[arg-type]
    check_instance(instance)
    assert json.loads(json.dumps(instance.recipe))["arguments"]["horizon"] == 100


@given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 2**32))
@settings(max_examples=4, deadline=None)
def test_any_table_of_means_passes_the_checker(horizon: int, n_arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    check_instance(Instance(rng.random((horizon, n_arms)).round(1)))  # with ties
    check_instance(Instance(rng.random((horizon, n_arms)) ** 100))  # with numbers so small that they have an exponent


def test_an_instance_does_not_change_with_the_array_it_was_made_of() -> None:
    means = np.full((3, 2), 0.5)
    made = [Instance(means), Instance(means[:]), Instance(means.view(np.recarray)), Instance(np.asfortranarray(means))]
    means[:] = 0.9
    assert all((instance.means == 0.5).all() for instance in made)
    assert means.flags.writeable


@pytest.mark.parametrize(
    ("means", "message"),
    [
        ([0.5, 0.5], "two axes"),
        ([[0.5, 0.5], [0.5]], "all rows of one length"),
        ([["a", "b"]], "table of numbers"),
        (np.empty((0, 2)), "no rows"),
        ([[0.5]], "at least 2 arms; got 1"),
        ([[0.5, 0.5], [0.5, np.inf]], "arm 1 at step 2 has inf"),
        ([[math.nan, 0.5]], "arm 0 at step 1 has nan"),
    ],
)
def test_wrong_means_are_named(means: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Instance(means)


def test_a_broken_promise_of_drift_is_located() -> None:
    with pytest.raises(InputError, match=r"arm 1 moves by 0\.3 from step 2 to 3.*declare drift=0\.3"):
        Instance([[0.5, 0.1], [0.5, 0.2], [0.5, 0.5]], drift=0.2)
    with pytest.raises(InputError, match="drift must lie"):
        Instance([[0.5, 0.1]], drift=-1)


def test_a_plot_of_one_step_shows_its_points() -> None:
    axes = instances.stationary(horizon=1).plot().axes[0]
    assert {line.get_marker() for line in axes.get_lines()} == {"o"}
    assert axes.get_xticks().tolist() == [0, 1, 2]


@pytest.mark.parametrize("n_arms", [2, 24, 60])
def test_plots_show_small_differences_and_many_arms(n_arms: int) -> None:
    close = Instance(np.linspace(0.5, 0.501, n_arms)[np.newaxis].repeat(9, axis=0)).plot().axes[0].get_ylim()
    assert close[1] - close[0] < 0.01
    figure = instances.wave(n_arms=n_arms).plot()
    assert figure.axes[0].get_ylim() == (-0.02, 1.02)
    assert len(figure.legends) == (n_arms <= 24)
    figure.draw_without_rendering()  # warns, so fails, when the legend leaves no room for the axes
