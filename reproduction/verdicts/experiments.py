"""Verdicts on the four experiments, and on what the paper says explains them."""

from itertools import pairwise

import numpy as np

from reproduction.experiments import ALGORITHM_1, DEFECTIVE, FORMS, PRINTED, RELEASED, RIVALS
from reproduction.statistics import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Interval,
    all_of,
    beats,
    correlation,
    decide,
    interval,
    is_positive,
    positive_interval,
    rises,
)  # fmt: skip
from reproduction.studies.comparison import Comparison
from reproduction.studies.many_drifts import ManyDrifts
from reproduction.studies.mechanisms import SHARP, Mechanisms
from reproduction.studies.released import AuthorsRun, Provenance
from reproduction.studies.trajectories import Trajectories
from reproduction.verdicts.kinds import CONSISTENT, PARTLY, POWERLESS, Strength, Verdict, sure


def claim_1(separated: Comparison, form: str) -> Verdict:
    """Experiment 1: SnoozeIt and SW-UCB# have less regret than Rexp3 and Exp3.S."""
    runs = {name: np.array(separated.row(name).runs) for name in (*RIVALS, DEFECTIVE, FORMS[form])}
    mine, sharp, rivals = runs[FORMS[form]], runs["SW-UCB#"], [runs["Rexp3"], runs["Exp3.S"]]
    mistaken = runs[DEFECTIVE] - mine
    return sure(
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
    return sure(decide(beats(mine, [sharp])), 1, regret=positive_interval(mine), lead=interval(sharp - mine))


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
    return sure(kind, 2, not_every_step=not_every_step, **numbers)


NEGLIGIBLE = 0.5
"""A correlation below this explains less than a quarter of the variance."""


def claim_4(equal_drift: Comparison, many_drifts: ManyDrifts, form: str) -> Verdict:
    """Experiment 4: regret rises at each of the paper's steps; the correlation over more drifts stands beside it."""
    regrets = equal_drift.by_instance(FORMS[form])
    return sure(
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
    return sure(HOLDS if least else UNDECIDED, 2, least=least)


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
    return sure(kind, len(changes), less=less, least=min(changes), most=max(changes))


NOTABLE = 0.02
"""A change of regret that is more than the noise of some runs."""


def authors_run(authors_run: AuthorsRun) -> Verdict:
    """The authors' own run of Experiment 2, by two numbers that are read off a picture."""
    sharp, snoozeit = authors_run.theirs("SW-UCB#"), authors_run.theirs(RELEASED)
    apart = snoozeit - sharp
    kind = UNDECIDED if abs(apart) < 2 * authors_run.reading_error else FAILS if apart > 0 else HOLDS
    return sure(kind, 1, sharp=sharp, snoozeit=snoozeit, times=snoozeit / sharp, error=authors_run.reading_error)


def one_best_arm(separated: Comparison) -> Verdict:
    """Experiment 1: the best arm never changes."""
    (facts,) = separated.instances
    return sure(FAILS if facts.crossings else HOLDS, 1, least_gap=facts.least_gap)


def toggles(toggling: Comparison) -> Verdict:
    """Experiment 2: the best arm changes with every drift."""
    (facts,) = toggling.instances
    return sure(HOLDS if facts.crossings == facts.moves else FAILS, 1, moves=facts.moves, crossings=facts.crossings)


def equal_on_all(equal_drift: Comparison, fact: str) -> Verdict:
    """Experiment 4: all four instances have the same total drift, or the same largest gap."""
    values = [float(getattr(one, fact)) for one in equal_drift.instances]
    return sure(HOLDS if max(values) - min(values) < 1e-3 * max(values) else FAILS, 1, value=float(np.mean(values)))


# ---- the paper's explanations


def better_at_rest(mechanisms: Mechanisms, form: str) -> Verdict:
    """Experiment 2: SnoozeIt pays less than SW-UCB# while the arms are stationary."""
    mine, sharp = mechanisms.rest_of(FORMS[form]), mechanisms.rest_of(SHARP)
    return sure(HOLDS if mine.at_rest < sharp.at_rest else FAILS, 1, mine=mine, sharp=sharp)


def window_holds_both(mechanisms: Mechanisms) -> Verdict:
    """Experiment 2: SW-UCB#'s window comes to hold the optimal stretches of both arms, and the drift between.

    A window that covers a crossing holds steps in which either arm is best. It holds parts of two stationary stretches
    only if it is longer than the drift between them, which lasts as long as they do.
    """
    longest, rest = mechanisms.longest_window, mechanisms.rest
    kind = HOLDS if longest > rest else PARTLY if longest > 1 else FAILS
    return sure(kind, 1, longest=longest, rest=rest, share=min(1.0, longest / (2 * rest)))


def explained(mechanisms: Mechanisms, family: str, part: str, form: str) -> Verdict:
    """Experiments 3 and 4: a part of the explanation goes with delta the way that the paper says."""
    found = mechanisms.part(family, part, form)
    if found.r is None:
        return Verdict(POWERLESS, Strength(1, 0), {"row": found})
    if found.r.low <= 0 <= found.r.high:
        return sure(UNDECIDED, 1, row=found)
    return sure(HOLDS if found.r.value * found.way > 0 else FAILS, 1, row=found)


def growing_gap(trajectories: Trajectories) -> Verdict:
    """Figure 7: larger observed gaps come with shorter active and longer passive phases."""
    phases = trajectories.growing.phases
    if phases is None:
        return Verdict(POWERLESS, Strength(2, 0))
    kind = CONSISTENT if phases[0] < 0 < phases[1] else UNDECIDED
    return sure(kind, 2, active=phases[0], passive=phases[1])


def separated_stretches_snooze(trajectories: Trajectories) -> Verdict:
    """Figure 8: where the arms are well separated there are passive phases."""
    rows = trajectories.swinging.episodes
    snoozed, others = ([row.true_gap for row in rows if row.snoozed is side] for side in (True, False))
    if not snoozed or not others:
        return Verdict(POWERLESS, Strength(1, 0))
    least, most = min(snoozed), max(others)
    kind = HOLDS if least > most else CONSISTENT if np.mean(snoozed) > np.mean(others) else FAILS
    numbers = {"without": trajectories.swinging.without_snooze(), "episodes": len(rows), "least": least, "most": most}
    return sure(kind, len(rows), **numbers)
