"""Verdicts follow from typed results alone, and each says how many of its tests could have failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from reproduction import verdicts
from reproduction.experiments import ALGORITHM_1, DEFECTIVE, FORMS, RIVALS, ROUND_ROBIN
from reproduction.statistics import FAILS, HOLDS, UNDECIDED, Interval, fit_power_law, positive_interval, summarised
from reproduction.studies import (
    change_of_measure,
    comparison,
    drift,
    episodes,
    gap_profile,
    many_drifts,
    mechanisms,
    released,
    sharp_bounds,
    trajectories,
    wave,
)
from reproduction.studies import mild_drift as mild
from reproduction.verdicts import CONSISTENT, PARTLY, POWERLESS, Strength

RUNS = 20
NOISE = np.random.default_rng(0).normal(size=RUNS)
NAMES = {**FORMS, "first": ALGORITHM_1, "turns": ROUND_ROBIN, "sharp": "SW-UCB#", "rexp3": "Rexp3", "exp3s": "Exp3.S"}
NAMES |= {"defective": DEFECTIVE}


def around(mean: float, spread: float = 1.0) -> Any:
    """One regret per run, with this mean."""
    return mean + spread * (NOISE - NOISE.mean())


def compared(*instances: dict[str, Any], theorem1: float = 1e9) -> comparison.Comparison:
    """A comparison with these regrets on each instance."""
    rows, facts = [], []
    for k, regrets in enumerate(instances, start=1):
        for name, values in regrets.items():
            values = around(values) if isinstance(values, int | float) else values
            mean = positive_interval(values)
            rows.append(comparison.Regret(f"δ{k}", NAMES[name], mean, mean.value, None, tuple(map(float, values))))
        facts.append(comparison.InstanceFacts(f"δ{k}", k * 1e-5, 0.1, 0.5, 1.0, 3, 3, theorem1))
    return comparison.Comparison("it", tuple(rows), (), tuple(facts))


def kinds(function: Any, *given: Any) -> list[str]:
    return [function(*given, form).kind for form in FORMS]


def three(printed: float, released: float, calibrated: float, **others: float) -> dict[str, Any]:
    return {"printed": printed, "released": released, "calibrated": calibrated, **others}


def test_claim_1_needs_both_rivals_beaten_by_both() -> None:
    found = compared(three(900, 400, 100, sharp=200, rexp3=800, exp3s=300, defective=1_000))
    assert kinds(verdicts.claim_1, found) == [FAILS, FAILS, HOLDS]
    assert verdicts.claim_1(found, "released").numbers["mistaken"] == HOLDS
    assert verdicts.claim_1(found, "printed").strength == Strength(4, 4)
    worse = compared(three(900, 400, 100, sharp=350, rexp3=800, exp3s=300, defective=50))
    assert kinds(verdicts.claim_1, worse) == [FAILS, FAILS, FAILS]
    assert verdicts.claim_1(worse, "calibrated").numbers["mistaken"] == FAILS


def test_claim_2_is_judged_by_paired_differences() -> None:
    luck = around(0, 500)
    close = {"printed": 100 + luck, "released": 110 + luck, "calibrated": around(105, 300), "sharp": 105 + luck}
    assert kinds(verdicts.claim_2, compared(close)) == [HOLDS, FAILS, UNDECIDED]
    assert kinds(verdicts.claim_2, compared(three(100, 100, 99, sharp=100))) == [FAILS, FAILS, HOLDS]


def many(family: str, **regrets: Any) -> many_drifts.ManyDrifts:
    parts = many_drifts.Parts(0.5, 100.0, 1.0, 2.0, 0.5, 0.3)
    return many_drifts.ManyDrifts(
        tuple(
            many_drifts.DriftRow(family, float(at), FORMS[form], replace(summarised([1.0, 1.0]), value=value), parts)
            for form, values in regrets.items()
            for at, value in enumerate(values)
        )
    )


def test_claim_3_fails_only_if_regret_grows_with_delta() -> None:
    up = np.arange(40.0)
    steps = compared(*(three(100 * k, 500 - 10 * k, 100 + k % 2) for k in (1, 2, 3, 4)))
    over = many("common-periods", printed=up, released=-up, calibrated=np.tile([1.0, 2.0], 20))
    assert kinds(verdicts.claim_3, steps, over) == [FAILS, HOLDS, HOLDS]
    numbers = verdicts.claim_3(steps, over, "released").numbers
    assert numbers["four"] == pytest.approx(-1.0)
    assert numbers["correlation"].high < 0
    wavering = compared(*(three(100 + k % 2, 1, 1) for k in (1, 2, 3, 4)))
    assert verdicts.claim_3(wavering, over, "printed").kind == FAILS  # though it does not rise at every step
    few = many("common-periods", **{form: [1.0, 2.0, 2.0, 1.0, 1.5] for form in FORMS})
    assert verdicts.claim_3(steps, few, "calibrated").kind == UNDECIDED


def test_claim_4_needs_every_step_and_one_false_step_is_counted_three_times() -> None:
    over = many("equal-drift", **dict.fromkeys(FORMS, np.arange(10.0)))
    instances = [three(100 * k, 500 - abs(k - 2), 100) for k in (1, 2, 3, 4)]
    for k, one in enumerate(instances):
        one["calibrated"] = around(100) + NOISE[::-1] * 100 * (k % 2)
    assert kinds(verdicts.claim_4, compared(*instances), over) == [HOLDS, FAILS, UNDECIDED]


@pytest.mark.parametrize("rival", [90.0, 110.0])
def test_some_situation_is_enough_and_none_refutes_nothing(rival: float) -> None:
    one = compared(three(100, 100, 100, sharp=rival, rexp3=rival, exp3s=rival))
    found = verdicts.outperforms(one, one, "printed")
    assert found.kind == (HOLDS if rival > 100 else UNDECIDED)
    assert found.numbers["least"] == ([1, 2] if rival > 100 else [])


@pytest.mark.parametrize(("second", "kind"), [(90.0, HOLDS), (110.0, FAILS), (99.5, UNDECIDED)])
def test_algorithm_2_is_compared_with_algorithm_1(second: float, kind: str) -> None:
    one = compared({"first": 100.0, "printed": second})
    found = verdicts.remark_2(one, one, one, one)
    assert found.kind == kind
    assert found.numbers["least"] == pytest.approx(second / 100 - 1)


def sharp(**regrets: float) -> sharp_bounds.SharpBounds:
    """One instance with a bound of 100 that round robin breaks, and one that it does not."""
    mean = summarised([1.0, 1.0])
    rows = [
        sharp_bounds.SharpRow(
            "together", 1_000, 0.0, gap, NAMES[name], replace(mean, value=value, low=value - 1, error=1.0, runs=5),
            turns, 100.0, 100.0,
        )
        for name, value in regrets.items()
        for gap, turns in ((0.6, 500.0), (0.1, 50.0))
    ]  # fmt: skip
    return sharp_bounds.SharpBounds(tuple(rows), 4, 4)


def test_theorem_1_is_judged_where_it_can_fail_and_for_the_printed_algorithms_only() -> None:
    here = compared(three(50, 90, 10, first=60, turns=70), theorem1=95.0)
    given = sharp(first=30, printed=40), here, here, here, here
    assert kinds(verdicts.theorem_1, *given) == [CONSISTENT, POWERLESS, POWERLESS]
    printed = verdicts.theorem_1(*given, "printed")
    assert printed.strength == Strength(12, 2)
    assert printed.numbers["own"] == 0
    assert printed.numbers["closest"].mean == 40
    assert verdicts.theorem_1(*given, "released").strength.could_fail == 0
    assert verdicts.theorem_1(sharp(first=30, printed=130), *given[1:], "printed").kind == FAILS
    tight = replace(here, instances=(replace(here.instances[0], theorem1=60.0),))
    assert verdicts.theorem_1(given[0], tight, tight, tight, tight, "released").kind == POWERLESS  # 90 against 60
    idle = replace(given[0], rows=tuple(replace(row, turns=50.0) for row in given[0].rows))
    assert verdicts.theorem_1(idle, *given[1:], "printed").kind == POWERLESS


def drifts(turns: float, **means: float) -> drift.RegretAgainstDrift:
    mean = summarised([1.0, 1.0])
    known = {**means, **dict.fromkeys(("sharp", "rexp3", "exp3s"), 40.0)}
    rows = [
        drift.DriftRow(
            drift.HARD, 1e-4, NAMES[name], replace(mean, value=value, error=1.0, runs=10), turns, 100.0, 20.0
        )
        for name, value in known.items()
    ]
    return drift.RegretAgainstDrift(10, tuple(rows), (), fit_power_law([1, 2, 3], [1, 2, 3]), 0.0)


def test_theorem_2_counts_only_what_round_robin_would_fail() -> None:
    beyond = verdicts.theorem_2(sharp(first=30), drifts(300.0, released=120), "released")
    assert (beyond.kind, beyond.strength.could_fail) == (POWERLESS, 0)
    good, bad = sharp(first=30, printed=30), drifts(300.0, printed=50, released=50, calibrated=50, first=120)
    assert verdicts.theorem_2(good, drifts(300.0, printed=50, first=50), "printed").kind == CONSISTENT
    assert verdicts.theorem_2(good, bad, "printed").kind == FAILS
    weak = verdicts.theorem_2(good, drifts(80.0, printed=90, first=20), "printed")
    assert weak.strength == Strength(6, 2)
    assert weak.numbers["closest"].mean == 30  # 90 % could not have failed


def test_theorem_3_has_no_test_that_could_fail() -> None:
    found = drifts(300.0, printed=50, released=22, calibrated=10, first=50)
    assert kinds(verdicts.theorem_3, found) == [POWERLESS] * 3
    assert verdicts.theorem_3(found, "printed").numbers["share"] == pytest.approx(2.5)
    assert set(verdicts.theorem_3(found, "printed").numbers["rivals"]) == set(RIVALS)


def lemmas(violations: int, could: int = 7) -> episodes.Episodes:
    return episodes.Episodes(tuple(episodes.LemmaRow(name, 10, could, violations, 0.5, ()) for name in episodes.LEMMAS))


def waves(ratio: float) -> wave.Wave:
    return wave.Wave(
        (wave.WaveRow(20_000, 9, 0, 5, 10.0, ratio, ratio, 0.1), wave.WaveRow(0, 9, 0, 5, 10.0, ratio, ratio, 0.1))
    )


def test_lemmas_are_judged_by_counts() -> None:
    assert verdicts.lemma(lemmas(0), episodes.SAFETY).kind == CONSISTENT
    assert verdicts.lemma(lemmas(2), episodes.SIZE).kind == FAILS
    assert verdicts.lemma(lemmas(0, could=0), episodes.SIZE).kind == POWERLESS


def test_the_wave_decides_lemma_4_and_claim_8() -> None:
    assert verdicts.claim_8(lemmas(0), waves(1.9)).kind == FAILS
    assert verdicts.claim_8(lemmas(0), waves(0.9)).kind == CONSISTENT
    assert verdicts.lemma_4(lemmas(0), waves(1.9), episodes.EPISODIC).kind == FAILS
    assert verdicts.lemma_4(lemmas(0), waves(1.9), episodes.EPISODIC_BY_GAP).kind == CONSISTENT
    assert verdicts.lemma_4(lemmas(0), waves(0.9), episodes.EPISODIC).strength == Strength(12, 9)


@pytest.mark.parametrize(("jump", "variation", "kind"), [(0.2, 2.5, PARTLY), (0.001, 2.5, HOLDS), (0.2, 4.0, FAILS)])
def test_smoother_has_two_readings(jump: float, variation: float, kind: str) -> None:
    row = gap_profile.ProfileFacts(gap_profile.PAPER, 5, True, 0.9, 10, 0.95, jump, variation, 60, 60)
    found = gap_profile.GapProfile((row,), 0.01, 3.4, 1.0, 1.001)
    assert verdicts.figure_one(found, 3, gap_profile.PAPER).kind == kind
    assert [verdicts.figure_one(found, k, gap_profile.PAPER).kind for k in (1, 2, 4)] == [HOLDS, HOLDS, FAILS]
    assert verdicts.detection_time(found).kind == HOLDS
    assert verdicts.detection_time(replace(found, largest_product=2.0)).kind == FAILS
    assert verdicts.figure_one(replace(found, rows=()), 3, gap_profile.PAPER).kind == POWERLESS


@pytest.mark.parametrize(("longest", "kind"), [(2_480, PARTLY), (4_001, HOLDS)])
def test_a_window_that_covers_a_crossing_holds_both_arms_in_part(longest: int, kind: str) -> None:
    found = mechanisms.Mechanisms((), longest, 4_000, (), 0.1, 0.2)
    assert verdicts.window_holds_both(found).kind == kind


@pytest.mark.parametrize(
    ("r", "way", "kind"),
    [(0.9, 1, HOLDS), (0.9, -1, FAILS), (-0.9, -1, HOLDS), (0.1, 1, UNDECIDED), (None, 1, POWERLESS)],
)
def test_an_explanation_needs_the_right_sign(r: float | None, way: int, kind: str) -> None:
    interval = None if r is None else Interval(r, r - 0.3, r + 0.3)
    row = mechanisms.Explained("common-periods", "snooze", way, "printed", interval, 1.0, 2.0, 21, 21)
    found = mechanisms.Mechanisms((), 1, 1, (row,), 0.1, 0.2)
    assert verdicts.explained(found, "common-periods", "snooze", "printed").kind == kind


@pytest.mark.parametrize(("last", "kind"), [(70.0, CONSISTENT), (90.0, FAILS)])
def test_mild_drift_is_judged_by_its_growth(last: float, kind: str) -> None:
    mean = summarised([1.0, 1.0])
    rows = tuple(mild.MildRow(10, 0.1, mean, value, 1.0, 2.0) for value in (64.0, 65.0, last))
    found = mild.MildDrift(rows, fit_power_law([1, 2, 3], [64.0, 65.0, last]))
    assert verdicts.mild_drift(found).kind == kind


@pytest.mark.parametrize(
    ("low", "paid", "kind"), [(0.01, 1.0, CONSISTENT), (0.0, 1.0, POWERLESS), (0.01, 0.001, FAILS)]
)
def test_lemma_9_could_fail_only_where_behaviour_differs(low: float, paid: float, kind: str) -> None:
    row = change_of_measure.Measured("it", "there", Interval(paid, paid, paid), Interval(0.02, low, 0.03))
    assert verdicts.change_of_measure(change_of_measure.ChangeOfMeasure((row,))).kind == kind


@pytest.mark.parametrize(("theirs", "kind"), [(45_000.0, FAILS), (1_000.0, HOLDS), (2_700.0, UNDECIDED)])
def test_a_picture_decides_only_what_is_wider_than_a_pixel(theirs: float, kind: str) -> None:
    here = Interval(1.0, 1.0, 1.0)
    rows = released.NotebookRow(FORMS["released"], theirs, here), released.NotebookRow("SW-UCB#", 2_600.0, here)
    assert verdicts.authors_run(released.AuthorsRun(rows, 150.0, (75, 77), 76.0, 1.0)).kind == kind


def episode(snoozed: bool, gap: float) -> trajectories.EpisodeRow:
    return trajectories.EpisodeRow(0, 10, 20.0, 0, snoozed, 5, 0.5, gap, 0.1)


@pytest.mark.parametrize(("gaps", "kind"), [((0.5, 0.2), HOLDS), ((0.1, 0.2), FAILS)])
def test_separated_stretches_are_those_with_a_snooze(gaps: tuple[float, float], kind: str) -> None:
    story = trajectories.Story(9, 0.1, 1.0, (episode(True, gaps[0]), episode(False, gaps[1])), None)
    found = trajectories.Trajectories(story, story, story)
    assert verdicts.separated_stretches_snooze(found).kind == kind
    assert verdicts.growing_gap(found).kind == POWERLESS
    signs = trajectories.Trajectories(story, replace(story, phases=(-0.9, 1.0)), story)
    assert verdicts.growing_gap(signs).kind == CONSISTENT


def test_facts_of_instances_are_computed() -> None:
    one = compared(three(1, 1, 1))
    assert verdicts.one_best_arm(one).kind == FAILS
    assert verdicts.toggles(one).kind == HOLDS
    assert verdicts.equal_on_all(one, "total_drift").kind == HOLDS
    assert verdicts.no_drift(sharp(first=1)).kind == HOLDS
    assert verdicts.log_over_gap(sharp(first=30)).kind == CONSISTENT
    assert verdicts.log_over_gap(sharp(first=130)).kind == FAILS


def test_a_kind_that_is_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="a verdict is one of"):
        verdicts.Verdict("perhaps")
