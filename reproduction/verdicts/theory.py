"""Verdicts on theorems, on lemmas and on the discussion."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reproduction.experiments import ALGORITHM_1, FORMS, PRINTED, RIVALS, ROUND_ROBIN
from reproduction.statistics import FAILS, HOLDS, Evidence, all_of, decide, exceeds, mean_and_error
from reproduction.studies.change_of_measure import ChangeOfMeasure
from reproduction.studies.comparison import Comparison
from reproduction.studies.drift import HARD, RegretAgainstDrift
from reproduction.studies.episodes import BLOCKS, EPISODIC, Episodes
from reproduction.studies.gap_profile import GapProfile
from reproduction.studies.good_event import GoodEvent
from reproduction.studies.mild_drift import MildDrift
from reproduction.studies.sharp_bounds import SharpBounds
from reproduction.studies.wave import Wave
from reproduction.verdicts.kinds import CONSISTENT, PARTLY, POWERLESS, Strength, Verdict, counted, sure


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
    return counted(row.checks, row.could_fail, row.violations, closest=row.closest)


def lemma_4(episodes: Episodes, wave: Wave, lemma: str) -> Verdict:
    """Lemma 4 on simulated episodes, and on the wave, where regret is linear in the episode's length."""
    row, waved = episodes.of(lemma), wave.rows
    ratios = [one.lemma4 for one in waved] if lemma == EPISODIC else []
    could, false = row.could_fail + len(ratios), row.violations + sum(ratio > 1 for ratio in ratios)
    numbers = {"closest": row.closest, "wave": (min(ratios), max(ratios)) if ratios else None}
    return counted(row.checks + len(ratios), could, false, **numbers)


def claim_8(episodes: Episodes, wave: Wave) -> Verdict:
    """Claim 8: what is charged to a block, on simulated runs and on the wave."""
    row, ratios = episodes.of(BLOCKS), [one.claim8 for one in wave.rows]
    could, false = row.could_fail + len(ratios), row.violations + sum(ratio > 1 for ratio in ratios)
    calm = [one.claim8 for one in wave.rows if one.calm]
    numbers = {"calm": min(calm), "waving": max(ratios), "closest": row.closest}
    return counted(row.checks + len(ratios), could, false, **numbers)


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
    return sure(kind, 2 if number == 3 else 1, row=row, step=gap_profile.gap_step, variation=gap_profile.gap_variation)


def detection_time(gap_profile: GapProfile) -> Verdict:
    """A gap lambda shows in about 1/lambda^2 steps: the deciding window times lambda^2 is c0 L, up to rounding."""
    if not gap_profile.rows:
        return Verdict(POWERLESS, Strength(1, 0))
    low, high = gap_profile.least_product, gap_profile.largest_product
    return sure(HOLDS if low > 0.99 and high < 1.01 else FAILS, 1, low=low, high=high)


def no_drift(sharp_bounds: SharpBounds) -> Verdict:
    """Without drift the detectable gap is never below the gap."""
    true, tried = sharp_bounds.never_below, sharp_bounds.gaps
    return sure(HOLDS if true == tried else FAILS, tried, true=true, tried=tried)


def log_over_gap(sharp_bounds: SharpBounds) -> Verdict:
    """Without drift regret is O(log T/Delta): at most Theorem 1's single block, where round robin exceeds it."""
    rows = [row for row in sharp_bounds.rows if row.drift == 0 and row.policy == ALGORITHM_1]
    could = [row for row in rows if row.turns > row.theorem1]
    closest = max((row.regret.value / row.theorem1 for row in could), default=0.0)
    false = sum(row.regret.low > row.theorem1 for row in rows)
    return counted(len(rows), len(could), false, closest=closest)


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
    return sure(FAILS if failed else CONSISTENT, 1, failed=failed)


def change_of_measure(change_of_measure: ChangeOfMeasure) -> Verdict:
    """Lemma 9: only a policy that surely behaves differently in the two instances could refute it."""
    rows = change_of_measure.rows
    return counted(len(rows), sum(row.could_fail for row in rows), sum(row.refuted for row in rows))
