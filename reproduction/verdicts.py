"""What follows from the results: each function takes typed results and returns a Verdict.

A function names the studies that it needs as its parameters. ``form`` is the form of SnoozeIt, or another reading, that
``statements.toml`` asks about; further parameters come from there too. Nothing here reads or writes text for people.

A verdict on an experiment allows a chance of 5 % that it is false, all comparisons that it rests on taken together. A
theorem speaks of all instances, so that runs can refute it but not show it: where every test bears it out it is
consistent with them. A test counts only if it could fail: of a bound, where round robin, which learns nothing, breaks
the bound. The paper does not number what its experiments claim; here that of Experiment k is Claim k.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from reproduction.experiments import ALGORITHM_1, DEFECTIVE, FORMS, PRINTED, RELEASED, RIVALS, ROUND_ROBIN
from reproduction.statistics import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Evidence,
    Interval,
    all_of,
    beats,
    correlation,
    decide,
    exceeds,
    interval,
    is_positive,
    mean_and_error,
    positive_interval,
    rises,
)  # fmt: skip
from reproduction.studies.change_of_measure import ChangeOfMeasure
from reproduction.studies.comparison import Comparison
from reproduction.studies.drift import HARD, RegretAgainstDrift
from reproduction.studies.episodes import BLOCKS, EPISODIC, Episodes
from reproduction.studies.gap_profile import GapProfile
from reproduction.studies.good_event import GoodEvent
from reproduction.studies.many_drifts import ManyDrifts
from reproduction.studies.mechanisms import SHARP, Mechanisms
from reproduction.studies.mild_drift import MildDrift
from reproduction.studies.released import AuthorsRun, Provenance
from reproduction.studies.sharp_bounds import SharpBounds
from reproduction.studies.trajectories import Trajectories
from reproduction.studies.wave import Wave

CONSISTENT = "consistent"
"""Of a statement about all instances: every test bore it out, and some could have failed."""
POWERLESS = "no test could fail"
"""Of any statement: whatever was run, it could not have refuted it."""
PARTLY = "in part"
"""True in one of its readings, or true of less than is said."""
PROVED, MISPRINT, DEFINED, UNTESTED = "proved", "misprint", "definition", "not tested"
KINDS = (HOLDS, CONSISTENT, PROVED, PARTLY, FAILS, MISPRINT, UNDECIDED, POWERLESS, DEFINED, UNTESTED)


@dataclass(frozen=True)
class Strength:
    """How many tests a verdict rests on, and how many of them could have failed."""

    tests: int = 0
    could_fail: int = 0


@dataclass(frozen=True)
class Verdict:
    """What follows from the results, how strong it is, and the numbers behind it."""

    kind: str
    strength: Strength = Strength()
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"a verdict is one of {', '.join(KINDS)}; got {self.kind!r}")


def _all(verdict: str, tests: int, **numbers: Any) -> Verdict:
    """A verdict of which every test could have failed."""
    return Verdict(verdict, Strength(tests, tests), numbers)


def _bounded(tests: int, could_fail: int, violations: int, **numbers: Any) -> Verdict:
    """The verdict on a statement about all instances, from counts."""
    kind = FAILS if violations else CONSISTENT if could_fail else POWERLESS
    return Verdict(kind, Strength(tests, could_fail), {"violations": violations, **numbers})


# ---- the experiments


def claim_1(separated: Comparison, form: str) -> Verdict:
    """Experiment 1: SnoozeIt and SW-UCB# have less regret than Rexp3 and Exp3.S."""
    runs = {name: np.array(separated.row(name).runs) for name in (*RIVALS, DEFECTIVE, FORMS[form])}
    mine, sharp, rivals = runs[FORMS[form]], runs["SW-UCB#"], [runs["Rexp3"], runs["Exp3.S"]]
    mistaken = runs[DEFECTIVE] - mine
    return _all(
        decide(all_of([beats(mine, rivals), beats(sharp, rivals)])),
        2 * len(rivals),
        regret=positive_interval(mine),
        leads={name: interval(runs[name] - mine) for name in ("Rexp3", "Exp3.S")},
        sharp_leads={name: interval(runs[name] - sharp) for name in ("Rexp3", "Exp3.S")},
        mistaken=decide(is_positive(mistaken)),
        mistaken_lead=interval(mistaken),
    )


def claim_2(toggling: Comparison, form: str) -> Verdict:
    """Experiment 2: SnoozeIt has less regret than SW-UCB#."""
    mine, sharp = (np.array(toggling.row(name).runs) for name in (FORMS[form], "SW-UCB#"))
    return _all(decide(beats(mine, [sharp])), 1, regret=positive_interval(mine), lead=interval(sharp - mine))


def other_source(provenance: Provenance, experiment: str, form: str) -> Verdict:
    """Claim 1 or 2 on the form of its instance that was not taken."""
    judge = {"separated": claim_1, "toggling": claim_2}[experiment]
    return judge(provenance.of(experiment).other, form)


def claim_3(common_periods: Comparison, many_drifts: ManyDrifts, form: str) -> Verdict:
    """Experiment 3: regret does not correlate with an increase in delta.

    The claim is about the paper's four instances, where four points have no interval. Beside them stands the
    correlation over 21 drifts in the paper's range. Regret that grows with delta there refutes the claim. Regret that
    falls, or hardly depends on delta, bears it out: the paper's explanation is that larger gaps make up for drift.
    """
    name = FORMS[form]
    regrets, rows = common_periods.by_instance(name), many_drifts.of("common-periods", name)
    means, over_all = [float(np.mean(runs)) for runs in regrets], _over_drifts(many_drifts, "common-periods", name)
    not_every_step = decide(rises(regrets).opposite)
    if over_all.low > 0 or not_every_step == FAILS:
        kind = FAILS
    elif (over_all.high < 0 or (over_all.low > -NEGLIGIBLE and over_all.high < NEGLIGIBLE)) and not_every_step == HOLDS:
        kind = HOLDS
    else:
        kind = UNDECIDED
    four = float(np.corrcoef([one.delta for one in common_periods.instances], means)[0, 1]) if np.ptp(means) else 0.0
    numbers = {"means": means, "four": four, "correlation": over_all, "drifts": len(rows)}
    return _all(kind, 2, not_every_step=not_every_step, **numbers)


NEGLIGIBLE = 0.5
"""A correlation below this explains less than a quarter of the variance."""


def claim_4(equal_drift: Comparison, many_drifts: ManyDrifts, form: str) -> Verdict:
    """Experiment 4: regret rises at each of the paper's steps; the correlation over more drifts stands beside it."""
    regrets = equal_drift.by_instance(FORMS[form])
    return _all(
        decide(rises(regrets)),
        len(regrets) - 1,
        means=[float(np.mean(runs)) for runs in regrets],
        steps=[interval(np.subtract(after, before)) for before, after in pairwise(regrets)],
        correlation=_over_drifts(many_drifts, "equal-drift", FORMS[form]),
        drifts=len(many_drifts.of("equal-drift", FORMS[form])),
    )


def _over_drifts(many: ManyDrifts, family: str, policy: str) -> Interval:
    rows = many.of(family, policy)
    return correlation([row.drift for row in rows], [row.regret.value for row in rows])


def outperforms(separated: Comparison, toggling: Comparison, form: str) -> Verdict:
    """Whether SnoozeIt has less regret than every other policy in one of two comparisons; two cannot refute it."""
    least = [
        number
        for number, one in ((1, separated), (2, toggling))
        if one.row(FORMS[form]).regret.high < min(one.row(rival).regret.low for rival in RIVALS)
    ]
    return _all(HOLDS if least else UNDECIDED, 2, least=least)


def remark_2(
    separated: Comparison, toggling: Comparison, common_periods: Comparison, equal_drift: Comparison
) -> Verdict:
    """Algorithm 2 against Algorithm 1 on every instance of the experiments."""
    changes = [
        float(np.mean(second) / np.mean(first) - 1)
        for one in (separated, toggling, common_periods, equal_drift)
        for first, second in zip(one.by_instance(ALGORITHM_1), one.by_instance(PRINTED), strict=True)
    ]
    kind = FAILS if max(changes) > NOTABLE else HOLDS if min(changes) < -NOTABLE else UNDECIDED
    less = sum(change < 0 for change in changes)
    return _all(kind, len(changes), less=less, least=min(changes), most=max(changes))


NOTABLE = 0.02
"""A change of regret that is more than the noise of some runs."""


def authors_run(authors_run: AuthorsRun) -> Verdict:
    """The authors' own run of Experiment 2, by two numbers that are read off a picture."""
    sharp, snoozeit = authors_run.theirs("SW-UCB#"), authors_run.theirs(RELEASED)
    apart = snoozeit - sharp
    kind = UNDECIDED if abs(apart) < 2 * authors_run.reading_error else FAILS if apart > 0 else HOLDS
    return _all(kind, 1, sharp=sharp, snoozeit=snoozeit, times=snoozeit / sharp, error=authors_run.reading_error)


def one_best_arm(separated: Comparison) -> Verdict:
    """Experiment 1: the best arm never changes."""
    (facts,) = separated.instances
    return _all(FAILS if facts.crossings else HOLDS, 1, least_gap=facts.least_gap)


def toggles(toggling: Comparison) -> Verdict:
    """Experiment 2: the best arm changes with every drift."""
    (facts,) = toggling.instances
    return _all(HOLDS if facts.crossings == facts.moves else FAILS, 1, moves=facts.moves, crossings=facts.crossings)


def equal_on_all(equal_drift: Comparison, fact: str) -> Verdict:
    """Experiment 4: all four instances have the same total drift, or the same largest gap."""
    values = [float(getattr(one, fact)) for one in equal_drift.instances]
    return _all(HOLDS if max(values) - min(values) < 1e-3 * max(values) else FAILS, 1, value=float(np.mean(values)))


# ---- the paper's explanations


def better_at_rest(mechanisms: Mechanisms, form: str) -> Verdict:
    """Experiment 2: SnoozeIt pays less than SW-UCB# while the arms are stationary."""
    mine, sharp = mechanisms.rest_of(FORMS[form]), mechanisms.rest_of(SHARP)
    return _all(HOLDS if mine.at_rest < sharp.at_rest else FAILS, 1, mine=mine, sharp=sharp)


def window_holds_both(mechanisms: Mechanisms) -> Verdict:
    """Experiment 2: SW-UCB#'s window comes to hold the optimal stretches of both arms, and the drift between.

    A window that covers a crossing holds steps in which either arm is best. It holds parts of two stationary stretches
    only if it is longer than the drift between them, which lasts as long as they do.
    """
    longest, rest = mechanisms.longest_window, mechanisms.rest
    kind = HOLDS if longest > rest else PARTLY if longest > 1 else FAILS
    return _all(kind, 1, longest=longest, rest=rest, share=min(1.0, longest / (2 * rest)))


def explained(mechanisms: Mechanisms, family: str, part: str, form: str) -> Verdict:
    """Experiments 3 and 4: a part of the explanation goes with delta the way that the paper says."""
    found = mechanisms.part(family, part, form)
    if found.r is None:
        return Verdict(POWERLESS, Strength(1, 0), {"row": found})
    if found.r.low <= 0 <= found.r.high:
        return _all(UNDECIDED, 1, row=found)
    return _all(HOLDS if found.r.value * found.way > 0 else FAILS, 1, row=found)


def growing_gap(trajectories: Trajectories) -> Verdict:
    """Figure 7: larger observed gaps come with shorter active and longer passive phases."""
    phases = trajectories.growing.phases
    if phases is None:
        return Verdict(POWERLESS, Strength(2, 0))
    kind = CONSISTENT if phases[0] < 0 < phases[1] else UNDECIDED
    return _all(kind, 2, active=phases[0], passive=phases[1])


def separated_stretches_snooze(trajectories: Trajectories) -> Verdict:
    """Figure 8: where the arms are well separated there are passive phases."""
    rows = trajectories.swinging.episodes
    snoozed, others = ([row.true_gap for row in rows if row.snoozed is side] for side in (True, False))
    if not snoozed or not others:
        return Verdict(POWERLESS, Strength(1, 0))
    least, most = min(snoozed), max(others)
    kind = HOLDS if least > most else CONSISTENT if np.mean(snoozed) > np.mean(others) else FAILS
    numbers = {"without": trajectories.swinging.without_snooze(), "episodes": len(rows), "least": least, "most": most}
    return _all(kind, len(rows), **numbers)


# ---- theorems


@dataclass(frozen=True)
class Test:
    """One comparison of a mean with a bound; it could fail where round robin does."""

    mean: float
    error: float
    runs: int
    limit: float
    turns: float
    where: Mapping[str, Any]

    @property
    def could_fail(self) -> bool:
        """Whether round robin breaks the bound."""
        return bool(self.turns > self.limit)

    @property
    def evidence(self) -> Evidence:
        """For and against the bound."""
        return exceeds(self.mean, self.error, self.runs, self.limit).opposite


def theorem_1(
    sharp_bounds: SharpBounds,
    separated: Comparison,
    toggling: Comparison,
    common_periods: Comparison,
    equal_drift: Comparison,
    form: str,
) -> Verdict:
    """The instance-dependent bound, where it can fail and on the instances of the experiments."""
    here = []
    for one in (separated, toggling, common_periods, equal_drift):
        for policy in _tested(form):
            turns = one.by_instance(ROUND_ROBIN)
            for facts, runs, by_turns in zip(one.instances, one.by_instance(policy), turns, strict=True):
                where = {"experiment": one.experiment, "drift": facts.delta}
                here.append(Test(*mean_and_error(runs), len(runs), facts.theorem1, by_turns[0], where))
    own = sum(test.could_fail for test in here)
    return _bound(form, [*_sharp(sharp_bounds, form, "theorem1"), *here], own=own, experiments=len(here))


def theorem_2(sharp_bounds: SharpBounds, regret_against_drift: RegretAgainstDrift, form: str) -> Verdict:
    """The minimax upper bound over a grid of drifts, in several families of instances, and where it is sharp."""
    tests = _sharp(sharp_bounds, form, "theorem2")
    for row in regret_against_drift.rows:
        if row.policy in _tested(form):
            mean, where = row.regret, {"family": row.family, "drift": row.drift}
            tests.append(Test(mean.value, mean.error, mean.runs, row.upper, row.turns, where))
    return _bound(form, tests)


def theorem_3(regret_against_drift: RegretAgainstDrift, form: str) -> Verdict:
    """The minimax lower bound: the mean over hard instances, beside the bound. A few policies cannot test it."""
    leads = {name: _lead(regret_against_drift, name) for name in (FORMS[form], *RIVALS)}
    share, drift, tests = leads[FORMS[form]]
    numbers = {"share": share, "drift": drift, "rivals": {name: leads[name][0] for name in RIVALS}}
    return Verdict(POWERLESS, Strength(tests, 0), numbers)


def _lead(found: RegretAgainstDrift, policy: str) -> tuple[float, float, int]:
    rows = [row for row in found.of(HARD, policy) if row.lower > 0]
    return *min((row.regret.value / row.lower, row.drift) for row in rows), len(rows)


def _tested(form: str) -> tuple[str, ...]:
    """The theorems are about Algorithm 1, and the paper offers Algorithm 2 as its improvement: both must obey."""
    return (ALGORITHM_1, PRINTED) if form == "printed" else (FORMS[form],)


def _sharp(found: SharpBounds, form: str, bound: str) -> list[Test]:
    return [
        Test(
            row.regret.value, row.regret.error, row.regret.runs, getattr(row, bound), row.turns,
            {"shape": row.shape, "gap": row.gap, "drift": row.drift, "horizon": row.horizon},
        )
        for row in found.rows
        if row.policy in _tested(form)
    ]  # fmt: skip


def _bound(form: str, tests: Sequence[Test], **numbers: Any) -> Verdict:
    """A theorem is about the printed forms: what another form does cannot refute it."""
    could = [test for test in tests if test.could_fail]
    closest = max(could, key=lambda test: test.mean / test.limit, default=None)
    numbers |= {"closest": closest, "sharp": len(could)}
    if form != "printed":
        return Verdict(POWERLESS, Strength(len(tests), 0), numbers)
    found = decide(all_of([test.evidence for test in tests]))
    kind = found if found != HOLDS else CONSISTENT if could else POWERLESS
    return Verdict(kind, Strength(len(tests), len(could)), numbers)


# ---- lemmas and the discussion


def lemma(episodes: Episodes, lemma: str) -> Verdict:
    """A lemma on simulated episodes."""
    row = episodes.of(lemma)
    return _bounded(row.checks, row.could_fail, row.violations, closest=row.closest)


def lemma_4(episodes: Episodes, wave: Wave, lemma: str) -> Verdict:
    """Lemma 4 on simulated episodes, and on the wave, where regret is linear in the episode's length."""
    row, waved = episodes.of(lemma), wave.rows
    ratios = [one.lemma4 for one in waved] if lemma == EPISODIC else []
    could, false = row.could_fail + len(ratios), row.violations + sum(ratio > 1 for ratio in ratios)
    numbers = {"closest": row.closest, "wave": (min(ratios), max(ratios)) if ratios else None}
    return _bounded(row.checks + len(ratios), could, false, **numbers)


def claim_8(episodes: Episodes, wave: Wave) -> Verdict:
    """Claim 8: what is charged to a block, on simulated runs and on the wave."""
    row, ratios = episodes.of(BLOCKS), [one.claim8 for one in wave.rows]
    could, false = row.could_fail + len(ratios), row.violations + sum(ratio > 1 for ratio in ratios)
    calm = [one.claim8 for one in wave.rows if one.calm]
    numbers = {"calm": min(calm), "waving": max(ratios), "closest": row.closest}
    return _bounded(row.checks + len(ratios), could, false, **numbers)


def figure_one(gap_profile: GapProfile, number: int, form: str) -> Verdict:
    """The four statements in the caption of Figure 1, under one definition of the detectable gap."""
    if not gap_profile.rows:
        return Verdict(POWERLESS, Strength(1, 0))
    row = gap_profile.of(form)
    steady, less = row.jump <= gap_profile.gap_step + 1e-9, row.variation < gap_profile.gap_variation
    kind = {
        1: HOLDS if row.together > 0 and row.early_as_said else FAILS,
        2: HOLDS if row.lag > 0 else FAILS,
        3: HOLDS if steady and less else PARTLY if steady or less else FAILS,
        4: HOLDS if 2 * row.values <= row.steps else FAILS,
    }[number]
    return _all(kind, 2 if number == 3 else 1, row=row, step=gap_profile.gap_step, variation=gap_profile.gap_variation)


def detection_time(gap_profile: GapProfile) -> Verdict:
    """A gap lambda shows in about 1/lambda^2 steps: the deciding window times lambda^2 is c0 L, up to rounding."""
    if not gap_profile.rows:
        return Verdict(POWERLESS, Strength(1, 0))
    low, high = gap_profile.least_product, gap_profile.largest_product
    return _all(HOLDS if low > 0.99 and high < 1.01 else FAILS, 1, low=low, high=high)


def no_drift(sharp_bounds: SharpBounds) -> Verdict:
    """Without drift the detectable gap is never below the gap."""
    true, tried = sharp_bounds.never_below, sharp_bounds.gaps
    return _all(HOLDS if true == tried else FAILS, tried, true=true, tried=tried)


def log_over_gap(sharp_bounds: SharpBounds) -> Verdict:
    """Without drift regret is O(log T/Delta): at most Theorem 1's single block, where round robin exceeds it."""
    rows = [row for row in sharp_bounds.rows if row.drift == 0 and row.policy == ALGORITHM_1]
    could = [row for row in rows if row.turns > row.theorem1]
    closest = max((row.regret.value / row.theorem1 for row in could), default=0.0)
    false = sum(row.regret.low > row.theorem1 for row in rows)
    return _bounded(len(rows), len(could), false, closest=closest)


def mild_drift(mild_drift: MildDrift) -> Verdict:
    """Logarithmic if regret/ln T stays within a fifth over all horizons."""
    found = [row.per_log for row in mild_drift.rows]
    could = [row for row in mild_drift.rows if row.bound < row.turns]
    numbers = {"least": min(found), "most": max(found), "exponent": mild_drift.exponent.exponent}
    kind = FAILS if max(found) > 1.2 * min(found) else CONSISTENT
    return Verdict(kind, Strength(len(found), len(could)), numbers)


def good_event(good_event: GoodEvent) -> Verdict:
    """Claim 1 of the appendix: the good event fails with probability at most 2/T."""
    failed = good_event.at(1.0).failed
    return _all(FAILS if failed else CONSISTENT, 1, failed=failed)


def change_of_measure(change_of_measure: ChangeOfMeasure) -> Verdict:
    """Lemma 9: only a policy that surely behaves differently in the two instances could refute it."""
    rows = change_of_measure.rows
    return _bounded(len(rows), sum(row.could_fail for row in rows), sum(row.refuted for row in rows))
