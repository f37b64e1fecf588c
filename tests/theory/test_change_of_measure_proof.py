"""Lemma 9 (change of measure), exactly: all histories of short runs are written out, so that every step can fail.

Rewards are Bernoulli. A policy is any map from histories to the law of the next arm; most here are random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from driftbandits._common.arrays import Array
from driftbandits.theory.lower import bernoulli_kl


class Runs(NamedTuple):
    """Every history of a random policy, and its probability under both instances."""

    law: Array
    law_prime: Array
    left: float
    """The left side of the lemma: divergences weighed by the expected pulls in nu."""
    swapped: float
    """The same with nu and nu' exchanged in the divergences."""
    pulls_prime: float
    """The same with the expected pulls in nu'."""


History = tuple[tuple[int, int], ...]


def histories(steps: int, n_arms: int) -> list[History]:
    """Every history of so many steps: an arm and a reward for each."""
    return list(itertools.product(itertools.product(range(n_arms), (0, 1)), repeat=steps))


def at_random(rng: np.random.Generator, steps: int, n_arms: int) -> Callable[[History], Array]:
    law = {each: rng.dirichlet(np.ones(n_arms)) for length in range(steps) for each in histories(length, n_arms)}
    return law.__getitem__


def all_runs(nu: Array, nu_prime: Array, choose: Callable[[History], Array]) -> Runs:
    steps, K = nu.shape
    laws: list[tuple[float, float]] = []
    pulls, pulls_prime = np.zeros((steps, K)), np.zeros((steps, K))
    for history in histories(steps, K):
        both = [1.0, 1.0]
        for t, (arm, reward) in enumerate(history):
            for which, means in enumerate((nu, nu_prime)):
                chance = means[t, arm] if reward else 1 - means[t, arm]
                both[which] *= choose(history[:t])[arm] * chance
        laws.append((both[0], both[1]))
        for t, (arm, _) in enumerate(history):
            pulls[t, arm] += both[0]
            pulls_prime[t, arm] += both[1]
    law, law_prime = np.array(laws).T
    divergence = bernoulli_kl(nu, nu_prime)
    swapped = float((bernoulli_kl(nu_prime, nu) * pulls).sum())
    return Runs(law, law_prime, float((divergence * pulls).sum()), swapped, float((divergence * pulls_prime).sum()))


def made(seed: int) -> Runs:
    rng = np.random.default_rng(seed)
    steps, K = [(4, 2), (3, 3), (2, 4)][seed % 3]
    nu = rng.uniform(0.05, 0.95, (steps, K))
    nu_prime = np.clip(nu + rng.choice([0.0, 0.05, 0.4]) * rng.normal(size=nu.shape), 0.05, 0.95)
    return all_runs(nu, nu_prime, at_random(rng, steps, K))


@pytest.fixture(scope="module")
def runs() -> list[Runs]:
    return [made(seed) for seed in range(60)]


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.1, False), (0.9, False)])
def test_the_chain_rule_is_an_equation(runs: list[Runs], factor: float, holds: bool) -> None:
    kept = []
    for each in runs:
        assert each.law.sum() == pytest.approx(1)
        assert each.law_prime.sum() == pytest.approx(1)
        divergence = float((each.law * np.log(each.law / each.law_prime)).sum())
        kept.append(divergence == pytest.approx(factor * each.left, rel=1e-9, abs=1e-12))
    assert all(kept) == holds


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.1, False)])
def test_the_change_of_measure_holds_for_any_statistic(runs: list[Runs], factor: float, holds: bool) -> None:
    """Events, shares of pulls, random numbers in [0, 1]. Where one step tells all, it is an equation."""
    rng, kept = np.random.default_rng(1), []
    for each in runs:
        for Z in (rng.random(each.law.shape), rng.random(each.law.shape) < 0.3, each.law > each.law_prime):
            right = float(bernoulli_kl(np.clip((each.law * Z).sum(), 0, 1), np.clip((each.law_prime * Z).sum(), 0, 1)))
            kept.append(factor * right <= each.left + 1e-12)
    nu, nu_prime = np.full((3, 2), 0.5), np.full((3, 2), 0.5)
    nu_prime[1] = 0.8  # the second step's reward is all there is to know
    one = all_runs(nu, nu_prime, at_random(rng, 3, 2))
    second = np.array([history[1][1] for history in histories(3, 2)])
    right = float(bernoulli_kl((one.law * second).sum(), (one.law_prime * second).sum()))
    assert right == pytest.approx(one.left)
    kept.append(factor * right <= one.left + 1e-12)
    assert all(kept) == holds


def test_divergences_from_nu_prime_to_nu_are_wrong() -> None:
    one = all_runs(np.array([[0.5]]), np.array([[0.99]]), lambda history: np.ones(1))
    assert one.swapped < 0.5 * float(bernoulli_kl(0.5, 0.99)) < one.left


def test_pulls_in_nu_prime_are_wrong() -> None:
    """A reward of 0 is likely in nu, and leads to the arm that tells more; in nu' that arm is hardly ever pulled."""
    nu, nu_prime = np.array([[0.5, 0.5], [0.02, 0.5]]), np.array([[0.99, 0.99], [0.98, 0.5]])
    one = all_runs(nu, nu_prime, lambda history: np.eye(2)[history[0][1]] if history else np.array([0.5, 0.5]))
    lost_twice = np.array([first[1] == second[1] == 0 for first, second in histories(2, 2)])
    right = float(bernoulli_kl((one.law * lost_twice).sum(), (one.law_prime * lost_twice).sum()))
    assert one.pulls_prime < right <= one.left


def test_a_statistic_becomes_an_event(runs: list[Runs]) -> None:
    """A uniform U below Z: an event of probability E Z, which the run and U decide; it adds no divergence."""
    one = max(runs, key=lambda each: each.left)
    Z = np.random.default_rng(2).random((len(one.law),))
    joint = np.concatenate([one.law * Z, one.law * (1 - Z)])
    joint_prime = np.concatenate([one.law_prime * Z, one.law_prime * (1 - Z)])
    assert (joint * np.log(joint / joint_prime)).sum() == pytest.approx(one.left)
    assert joint[: len(Z)].sum() == pytest.approx((one.law * Z).sum())


def test_kl_is_what_is_left_of_two_events(runs: list[Runs]) -> None:
    """Data processing is the log-sum inequality: the right side is the divergence of what Z merges."""
    one = max(runs, key=lambda each: each.left)
    Z = one.law > one.law_prime
    merged = [(one.law[Z].sum(), one.law_prime[Z].sum()), (one.law[~Z].sum(), one.law_prime[~Z].sum())]
    right = sum(p * math.log(p / q) for p, q in merged)
    assert right == pytest.approx(float(bernoulli_kl(merged[0][0], merged[0][1])))
    assert right < one.left
