"""DS-TS, RAW-UCB and SW-LB-SDA: against plain twins on whole trajectories, published tunings, and known behaviour."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_classic import DISCOUNTS, SIGMAS, WINDOWS, follow, trajectories

import driftbandits as db
import naive_published as naive
from driftbandits.testing import check_policy


def SFC(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


@trajectories(discount=DISCOUNTS, cap=st.sampled_from([0.05, 0.2, 5.0]))
def test_dsts(discount: float, cap: float, n_arms: int, **instance: Any) -> None:
    follow(db.DSTS(discount=discount, cap=cap), naive.NaiveDSTS(n_arms, discount, cap), n_arms=n_arms, **instance)


@trajectories(alpha=st.sampled_from([0.1, 1.4, 4.0]), sigma=SIGMAS)
def test_rawucb(alpha: float, sigma: float, n_arms: int, **instance: Any) -> None:
    follow(db.RAWUCB(alpha, sigma), naive.NaiveRAWUCB(n_arms, alpha, sigma), n_arms=n_arms, **instance)


@trajectories(window=WINDOWS.map(lambda window: max(window, 2)))
def test_swlbsda(window: int, n_arms: int, **instance: Any) -> None:
    follow(db.SWLBSDA(window=window), naive.NaiveSWLBSDA(n_arms, window), n_arms=n_arms, **instance)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 2**32), n_arms=st.integers(2, 5), window=st.integers(3, 40), block=st.sampled_from([5, 20, 60])
)
def test_swlbsda_where_the_best_arm_changes(seed: int, n_arms: int, window: int, block: int) -> None:
    """Each block of steps has another best arm, so leaders fall behind, are overtaken, and wait for their turn."""
    rng, play, twin = SFC(seed), db.Online(db.SWLBSDA(window=window), n_arms, seed), naive.NaiveSWLBSDA(n_arms, window)
    own = SFC(seed)
    twin.generator.seed(own)
    for step in range(300):
        arm = play.select()
        assert arm == twin.select(own)
        best = int(np.random.default_rng([seed, step // block]).integers(n_arms))
        reward = float(rng.random() < (0.95 if arm == best else 0.3 - 0.05 * arm))
        play.update(arm, reward)
        twin.update(arm, reward)
