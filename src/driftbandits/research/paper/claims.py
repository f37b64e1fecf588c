"""The paper's claims and theorems, and what the runs say of them. Every verdict is computed from intervals.

An interval is a 95 % interval of a mean by itself. A claim that needs several of them to lie on one side holds only if
all of them do, and fails as soon as one lies wholly on the other side; anything else is not decidable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.intervals import mean_interval
from driftbandits.research.paper.experiments import ALGORITHM_1, DEFECTIVE, FORMS, RIVALS, ROUND_ROBIN
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED, Claim, Verdict
from driftbandits.simulation.simulate import Simulation

if TYPE_CHECKING:
    import polars as pl


UNCOVERED = "Not covered by the theorem, so nothing here can decide it; measured all the same. "
PRINTED = (ALGORITHM_1, FORMS["printed"])
"""The theorems are about Algorithm 1, and the paper offers Algorithm 2 as its improvement: both must obey."""

CLAIM_1_RIVALS = ("Rexp3", "Exp3.S")
"""Whom SnoozeIt and SW-UCB# are claimed to beat, as their authors tune them."""


class Interval(NamedTuple):
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.low):
            return f"{self.mean:,.0f} (one run: no interval)"
        return f"{self.mean:,.0f} ({self.low:,.0f} to {self.high:,.0f})"


def interval(values: Array) -> Interval:
    """The interval of the mean of one number a run."""
    return Interval(*(float(value) for value in mean_interval(values)))


def rises(steps: Sequence[Interval]) -> str:
    """Whether every one of these differences is positive."""
    if any(step.high <= 0 for step in steps):
        return FAILS
    return HOLDS if all(step.low > 0 for step in steps) else UNDECIDED


def rises_not(steps: Sequence[Interval]) -> str:
    """Whether some of these differences is not positive."""
    return {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}[rises(steps)]


def stays_below(found: Sequence[Interval], limits: Sequence[float]) -> str:
    """Whether every mean is at most its limit."""
    pairs = list(zip(found, limits, strict=True))
    if any(value.low > limit for value, limit in pairs):
        return FAILS
    return HOLDS if all(value.high <= limit for value, limit in pairs) else UNDECIDED


def beats(regret: Array, others: Mapping[str, Array]) -> Verdict:
    """Whether a policy's regret is below that of all others, run by run."""
    leads = {name: interval(values - regret) for name, values in others.items()}
    text = "; ".join(f"{name} less SnoozeIt {lead}" for name, lead in leads.items())
    return Verdict(rises(list(leads.values())), f"SnoozeIt {interval(regret)}. {text}.")


def monotone(regrets: Sequence[Array], claimed: bool) -> Verdict:
    """Whether regret rises from each instance to the next, or whether, as claimed, it does not."""
    steps = [interval(after - before) for before, after in pairwise(regrets)]
    values = ", ".join(f"{regret.mean():,.0f}" for regret in regrets)
    text = f"Regret by drift: {values}. Steps: {'; '.join(map(str, steps))}."
    return Verdict(rises(steps) if claimed else rises_not(steps), text)


def final(simulation: Simulation, name: str) -> Array:
    """The regret at T of every run."""
    return np.asarray(simulation.regret[name][:, -1])


def claim_1(simulation: Simulation) -> Claim:
    """Experiment 1. What the mistaken Exp3.S of the released code would make of it is told beside the verdict."""
    sharp = final(simulation, "SW-UCB#")
    also = {rival: interval(final(simulation, rival) - sharp) for rival in CLAIM_1_RIVALS}
    others = "; ".join(f"{rival} less SW-UCB# {lead}" for rival, lead in also.items())
    verdicts = {}
    for form, name in FORMS.items():
        regret = final(simulation, name)
        leads = [interval(final(simulation, rival) - regret) for rival in CLAIM_1_RIVALS]
        found = beats(regret, {rival: final(simulation, rival) for rival in CLAIM_1_RIVALS})
        mistaken = interval(final(simulation, DEFECTIVE) - regret)
        against = f"Against {DEFECTIVE}, with its mistaken γ, it {rises([mistaken])}: the lead is {mistaken}."
        verdicts[form] = Verdict(rises([*leads, *also.values()]), f"{found.numbers} {others}. {against}")
    return Claim(
        "Claim 1",
        "Where the arms are well separated and drift slowly (δ = 1/48,000), SnoozeIt and SW-UCB# have less regret "
        "than Rexp3 and Exp3.S.",
        "Rexp3 or Exp3.S, tuned as their authors say, with no more regret than SnoozeIt or SW-UCB# on the same noise.",
        verdicts,
    )


def claim_2(simulation: Simulation) -> Claim:
    """Experiment 2."""
    others = {"SW-UCB#": final(simulation, "SW-UCB#")}
    return Claim(
        "Claim 2",
        "Where the arms keep taking turns (δ = 1/4,800), SnoozeIt has less regret than SW-UCB#.",
        "SW-UCB# with no more regret than SnoozeIt, over the same noise.",
        {form: beats(final(simulation, name), others) for form, name in FORMS.items()},
    )


def claim_3(simulations: Sequence[Simulation]) -> Claim:
    """Experiment 3."""
    return Claim(
        "Claim 3",
        "With common periods of drift, regret does not rise with the drift limit δ throughout.",
        "Regret that rises at each of the three steps from the smallest δ to the largest.",
        {form: monotone([final(one, name) for one in simulations], claimed=False) for form, name in FORMS.items()},
    )


def claim_4(simulations: Sequence[Simulation]) -> Claim:
    """Experiment 4."""
    return Claim(
        "Claim 4",
        "With equal total drift, regret rises with the drift limit δ.",
        "Regret that falls, or stays, at one of the three steps from the smallest δ to the largest.",
        {form: monotone([final(one, name) for one in simulations], claimed=True) for form, name in FORMS.items()},
    )


def theorem_1(simulations: Mapping[str, Simulation], bounds: Mapping[str, float]) -> Claim:
    """The instance-dependent bound, on the instances of all four experiments."""
    limits = list(bounds.values())
    verdicts = {}
    for form, name in FORMS.items():
        names = PRINTED if form == "printed" else (name,)
        found = {one: [interval(final(simulation, one)) for simulation in simulations.values()] for one in names}
        share, closest = max(
            (value.mean / limit, family)
            for values in found.values()
            for value, limit, family in zip(values, limits, bounds, strict=True)
        )
        verdict = stays_below([value for values in found.values() for value in values], limits * len(names))
        sharp = sum(
            limit < final(simulation, ROUND_ROBIN)[0]
            for limit, simulation in zip(limits, simulations.values(), strict=True)
        )
        text = (
            f"{'' if form == 'printed' else UNCOVERED}Regret is at most {share:.0%} of the bound ({closest}). The "
            f"bound is below what round robin pays on {sharp} of {len(limits)} instances."
        )
        verdicts[form] = Verdict(verdict if form == "printed" else UNDECIDED, text)
    return Claim(
        "Theorem 1",
        "On every instance SnoozeIt's expected regret is at most c8 + Σ over blocks (c6 L/λ_min + c7).",
        "Mean regret above the bound on one of the instances of the four experiments.",
        verdicts,
    )


def theorem_2(tables: Mapping[str, pl.DataFrame], exponents: Mapping[str, Any]) -> Claim:
    """The minimax upper bound over a grid of drifts, in several families of instances.

    ``tables`` are those of ``regret_against_drift``; ``exponents`` the fits on the instances of the lower bound.
    """
    verdicts = {}
    for form, name in FORMS.items():
        rows = [
            (family, row)
            for family, table in tables.items()
            for row in table.iter_rows(named=True)
            if row["policy"] in (PRINTED if form == "printed" else (name,))
        ]
        found = [Interval(row["regret"], row["low"], row["high"]) for _, row in rows]
        share, family, drift = max((row["regret"] / row["upper"], family, row["drift"]) for family, row in rows)
        fit = exponents[ALGORITHM_1 if form == "printed" else name]
        text = (
            f"{'' if form == 'printed' else UNCOVERED}Regret is at most {share:.0%} of the bound ({family}, δ = "
            f"{drift:.1e}), over {len({row['drift'] for _, row in rows})} drifts in {len(tables)} families of "
            f"instances. On the instances of the lower bound it grows as δ^{fit.exponent:.2f} "
            f"({fit.low:.2f} to {fit.high:.2f})."
        )
        verdict = stays_below(found, [row["upper"] for _, row in rows])
        verdicts[form] = Verdict(verdict if form == "printed" else UNDECIDED, text)
    return Claim(
        "Theorem 2",
        "Whatever the instance, SnoozeIt's expected regret is O(T (δ L)^(1/3)); here with its constants written out.",
        "Mean regret above the bound at some drift, in some family of instances.",
        verdicts,
    )


def theorem_3(table: pl.DataFrame) -> Claim:
    """The minimax lower bound: the average over hard instances is at least the bound, so that some instance is."""

    def lead(name: str) -> tuple[str, float, float]:
        rows = [row for row in table.iter_rows(named=True) if row["policy"] == name and row["lower"] > 0]
        share, drift = min((row["regret"] / row["lower"], row["drift"]) for row in rows)
        reached = all(row["low"] >= row["lower"] for row in rows)
        return HOLDS if reached else UNDECIDED, share, drift

    rivals = ", ".join(f"{name} {lead(name)[1]:.1f}" for name in RIVALS)
    verdicts = {}
    for form, name in FORMS.items():
        verdict, share, drift = lead(name)
        text = f"Regret is at least {share:.1f} times the bound (closest at δ = {drift:.1e}). Rivals: {rivals} times."
        verdicts[form] = Verdict(verdict, text)
    return Claim(
        "Theorem 3",
        "For every policy some instance of drift δ costs at least Ω(T δ^(1/3)); here with its constants written out.",
        "A policy below the bound on every instance. Runs can only show the reverse: a policy whose mean regret over "
        "random hard instances is above the bound meets one that is hard for it. Below it, nothing is decided.",
        verdicts,
    )
