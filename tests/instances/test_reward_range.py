"""Means that are not in [0, 1]: counts, money, latency, with or without a declared range of rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import driftbandits as db
from driftbandits.instances import table
from driftbandits.instances.recipe import build_instance, describe_instance
from driftbandits.simulation.engine import Job
from driftbandits.testing import check_instance


def money(reward_range: Any = (-50, 150), horizon: int = 2_000) -> db.Instance:
    t = np.arange(horizon)
    means = np.column_stack([50 + 40 * np.sin(t / 300), 50 + 40 * np.cos(t / 300)])
    return db.Instance(means, name="money", arms=["a", "b"], reward_range=reward_range)


@pytest.mark.parametrize("reward_range", [None, (-50, 150)])
def test_an_instance_of_money_is_all_that_an_instance_must_be(reward_range: Any) -> None:
    check_instance(money(reward_range))


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_the_range_comes_back_from_a_file(ending: str, tmp_path: Path) -> None:
    path, instance = tmp_path / f"money.{ending}", money()
    instance.save(path)
    assert table(path, reward_range=None if ending == "npz" else (-50, 150)) == instance
    assert (table(path) == instance) == (ending == "npz")
    with pytest.raises(db.InputError, match=r"cannot use .*every mean must lie in reward_range, 0 to 60; got the mean"):
        table(path, reward_range=(0, 60))


def test_the_range_comes_back_from_a_simulation(tmp_path: Path) -> None:
    instance = money()
    assert build_instance(describe_instance(instance)) == instance
    assert money() != money((-50, 151))
    result = db.simulate(["UCB1", "AutoTS"], instance, runs=2, keep=tmp_path / "kept.parquet", progress=False)
    again = db.Simulation.load(tmp_path / "kept.parquet")
    assert again == result
    assert again.instance.reward_range == (-50, 150)
    assert again.rerun() == result
    with pytest.raises(db.InputError, match="another simulation"):
        db.simulate(["UCB1", "AutoTS"], money((-50, 151)), runs=2, keep=tmp_path / "kept.parquet")


def test_repr_html_and_figure_are_on_the_scale_of_the_means() -> None:
    instance = money()
    assert repr(instance) == "<Instance money: T=2,000, K=2, drift_limit=0.133, rewards -50 to 150>"
    html = instance._repr_html_()
    assert "-50 to 150" in html
    assert "from 10 to 90" in html
    low, high = instance.plot().axes[0].get_ylim()
    assert low < 10 < 90 < high


def bound_of(instance: db.Instance) -> Any:
    return db.bounds.instance_dependent(instance, 1e-3).per_block


def test_it_is_rescaled_for_what_is_defined_on_unit_means() -> None:
    instance, unit = money(), db.Instance((money().means + 50) / 200)
    theories: list[Callable[[Any], Any]] = [db.detectable_gap, bound_of]
    for theory in theories:
        np.testing.assert_array_equal(theory(instance), theory(unit))
    assert instance.rescaled().arms == ("a", "b")
    assert unit.rescaled() is unit
    for theory in theories:
        with pytest.raises(db.InputError, match=r"means in \[0, 1\]; got the mean 90 of .*reward_range=\(low"):
            theory(money(None))


@pytest.mark.parametrize(
    ("reward_range", "words"),
    [
        ((0, 60), r"every mean must lie in reward_range, 0 to 60; got the mean 90 of [ab] at step"),
        ((20, 1e3), "got the mean 10 of"),
        ((3, 3), "reward_range must be two numbers, the smaller one first"),
        (5, "reward_range must be two numbers"),
        ((0, math.inf), "reward_range must be two numbers"),
    ],
)
def test_wrong_ranges(reward_range: Any, words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        money(reward_range)


@pytest.mark.parametrize("noise", [db.Bernoulli(), db.Bounded()])
@pytest.mark.parametrize("reward_range", [None, (-50, 150)])
def test_noise_that_is_not_defined_for_these_means(noise: db.Noise, reward_range: Any) -> None:
    plays: list[Callable[[], Any]] = [
        lambda: db.simulate("AutoTS", money(reward_range), noise, runs=1),
        lambda: db.trajectory("AutoTS", money(reward_range), noise),
    ]
    for play in plays:
        with pytest.raises(db.InputError, match=r"is defined for means from 0 to 1; got the mean 90 of . at step"):
            play()


def test_noise_is_half_as_wide_as_the_range_unless_given() -> None:
    assert db.simulate("AutoTS", money(), runs=1, progress=False).noise == db.Gaussian(100.0)
    assert db.simulate("AutoTS", money(None), runs=1, progress=False).noise == db.Gaussian(0.5)
    assert db.trajectory("AutoTS", money()).rewards.std() > 50


# Noise of one's own, as docs/tutorials/your-own-noise.md has it


@dataclass(frozen=True)
class Poisson(db.Noise):
    means: ClassVar = (0.0, 700.0)

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        left, chance, count = rng.random(), math.exp(-mean), 0
        while left >= chance and count < 10.0 * mean + 100.0:
            left -= chance
            count += 1
            chance *= mean / count
        return float(count)


@dataclass(frozen=True)
class Pareto(db.Noise):
    shape: float = 3.0
    means: ClassVar = (0.0, math.inf)

    def draw(self, mean: float, rng: np.random.Generator) -> float:
        least = mean * (self.shape - 1.0) / self.shape
        return least * (1.0 - rng.random()) ** (-1.0 / self.shape)  # type: ignore[no-any-return]


@pytest.mark.parametrize(("noise", "deviation"), [(Poisson(), math.sqrt(20)), (Pareto(), 20 / math.sqrt(3))])
def test_noise_of_ones_own_has_its_mean(noise: db.Noise, deviation: float) -> None:
    rng = np.random.default_rng(0)
    drawn = [noise.draw(20.0, rng) for _ in range(40_000)]
    assert abs(np.mean(drawn) - 20.0) < 5.5 * deviation / math.sqrt(len(drawn))  # 4e-8 if the noise were Gaussian


@pytest.mark.parametrize("mode", ["checked", "interpreted"])
@pytest.mark.parametrize("noise", [Poisson(), Pareto()])
def test_autots_wins_under_counts_and_heavy_tails(noise: db.Noise, mode: Any) -> None:
    t = np.arange(2_000)
    orders = db.Instance(np.column_stack([20 + 10 * np.sin(t / 400), 20 + 10 * np.cos(t / 400)]))
    regret: dict[str, list[float]] = {}
    for policy in (db.AutoTS(), db.RoundRobin()):
        job = Job(policy, orders, noise, np.array([len(t)]), 0, mode=mode)
        runs = [job.play(run, lambda steps: True) for run in range(5)]
        regret[type(policy).__name__] = [float(run.regret[0]) for run in runs if run is not None]
    # Each of five runs by a factor of two. Compiled and interpreted agree bit for bit.
    assert max(regret["AutoTS"]) < 0.5 * min(regret["RoundRobin"])


def test_noise_of_ones_own_says_for_which_means_it_is_defined() -> None:
    with pytest.raises(db.InputError, match=r"Poisson\(\) is defined for means from 0 to 700; got the mean -1 of"):
        db.simulate("AutoTS", [[-1.0, 3.0]], Poisson(), runs=1)
