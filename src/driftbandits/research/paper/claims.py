"""The paper's claims and theorems, and what the runs say of them. Every verdict is computed from the runs.

A verdict on an experiment allows a chance of 5 % that it is false, all comparisons that it rests on taken together
(``evidence``). A theorem speaks of all instances, so that runs can refute it but not show it: where every test bears
it out it is called consistent with them, and each verdict says how many of its tests could have failed.

The paper does not number what its experiments claim. Here that of Experiment k is Claim k; the paper's own Claims 1, 3,
6 and 8 are steps of its proofs, and are always named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.intervals import mean_interval, positive_mean_interval
from driftbandits.research.paper.evidence import Evidence, all_of, decide, exceeds, is_positive
from driftbandits.research.paper.experiments import ALGORITHM_1, DEFECTIVE, FORMS, RIVALS, ROUND_ROBIN
from driftbandits.research.report.content import CONSISTENT, FAILS, HOLDS, UNDECIDED, Claim, Verdict
from driftbandits.research.studies.many_drifts import Correlation, correlation
from driftbandits.simulation.result import Simulation

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
    """The interval of the mean of one difference a run (Student's)."""
    return Interval(*(float(value) for value in mean_interval(values)))


def regret_interval(regret: Array) -> Interval:
    """The interval of the mean of one regret a run, which is never negative."""
    return Interval(*positive_mean_interval(regret))


def beats(regret: Array, others: Mapping[str, Array]) -> Evidence:
    """Whether a policy's regret is below that of all others, run by run."""
    return all_of([is_positive(values - regret) for values in others.values()])


def rises(regrets: Sequence[Array]) -> Evidence:
    """Whether regret rises from each instance to the next."""
    return all_of([is_positive(after - before) for before, after in pairwise(regrets)])


def judge_bound(tests: Sequence[Evidence], could_fail: int) -> str:
    """The verdict on a bound: refuted by one test, taken with all; consistent if all are passed and some could fail."""
    found = all_of(tests)
    verdict = decide(found)
    if verdict == HOLDS:
        return CONSISTENT if could_fail else UNDECIDED
    return verdict


def strength(tests: int, could_fail: int) -> str:
    """How much a verdict is worth, in a sentence."""
    return f"{could_fail} of {tests} tests could have failed."


def final(simulation: Simulation, name: str) -> Array:
    """The regret at T of every run."""
    return np.asarray(simulation.regret[name][:, -1])


def claim_1(simulation: Simulation) -> Claim:
    """Experiment 1. What the mistaken Exp3.S of the released code would make of it is told beside the verdict."""
    sharp = final(simulation, "SW-UCB#")
    rivals = {rival: final(simulation, rival) for rival in CLAIM_1_RIVALS}
    others = "; ".join(f"{rival} less SW-UCB# {interval(values - sharp)}" for rival, values in rivals.items())
    verdicts = {}
    for form, name in FORMS.items():
        regret = final(simulation, name)
        found = all_of([beats(regret, rivals), beats(sharp, rivals)])
        mistaken = final(simulation, DEFECTIVE) - regret
        against = (
            f"Against {DEFECTIVE}, with its mistaken γ, it {decide(is_positive(mistaken))}: the lead is "
            f"{interval(mistaken)}."
        )
        tests = 2 * len(rivals)
        text = f"{_leads(regret, rivals)} {others}. {against} {strength(tests, tests)}"
        verdicts[form] = Verdict(decide(found), text, tests, tests)
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
    verdicts = {}
    for form, name in FORMS.items():
        regret = final(simulation, name)
        verdicts[form] = Verdict(
            decide(beats(regret, others)), f"{_leads(regret, others)} {strength(1, 1)}", tests=1, could_fail=1
        )
    return Claim(
        "Claim 2",
        "Where the arms keep taking turns (δ = 1/4,800), SnoozeIt has less regret than SW-UCB#.",
        "SW-UCB# with no more regret than SnoozeIt, over the same noise.",
        verdicts,
    )


def claim_3(simulations: Sequence[Simulation], table: pl.DataFrame) -> Claim:
    """Experiment 3, by the paper's word: correlation over the drifts of ``many_drifts``' table."""
    verdicts = {}
    for form, name in FORMS.items():
        found = _correlation(table, name)
        verdict = FAILS if found.low > 0 or found.high < 0 else _no_correlation(found)
        way = {1: "it grows with δ", -1: "it falls as δ grows"}[1 if found.value > 0 else -1]
        weaker = decide(rises([final(one, name) for one in simulations]).opposite)
        text = (
            f"Over {found.points} drifts in the paper's range the correlation of mean regret with δ is {found}"
            f"{': ' + way if verdict == FAILS else ''}. At the paper's four drifts: {_means(simulations, name)}; the "
            f"weaker statement, that it does not rise at every one of three steps, {_is(weaker)}. {strength(1, 1)}"
        )
        verdicts[form] = Verdict(verdict, text, tests=1, could_fail=1)
    return Claim(
        "Claim 3",
        "With common periods of drift, regret “does not correlate with an increase in drift limit δ”.",
        "A correlation over the drifts, of either sign, whose interval excludes 0. An interval within −0.5 and 0.5 "
        "shows that there is none to speak of; anything else decides nothing.",
        verdicts,
    )


def claim_4(simulations: Sequence[Simulation], table: pl.DataFrame) -> Claim:
    """Experiment 4: regret rises at each of the paper's steps; the correlation over more drifts stands beside it."""
    verdicts = {}
    for form, name in FORMS.items():
        regrets = [final(one, name) for one in simulations]
        steps = "; ".join(str(interval(after - before)) for before, after in pairwise(regrets))
        tests = len(regrets) - 1
        text = (
            f"Regret by drift: {_means(simulations, name)}. Steps: {steps}. Correlation with δ over "
            f"{_correlation(table, name).points} drifts: {_correlation(table, name)}. {strength(tests, tests)}"
        )
        verdicts[form] = Verdict(decide(rises(regrets)), text, tests, tests)
    return Claim(
        "Claim 4",
        "With equal total drift, regret rises with the drift limit δ.",
        "Regret that falls, or stays, at one of the three steps from the smallest δ to the largest.",
        verdicts,
    )


def theorem_1(simulations: Mapping[str, Simulation], bounds: Mapping[str, float], sharp: pl.DataFrame) -> Claim:
    """The instance-dependent bound, where it can fail (``sharp_bounds``) and on the instances of the experiments."""
    verdicts = {}
    for form, name in FORMS.items():
        names = PRINTED if form == "printed" else (name,)
        here = [
            _Test(*_mean_and_error(final(simulation, one)), bounds[family], final(simulation, ROUND_ROBIN)[0], family)
            for one in names
            for family, simulation in simulations.items()
        ]
        tests = [*_sharp_tests(sharp, names, "theorem1"), *here]
        own = sum(test.could_fail for test in here)
        text = f"{_closest(tests)} On the instances of the four experiments {own} of {len(here)} could. "
        verdicts[form] = _verdict(form, tests, text)
    return Claim(
        "Theorem 1",
        "On every instance SnoozeIt's expected regret is at most c8 + Σ over blocks (c6 L/λ_min + c7).",
        "Mean regret above the bound on one instance. Only instances count on which round robin breaks the bound: on "
        "the others no policy worth the name could.",
        verdicts,
    )


def theorem_2(tables: Mapping[str, pl.DataFrame], sharp: pl.DataFrame) -> Claim:
    """The minimax upper bound over a grid of drifts, in several families of instances, and on ``sharp_bounds``."""
    verdicts = {}
    for form, name in FORMS.items():
        names = PRINTED if form == "printed" else (name,)
        tests = _sharp_tests(sharp, names, "theorem2")
        for family, table in tables.items():
            tests += [
                _Test(row["regret"], row["error"], row["runs"], row["upper"], row["turns"], f"{family}, {_at(row)}")
                for row in table.iter_rows(named=True)
                if row["policy"] in names
            ]
        verdicts[form] = _verdict(form, tests, f"{_closest(tests)} ")
    return Claim(
        "Theorem 2",
        "Whatever the instance, SnoozeIt's expected regret is O(T (δ L)^(1/3)); here with its constants written out.",
        "Mean regret above the bound at some drift, in some family of instances. Only tests count in which round "
        "robin breaks the bound: elsewhere SnoozeIt may never snooze and still pass.",
        verdicts,
    )


def theorem_3(table: pl.DataFrame) -> Claim:
    """The minimax lower bound: the average over hard instances is at least the bound, so that some instance is."""

    def lead(name: str) -> tuple[bool, float, float, int]:
        rows = [row for row in table.iter_rows(named=True) if row["policy"] == name and row["lower"] > 0]
        share, drift = min((row["regret"] / row["lower"], row["drift"]) for row in rows)
        reached = all_of([exceeds(row["regret"], row["error"], row["runs"], row["lower"]) for row in rows])
        return decide(reached) == HOLDS, share, drift, len(rows)

    rivals = ", ".join(f"{name} {lead(name)[1]:.1f}" for name in RIVALS)
    verdicts = {}
    for form, name in FORMS.items():
        reached, share, drift, tests = lead(name)
        text = (
            f"Regret is at least {share:.1f} times the bound (closest at δ = {drift:.1e}). Rivals: {rivals} times. "
            f"{strength(tests, 0)} A theorem about every policy is not tested by {len(FORMS) + len(RIVALS)} of them."
        )
        verdicts[form] = Verdict(CONSISTENT if reached else UNDECIDED, text, tests, 0)
    return Claim(
        "Theorem 3",
        "For every policy some instance of drift δ costs at least Ω(T δ^(1/3)); here with its constants written out.",
        "Nothing that is run here: a policy below the bound on all instances, of which only some can be played. A "
        "policy whose mean regret over random hard instances is above the bound meets one that is hard for it.",
        verdicts,
    )


class _Test(NamedTuple):
    """One comparison of a mean with a bound; it could fail where round robin does."""

    mean: float
    error: float
    runs: int
    limit: float
    turns: float
    where: str

    @property
    def could_fail(self) -> bool:
        return bool(self.turns > self.limit)

    @property
    def evidence(self) -> Evidence:
        return exceeds(self.mean, self.error, self.runs, self.limit).opposite


def _sharp_tests(table: pl.DataFrame, names: Sequence[str], bound: str) -> list[_Test]:
    rows = [row for row in table.iter_rows(named=True) if row["policy"] in names]
    return [
        _Test(
            row["regret"],
            row["error"],
            row["runs"],
            row[bound],
            row["turns"],
            f"arms {row['shape']}, gap {row['gap']:g}, {_at(row)}, T = {row['horizon']:,}",
        )
        for row in rows
    ]


def _at(row: Mapping[str, Any]) -> str:
    return f"δ = {row['drift']:.1e}" if row["drift"] else "δ = 0"


def _closest(tests: Sequence[_Test]) -> str:
    """The headline: the test that could have failed and came closest to it."""
    counted = [test for test in tests if test.could_fail]
    if not counted:
        return "No test could have failed."
    closest = max(counted, key=lambda test: test.mean / test.limit)
    return (
        f"Where a test could have failed, regret is at most {closest.mean / closest.limit:.0%} of the bound "
        f"({closest.where}: {closest.mean:,.0f} against {closest.limit:,.0f}, round robin {closest.turns:,.0f})."
    )


def _verdict(form: str, tests: Sequence[_Test], text: str) -> Verdict:
    could = sum(test.could_fail for test in tests)
    said = f"{'' if form == 'printed' else UNCOVERED}{text}{strength(len(tests), could)}"
    verdict = judge_bound([test.evidence for test in tests], could) if form == "printed" else UNDECIDED
    return Verdict(verdict, said, len(tests), could)


def _mean_and_error(values: Array) -> tuple[float, float, int]:
    spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return float(values.mean()), spread / math.sqrt(len(values)), len(values)


def _leads(regret: Array, others: Mapping[str, Array]) -> str:
    text = "; ".join(f"{name} less SnoozeIt {interval(values - regret)}" for name, values in others.items())
    return f"SnoozeIt {regret_interval(regret)}. {text}."


def _means(simulations: Sequence[Simulation], name: str) -> str:
    return ", ".join(f"{final(one, name).mean():,.0f}" for one in simulations)


def _correlation(table: pl.DataFrame, name: str) -> Correlation:
    part = table.filter(policy=name)
    return correlation(part["drift"], part["regret"])


NEGLIGIBLE = 0.5
"""A correlation below this explains less than a quarter of the variance."""


def _no_correlation(found: Correlation) -> str:
    return HOLDS if found.low > -NEGLIGIBLE and found.high < NEGLIGIBLE else UNDECIDED


def _is(verdict: str) -> str:
    return f"is {verdict}" if verdict == UNDECIDED else verdict
