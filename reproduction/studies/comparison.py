"""Experiments 1 to 4: what every policy loses on every instance of the paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import EXPERIMENTS, PaperInstance
from reproduction.statistics import Interval, interval, positive_interval


@dataclass(frozen=True)
class Regret:
    """Regret of a policy at T on one instance. ``realised``: the rewards missed; ``runs``: the regret of each run."""

    drift: str
    policy: str
    regret: Interval
    realised: float
    snoozes: float | None
    runs: tuple[float, ...]


@dataclass(frozen=True)
class Difference:
    """Regret of a policy minus that of SW-UCB#, run by run."""

    policy: str
    difference: Interval


@dataclass(frozen=True)
class InstanceFacts:
    """What is true of an instance: ``moves`` of the first arm and ``crossings``, gaps, drift, and Theorem 1's bound."""

    drift: str
    delta: float
    least_gap: float
    largest_gap: float
    total_drift: float
    moves: int
    crossings: int
    theorem1: float


@dataclass(frozen=True)
class Comparison:
    """One experiment: a row per instance and policy."""

    experiment: str
    rows: tuple[Regret, ...]
    differences: tuple[Difference, ...]
    instances: tuple[InstanceFacts, ...]

    def by_instance(self, policy: str) -> list[tuple[float, ...]]:
        """The regrets of a policy at T, run by run, on each instance."""
        return [row.runs for row in self.rows if row.policy == policy]

    def row(self, policy: str, at: int = 0) -> Regret:
        """The row of a policy on instance number ``at``."""
        return [row for row in self.rows if row.policy == policy][at]


def compare(context: Context, name: str, instances: Sequence[PaperInstance] = ()) -> Comparison:
    """Play one experiment of the paper, on its instances or on these."""
    experiment = EXPERIMENTS[name]
    rows, facts, differences = [], [], []
    for each in instances or experiment.instances:
        simulation = context.simulation(each.name)
        rows += regrets(simulation, each.label)
        facts.append(facts_of(simulation.instance, each))
        if experiment.with_rivals:
            sharp = simulation.regret["SW-UCB#"][:, -1]
            differences = [
                Difference(policy, interval(found[:, -1] - sharp))
                for policy, found in simulation.regret.items()
                if policy != "SW-UCB#"
            ]
    return Comparison(name, tuple(rows), tuple(differences), tuple(facts))


def regrets(simulation: db.Simulation, label: str) -> list[Regret]:
    """A row per policy."""
    found = []
    for policy in simulation.regret:
        final = simulation.regret[policy][:, -1]
        events = simulation.events.get(policy)
        snoozes = None if events is None else int(events["snoozed"].sum()) / simulation.runs
        realised = float(simulation.realised[policy][:, -1].mean())
        found.append(Regret(label, policy, positive_interval(final), realised, snoozes, tuple(final.tolist())))
    return found


def facts_of(instance: db.Instance, paper: PaperInstance) -> InstanceFacts:
    """Gaps, drift and crossings of an instance."""
    means = instance.means
    moving = np.abs(np.diff(means[:, 0])) > 1e-12
    signs = np.sign(means[:, 0] - means[:, 1])
    bound = float(db.bounds.instance_dependent(instance, paper.drift).total)
    turns, crossings = np.count_nonzero(np.diff(moving.astype(int)) == 1), np.count_nonzero(np.diff(signs[signs != 0]))
    gaps = float(instance.gap.min()), float(instance.gap.max())
    drifted = float(np.abs(np.diff(means[:, 0])).sum())
    return InstanceFacts(paper.label, paper.drift, *gaps, drifted, int(turns), int(crossings), bound)
