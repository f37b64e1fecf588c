"""Why the paper says regret is as it is, in Experiments 2, 3 and 4: do the parts behave as it says?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from driftbandits._common.arrays import Array
from driftbandits.instances.base import Instance
from driftbandits.policies import SWUCBSharp
from driftbandits.research.paper.experiments import EXPERIMENTS, FORMS
from driftbandits.research.paper.sections import Material
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED, Section
from driftbandits.research.studies.many_drifts import LEAST_POINTS, Correlation, correlation, parts_of_regret
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.trajectory import trajectory

RUNS = 3
"""Runs whose every step is looked at."""
SHARP = "SW-UCB#"


class Mechanism(NamedTuple):
    """One explanation of the paper, what was measured, and whether it behaves so."""

    experiment: str
    said: str
    form: str
    measured: str
    verdict: str


def mechanisms(material: Material) -> list[Mechanism]:
    """All of them, in the order of the paper."""
    return [*toggling_mechanisms(material), *drift_mechanisms(material)]


def toggling_mechanisms(material: Material) -> list[Mechanism]:
    """Experiment 2: who pays less while the arms stand still, and what SW-UCB#'s window holds."""
    simulation: Simulation = material.results["toggling"]
    instance = simulation.instance
    flat = np.append(np.diff(instance.means[:, 0]) == 0, True)
    paid = {name: _paid(simulation, name, flat, material.settings.seed) for name in (*FORMS.values(), SHARP)}
    found = []
    for form, name in FORMS.items():
        share = parts_of_regret(simulation, name)["snoozed"]
        found.append(
            Mechanism(
                "Experiment 2",
                "SnoozeIt makes better use of short stretches of stationarity than SW-UCB#",
                form,
                f"regret a step while the arms stand still {paid[name][0]:.4f}, SW-UCB#'s {paid[SHARP][0]:.4f}; while "
                f"they drift {paid[name][1]:.4f} and {paid[SHARP][1]:.4f}; an arm is snoozed {share:.0%} of the time",
                HOLDS if paid[name][0] < paid[SHARP][0] else FAILS,
            )
        )
    longest, stretch = _longest_window(instance.horizon), _longest_stretch(flat)
    found.append(
        Mechanism(
            "Experiment 2",
            "SW-UCB#'s window comes to hold the optimal stretches of both arms, and the drift between them",
            SHARP,
            f"its window has {longest:,} steps at most; the arms stand still for {stretch:,} at a time and drift for "
            f"as long between, so a window with parts of two stretches needs more than {stretch:,}",
            HOLDS if longest > stretch else FAILS,
        )
    )
    return found


EXPLAINED = {
    "common-periods": (
        ("detected", 1, "larger δ comes with larger detected gaps λ̂"),
        ("snooze", 1, "larger detected gaps lengthen the snoozes, in spite of the larger δ"),
        ("episodes", 1, "larger δ brings more frequent episodes"),
        ("snoozed", 1, "so that an arm is snoozed for a larger share of the time"),
    ),
    "equal-drift": (
        ("snooze", -1, "with equal gaps, larger δ shortens the snoozes"),
        ("episodes", 1, "larger δ brings more frequent episodes"),
        ("snoozed", -1, "so that an arm is snoozed for a smaller share of the time"),
    ),
}
"""What goes with delta according to the paper, and which way."""


def drift_mechanisms(material: Material) -> list[Mechanism]:
    """Experiments 3 and 4: each part of the explanation, by its correlation with delta over many drifts."""
    found = []
    for family, parts in EXPLAINED.items():
        table = material.results[f"many-drifts-{family}"]
        title = next(one.title.split(":")[0] for one in EXPERIMENTS if one.name == family)
        for form, name in FORMS.items():
            mine = table.filter(policy=name)
            for column, way, said in parts:
                known = mine.filter(pl.col(column).is_not_null())
                if len(known) < LEAST_POINTS:
                    found.append(Mechanism(title, said, form, "hardly any snooze", UNDECIDED))
                    continue
                r = correlation(known["drift"], known[column])
                ends = f"{_plain(known[column][0])} at the smallest δ, {_plain(known[column][-1])} at the largest"
                some = "" if len(known) == len(mine) else f" of the {len(known)} drifts, of {len(mine)}, with snoozes"
                found.append(Mechanism(title, said, form, f"r = {r}; {ends}{some}", _goes(r, way)))
    return found


def mechanisms_section(material: Material) -> Section:
    """The explanations as a table, and what the paper leaves out of them."""
    found = mechanisms(material)
    table = material.results["many-drifts-common-periods"].filter(policy=FORMS["printed"]).sort("drift")
    first, last = table.row(0, named=True), table.row(-1, named=True)
    count = {verdict: sum(one.verdict == verdict for one in found) for verdict in (HOLDS, FAILS, UNDECIDED)}
    text = [
        "The paper explains its figures by what SnoozeIt does: how large the gaps are that it detects, how long it "
        "snoozes, how often. All of that can be measured. "
        f"{count[HOLDS]} of {len(found)} explanations behave as it says, {count[FAILS]} do not.",
        "What the explanation of Experiment 3 leaves out: where the arms are further apart, each pull of the worse one "
        f"costs more. While both arms are active the mean gap of the printed form goes from {first['gap'] or 0:.3f} at "
        f"the smallest δ to {last['gap'] or 0:.3f} at the largest.",
    ]
    rows: list[dict[str, Any]] = [
        {
            "where": one.experiment,
            "the paper's explanation": one.said,
            "form": one.form,
            "measured": one.measured,
            "behaves so": one.verdict,
        }
        for one in found
    ]
    return Section("mechanisms", "The paper's explanations, tested", text, tables={"Explanations": rows})


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _goes(r: Correlation, way: int) -> str:
    if r.low <= 0 <= r.high:
        return UNDECIDED
    return HOLDS if r.value * way > 0 else FAILS


def _paid(simulation: Simulation, name: str, flat: Array, seed: int) -> tuple[float, float]:
    """Regret a step while the arms stand still, and while they drift, over a few runs."""
    instance: Instance = simulation.instance
    means, steps = instance.means, np.arange(instance.horizon)
    total = np.zeros(instance.horizon)
    for run in range(RUNS):
        arms = trajectory(simulation.policies[name], instance, simulation.noise, seed, run).arms
        total += means.max(axis=1) - means[steps, arms]
    return float(total[flat].mean() / RUNS), float(total[~flat].mean() / RUNS) if (~flat).any() else 0.0


def _longest_window(horizon: int) -> int:
    """The longest window of SW-UCB#, at the horizon."""
    return int(SWUCBSharp(horizon, 1 / 4_800).parameters(2)["window_at_end"])


def _longest_stretch(flat: Array) -> int:
    """The most steps in a row for which the means stand still."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max())
