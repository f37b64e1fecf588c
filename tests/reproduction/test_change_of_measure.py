"""Lemma 9 on the blocks of Theorem 3, where it is tight, where it is trivial, and where a cheat breaks it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import naive_studies as naive
from driftbandits import Instance, Oracle, Rexp3, RoundRobin, SnoozeIt, SWUCBSharp, instances
from driftbandits.theory import lower
from reproduction.studies import change_of_measure as study
from reproduction.studies.change_of_measure import bernoulli_kl, block_pair, bounded_mean, first_share, measure

SURE = 1 - 1e-8
"""Every claim below is wrong with probability 1e-8 at most, were the seeds not fixed."""

DRIFT = 1e-4
M = lower.block_length(DRIFT)
POLICIES: dict[str, Any] = {
    "SnoozeIt": SnoozeIt(M, DRIFT, confidence=0.1),
    "SW-UCB#": SWUCBSharp(M, DRIFT),
    "Rexp3": Rexp3(M, DRIFT),
    "plain": naive.Greedy(),
}


def change_of_measure(
    policy: Any, nu: Instance, nu_prime: Instance, z: Any = first_share, *, runs: int, level: float = 0.95
) -> study.Measured:
    return measure("it", "there", policy, nu, nu_prime, z, runs, 0, level)


def above_half(arms: Any, rewards: Any) -> float:
    return float(rewards.mean() > 0.5)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("statistic", [first_share, above_half])
def test_lemma_holds_on_the_pair_of_theorem_3(name: str, statistic: Any) -> None:
    runs = 40 if name == "plain" else 400
    found = change_of_measure(POLICIES[name], *block_pair(DRIFT), statistic, runs=runs, level=SURE)
    assert not found.refuted
    assert found.paid.low <= found.paid.value <= found.paid.high
    assert found.told_apart.low <= found.told_apart.value <= found.told_apart.high
    # Pulling the arm with the bump throughout is the most that can be paid.
    nu, nu_prime = block_pair(DRIFT)
    assert found.paid.high <= bernoulli_kl(nu.means, nu_prime.means).sum() * (1 + 1e-12)


@pytest.mark.parametrize("name", ["SnoozeIt", "SW-UCB#", "Rexp3"])
def test_a_policy_cannot_learn_a_block_in_time(name: str) -> None:
    """The theorem's next step: the arm played at most half the time in nu is played at most 3/4 of it in nu'."""
    found = change_of_measure(POLICIES[name], *block_pair(DRIFT), runs=400, level=SURE)
    assert found.told_apart.value < found.paid.value


def test_lemma_is_tight_for_one_pull() -> None:
    nu, nu_prime = Instance([[0.3, 0.5]]), Instance([[0.6, 0.5]])
    found = change_of_measure(RoundRobin(), nu, nu_prime, lambda arms, rewards: rewards[0], runs=1500, level=SURE)
    truth = float(bernoulli_kl(0.3, 0.6))
    assert found.paid.value == pytest.approx(truth, rel=1e-12)
    assert found.told_apart.low <= truth <= found.told_apart.high
    assert found.could_fail


def test_left_side_is_the_sum_over_the_arms_pulled() -> None:
    nu, nu_prime = instances.walk(60, 0.01, seed=1), instances.walk(60, 0.01, seed=2)
    found = change_of_measure(RoundRobin(), nu, nu_prime, runs=2)
    pulled = [naive.bernoulli_kl(float(nu.means[t, t % 2]), float(nu_prime.means[t, t % 2])) for t in range(60)]
    assert found.paid.value == pytest.approx(math.fsum(pulled), rel=1e-12)
    assert found.told_apart.value == 0.0


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
    assert (found.paid.value, found.told_apart.value) == (0.0, math.inf)
    assert found.refuted


def test_intervals_cover_a_rare_event() -> None:
    rng = np.random.default_rng(5)
    missed = 0
    for _ in range(1000):
        found = bounded_mean((rng.random(200) < 0.02) * 3.0, 3.0, 0.05)
        missed += not found.low <= 0.06 <= found.high
    assert missed <= 89  # of 1000 at 5 %, more has probability below 1e-7


def test_the_pair_is_that_of_the_library() -> None:
    for mine, theirs in zip(block_pair(DRIFT), lower.block_pair(DRIFT), strict=True):
        assert np.array_equal(mine.means, theirs.means)
    grid = np.linspace(0.01, 0.99, 40)
    assert bernoulli_kl(grid[:, None], grid) == pytest.approx(
        lower.bernoulli_kl(grid[:, None], grid), rel=1e-9, abs=1e-15
    )


def test_a_left_side_that_is_too_small_would_be_seen() -> None:
    """The row with one pull can fail: with half of the information it does."""
    nu, nu_prime = Instance([[0.3, 0.5]]), Instance([[0.6, 0.5]])
    found = change_of_measure(Oracle([0]), nu, nu_prime, study.mean_reward, runs=500)
    assert found.could_fail
    assert found.told_apart.low > 0.1 * float(bernoulli_kl(0.3, 0.6))
    assert not found.refuted
    assert study.Measured("", "", db_half(found.paid), found.told_apart).refuted


def db_half(paid: Any) -> Any:
    return type(paid)(paid.value / 20, paid.low / 20, paid.high / 20)
