"""Do estimates hit the truth, and intervals hold it? Logs of a known instance, against policies simulated in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits._common.intervals import t_quantile
from naive_offline import greedy_log

LOGS, STEPS, SIGMA = 100, 3_000, 0.3
REPLICATES = 10
FEWEST = 81
"""Of 100 intervals, each right with probability 0.95, fewer are with a chance of 1e-7."""
WIDEST = 1.3
"""How much wider than needed intervals may be; that of 100 estimates is known to 7 %."""
WORLD = db.instances.sinusoid(STEPS, drift=1e-3)


def truth(policy: Any, chance: float, logged: Any = True) -> float:
    """What the policy earns per step at ``logged`` steps of the instance that chance picked, the mean of 800 runs."""
    rng, earned = np.random.Generator(np.random.SFC64(7)), []
    for seed in range(100):
        instance = db.Instance(WORLD.means[(rng.random(STEPS) < chance) & logged])
        regret = db.simulate({"it": policy}, instance, db.Gaussian(SIGMA), runs=8, seed=seed, checkpoints=1).regret[
            "it"
        ]
        earned.append(instance.best_mean.mean() - regret[:, -1].mean() / instance.horizon)
    return float(np.mean(earned))


@pytest.mark.parametrize("explore", [1.0, 0.3], ids=["uniform", "greedy"])
def test_estimates_and_intervals(explore: float) -> None:
    policies = {"AutoTS": db.AutoTS(), "UCB1": db.UCB1(), "turns": db.RoundRobin()}
    true = {name: truth(policy, explore / 2) for name, policy in policies.items()}
    true |= {f"only {arm}": WORLD.means[:, arm].mean() for arm in (0, 1)} | {"Uniform": WORLD.means.mean()}
    estimates: dict[str, list[float]] = {name: [] for name in true}
    reach = dict.fromkeys(true, 0.0)
    holds = dict.fromkeys([*true, "AutoTS - only 0", "turns - Uniform"], 0)
    for seed in range(LOGS):
        log = greedy_log(WORLD, explore, SIGMA, seed)
        result = db.replay(log, policies, replicates=REPLICATES, seed=seed, workers=1)
        for row in result.table().iter_rows(named=True):
            if row["policy"] in true:
                estimates[row["policy"]].append(row["reward"])
                reach[row["policy"]] += (row["high"] - row["low"]) / 2 / LOGS
                holds[row["policy"]] += row["low"] <= true[row["policy"]] <= row["high"]
        for one, other in (("AutoTS", "only 0"), ("turns", "Uniform")):
            row = result.differences(other).filter(policy=one).row(0, named=True)
            holds[f"{one} - {other}"] += row["low"] <= true[one] - true[other] <= row["high"]
    for name, found in estimates.items():
        assert abs(np.mean(found) - true[name]) < 6 * np.std(found) / LOGS**0.5, name
        assert reach[name] < WIDEST * t_quantile(REPLICATES - 1) * np.std(found), name
    assert min(holds.values()) >= FEWEST, holds


def test_rows_without_a_probability_do_not_shift_the_estimates() -> None:
    """Exploration begins after 700 steps and stops for 600: the truth is that of the steps at which it was on."""
    logged = np.ones(STEPS, bool)
    logged[:700], logged[1_500:2_100] = False, False
    policies = {"AutoTS": db.AutoTS(), "turns": db.RoundRobin()}
    true = {name: truth(policy, 0.15, logged) for name, policy in policies.items()}
    true |= {f"only {arm}": WORLD.means[logged, arm].mean() for arm in (0, 1)}
    estimates: dict[str, list[float]] = {name: [] for name in true}
    for seed in range(60):
        log = greedy_log(WORLD, 0.3, SIGMA, seed)
        log = log.with_columns(probability=pl.when(pl.Series(logged)).then("probability"))
        table = db.replay(log, policies, replicates=2, seed=seed, workers=1).table()
        for row in table.filter(pl.col("policy").is_in(list(true))).iter_rows(named=True):
            estimates[row["policy"]].append(row["reward"])
    for name, found in estimates.items():
        assert abs(np.mean(found) - true[name]) < 6 * np.std(found) / 60**0.5, name
    others = WORLD.means.mean(axis=0) - WORLD.means[logged].mean(axis=0)
    assert np.abs(others).max() > 12 * np.std(estimates["only 0"]) / 60**0.5  # a shift would be seen
