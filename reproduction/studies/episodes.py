"""The paper's lemmas on the episodes of simulated runs of Algorithm 1, one by one.

Each lemma says something of every episode, or of every step of an active phase, on the good event. Here it is checked
there, and beside the number of checks stands how many of them could have failed: where the bound is below what the
episode would have cost had the worse arm been pulled in every step of its active phase, or, for lower bounds, above
what must be true in any case.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import ALGORITHM_1, C0, C6, C7, EXPERIMENTS, FAST, algorithm_1, crossing
from reproduction.studies.sharp_bounds import SHAPES

SAFETY, RECENT_GAP, RECENT_GAP_2 = "lemma-2", "claim-3", "claim-3-second"
EPISODIC, EPISODIC_BY_GAP = "lemma-4", "lemma-4-by-gap"
GAUGE, GAUGE_CORRECTED = "lemma-5", "lemma-5-corrected"
SIZE, COUNT, BLOCKS, WITHIN_BLOCKS = "lemma-7", "corollary-1", "claim-8", "claim-8-within"
LEMMAS = (
    SAFETY, RECENT_GAP, RECENT_GAP_2, EPISODIC, EPISODIC_BY_GAP, GAUGE, GAUGE_CORRECTED, SIZE, COUNT, BLOCKS,
    WITHIN_BLOCKS,
)  # fmt: skip
RUNS = 2
DRIFTS = (1e-7, 1e-6, 1e-5)


@dataclass
class Tally:
    """How often a statement was checked, could have failed, did fail, and how close it came: at 1 it is reached."""

    checks: int = 0
    could_fail: int = 0
    violations: int = 0
    closest: float = 0.0
    where: dict[str, int] = field(default_factory=dict)

    def add(self, ratio: Any, could: Any, where: str) -> None:
        """``ratio`` is above 1 where the statement is false, ``could`` whether it could have been."""
        ratio = np.atleast_1d(np.asarray(ratio, np.float64))
        if not len(ratio):
            return
        false = int((ratio > 1.0).sum())
        self.checks += len(ratio)
        self.could_fail += int(np.broadcast_to(np.asarray(could, bool), ratio.shape).sum())
        self.violations += false
        self.closest = max(self.closest, float(ratio.max()))
        if false:
            self.where[where] = self.where.get(where, 0) + false


@dataclass(frozen=True)
class Place:
    """An instance on which a lemma fails, and how often."""

    instance: str
    violations: int


@dataclass(frozen=True)
class LemmaRow:
    """One lemma: checks, those that could fail, violations, and the largest ratio to the bound."""

    lemma: str
    checks: int
    could_fail: int
    violations: int
    closest: float
    where: tuple[Place, ...]


@dataclass(frozen=True)
class Episodes:
    """A row per lemma."""

    rows: tuple[LemmaRow, ...]

    def of(self, lemma: str) -> LemmaRow:
        """The row of a lemma."""
        return next(row for row in self.rows if row.lemma == lemma)


def episodes(context: Context) -> Episodes:
    """Check every lemma on all instances of the paper, those of sharp bounds, and the crossing arms."""
    T = context.settings.horizon
    found = {each.name: (each.build(T), each.drift) for one in EXPERIMENTS.values() for each in one.instances}
    for shape, build in SHAPES.items():
        for drift in DRIFTS:
            found |= {f"{shape}, gap {gap}, δ = {drift:g}": (build(T, drift, gap), drift) for gap in (0.3, 0.6)}
    return check_episodes(found | {"crossing": (crossing(T), FAST)}, **context.settings.few(RUNS))


def check_episodes(instances: Mapping[str, tuple[db.Instance, float]], *, runs: int, seed: int) -> Episodes:
    """``instances`` maps a name to an instance and the drift that SnoozeIt is given there."""
    tallies = {name: Tally() for name in LEMMAS}
    for name, (instance, drift) in instances.items():
        for run, gaps in played_runs(instance, drift, runs, seed):
            _check_run(tallies, name, run, gaps)
    return Episodes(tuple(
        LemmaRow(
            lemma, tally.checks, tally.could_fail, tally.violations, tally.closest,
            tuple(Place(*item) for item in tally.where.items()),
        )
        for lemma, tally in tallies.items()
    ))  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One run of Algorithm 1: what it paid up to each step, what the worse arm would have, and its episodes."""

    instance: db.Instance
    drift: float
    paid: Any
    worst: Any
    events: Any
    """Episodes in which a test passed."""
    spans: list[tuple[int, int, int]]
    """(start, test, end) of every episode, the unfinished last one included."""

    @property
    def last_is_open(self) -> bool:
        """Whether no test ended the last episode."""
        return len(self.spans) > len(self.events)


def played_runs(instance: db.Instance, drift: float, runs: int, seed: int) -> list[tuple[Run, Any]]:
    """Runs of Algorithm 1 on an instance, each with the detectable gap of every step."""
    T, policies = instance.horizon, algorithm_1(instance.horizon, drift)
    options: dict[str, Any] = {"checkpoints": 1, "events": True, "workers": 1, "progress": False}
    played = db.simulate(policies, instance, runs=runs, seed=seed, **options)
    gaps, means, steps = db.detectable_gap(instance), instance.means, np.arange(T)
    worst = np.concatenate([[0.0], np.cumsum(instance.gap)])
    found = []
    for run in range(runs):
        arms = db.trajectory(policies[ALGORITHM_1], instance, db.Gaussian(0.5), seed, run).arms
        paid = np.concatenate([[0.0], np.cumsum(means.max(axis=1) - means[steps, arms])])
        events = played.events[ALGORITHM_1].filter(run=run).to_dicts()
        spans = [(row["start"], row["passed"], min(math.ceil(row["until"]), T)) for row in events]
        ended = spans[-1][2] if spans else 0
        spans += [(ended, T, T)] if ended < T else []
        found.append((Run(instance, drift, paid, worst, events, spans), gaps))
    return found


def _check_run(tallies: dict[str, Tally], name: str, run: Run, gaps: Any) -> None:
    T, drift, means = run.instance.horizon, run.drift, run.instance.means
    log_t, widest = math.log(T), min(1.0, float(run.instance.gap.max()))

    def add(lemma: str, ratio: Any, could: Any) -> None:
        tallies[lemma].add(ratio, could, name)

    for row, (start, test, end) in zip(run.events, run.spans, strict=False):
        lead = means[:, row["arm"]] - means[:, 1 - row["arm"]]  # row["arm"]: the one found better
        add(RECENT_GAP, (row["gap"] / 3 - 2 * drift) / max(float(lead[start:test].max()), 1e-12), True)
        add(RECENT_GAP_2, 4 * math.sqrt(log_t / (test - start)) / (row["gap"] / 3) * (1 - 1e-12), True)
        if row["snoozed"]:
            # It could fail where one arm is the better one at all: had the wrong one been snoozed, it would.
            asleep = lead[test:end]
            add(SAFETY, 2.0 if (asleep < 0).any() else 0.0, (asleep > 0).any())
    for start, test, end in run.spans:
        tau, cost, most = test - start, run.paid[end] - run.paid[start], run.worst[test] - run.worst[start]
        bound = float(db.bounds.episode_regret(tau, T))
        add(EPISODIC, cost / bound, bound < most)
        if tau > 1:
            by_gap = C0 / 2 * log_t / gaps[test - 2] + 1
            add(EPISODIC_BY_GAP, cost / by_gap, by_gap < most)
        # While no test has passed after n steps, lambda is at most sqrt(c2 L/n); it could exceed that where it is 1.
        n = np.arange(1, tau)
        limits = {GAUGE: np.sqrt(C0 * log_t / n), GAUGE_CORRECTED: db.bounds.gauge_to_lambda(n, T) if len(n) else n}
        for lemma, limit in limits.items():
            add(lemma, gaps[start : test - 1] / limit * (1 - 1e-12), limit < widest)
    ends = np.array([end for _, _, end in run.spans[: len(run.events)]], np.int64)
    lengths = ends - np.array([start for start, _, _ in run.spans[: len(run.events)]], np.int64)
    add(SIZE, math.floor(db.bounds.shortest_episode(T, drift)) / lengths[ends < T], True)
    add(COUNT, len(run.spans) / db.bounds.most_episodes(T, drift), True)
    for lemma, (ratio, could) in {BLOCKS: charged_blocks(run, gaps), WITHIN_BLOCKS: within_blocks(run, gaps)}.items():
        add(lemma, ratio, could)


def charged_blocks(run: Run, gaps: Any) -> tuple[Any, Any]:
    """Claim 8: every episode is charged to the block that holds the step before its test passed.

    The regret charged to each block over the bound, and whether it could have exceeded it.
    """
    edges, bound = _blocks(run, gaps)
    charged, most = np.zeros(len(bound)), np.zeros(len(bound))
    for start, test, end in run.spans:
        block = min(int(np.searchsorted(edges, max(test - 1, 1), side="left")) - 1, len(bound) - 1)
        charged[block] += run.paid[end] - run.paid[start]
        most[block] += run.worst[test] - run.worst[start]
    return charged / bound, bound < most


def within_blocks(run: Run, gaps: Any) -> tuple[Any, Any]:
    """The form that Theorem 1 rests on: what is paid within each block, over the same bound."""
    edges, bound = _blocks(run, gaps)
    return np.diff(run.paid[edges]) / bound, bound < np.diff(run.worst[edges])


def _blocks(run: Run, gaps: Any) -> tuple[Any, Any]:
    """The edges of the blocks, and 144 L/lambda_min + 2 of each."""
    T = len(gaps)
    size = max(1.0, min(float(T), db.bounds.shortest_episode(T, run.drift)))
    edges = np.append(np.floor(size * np.arange(math.ceil(T / size))), T).astype(np.int64)
    return edges, C6 * math.log(T) / np.minimum.reduceat(gaps, edges[:-1]) + C7
