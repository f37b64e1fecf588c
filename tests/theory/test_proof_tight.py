"""SnoozeItTight's regret bound, step by step: each inequality holds, and fails when its constant is 10 % too good.

The proof is in docs/proofs-beyond.md. It assumes no more of the rewards than that every difference is within its
radius. So the instances here that come close to the bound have rewards without chance, biased by one radius: what the
policy sees are the means ``seen``, the true ones lie a radius further apart.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import driftbandits as db
import naive_theory as naive
from driftbandits import instances
from driftbandits.simulation.trajectory import trajectory
from driftbandits.theory import bounds

HORIZON = 162_755
ROOT = 2.5 * math.sqrt(1.5)
"""3.06: an active phase of n steps costs at most ROOT sqrt(n L), and a little."""


def per_step(horizon: int, drift: float) -> float:
    return float(2.5 * (1.5 * drift * math.log(horizon)) ** (1 / 3))


def shortest_duration(tau: Any, horizon: int, drift: float) -> Any:
    """An episode with an active phase of tau steps lasts at least so long, the rounding of its end apart."""
    return np.maximum(tau, tau / 2 + np.sqrt(6 * math.log(horizon) / tau) / (4 * drift))


def play(seen: db.Instance, drift: float, noise: db.Noise | None = None, runs: int = 1) -> db.Simulation:
    policy = db.SnoozeItTight(seen.horizon, drift)
    return db.simulate({"it": policy}, seen, noise or db.Gaussian(0.0), runs=runs, seed=3, events=True, checkpoints=1)


def biased(gap: float, horizon: int, drift: float) -> tuple[db.Simulation, float]:
    """A run on constant arms whose true gap is one radius of the longest window wider than what is seen."""
    result = play(instances.stationary(horizon, (gap, 0.0)), drift)
    longest = max(event["passed"] - event["start"] for event in result.events["it"].to_dicts()) // 2
    return result, gap + math.sqrt(3 * math.log(horizon) / longest)


# Radius.


def test_the_windows_of_a_run_are_at_most_a_quarter_of_t_squared() -> None:
    for T in (1, 2, 7, 100):
        windows = sum(1 for first in range(1, T + 1) for w in range(1, T) if first + 2 * w - 1 <= T)
        assert windows == T * T // 4
    assert windows > 0.9 * T * T / 4


@pytest.mark.parametrize("horizon", [10, 1_000, 10**6, 10**9])
def test_a_difference_leaves_its_radius_with_probability_two_over_t_cubed(horizon: int) -> None:
    """The worst noise is Gaussian with variance 1/4: D(w) - E D(w) has variance 1/(2 w), whatever w is."""
    L = math.log(horizon)
    chance = math.erfc(math.sqrt(3 * L))
    assert chance <= 2 * math.exp(-3 * L)
    if horizon >= 10**6:
        assert chance > 2 * math.exp(-3 * 1.1 * L)


# Lead.


def lead_and_what_is_left(means: np.ndarray[Any, Any], last: int) -> tuple[float, list[float]]:
    """At the table's end: arm 0's true lead, and by window D(w) for arms in turn that end with arm ``last``."""
    T = len(means)
    differences = []
    for w in range(1, T // 2 + 1):
        at = {last: np.arange(T - 1, T - 2 * w - 1, -2), 1 - last: np.arange(T - 2, T - 2 * w - 1, -2)}
        differences.append(float(means[at[0], 0].mean() - means[at[1], 1].mean()))
    return float(means[-1, 0] - means[-1, 1]), differences


@pytest.mark.parametrize("last", [0, 1])
def test_a_lead_shrinks_by_the_age_of_the_window(last: int) -> None:
    T, drift, rng = 200, 1e-3, np.random.default_rng(1)
    closing = np.column_stack([0.9 - drift * np.arange(T), 0.1 + drift * np.arange(T)])
    for means in [closing, *(0.5 + drift * np.cumsum(rng.choice([-1, 1], (T, 2)), axis=0) for _ in range(50))]:
        lead, differences = lead_and_what_is_left(means, last)
        for w, difference in enumerate(differences, start=1):
            assert lead >= difference - (2 * w - 1) * drift - 1e-12
    lead, differences = lead_and_what_is_left(closing, last)
    assert any(lead < difference - 0.9 * (2 * w - 1) * drift for w, difference in enumerate(differences, start=1))


# An active phase in which the means do not cross.


def test_arms_pulled_in_turn_hide_half_a_drift_a_step() -> None:
    """gap at the worse arm's pulls - (what pairs show) <= delta a pair: the better arm is low whenever it is pulled."""
    drift, w = 1e-3, 100
    means = np.column_stack([0.7 + drift * (np.arange(2 * w) % 2), np.full(2 * w, 0.2)])
    shown = means[0::2, 0].sum() - means[1::2, 1].sum()
    regret = naive.turns_regret(means.tolist(), 0, 2 * w, 0)
    assert regret - shown <= drift * w + 1e-9
    assert regret - shown > 0.9 * drift * w


@pytest.mark.parametrize("gap", [0.05, 0.2, 0.6])
def test_an_active_phase_costs_at_most_its_root(gap: float) -> None:
    T, drift = HORIZON, 1e-6
    result, true = biased(gap, T, drift)
    L, worst = math.log(T), 0.0
    for event in result.events["it"].to_dicts():
        tau = event["passed"] - event["start"]
        regret = true * -(-tau // 2)  # the worse arm may have been pulled first
        assert regret <= 1 + ROOT * math.sqrt((tau - 1) * L) + drift * (tau - 1) / 2
        worst = max(worst, (true * (tau // 2) - 1) / math.sqrt((tau - 1) * L))
    assert worst > 0.9 * ROOT


# How long an episode lasts.


@pytest.mark.parametrize("gap", [0.2, 0.3, 0.5, 0.9])
def test_an_episode_lasts_as_long_as_its_active_phase_allows(gap: float) -> None:
    T, drift = HORIZON, 1e-5
    result, _ = biased(gap, T, drift)
    for event in result.events["it"].to_dicts():
        if event["until"] < T:
            tau, duration = event["passed"] - event["start"], event["until"] - event["start"]
            allowed = float(shortest_duration(tau, T, drift))
            assert duration >= allowed - 0.5
            assert duration < 1.1 * allowed


@pytest.mark.parametrize(("horizon", "drift"), [(100, 0.1), (1_000, 1e-3), (HORIZON, 1 / 4_800), (10**9, 1e-8)])
def test_no_active_phase_costs_more_a_step_than_the_one_without_a_snooze(horizon: int, drift: float) -> None:
    L, top = math.log(horizon), per_step(horizon, drift)
    worst = (1.5 * L / drift**2) ** (1 / 3)
    tau = np.unique(np.concatenate([np.arange(2, 2_000), np.geomspace(2, 100 * worst, 20_000).round()]))
    # Rounding an end down costs half a step, and the last step of a phase is paid for otherwise: that makes up for it.
    duration = np.maximum(tau, shortest_duration(tau, horizon, drift) - 0.5)
    assert (ROOT * np.sqrt((tau - 1) * L) <= top * duration * (1 + 1e-12)).all()
    at = np.array([worst])
    assert ROOT * np.sqrt(at * L) > 0.9 * top * shortest_duration(at, horizon, drift)
    assert shortest_duration(tau, horizon, drift).min() >= 1.5 * (3 / 8 * L / drift**2) ** (1 / 3) * (1 - 1e-12)
    shortest = np.array([(3 / 8 * L / drift**2) ** (1 / 3)])
    assert shortest_duration(shortest, horizon, drift) < 1.1 * 1.5 * (3 / 8 * L / drift**2) ** (1 / 3)


# An active phase in which they cross.


def test_a_piece_after_a_crossing_costs_half_the_drift_times_its_square() -> None:
    for n in range(1, 60):
        gap = 2e-3 * np.arange(1, n + 1)
        regret = max(float(gap[0::2].sum()), float(gap[1::2].sum()))
        assert regret <= 1e-3 * (n + 1) ** 2 / 2 + 1e-12
    assert regret > 0.9 * 1e-3 * (n + 1) ** 2 / 2


def test_a_piece_after_a_crossing_costs_less_a_step() -> None:
    """min(delta n^2/2, ROOT sqrt(n L)) <= 1.674 (delta L)^(1/3) n, and a gap that opens at full speed comes close."""
    T, drift = HORIZON, 1e-6
    L = math.log(T)
    rate = (2 * ROOT) ** (2 / 3) / 2 * (drift * L) ** (1 / 3)
    assert rate < per_step(T, drift)
    gap = np.minimum(2 * drift * np.arange(1, T + 1), 1.0)
    result = play(db.Instance(np.column_stack([0.6 * gap, np.zeros(T)])), drift)
    tau = int(result.events["it"]["passed"][0])
    # What is hidden, 0.4 of the gap, is within the radius of every window before the test passed.
    sums = np.concatenate([[0.0], np.cumsum(0.4 * gap[:tau])])
    windows = np.arange(1, (tau - 1) // 2 + 1)
    for end in (tau - 1, tau // 2, tau // 3):
        w = windows[2 * windows <= end]
        assert (sums[end] - sums[end - 2 * w] <= 2 * np.sqrt(3 * L * w)).all()
    regret = float(gap[: tau - 1].sum()) / 2
    assert regret <= (rate + 1.5 * drift) * tau
    assert regret > 0.9 * rate * tau


@pytest.mark.parametrize("seed", range(3))
def test_every_piece_of_every_episode_keeps_its_bound(seed: int) -> None:
    """Gaussian rewards, arms that cross often: pieces of constant sign within active phases, one by one."""
    T, drift = 60_000, 2e-4
    world = instances.walk(T, drift, seed=seed) if seed else instances.toggling(T, drift, 1_000, (0.6, 0.4))
    L, gap = math.log(T), world.means[:, 0] - world.means[:, 1]
    result = play(world, drift, db.Gaussian(0.5))
    arms = trajectory(result.policies["it"], world, db.Gaussian(0.5), seed=3).arms
    lost = world.best_mean - world.means[np.arange(T), arms]
    pieces = 0
    table = result.events["it"].to_dicts() if "it" in result.events else []
    phases = [(event["start"], event["passed"]) for event in table]
    phases.append((int(min(table[-1]["until"], T)) if table else 0, T))
    for start, end in phases:
        cuts = [start, *(start + 1 + np.flatnonzero(np.diff(np.sign(gap[start:end])))), end]
        for first, last in itertools.pairwise(cuts):
            n = last - first
            assert lost[first:last].sum() <= 1 + 2 * drift + ROOT * math.sqrt(n * L) + drift * n / 2
            if len(cuts) > 2:
                assert lost[first:last].sum() <= drift * (n + 1) ** 2 / 2 + 1e-9
                pieces += 1
    assert pieces > 0


# The bound.


@pytest.mark.parametrize(("horizon", "drift"), [(HORIZON, 1 / 4_800), (10**6, 1e-5)])
def test_the_bound_cannot_be_a_tenth_smaller(horizon: int, drift: float) -> None:
    """Constant arms at the gap at which no snooze is left, seen a radius too close: 99 % of the bound."""
    bound = bounds.snoozeit_tight(horizon, drift)
    result, true = biased(0.6 * 2 * per_step(horizon, drift), horizon, drift)
    assert result.events["it"]["snoozed"].sum() == 0
    regret = true * result.pulls["it"][0, 1]
    assert 0.9 * bound.total < regret <= bound.total


@pytest.mark.parametrize("drift", [0.0, 1e-6, 1 / 48_000, 1 / 4_800, 1e-2])
def test_the_bound_holds(drift: float) -> None:
    T = 50_000
    bound = bounds.snoozeit_tight(T, drift)
    worlds = [instances.stationary(T, (0.8, 0.8 - gap)) for gap in (0.05, 0.1, 0.3, 0.7)]
    if drift:
        worlds += [instances.sinusoid(T, drift), instances.toggling(T, drift), instances.walk(T, drift)]
    for world in worlds:
        for noise in (db.Gaussian(0.0), db.Gaussian(0.5)):
            assert play(world, drift, noise, runs=2).regret["it"].max() <= bound.total


def test_where_the_paper_s_lemma_fails_the_bound_holds() -> None:
    drift, flat = 1 / 4_800, 1_000
    world = instances.toggling(HORIZON, drift, flat, (0.5 + drift * flat / 2, 0.5 - drift * flat / 2))
    assert play(world, drift, db.Gaussian(0.5)).regret["it"].max() <= bounds.snoozeit_tight(HORIZON, drift).total


def test_the_terms_and_the_edges() -> None:
    T, drift = HORIZON, 1 / 4_800
    L, bound = math.log(T), bounds.snoozeit_tight(T, drift)
    top = per_step(T, drift)
    assert bound.per_step == pytest.approx(top)
    n = np.arange(1, T + 1)
    assert bound.last_episode == pytest.approx((ROOT * np.sqrt(n * L) - top * n).max(), rel=1e-4)
    shortest = (n / 2 + np.sqrt(6 * L / n) / (4 * drift)).min()  # (c): no episode is shorter, but for half a step
    assert bound.episode_ends == pytest.approx(T / (shortest - 0.5) + 1, rel=1e-4)
    assert bound.unequal_times == pytest.approx(drift * T / 2)
    assert float(bound) == bound.total == pytest.approx(sum(bound[2:]))
    assert bound.total < 0.6 * bounds.minimax_upper(T, drift).total
    still = bounds.snoozeit_tight(T, 0.0)
    assert still.total == pytest.approx(ROOT * math.sqrt(T * L) + 1 + 0.5)
    assert bounds.snoozeit_tight(1, 0.0).total <= 2
    assert all(bounds.snoozeit_tight(T, 1.0).total >= T / 2 for T in (1, 2, 3, 10, 1_000))
