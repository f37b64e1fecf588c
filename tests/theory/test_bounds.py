"""The paper's bounds: against plain twins, against each other, and against simulated runs of SnoozeIt."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import driftbandits as db
import naive_theory as naive
from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.theory import bounds
from driftbandits.theory.lower import block_length, bump_regret

HORIZON = 162_755


def snoozeit(horizon: int, drift: float, variant: str) -> db.SnoozeIt:
    with warnings.catch_warnings():  # SnoozeIt warns where it cannot snooze; here that is the point
        warnings.simplefilter("ignore")
        return db.SnoozeIt(horizon, drift, variant=variant)


def episodes(result: db.Simulation, name: str, run: int) -> list[dict[str, Any]]:
    """Start, end, active length, first arm and regret of every episode of a run, read off its events."""
    T, means = result.instance.horizon, result.instance.means.tolist()
    found: list[dict[str, Any]] = []
    start, first = 0, 0
    table = result.events[name].filter(run=run).to_dicts() if name in result.events else []
    for event in table:
        assert event["start"] == start
        end = min(int(event["until"]), T)
        regret = naive.turns_regret(means, start, event["passed"], first)
        regret += sum(max(row) - row[event["arm"]] for row in means[event["passed"] : end])
        found.append({"start": start, "end": end, "active": event["passed"] - start, "regret": regret})
        start, first = end, 1 - event["arm"] if event["snoozed"] else (first + event["passed"] - start) % 2
    if start < T:
        found.append(
            {"start": start, "end": T, "active": T - start, "regret": naive.turns_regret(means, start, T, first)}
        )
    # The episodes make up the run: what is checked below is what the policy did.
    assert sum(episode["regret"] for episode in found) == pytest.approx(result.regret[name][run, -1])
    return found


def simulate(world: db.Instance, drift: float, runs: int, noise: Any = None) -> db.Simulation:
    policies = {variant: snoozeit(world.horizon, drift, variant) for variant in ("modified", "original")}
    return db.simulate(policies, world, noise, runs=runs, seed=5, events=True, checkpoints=1)


@pytest.fixture(scope="module")
def separated() -> db.Simulation:
    return simulate(instances.separated(), 1 / 48_000, runs=3)


@pytest.fixture(scope="module")
def quick() -> db.Simulation:
    return simulate(instances.stationary(20_000, (0.95, 0.05)), 5e-5, runs=10)


@pytest.fixture(scope="module")
def toggling() -> db.Simulation:
    return simulate(instances.toggling(drift=1 / 20_000, flat=15_000), 1 / 20_000, runs=3)


@pytest.fixture(scope="module")
def flips() -> db.Simulation:
    """The counter-example to Lemma 4 (episodic regret): the means cross so often that no window ever shows a gap."""
    drift, flat = 1 / 4_800, 1_000
    start = 0.5 + drift * flat / 2, 0.5 - drift * flat / 2
    return simulate(instances.toggling(HORIZON, drift, flat, start), drift, runs=1)


# The formulas.


@pytest.mark.parametrize(("horizon", "drift"), [(2, 0.5), (30, 1.0), (700, 0.02), (1_500, 1e-3), (1_500, 0.0)])
def test_theorem_1_is_its_twin(horizon: int, drift: float) -> None:
    world = instances.sinusoid(horizon, drift) if drift else instances.stationary(horizon, (0.99, 0.0))
    bound = bounds.instance_dependent(world, drift)
    assert bound.total == pytest.approx(naive.instance_bound(world.means.tolist(), drift))
    assert bound.total == pytest.approx(bound.per_block.sum() + bound.episode_ends + bound.bad_event)
    assert bound.edges[0] == 0
    assert bound.edges[-1] == horizon
    # A block may hold a step more than the shortest episode, and still meets two episodes at most.
    assert (
        np.diff(bound.edges).max()
        <= max(1, math.floor(bounds.shortest_episode(horizon, drift) if drift else horizon)) + 1
    )
    assert float(bound) == bound.total


@pytest.mark.parametrize("horizon", [1_000, 10_000, 1_000_000])
@pytest.mark.parametrize("gap", [0.01, 0.1, 0.35, 1.0])
def test_without_drift_theorem_1_is_the_classic_log_t_over_gap(horizon: int, gap: float) -> None:
    bound = bounds.instance_dependent(instances.stationary(horizon, (gap, 0.0)), 0.0)
    limit = 4 + 144 * math.log(horizon) / gap
    assert bound.total <= limit * (1 + 1e-9)
    if horizon >= 144 * math.log(horizon) / gap**2 + 1:
        assert bound.total == pytest.approx(limit)


def test_theorem_1_refuses_means_that_drift_faster() -> None:
    with pytest.raises(InputError, match="breaks the declared drift"):
        bounds.instance_dependent(instances.toggling(), 1 / 48_000)


def test_theorem_2_has_the_stated_terms() -> None:
    T, drift = HORIZON, 1 / 4_800
    L = math.log(T)
    bound = bounds.minimax_upper(T, drift)
    x = 2 ** (2 / 3) * drift ** (-2 / 3) * L ** (1 / 3)
    assert bound.per_step == pytest.approx(max(3 * 2 ** (2 / 3), 6 / 2 ** (1 / 3)) * (drift * L) ** (1 / 3))
    assert bound.episode_ends == pytest.approx(T / math.floor(x) + 1)
    assert bound.last_episode == pytest.approx(6 * math.sqrt(x * L))
    assert bound.total == pytest.approx(T * bound.per_step + bound.last_episode + bound.episode_ends + 2)
    rates = bounds.regret_per_step_by_active_length(np.geomspace(1, T, 500), T, drift)
    assert rates.max() <= bound.per_step * (1 + 1e-9)


def test_theorem_2_needs_the_term_of_the_last_episode() -> None:
    """Two constant arms too close for the test: one episode, and no drift to pay for it."""
    T = 20_000
    result = simulate(instances.stationary(T, (0.58, 0.42)), 0.0, runs=1, noise=db.Gaussian(0.0))
    bound, regret = bounds.minimax_upper(T, 0.0), result.regret["original"][0, -1]
    assert regret > bound.total - bound.last_episode
    assert regret <= bound.total


@pytest.mark.parametrize("horizon", [1, 2, 1_000, HORIZON, 10**9])
@pytest.mark.parametrize("drift", [0.0, 1e-12, 1e-5, 1e-3, 0.04, 1.0])
def test_the_lower_bound_stays_below_the_upper_one(horizon: int, drift: float) -> None:
    lower, upper = bounds.minimax_lower(horizon, drift), bounds.minimax_upper(horizon, drift)
    assert 0 < lower.total < upper.total
    assert float(lower) == lower.total == max(lower.bumps, lower.constant_gap, lower.coin_flips)


def test_the_lower_bound_holds_on_its_own_instances() -> None:
    """Two thirds of it on average over seeds; round robin pays eight times that: no luck is involved."""
    T, drift = 50_000, 1e-4
    regrets = []
    for seed in range(20):
        world = instances.lower_bound(T, drift, seed=seed)
        regrets.append(naive.turns_regret(world.means.tolist(), 0, T, 0))
    m = block_length(drift)
    assert np.mean(regrets) > 2 / 3 * (T // m) * bump_regret(m) > 0.6 * bounds.minimax_lower(T, drift).bumps


@pytest.mark.parametrize("drift", [1e-6, 1 / 4_800, 0.3])
def test_both_branches_of_an_episode_meet_at_the_shortest_one(drift: float) -> None:
    x, top = bounds.shortest_episode(HORIZON, drift), bounds.minimax_upper(HORIZON, drift).per_step
    assert bounds.regret_per_step_by_active_length([x * (1 - 1e-12), x], HORIZON, drift) == pytest.approx([top, top])
    assert bounds.regret_per_step_by_duration(x, HORIZON, drift) == pytest.approx((top, top))
    # With a snooze, an active phase tau makes an episode of (2/delta) sqrt(L/tau): both views give the same bound.
    tau = x / 7
    duration = 2 / drift * math.sqrt(math.log(HORIZON) / tau)
    by_duration = bounds.regret_per_step_by_duration(duration, HORIZON, drift).snoozed
    assert by_duration == pytest.approx(bounds.regret_per_step_by_active_length(tau, HORIZON, drift))


def test_no_drift_and_one_step() -> None:
    assert bounds.shortest_episode(1_000, 0.0) == math.inf
    assert bounds.most_episodes(1_000, 0.0) == 1
    assert bounds.regret_per_step_by_active_length(50, 1_000, 0.0) == 0
    assert bounds.instance_dependent([[0.3, 0.9]], 0.0).total == 4
    assert bounds.instance_dependent([[0.3, 0.9]], 0.5).total == 4
    assert bounds.episode_regret(1, 1) == 1
    assert bounds.good_event_probability(1) == 0
    with pytest.raises(InputError, match="duration must be finite and at least inf"):
        bounds.regret_per_step_by_duration(10, 1_000, 0.0)
    for wrong in ([3, 0], 0.5, math.inf, math.nan):
        with pytest.raises(InputError, match="active_length must be finite and at least 1; got"):
            bounds.episode_regret(wrong, 1_000)


def test_the_good_event_with_other_confidences() -> None:
    assert bounds.good_event_probability(10_000) == pytest.approx(1 - 2 / 10_000)
    assert bounds.good_event_probability(10_000, 2.0) == 1
    assert bounds.good_event_probability(10_000, 0.95) == pytest.approx(1 - 2 * 10_000 ** (3 - 4 * 0.95**2))
    assert bounds.good_event_probability(10_000, 0.86) == 0
    for confidence in (0.0, math.inf, math.nan):
        with pytest.raises(InputError, match="confidence"):
            bounds.good_event_probability(10_000, confidence)


@pytest.mark.parametrize("horizon", [1, 2, 3, 10, 10_000, 10**9])
def test_a_bound_on_a_probability_is_one(horizon: int) -> None:
    """1 - 2 T^(3 - 4 k^2) where that is positive; 0 elsewhere, also where it is a little less."""
    tried = [*np.linspace(0.05, 0.85, 20), *np.linspace(0.866, 0.966, 200), *np.linspace(1, 3, 20)]
    found = [bounds.good_event_probability(horizon, float(k)) for k in tried]
    proved = [1 - 2 * min(1.0, float(horizon) ** min(0.0, 3 - 4 * k * k)) for k in tried]
    assert found == pytest.approx([max(0.0, p) for p in proved], abs=1e-12)
    assert found == sorted(found)
    if horizon > 1:
        assert any(-1 < p < 0 for p in proved)


# The lemmas, on simulated runs. A run breaks the good event with probability below T^-2 < 3e-9; Lemma 7 (episode size)
# never fails.


@pytest.mark.parametrize("variant", ["modified", "original"])
@pytest.mark.parametrize("world", ["separated", "quick"])
def test_lemma_4_where_the_best_arm_is_constant(world: str, variant: str, request: pytest.FixtureRequest) -> None:
    result: db.Simulation = request.getfixturevalue(world)
    snoozes = 0
    for run in range(result.runs):
        for episode in episodes(result, variant, run):
            assert episode["regret"] <= bounds.episode_regret(episode["active"], result.instance.horizon)
            snoozes += episode["end"] - episode["start"] > episode["active"]
    assert snoozes >= 2 * result.runs


def test_lemma_4_fails_where_the_best_arm_changes(flips: db.Simulation) -> None:
    for variant in ("modified", "original"):
        (only,) = episodes(flips, variant, 0)
        assert only["active"] == HORIZON
        assert round(only["regret"]) == 12_735
        assert round(float(bounds.episode_regret(HORIZON, HORIZON))) == 8_386


@pytest.mark.parametrize("variant", ["modified", "original"])
@pytest.mark.parametrize("world", ["separated", "quick", "toggling", "flips"])
def test_lemma_7_and_corollary_1(world: str, variant: str, request: pytest.FixtureRequest) -> None:
    result: db.Simulation = request.getfixturevalue(world)
    T, drift = result.instance.horizon, result.policies[variant].drift
    shortest = bounds.shortest_episode(T, drift)
    for run in range(result.runs):
        found = result.events[variant].filter(run=run).to_dicts() if variant in result.events else []
        ended = [event for event in found if event["until"] < T]
        assert all(event["until"] - event["start"] >= math.floor(shortest) for event in ended)
        assert len(ended) + 1 <= bounds.most_episodes(T, drift)
        assert world == "flips" or len(ended) > 2


@pytest.mark.parametrize("variant", ["modified", "original"])
@pytest.mark.parametrize("world", ["separated", "quick", "toggling", "flips"])
def test_lemma_5_on_runs(world: str, variant: str, request: pytest.FixtureRequest) -> None:
    """Before a test passes, the detectable gap is at most what Lemma 5 (gauge to lambda) allows."""
    result: db.Simulation = request.getfixturevalue(world)
    lambdas = db.detectable_gap(result.instance)
    events = result.events[variant].to_dicts() if variant in result.events else []
    for event in events or [{"start": 0, "passed": HORIZON}]:
        tau = np.arange(1, event["passed"] - event["start"])
        allowed = bounds.gauge_to_lambda(tau, result.instance.horizon) * (1 + 1e-12)
        assert (lambdas[event["start"] + tau - 1] <= allowed).all()


@pytest.mark.parametrize("variant", ["modified", "original"])
@pytest.mark.parametrize("world", ["separated", "quick", "toggling", "flips"])
def test_theorems_1_and_2_bound_the_regret(world: str, variant: str, request: pytest.FixtureRequest) -> None:
    result: db.Simulation = request.getfixturevalue(world)
    drift = result.policies[variant].drift
    worst = result.regret[variant][:, -1].max()
    assert worst <= bounds.instance_dependent(result.instance, drift).total
    assert worst <= bounds.minimax_upper(result.instance.horizon, drift).total
