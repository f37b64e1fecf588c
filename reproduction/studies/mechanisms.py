"""Why the paper says regret is as it is, in Experiments 2, 3 and 4: do the parts behave as it says?"""

from dataclasses import dataclass
from typing import Any

import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import FAST, FORMS
from reproduction.statistics import LEAST_POINTS, Interval, correlation
from reproduction.studies.many_drifts import DriftRow, many_drifts_of, parts_of_regret

RUNS = 3
"""Runs whose every step is looked at."""
SHARP = "SW-UCB#"
EXPLAINED = {
    "common-periods": (("detected", 1), ("snooze", 1), ("episodes", 1), ("snoozed", 1)),
    "equal-drift": (("snooze", -1), ("episodes", 1), ("snoozed", -1)),
}
"""Which parts go with delta according to the paper, and which way: the names are those of ``many_drifts.Parts``."""


@dataclass(frozen=True)
class Stationarity:
    """Regret per step while the arms are stationary, and while they drift; the share of time with an arm snoozed."""

    policy: str
    at_rest: float
    drifting: float
    snoozed: float | None


@dataclass(frozen=True)
class Explained:
    """One part of an explanation for one form: its correlation with delta, and its values at both ends.

    ``r`` is None where too few drifts have the part at all.
    """

    family: str
    part: str
    way: int
    form: str
    r: Interval | None
    first: float | None
    last: float | None
    known: int
    drifts: int


@dataclass(frozen=True)
class Mechanisms:
    """Experiment 2: who pays less at rest, and how SW-UCB#'s window compares with a stretch at rest. Then 3 and 4."""

    at_rest: tuple[Stationarity, ...]
    longest_window: int
    rest: int
    explained: tuple[Explained, ...]
    printed_gap_first: float
    printed_gap_last: float

    def rest_of(self, policy: str) -> Stationarity:
        """The row of a policy."""
        return next(row for row in self.at_rest if row.policy == policy)

    def part(self, family: str, part: str, form: str) -> Explained:
        """One part of the explanation of an experiment."""
        return next(row for row in self.explained if (row.family, row.part, row.form) == (family, part, form))


def mechanisms(context: Context) -> Mechanisms:
    """Measure what the paper's explanations point at."""
    simulation = context.simulation("toggling")
    at_rest = np.append(np.diff(simulation.instance.means[:, 0]) == 0, True)
    rows = []
    for policy in (*FORMS.values(), SHARP):
        share = parts_of_regret(simulation, policy).snoozed if policy != SHARP else None
        rows.append(Stationarity(policy, *_paid(simulation, policy, at_rest, context.settings.seed), share))
    drifts = many_drifts_of(context)
    explained = [
        _explained(family, part, way, form, drifts.of(family, policy))
        for family, parts in EXPLAINED.items()
        for form, policy in FORMS.items()
        for part, way in parts
    ]
    gaps = [row.parts.gap or 0.0 for row in drifts.of("common-periods", FORMS["printed"])]
    window = int(db.SWUCBSharp(context.settings.horizon, FAST).parameters(2)["window_at_end"])
    return Mechanisms(tuple(rows), window, longest_stretch(at_rest), tuple(explained), gaps[0], gaps[-1])


def _explained(family: str, part: str, way: int, form: str, rows: list[DriftRow]) -> Explained:
    known = [(row.drift, value) for row in rows if (value := getattr(row.parts, part)) is not None]
    if len(known) < LEAST_POINTS:
        return Explained(family, part, way, form, None, None, None, len(known), len(rows))
    drifts, values = zip(*known, strict=True)
    return Explained(family, part, way, form, correlation(drifts, values), values[0], values[-1], len(known), len(rows))


def _paid(simulation: db.Simulation, name: str, at_rest: Any, seed: int) -> tuple[float, float]:
    """Regret per step at rest and while drifting, over a few runs."""
    instance = simulation.instance
    means, steps = instance.means, np.arange(instance.horizon)
    total = np.zeros(instance.horizon)
    for run in range(RUNS):
        arms = db.trajectory(simulation.policies[name], instance, simulation.noise, seed, run).arms
        total += means.max(axis=1) - means[steps, arms]
    moving = float(total[~at_rest].mean() / RUNS) if (~at_rest).any() else 0.0
    return float(total[at_rest].mean() / RUNS), moving


def longest_stretch(at_rest: Any) -> int:
    """The most steps in a row for which the means do not move."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], at_rest.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max())
