"""A budget of total variation: what a lasting gap allows, and why nothing like it holds without one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.theory import bounds
from driftbandits.theory.gaps import detectable_gap, lasting_gap

# While one arm stays the best.


def variation(means: Any) -> float:
    return float(np.abs(np.diff(means, axis=0)).max(axis=1).sum())


def test_a_lasting_gap_lasts() -> None:
    rng, lasting = np.random.default_rng(0), 0
    for _ in range(300):
        means = np.clip(
            rng.uniform(0, 1, 2) + rng.uniform(0, 0.1) * np.cumsum(rng.normal(0, 0.1, (50, 2)), axis=0), 0, 1
        )
        gap = lasting_gap(means, variation(means))
        difference = means[:, 0] - means[:, 1]
        if gap > 0:
            lasting += 1
            assert len(set(np.sign(difference))) == 1
            assert np.abs(difference).min() >= gap - 1e-12
    assert lasting > 50
    closing = np.column_stack([0.9 - 1e-3 * np.arange(200), 0.1 + 1e-3 * np.arange(200)])
    V = variation(closing)
    assert np.abs(closing[:, 0] - closing[:, 1]).min() == pytest.approx(lasting_gap(closing, V))
    assert lasting_gap(closing, 0.9 * V) > 1.01 * lasting_gap(closing, V)


@pytest.mark.parametrize("n_arms", [2, 3, 5])
def test_a_constant_best_arm_costs_log_t_over_the_gaps_and_a_tenth_less_is_wrong(n_arms: int) -> None:
    """Arms without chance, the worse ones seen one radius too close to the best."""
    T, seen = 162_755, 0.1
    world = instances.stationary(T, (seen,) + (0.0,) * (n_arms - 1))
    policy = db.SnoozeItK(T, 0.0)
    result = db.simulate({"it": policy}, world, db.Gaussian(0.0), runs=1, events=True, checkpoints=1)
    true = seen + math.sqrt(3 * math.log(T) / max(event["window"] for event in result.events["it"].to_dicts()))
    bound = bounds.constant_best_arm(T, [true] * (n_arms - 1))
    regret = true * float(result.pulls["it"][0, 1:].sum())
    assert 0.9 * bound < regret <= bound
    assert bound == pytest.approx((n_arms - 1) * (18.75 * math.log(T) / true + 2.5))


def test_means_may_move_while_one_arm_stays_the_best() -> None:
    T, steps = 50_000, np.arange(50_000)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        best = 0.8 + 0.1 * np.sign(np.sin(steps * rng.uniform(1e-4, 1e-3)))
        means = np.column_stack([best, best - 0.2 - 0.1 * rng.integers(0, 2, T // 5_000).repeat(5_000), best - 0.5])
        world = db.Instance(means)
        gaps = [float((means[:, 0] - means[:, x]).min()) for x in (1, 2)]
        bound = bounds.constant_best_arm(T, gaps, variation(means))
        result = db.simulate({"it": db.SnoozeItK(T, 0.0)}, world, runs=5, checkpoints=1)
        assert result.regret["it"].max() <= bound
        assert bound < 0.2 * T * 0.2


def test_means_that_move_with_the_turns_hide_the_best_arm() -> None:
    """Moves larger than the gap, in step with the turns: the worse arm is pulled while both are high."""
    T = 10_000
    common = np.where(np.arange(T) < 2_000, 0.5 * (np.arange(T) % 2 == 0), 0.2)
    instance = db.Instance(np.column_stack([common + 0.3, common + 0.4]))
    for policy in (db.SnoozeItTight(T, 0.0), db.SnoozeItK(T, 0.0)):
        result = db.simulate({"it": policy}, instance, runs=5, checkpoints=1)
        assert (result.pulls["it"][:, 0] > 0.9 * T).all()  # the best arm is snoozed for ever
    slower = db.Instance(np.column_stack([common / 6 + 0.3, common / 6 + 0.4]))  # by less than the gap
    result = db.simulate({"it": db.SnoozeItTight(T, 0.0)}, slower, runs=5, checkpoints=1)
    assert (result.pulls["it"][:, 1] > 0.5 * T - 1).all()


def test_what_pairs_hide_is_at_most_the_variation() -> None:
    """The better arm is low when it is pulled first, and its move falls between the two pulls of a pair."""
    means = np.column_stack([0.7 + 0.1 * (np.arange(20) % 2), np.full(20, 0.2)])
    pulled, gap = means[0::2, 0] - means[1::2, 1], means[1::2, 0] - means[1::2, 1]
    assert gap.sum() - pulled.sum() <= variation(means)
    once = np.column_stack([np.repeat([0.7, 0.8], [1, 19]), np.full(20, 0.2)])  # moves within the first pair
    hidden = float((once[1::2, 0] - once[1::2, 1]).sum() - (once[0::2, 0] - once[1::2, 1]).sum())
    assert 0.9 * variation(once) < hidden <= variation(once) + 1e-12


# Without a lasting gap.


@pytest.mark.parametrize(("horizon", "period"), [(1_000, 10), (20_000, 100), (10**6, 1_000)])
def test_a_policy_that_looks_now_and_then_pays_just_what_it_must(horizon: int, period: int) -> None:
    """It pulls the worse arm once in ``period`` steps, at a random phase, and knows at once when that arm has jumped.

    After a jump it then pays (period - 1)/2 times the gap on average, for whatever s: the bound is within 10 % of it.
    """
    gap = 0.25
    regret = gap * horizon / period
    bound = bounds.undetected_jump(horizon, gap, regret)
    pays = gap * (period - 1) / 2
    assert bound <= pays
    assert period < 100 or 1.1 * bound > pays


def test_the_formula_is_the_average_over_all_jumps() -> None:
    """Any sets of steps at which the worse arm is pulled: the average of what jumps cost is never below the bound."""
    rng, T, gap = np.random.default_rng(4), 60, 0.5
    for _ in range(200):
        pulled = rng.random(T) < rng.uniform(0, 0.5)
        waits = [next((k for k in range(T - s) if pulled[s + k]), T - s) for s in range(T)]
        assert gap * max(waits) >= bounds.undetected_jump(T, gap, gap * float(pulled.sum())) - 1e-12


@pytest.mark.parametrize("gap", [0.3, 0.5])
def test_a_jump_hides_half_of_the_detectable_gap_at_most(gap: float) -> None:
    """So Theorem 1's sum is as small with the jump as without: it can't tell what the theorem above says it must."""
    T, c0 = 5_000, 2.0
    window = c0 * math.log(T) / gap**2
    means = np.tile([0.5, 0.5 - gap], (T, 1))
    means[4 * math.ceil(window) :, 1] = 0.5 + gap
    least = detectable_gap(means, c0=c0)[math.ceil(window) :].min()
    assert gap / 2 * math.sqrt(4 * window / math.ceil(4 * window)) <= least < 1.1 * gap / 2


def test_every_policy_pays_for_a_jump_or_for_looking() -> None:
    """Both regrets, measured, with five jumps: whatever a policy pays while nothing happens, a jump costs the rest."""
    T, gap, runs = 20_000, 0.4, 5
    policies: dict[str, Any] = {
        "SnoozeItTight": db.SnoozeItTight(T, 1e-5),
        "KalmanTS": db.KalmanTS(1e-4),
        "UCB1": db.UCB1(),
        "AutoTS": db.AutoTS(),
        "SWUCBSharp": db.SWUCBSharp(T, 1e-4),
    }
    still = instances.stationary(T, (0.5, 0.5 - gap))
    regrets = db.simulate(policies, still, runs=runs, checkpoints=1).regret
    before = {name: float(regrets[name].mean()) for name in policies}
    worst = dict.fromkeys(policies, 0.0)
    for s in range(T // 10, T, T // 5):
        means = np.tile([0.5, 0.5 - gap], (T, 1))
        means[s:, 1] = 0.5 + gap
        after = db.simulate(policies, db.Instance(means), runs=runs, checkpoints=1).regret
        worst = {name: max(worst[name], float(after[name].mean())) for name in policies}
    for name in policies:
        assert worst[name] >= bounds.undetected_jump(T, gap, before[name])


def test_wrong_input_is_named() -> None:
    calls: list[tuple[Callable[[], float], str]] = [
        (lambda: bounds.constant_best_arm(100, []), "gaps must hold"),
        (lambda: bounds.constant_best_arm(100, [0.0]), "gap must lie in"),
        (lambda: bounds.constant_best_arm(100, [0.1], -1.0), "variation must lie in"),
        (lambda: bounds.undetected_jump(100, 0.6, 1.0), "gap must lie in"),
        (lambda: bounds.undetected_jump(100, 0.5, 51.0), "regret must lie in"),
        (lambda: lasting_gap([[0.1, 0.2, 0.3]], 0.1), "2 arms; these means have 3"),
        (lambda: lasting_gap([[0.1, 0.2]], -0.1), "budget must lie in"),
        (lambda: bounds.snoozeit_k(100, 0.1, 1).total, "n_arms must be"),
    ]
    for call, words in calls:
        with pytest.raises(InputError, match=words):
            call()


def test_a_constant_best_arm_term_by_term() -> None:
    """Two arms' terms against their formula, so that none can shrink alone: the variation counts once for each."""
    a, gaps, variation = 2.5 * math.sqrt(3 * math.log(100_000)), (0.5, 0.1), 0.4
    roots = [(a + math.sqrt(a * a + 4 * variation * gap)) / (2 * gap) for gap in gaps]
    expected = sum(a * root + variation + 2.5 for root in roots)
    assert bounds.constant_best_arm(100_000, gaps, variation) == pytest.approx(expected, rel=1e-12)
