"""Lemma 5 on the blocks of Theorem 3, where it is tight, where it is trivial, and where a cheat breaks it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import naive_studies as naive
from driftbandits import InputError, Instance, Oracle, Rexp3, RoundRobin, SnoozeIt, SWUCBSharp, instances
from driftbandits.research.studies import change_of_measure as study
from driftbandits.research.studies.change_of_measure import change_of_measure, first_share
from driftbandits.theory.lower import bernoulli_kl, block_length, block_pair

SURE = 1 - 1e-8
"""Every claim below is wrong with probability 1e-8 at most, were the seeds not fixed."""

DRIFT = 1e-4
M = block_length(DRIFT)
POLICIES: dict[str, Any] = {
    "SnoozeIt": SnoozeIt(M, DRIFT, confidence=0.1),
    "SW-UCB#": SWUCBSharp(M, DRIFT),
    "Rexp3": Rexp3(M, DRIFT),
    "plain": naive.Greedy(),
}


def above_half(arms: Any, rewards: Any) -> float:
    return float(rewards.mean() > 0.5)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("statistic", [first_share, above_half])
def test_lemma_holds_on_the_pair_of_theorem_3(name: str, statistic: Any) -> None:
    runs = 40 if name == "plain" else 400
    found = change_of_measure(POLICIES[name], *block_pair(DRIFT), statistic, runs=runs, level=SURE)
    assert not found.refuted
    assert found.left.low <= found.left.value <= found.left.high
    assert found.right.low <= found.right.value <= found.right.high
    # Pulling the arm with the bump throughout is the most that can be paid.
    nu, nu_prime = block_pair(DRIFT)
    assert found.left.high <= bernoulli_kl(nu.means, nu_prime.means).sum() * (1 + 1e-12)


@pytest.mark.parametrize("name", ["SnoozeIt", "SW-UCB#", "Rexp3"])
def test_a_policy_cannot_learn_a_block_in_time(name: str) -> None:
    """The theorem's next step: the arm played at most half the time in nu is played at most 3/4 of it in nu'."""
    found = change_of_measure(POLICIES[name], *block_pair(DRIFT), runs=400, level=SURE)
    if found.mean.value <= 0.5:
        assert found.mean_prime.low <= 0.75
    assert found.right.value < found.left.value


def test_lemma_is_tight_for_one_pull() -> None:
    nu, nu_prime = Instance([[0.3, 0.5]]), Instance([[0.6, 0.5]])
    found = change_of_measure(RoundRobin(), nu, nu_prime, lambda arms, rewards: rewards[0], runs=1500, level=SURE)
    truth = float(bernoulli_kl(0.3, 0.6))
    assert found.left.value == pytest.approx(truth, rel=1e-12)
    assert found.right.low <= truth <= found.right.high
    assert found.mean.low <= 0.3 <= found.mean.high
    assert found.mean_prime.low <= 0.6 <= found.mean_prime.high
    assert found.right.low > 0


def test_left_side_is_the_sum_over_the_arms_pulled() -> None:
    nu, nu_prime = instances.walk(60, 0.01, seed=1), instances.walk(60, 0.01, seed=2)
    found = change_of_measure(RoundRobin(), nu, nu_prime, runs=2)
    pulled = [naive.bernoulli_kl(float(nu.means[t, t % 2]), float(nu_prime.means[t, t % 2])) for t in range(60)]
    assert found.left.value == pytest.approx(math.fsum(pulled), rel=1e-12)
    assert (found.mean.value, found.mean_prime.value, found.right.value) == (0.5, 0.5, 0.0)


def test_what_the_lemma_forbids_is_noticed() -> None:
    class Cheat(naive.Greedy):
        """Knows which world it is in: it is born in nu and in nu' in turns."""

        births = 0

        def init(self, n_arms: int) -> None:
            Cheat.births += 1

        def select(self, state: None, rng: np.random.Generator) -> int:
            return Cheat.births % 2

        def update(self, state: None, arm: int, reward: float) -> None:
            pass

    nu = Instance(np.full((3, 2), 0.5))
    found = change_of_measure(Cheat(), nu, nu, runs=200, level=SURE)
    assert (found.left.value, found.right.value) == (0.0, math.inf)
    assert found.refuted


def test_worlds_that_exclude_each_other() -> None:
    nu, nu_prime = Instance([[0.5, 0.5]] * 2), Instance([[0.5, 0.0]] * 2)
    assert change_of_measure(RoundRobin(), nu, nu_prime, runs=2).left == (math.inf, math.inf, math.inf)
    stays = change_of_measure(Oracle([0, 0]), nu, nu_prime, runs=2)
    assert stays.left == (0.0, 0.0, math.inf)
    assert not stays.refuted


def test_intervals_cover_a_rare_event() -> None:
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(1000):
        found = study._bounded_mean((rng.random(200) < 0.02) * 3.0, 3.0, 0.05)
        missed += not found.low <= 0.06 <= found.high
    assert missed <= 89  # of 1000 at 5 %, more has probability below 1e-7


def test_wrong_input_is_an_error() -> None:
    pair = block_pair(1e-2)
    with pytest.raises(InputError, match=r"the statistic must lie in \[0, 1\]"):
        change_of_measure(RoundRobin(), *pair, lambda arms, rewards: 2.0, runs=2)
    with pytest.raises(InputError, match=r"the statistic must lie in \[0, 1\]"):
        change_of_measure(RoundRobin(), *pair, lambda arms, rewards: math.nan, runs=2)
    with pytest.raises(InputError, match="same horizon and arms"):
        change_of_measure(RoundRobin(), pair[0], block_pair(1e-3)[1], runs=2)
    with pytest.raises(InputError, match="runs must be a whole number, at least 2"):
        change_of_measure(RoundRobin(), *pair, runs=1)
