"""Theorem 3 for every drift limit, and a budget's bounds: in order, monotone, and below what simple policies pay."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.theory import bounds
from driftbandits.theory.lower import bernoulli_kl, block_length, bump_regret, hidden_arm

horizons = st.integers(1, 10**7)
drifts = st.one_of(st.floats(0, 1), st.floats(-9, 0).map(lambda power: 10.0**power))


# Theorem 3


@settings(deadline=None, derandomize=True, max_examples=300)
@given(horizons, drifts, drifts)
def test_the_lower_bound_never_falls_as_the_drift_grows(horizon: int, one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    assert bounds.minimax_lower(horizon, slow).total <= bounds.minimax_lower(horizon, fast).total * (1 + 1e-12)
    assert bounds.minimax_lower(horizon, slow).bumps <= bounds.minimax_lower(horizon, fast).bumps * (1 + 1e-12)


def test_blocks_of_one_length_would_let_it_fall() -> None:
    """floor(T/m) blocks of m steps: a shorter m that leaves steps over costs less."""
    for horizon, slow, fast in ((47, 0.0022, 0.0040), (273, 0.0036, 0.0044)):
        plain = [horizon // m * bump_regret(m) for m in (max(24, block_length(slow)), max(24, block_length(fast)))]
        assert plain[0] > plain[1]
        assert bounds.minimax_lower(horizon, slow).bumps <= bounds.minimax_lower(horizon, fast).bumps


@settings(deadline=None, derandomize=True, max_examples=300)
@given(horizons, drifts)
def test_the_lower_bound_lies_between_its_rate_and_what_guessing_costs(horizon: int, drift: float) -> None:
    """A guess at each step costs T/2 at most, and delta = 1 makes every policy pay that."""
    bound = bounds.minimax_lower(horizon, drift)
    assert max(math.sqrt(horizon) / 14, horizon * drift ** (1 / 3) / 130) <= bound.total * (1 + 1e-12)
    assert bound.total <= min(horizon / 2, bounds.minimax_upper(horizon, drift).total)
    assert bound.total <= bounds.minimax_lower(horizon + 1, drift).total * (1 + 1e-12)
    if bound.blocks:
        assert 24 <= bound.block_length == horizon / bound.blocks
        assert 1 / (2 * math.floor(bound.block_length) ** 1.5) <= drift * (1 + 1e-12)
    assert bounds.minimax_lower(horizon, 1.0).total == horizon / 2


def test_24_steps_make_the_best_block() -> None:
    rates = [bump_regret(m) / m for m in range(8, 200)]
    assert int(np.argmax(rates)) + 8 == 24
    assert sorted(rates[16:], reverse=True) == rates[16:]
    changes = np.diff([bump_regret(m) for m in range(8, 200)])
    assert (changes > 0).all()
    assert (np.diff(changes) < 0).all()  # concave: blocks of nearly equal length cost most


@cache
def best_regret(steps: int, gap: float) -> float:
    """The least that any policy pays when a fair coin gave one of two arms 1/2 + gap: by dynamic programming.

    What was seen matters only through how much more often arm 0 won than arm 1 (ups), and lost (downs).
    """
    up, down = math.log(1 + 2 * gap), math.log(1 - 2 * gap)
    width = 2 * steps + 3
    places = np.arange(width) - steps - 1
    first = 1 / (1 + np.exp(-(places[:, None] * up + places[None, :] * down)))  # P(arm 0 is the better one)
    cost = np.zeros((width, width))
    for _ in range(steps):
        after = []
        for sign, chance in ((1, first), (-1, 1 - first)):
            won, lost = np.roll(cost, -sign, axis=0), np.roll(cost, -sign, axis=1)
            mean = 0.5 + gap * chance
            after.append(gap * (1 - chance) + mean * won + (1 - mean) * lost)
        cost = np.minimum(*after)
    return float(cost[steps + 1, steps + 1])


@pytest.mark.parametrize("steps", [1, 2, 5, 20, 60, 150])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (2.0, False)])
def test_a_hidden_arm_costs_the_best_policy_so_much(steps: int, factor: float, holds: bool) -> None:
    """Exactly what the best policy pays lies between the bound and twice the bound."""
    hidden = hidden_arm(steps)
    assert hidden.gap == pytest.approx(1 / math.sqrt(8 * steps))
    least = best_regret(steps, hidden.gap)
    assert (least >= factor * hidden.regret) == (holds or steps == 1)


def test_dynamic_programming_agrees_with_one_and_two_steps() -> None:
    """One step is a guess. A second one follows what the first has shown."""
    gap = 0.3
    assert best_regret(1, gap) == pytest.approx(gap / 2)
    right = 0.5 * (0.5 + gap) + 0.5 * 0.5  # stay after a win, change after a loss: P(the second pull is right)
    assert best_regret(2, gap) == pytest.approx(gap / 2 + gap * (1 - right))


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.02, False)])
def test_a_hidden_arm_costs_a_fourteenth_of_the_root(factor: float, holds: bool) -> None:
    assert all(hidden_arm(m).regret >= factor * math.sqrt(m) / 14 for m in (1, 2, 3, 10, 10**6)) == holds
    assert hidden_arm(10**8).regret == pytest.approx(math.sqrt(10**8) / math.sqrt(128), rel=1e-6)


@pytest.mark.parametrize("drift", [1e-160, 1e-200, 5e-324])
def test_a_drift_whose_square_is_0_is_a_drift(drift: float) -> None:
    """These were errors of division or overflow."""
    T = 1_000
    assert bounds.minimax_upper(T, drift).total == pytest.approx(bounds.minimax_upper(T, 0.0).total)
    assert bounds.minimax_lower(T, drift).total == bounds.minimax_lower(T, 0.0).total
    assert bounds.snoozeit_tight(T, drift).total == pytest.approx(bounds.snoozeit_tight(T, 0.0).total)
    assert bounds.snoozeit_k(T, drift, 3).total == pytest.approx(bounds.snoozeit_k(T, 0.0, 3).total)
    assert bounds.instance_dependent([[0.2, 0.3]] * T, drift).total == pytest.approx(
        bounds.instance_dependent([[0.2, 0.3]] * T, 0.0).total
    )


# A budget of total variation


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.integers(1, 10**5), st.floats(0, 1), st.floats(0, 1), st.integers(2, 12))
def test_the_bounds_of_a_budget_are_in_order(horizon: int, one: float, other: float, n_arms: int) -> None:
    less, more = sorted((one**3 * horizon, other**3 * horizon))
    lower = bounds.budget_lower(horizon, less, n_arms)
    assert lower <= bounds.budget_lower(horizon, more, n_arms) * (1 + 1e-12)
    assert lower <= (1 - 1 / n_arms) * horizon
    assert lower <= bounds.budget_upper(horizon, less, n_arms)


@pytest.mark.parametrize("n_arms", [2, 3, 10])
def test_a_larger_budget_never_costs_less(n_arms: int) -> None:
    """Also where blocks would be so short that their bound says less per step."""
    found = [bounds.budget_lower(1_000, budget, n_arms) for budget in np.geomspace(1e-3, 2_000, 200)]
    assert found == sorted(found)


def test_a_drift_limit_is_a_budget() -> None:
    """Its instances are among the budget's: Theorem 3 is below the budget's upper bound, as is all it shares."""
    for horizon in (30, 1_000, 162_755, 10**7):
        for drift in np.geomspace(1e-8, 1, 30):
            assert bounds.minimax_lower(horizon, drift).total <= bounds.budget_upper(horizon, drift * horizon)
            assert bounds.minimax_lower(horizon, drift).total <= bounds.budget_lower(horizon, drift * horizon)


def test_the_budget_s_instances_keep_to_it() -> None:
    """The largest number of blocks, drawn again: total variation within the budget, and one block more is not."""
    T, budget = 5_000, 3.0
    counts = range(1, 400)
    fits = [n for n in counts if (n - 1) * hidden_arm(T // n).gap <= budget]
    n = max(fits)
    assert fits == list(range(1, n + 1))
    steps, longer = divmod(T, n)
    expected = (n - longer) * hidden_arm(steps).regret + longer * hidden_arm(steps + 1).regret
    assert bounds.budget_lower(T, budget) == pytest.approx(expected)
    means = np.full((T, 2), 0.5)
    rng = np.random.default_rng(0)
    for block in np.array_split(np.arange(T), n):
        means[block, rng.integers(2)] += hidden_arm(len(block)).gap
    assert np.abs(np.diff(means, axis=0)).max(axis=1).sum() <= budget


def test_orders_of_the_budget_s_bounds() -> None:
    """4.62 (K ln K V)^(1/3) T^(2/3) above, and for two arms V^(1/3) T^(2/3)/8 below."""
    T, V = 10**7, 1e3
    for K in (2, 5):
        order = (K * math.log(K) * V) ** (1 / 3) * T ** (2 / 3)
        assert bounds.budget_upper(T, V, K) == pytest.approx(4.62 * order, rel=2e-3)
    assert bounds.budget_lower(T, V) == pytest.approx(V ** (1 / 3) * T ** (2 / 3) / 8, rel=0.01)
    assert 2 * math.sqrt(math.e - 1) + 2 == pytest.approx(4.62, abs=2e-3)


@pytest.mark.parametrize(("most", "holds"), [(2.0, True), (0.45, False)])
def test_a_batch_s_best_arm_loses_at_most_twice_its_variation_per_step(most: float, holds: bool) -> None:
    """Some fixed arm loses 2 V per step of a batch or less. Arms that change places in the middle lose V/2."""
    rng, kept = np.random.default_rng(3), []
    for number in range(300):
        steps, K = int(rng.integers(2, 40)), int(rng.integers(2, 6))
        means = np.clip(0.5 + np.cumsum(rng.normal(0, 0.05, (steps, K)), axis=0), 0, 1)
        if number == 0:
            means = np.repeat([[0.6, 0.4], [0.4, 0.6]], 10, axis=0)
        variation = np.abs(np.diff(means, axis=0)).max(axis=1).sum()
        lost = means.max(axis=1).sum() - means.sum(axis=0).max()
        kept.append(lost <= most * variation * len(means) + 1e-12)
    assert all(kept) == holds


def test_rexp3_stays_below_its_bound() -> None:
    T, drift = 20_000, 1e-3
    instance = db.instances.sinusoid(T, drift)
    result = db.simulate({"it": db.Rexp3(T, drift)}, instance, db.Bernoulli(), runs=5, checkpoints=1)
    assert result.regret["it"].max() < bounds.budget_upper(T, drift * T)
    batch, gamma = db.Rexp3(T, drift).parameters(2).values()
    spread = 2 * math.log(2)
    stated = (math.e - 1) * gamma * T + math.ceil(T / batch) * spread / gamma + 2 * drift * T * batch
    assert bounds.budget_upper(T, drift * T) == pytest.approx(stated)


def test_the_gap_of_a_hidden_arm_is_the_best_of_its_bound() -> None:
    """gap m (1 - 1/K - sqrt(m kl/(2 K))), by Pinsker, is largest near gap = (1 - 1/K)/2 sqrt(K/m)."""
    for K, m in ((2, 1_000), (5, 4_000)):
        gaps = np.linspace(1e-4, 0.2, 2_000)
        costs = gaps * m * (1 - 1 / K - np.sqrt(m * bernoulli_kl(0.5, 0.5 + gaps) / (2 * K)))
        assert gaps[costs.argmax()] == pytest.approx(hidden_arm(m, K).gap, rel=0.01)
        assert costs.max() == pytest.approx(hidden_arm(m, K).regret, rel=1e-3)


def test_larger_gaps_cost_more_per_step_up_to_three_eighths() -> None:
    gaps = np.linspace(1e-3, 0.49, 2_000)
    rates = gaps - np.sqrt(bernoulli_kl(0.5, 0.5 + gaps) / 8)
    assert 0.375 < gaps[rates.argmax()] < 0.39
    assert (np.diff(rates[: rates.argmax()]) > 0).all()
    for K, m in ((2, 40), (7, 500)):
        gap, regret = hidden_arm(m, K)
        assert regret / m == pytest.approx((1 - 1 / K) * (gap - math.sqrt(float(bernoulli_kl(0.5, 0.5 + gap)) / 8)))
