"""A trajectory is the run that simulate plays: bit for bit, and step for step what plain Python does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import naive_studies as naive
from driftbandits import (
    Bernoulli,
    Gaussian,
    InputError,
    Noise,
    Oracle,
    Rexp3,
    SnoozeIt,
    SWUCBSharp,
    Uniform,
    instances,
    simulate,
)
from driftbandits.simulation.trajectory import trajectory

HORIZON, DRIFT = 3_000, 1 / 300
WORLD = instances.toggling(HORIZON, DRIFT, flat=250)
POLICIES: dict[str, Any] = {
    "SnoozeIt": SnoozeIt(HORIZON, DRIFT, confidence=0.1),
    "SW-UCB#": SWUCBSharp(HORIZON, DRIFT),
    "Rexp3": Rexp3(HORIZON, DRIFT),
    "Oracle": Oracle(WORLD.best_arm),
    "plain": naive.Greedy(),
}


CASES = [*((name, Bernoulli()) for name in POLICIES), ("SnoozeIt", Gaussian(0.5)), ("plain", Gaussian(0.5))]


@pytest.mark.parametrize(("name", "noise"), CASES)
def test_same_run_as_in_simulate(name: str, noise: Noise) -> None:
    policy = POLICIES[name]
    result = simulate({name: policy}, WORLD, noise, runs=2, seed=7, checkpoints=1)
    for run in range(2):
        arms, rewards = trajectory(policy, WORLD, noise, seed=7, run=run)
        # Sums in the simulator's own order, so that not a bit may differ.
        assert np.cumsum(WORLD.best_mean - WORLD.means[np.arange(HORIZON), arms])[-1] == result.regret[name][run, -1]
        assert np.cumsum(WORLD.best_mean - rewards)[-1] == result.realised[name][run, -1]
        assert np.bincount(arms, minlength=2).tolist() == result.pulls[name][run].tolist()


@pytest.mark.parametrize("name", POLICIES)
def test_same_steps_as_in_plain_python(name: str) -> None:
    arms, rewards = trajectory(POLICIES[name], WORLD, Bernoulli(), seed=7, run=1)
    assert (arms.tolist(), rewards.tolist()) == naive.play(POLICIES[name], WORLD, Bernoulli(), seed=7, run=1)


def test_more_arms_and_runs_differ() -> None:
    instance = instances.wave(500, drift=0.001, n_arms=5)
    policy = Uniform()
    first, second = trajectory(policy, instance), trajectory(policy, instance, run=1)
    assert set(first.arms.tolist()) == set(range(5))
    assert first.rewards.tolist() != second.rewards.tolist()
    assert first.arms.tolist() == naive.play(policy, instance, Gaussian(0.5), 0, 0)[0]


def test_a_plain_policy_is_left_as_it_was() -> None:
    policy = naive.Greedy()
    trajectory(policy, WORLD)
    assert policy.sums == []


def test_arms_that_do_not_exist_are_an_error() -> None:
    class Wrong(naive.Greedy):
        def select(self, state: None, rng: np.random.Generator) -> int:
            return 2

    with pytest.raises(InputError, match=r"Wrong chose arm 2 at step 1, which does not exist: arms are 0 to 1"):
        trajectory(Wrong(), WORLD)
    with pytest.raises(InputError, match="run must be a whole number"):
        trajectory(naive.Greedy(), WORLD, run=-1)
