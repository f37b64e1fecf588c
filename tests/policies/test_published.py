"""Policies as published: against plain twins on whole trajectories, their tunings, and known behaviour."""

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


def stream(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


@trajectories(discount=DISCOUNTS, cap=st.sampled_from([0.05, 0.2, 5.0]))
def test_dsts(discount: float, cap: float, n_arms: int, **instance: Any) -> None:
    follow(db.DSTS(discount=discount, cap=cap), naive.NaiveDSTS(n_arms, discount, cap), n_arms=n_arms, **instance)


@trajectories(
    memory=st.sampled_from([0.0, 0.3, 0.9, 0.999, 1.0]),
    sigma=SIGMAS,
    centre=st.sampled_from([0.5, -1.0]),
    spread=st.sampled_from([0.25, 2.0]),
)
def test_predictive_sampling(n_arms: int, kind: str, seed: int, steps: int, **process: float) -> None:
    twin = naive.NaivePredictiveSampling(n_arms, **process)
    follow(db.PredictiveSampling(**process), twin, kind, seed, min(steps, 50), n_arms)


@pytest.mark.parametrize("memory", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("sigma", [0.1, 1.0])
def test_predictive_sampling_draws_what_later_rewards_could_tell(memory: float, sigma: float) -> None:
    """The variance of a draw, read from the policy's own x, against the definition with 100 later steps."""
    policy = db.PredictiveSampling(memory=memory, sigma=sigma, spread=0.7)
    twin, future = naive.NaivePredictiveSampling(2, memory, sigma, 0.5, 0.7), policy.parameters(2)["future"]
    for variance in (0.49, 0.1, 0.01):
        drawn = memory**2 * variance**2 / (memory**2 * variance + future)
        assert drawn == pytest.approx(twin.told_by(variance, 100), rel=1e-6)
        assert drawn == pytest.approx(twin.told(variance), rel=1e-12)


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
    play, twin = db.Online(db.SWLBSDA(window=window), n_arms, seed), naive.NaiveSWLBSDA(n_arms, window)
    rng, own = stream(seed), stream(seed)
    twin.generator.seed(own)
    for step in range(300):
        arm = play.select()
        assert arm == twin.select(own)
        best = int(np.random.default_rng([seed, step // block]).integers(n_arms))
        reward = float(rng.random() < (0.95 if arm == best else 0.3 - 0.05 * arm))
        play.update(arm, reward)
        twin.update(arm, reward)


@pytest.mark.parametrize("seed", range(3))
def test_swlbsda_gives_a_lost_arm_another_chance(seed: int) -> None:
    """Arm 0 leads for long, then arm 1 beats it round after round; arm 2, always bad, is pulled by the third rule."""
    play, twin, own = db.Online(db.SWLBSDA(window=150), 3, seed), naive.NaiveSWLBSDA(3, 150), stream(seed)
    twin.generator.seed(own)
    rng = np.random.default_rng(seed)
    for step in range(420):
        arm = play.select()
        assert arm == twin.select(own)
        means = (0.8, 0.02, 0.02) if step < 250 else (0.5, 0.99, 0.02)
        reward = float(rng.random() < means[arm])
        play.update(arm, reward)
        twin.update(arm, reward)


def test_published_tunings() -> None:
    """Computed by hand from the authors' formulas."""
    assert db.DSTS(162_755).parameters(2) == {"discount": pytest.approx(1 - 10 / 403.429), "cap": 0.2}
    assert db.DSTS(162_755, changes=5).parameters(2)["discount"] == pytest.approx(1 - math.sqrt(5 / 162_755))
    assert db.DSTS(50).parameters(2)["discount"] == 1e-9
    assert db.RAWUCB(alpha=4, sigma=1).parameters(2)["width"] == pytest.approx(math.sqrt(8))
    chosen = db.SWLBSDA(20_000, changes=7).parameters(10)
    assert chosen["window"] == int(2 * math.sqrt(20_000 * math.log(20_000) / 7)) == 336
    assert chosen["fewest"] == pytest.approx(math.log(336) ** 0.333)
    assert chosen["patience"] == int(9 * math.log(336) ** 2) == 304
    besson = db.MUCB(100_000, changes=5, tuning="besson").parameters(2)["exploration"]
    assert besson == pytest.approx(math.sqrt(5 * 2 * math.log(100_000) / 100_000))
    assert db.SWLBSDA(drift=1 / 4_800).parameters(2)["window"] == 285
    walk = db.KalmanTS(drift=1e-3).parameters(2)["walk"]
    assert db.PredictiveSampling(drift=1e-3).parameters(2)["memory"] == pytest.approx(1 / math.sqrt(1 + 16 * walk))
    assert db.PredictiveSampling(drift=0.0).parameters(2) == {"memory": 1.0, "walk": 0.0, "future": 0.0}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("DSTS", {}, "needs horizon to choose its discount, or discount"),
        ("DSTS", {"horizon": 100, "changes": 0}, "changes must be a whole number"),
        ("DSTS", {"discount": 0.0}, "discount must lie in"),
        ("DSTS", {"horizon": 100, "cap": 0.0}, "cap must lie in"),
        ("MUCB", {"horizon": 100, "tuning": "best"}, "unknown tuning 'best'; choose one of authors, besson"),
        ("PredictiveSampling", {}, "needs drift to choose its memory, or memory"),
        ("PredictiveSampling", {"drift": -2.0}, "drift must lie in"),
        ("PredictiveSampling", {"memory": 1.01}, "memory must lie in"),
        ("PredictiveSampling", {"memory": 0.5, "spread": 0.0}, "spread must lie in"),
        ("PredictiveSampling", {"memory": 0.5, "centre": math.inf}, "centre must lie in"),
        ("RAWUCB", {"alpha": -1.0}, "alpha must lie in"),
        ("RAWUCB", {"sigma": math.nan}, "sigma must lie in"),
        ("SWLBSDA", {}, "needs drift to choose its window, or window"),
        ("SWLBSDA", {"drift": 0.0}, "window is undefined for drift=0.*give window"),
        ("SWLBSDA", {"changes": 5}, "needs horizon beside changes"),
        ("SWLBSDA", {"horizon": 100, "changes": 5, "drift": 0.1}, "changes .abrupt. or drift .slow., not both"),
        ("SWLBSDA", {"window": 1}, "window must be a whole number"),
    ],
)
def test_wrong_parameters(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.POLICIES[name](**options)


def test_raw_ucb_leaves_an_arm_that_rots_sooner_than_ucb1() -> None:
    """Arm 0 falls from 0.9 to 0.1 half way. RAW-UCB's short windows see it at once, UCB1's mean does not."""
    means = np.repeat([[0.9, 0.5], [0.1, 0.5]], 10_000, axis=0)
    instance = db.Instance(means)
    result = db.simulate({"RAW": db.RAWUCB(), "UCB1": db.UCB1()}, instance, runs=10, seed=1, progress=False)
    assert result.regret["RAW"][:, -1].max() < 0.3 * result.regret["UCB1"][:, -1].min()
