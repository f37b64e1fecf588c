"""The paper's lemmas on the episodes of simulated runs of Algorithm 1, one by one.

Each lemma says something of every episode, or of every step of an active phase, on the good event. Here it is checked
there, and beside the number of checks stands how many of them could have failed: where the bound is below what the
episode would have cost had the worse arm been pulled in every step of its active phase, or, for lower bounds, above
what must be true in any case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Gaussian
from driftbandits.policies import SnoozeIt
from driftbandits.simulation.simulate import simulate
from driftbandits.simulation.trajectory import trajectory
from driftbandits.theory.bounds import episode_regret, gauge_to_lambda, most_episodes, shortest_episode
from driftbandits.theory.constants import C0, C6, C7
from driftbandits.theory.gaps import detectable_gap

if TYPE_CHECKING:
    import polars as pl

SAFETY = "Lemma 2 (snooze safety)"
RECENT_GAP = "Claim 3 (recent gap)"
EPISODIC = "Lemma 4 (episodic regret), 1 + 6 √((τ − 1) L)"
EPISODIC_BY_GAP = "Lemma 4 (episodic regret), 72 L/λ + 1"
GAUGE = "Lemma 5 (gauge to λ)"
GAUGE_CORRECTED = "Lemma 5 (gauge to λ), corrected: 2⌊τ/2⌋ for τ"
SIZE = "Lemma 7 (episode size)"
COUNT = "Corollary 1 (number of episodes), with its missing 1"
BLOCKS = "Claim 8 (block regret)"
LEMMAS = (SAFETY, RECENT_GAP, EPISODIC, EPISODIC_BY_GAP, GAUGE, GAUGE_CORRECTED, SIZE, COUNT, BLOCKS)


@dataclass
class Tally:
    """How often a statement was checked, could have failed, did fail, and how close it came: at 1 it is reached."""

    checks: int = 0
    could_fail: int = 0
    violations: int = 0
    closest: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, ratio: Any, could: Any, where: str) -> None:
        """``ratio`` is above 1 where the statement is false, ``could`` whether it could have been."""
        ratio = np.atleast_1d(np.asarray(ratio, np.float64))
        could = np.broadcast_to(np.asarray(could, bool), ratio.shape)
        if not len(ratio):
            return
        false = int((ratio > 1.0).sum())
        self.checks += len(ratio)
        self.could_fail += int(could.sum())
        self.violations += false
        self.closest = max(self.closest, float(ratio.max()))
        if false:
            self.kinds[where] = self.kinds.get(where, 0) + false


def check_episodes(instances: dict[str, tuple[Instance, float]], *, runs: int = 3, seed: int = 0) -> pl.DataFrame:
    """One row a lemma: checks, ``could_fail``, violations, closest (1: bound reached), the instances that violate it.

    ``instances`` maps a name to an instance and the drift that SnoozeIt is told there.
    """
    import polars as pl

    tallies = {name: Tally() for name in LEMMAS}
    for name, (instance, drift) in instances.items():
        policy = SnoozeIt(instance.horizon, drift, variant="original")
        result = simulate(
            {"it": policy}, instance, runs=runs, seed=seed, workers=1, checkpoints=1, events=True, progress=False
        )
        gaps = detectable_gap(instance)
        for run in range(runs):
            arms = trajectory(policy, instance, Gaussian(0.5), seed, run).arms
            episodes = result.events["it"].filter(run=run)
            _check_run(tallies, name, instance, drift, gaps, arms, episodes)
    rows = [
        {
            "lemma": lemma,
            "checks": tally.checks,
            "could_fail": tally.could_fail,
            "violations": tally.violations,
            "closest": tally.closest,
            "where": ", ".join(f"{kind}: {count}" for kind, count in tally.kinds.items()),
        }
        for lemma, tally in tallies.items()
    ]
    return pl.DataFrame(rows)


def _check_run(
    tallies: dict[str, Tally],
    name: str,
    instance: Instance,
    drift: float,
    gaps: Array,
    arms: Array,
    episodes: pl.DataFrame,
) -> None:
    T, log_t = instance.horizon, math.log(instance.horizon)
    means, steps = instance.means, np.arange(instance.horizon)
    paid = np.concatenate([[0.0], np.cumsum(means.max(axis=1) - means[steps, arms])])
    gap = instance.gap
    worst, widest = np.concatenate([[0.0], np.cumsum(gap)]), min(1.0, float(gap.max()))
    add: Callable[[str, Any, Any], None] = lambda lemma, ratio, could: tallies[lemma].add(ratio, could, name)  # noqa: E731
    starts, tests, ends = [], [], []
    for row in episodes.iter_rows(named=True):
        start, test, end = row["start"], row["passed"], min(math.ceil(row["until"]), T)
        starts.append(start)
        tests.append(test)
        ends.append(end)
        lead = means[start:test, row["arm"]] - means[start:test, 1 - row["arm"]]  # row["arm"]: the one found better
        add(RECENT_GAP, (row["gap"] / 3 - 2 * drift) / max(float(lead.max()), 1e-12), True)
        if row["snoozed"]:
            lead = means[test:end, row["arm"]] - means[test:end, 1 - row["arm"]]
            # It could fail where one arm is the better one at all: had the wrong one been snoozed, it would.
            add(SAFETY, 2.0 if (lead < 0).any() else 0.0, (lead > 0).any())
    last = (ends[-1] if ends else 0, T, T)  # the unfinished episode: its test has not passed
    for start, test, end in [*zip(starts, tests, ends, strict=True), *([last] if last[0] < T else [])]:
        tau, cost, most = test - start, paid[end] - paid[start], worst[test] - worst[start]
        bound = float(episode_regret(tau, T))
        add(EPISODIC, cost / bound, bound < most)
        if tau > 1:
            by_gap = C0 / 2 * log_t / gaps[test - 2] + 1
            add(EPISODIC_BY_GAP, cost / by_gap, by_gap < most)
        # While no test has passed after n steps, lambda is at most sqrt(c2 L/n); it could exceed that where it is 1.
        n = np.arange(1, tau)
        limits = {GAUGE: np.sqrt(C0 * log_t / n), GAUGE_CORRECTED: gauge_to_lambda(n, T) if len(n) else n}
        for lemma, limit in limits.items():
            add(lemma, gaps[start : test - 1] / limit * (1 - 1e-12), limit < widest)
    shortest = math.floor(shortest_episode(T, drift))
    if ends:
        add(SIZE, shortest / np.subtract(ends, starts)[np.asarray(ends) < T], True)
    add(COUNT, (len(ends) + (last[0] < T)) / most_episodes(T, drift), True)
    _check_blocks(tallies[BLOCKS], name, gaps, paid, worst, (starts, tests, ends, last), shortest_episode(T, drift))


def _check_blocks(
    tally: Tally, name: str, gaps: Array, paid: Array, worst: Array, episodes: Any, shortest: float
) -> None:
    """Every episode is charged to the block that holds the step before its test passed."""
    T, log_t = len(gaps), math.log(len(gaps))
    size = max(1.0, min(float(T), shortest))
    count = math.ceil(T / size)
    edges = np.append(np.floor(size * np.arange(count)), T).astype(np.int64)
    starts, tests, ends, last = episodes
    charged, most = np.zeros(count), np.zeros(count)
    for start, test, end in [*zip(starts, tests, ends, strict=True), *([last] if last[0] < T else [])]:
        block = min(int(np.searchsorted(edges, max(test - 1, 1), side="left")) - 1, count - 1)
        charged[block] += paid[end] - paid[start]
        most[block] += worst[test] - worst[start]
    bound = C6 * log_t / np.minimum.reduceat(gaps, edges[:-1]) + C7
    tally.add(charged / bound, bound < most, name)
