"""How SnoozeIt's regret depends on its confidence, what fails as it falls, and what it makes of each claim."""

from dataclasses import dataclass

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import CONFIDENCES, EXPERIMENTS
from reproduction.statistics import Evidence, Interval, beats, decide_all, positive_interval, rises, share_interval

MUST_BEAT = {"separated": ("Rexp3", "Exp3.S"), "toggling": ("SW-UCB#",)}
"""Whom SnoozeIt is claimed to beat, by experiment."""


@dataclass(frozen=True)
class ConfidenceRow:
    """SnoozeIt at one confidence on one instance; ``unsafe``: the share of snoozes that break Lemma 2."""

    experiment: str
    drift: str
    confidence: float
    regret: Interval
    snoozes: float
    unsafe: Interval | None


@dataclass(frozen=True)
class ClaimAt:
    """The verdict on an experiment's claim at one confidence, corrected for there being so many."""

    experiment: str
    confidence: float
    verdict: str


@dataclass(frozen=True)
class Confidence:
    """A row per instance and confidence, and a verdict per experiment and confidence."""

    rows: tuple[ConfidenceRow, ...]
    claims: tuple[ClaimAt, ...]

    def table(self, experiment: str) -> list[tuple[ClaimAt, list[ConfidenceRow]]]:
        """For each confidence the verdict and the rows of one experiment."""
        mine = [row for row in self.rows if row.experiment == experiment]
        return [
            (claim, [row for row in mine if row.confidence == claim.confidence])
            for claim in self.claims
            if claim.experiment == experiment
        ]


def confidence(context: Context) -> Confidence:
    """Play SnoozeIt at every confidence on every instance of the experiments.

    Experiment 3 is judged by the weaker of its readings, for which the paper's four drifts are enough: regret does not
    rise at every step.
    """
    rows, family = [], {}
    for experiment in EXPERIMENTS.values():
        played = [(each.label, context.simulation(f"confidence-{each.name}")) for each in experiment.instances]
        rows += [_row(experiment.name, label, one, value) for label, one in played for value in CONFIDENCES]
        rivals = []
        if experiment.name in MUST_BEAT:
            compared = context.simulation(experiment.name)
            rivals = [compared.regret[name][:, -1] for name in MUST_BEAT[experiment.name]]
        for value in CONFIDENCES:
            regrets = [one.regret[f"{value:g}"][:, -1] for _, one in played]
            family[experiment.name, value] = claim_at(experiment.name, regrets, rivals)
    verdicts = decide_all(family)
    claims = tuple(ClaimAt(name, value, verdict) for (name, value), verdict in verdicts.items())
    return Confidence(tuple(rows), claims)


def claim_at(experiment: str, regrets: list[np.ndarray], rivals: list[np.ndarray]) -> Evidence:
    """For and against the experiment's claim; ``rivals`` are the regrets that SnoozeIt must beat."""
    if rivals:
        return beats(regrets[0], rivals)
    return rises(regrets) if experiment == "equal-drift" else rises(regrets).opposite


def _row(experiment: str, label: str, simulation: db.Simulation, value: float) -> ConfidenceRow:
    regret = positive_interval(simulation.regret[f"{value:g}"][:, -1])
    snoozes, failures = failed_snoozes(simulation, f"{value:g}")
    unsafe = Interval(failures / snoozes, *share_interval(failures, snoozes)) if snoozes else None
    return ConfidenceRow(experiment, label, value, regret, snoozes / simulation.runs, unsafe)


def failed_snoozes(simulation: db.Simulation, name: str) -> tuple[int, int]:
    """How many snoozes there were in all runs, and in how many the snoozed arm became the better one."""
    means, T = simulation.instance.means, simulation.instance.horizon
    some = simulation.events[name].filter(snoozed=1)
    # worse[a, t]: in how many of the first t steps arm a was strictly the worse one.
    worse = np.zeros((2, T + 1), np.int64)
    worse[:, 1:] = np.cumsum(means.T[::-1] > means.T, axis=1)
    arm, first = some["arm"].to_numpy(), some["passed"].to_numpy()
    last = np.minimum(np.ceil(some["until"].to_numpy()), T).astype(np.int64)
    return len(some), int((worse[arm, last] > worse[arm, first]).sum())
