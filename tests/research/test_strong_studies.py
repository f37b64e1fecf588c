"""The studies that can fail: their instances, their tables against plain loops, and what a broken SnoozeIt would do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

from driftbandits import InputError, RoundRobin, SnoozeIt, instances, simulate
from driftbandits.instances.equal_drift import equal_drift
from driftbandits.research.studies import episodes, many_drifts, sharp_bounds, worst_gap
from driftbandits.theory.bounds import instance_dependent, minimax_upper

T = 40_000


@pytest.mark.parametrize("shape", sharp_bounds.SHAPES)
@pytest.mark.parametrize("gap", [0.3, 0.9])
def test_arms_drift_as_fast_as_they_may(shape: str, gap: float) -> None:
    instance = sharp_bounds.SHAPES[shape](T, 1e-4, gap)
    moves = np.abs(np.diff(instance.means, axis=0))
    assert moves.max() == pytest.approx(1e-4)
    assert (moves > 0.99e-4).mean() > 0.9
    least = gap if shape == "together" else gap / 2
    assert instance.gap.max() == pytest.approx(gap)
    assert instance.gap.min() == pytest.approx(least, abs=2e-4)
    assert set(instance.best_arm.tolist()) == {0}


def test_round_robins_regret_is_exact() -> None:
    for instance in (instances.toggling(5_001), sharp_bounds.closing(5_000, 1e-4, 0.6)):
        played = simulate({"turns": RoundRobin()}, instance, runs=1, checkpoints=1).regret["turns"][0, -1]
        assert sharp_bounds.round_robin_regret(instance) == pytest.approx(played)


@pytest.fixture(scope="module")
def sharp() -> pl.DataFrame:
    return sharp_bounds.sharp_bounds([T], [0.6, 0.9], [0.0, 1e-7, 1e-4], runs=3)


def test_where_bounds_are_sharp_and_where_not(sharp: pl.DataFrame) -> None:
    counts = sharp.group_by("drift").agg((pl.col("theorem1") < pl.col("turns")).all()).sort("drift")
    assert counts["theorem1"].to_list() == [True, True, False]
    assert len(sharp.filter(drift=0.0)) == 4  # both shapes are one
    assert len(sharp.filter(drift=1e-7)) == 8
    row = sharp.filter(drift=1e-7, gap=0.9, shape="closing").row(0, named=True)
    instance = sharp_bounds.closing(T, 1e-7, 0.9)
    assert row["theorem1"] == instance_dependent(instance, 1e-7).total
    assert row["theorem2"] == minimax_upper(T, 1e-7).total


def test_snoozeit_obeys_and_a_snoozeit_that_never_snoozes_does_not(sharp: pl.DataFrame) -> None:
    counted = sharp.filter(pl.col("theorem1") < pl.col("turns"))
    assert (counted["regret"] < counted["theorem1"] / 2).all()
    broken = sharp_bounds.sharp_bounds([T], [0.6], [1e-7], lambda horizon, drift: {"turns": RoundRobin()}, runs=2)
    assert (broken["regret"] > broken["theorem1"]).all()
    assert broken["regret"].to_list() == pytest.approx(broken["turns"].to_list())


def test_the_critical_gap_parts_round_robin_from_snoozing() -> None:
    drift = 2e-5
    critical = worst_gap.critical_gap(T, drift)
    assert critical == pytest.approx((256 * drift * math.log(T)) ** (1 / 3))
    table = worst_gap.worst_gap(T, [drift], runs=2)
    mine = table.filter(policy="SnoozeIt, Algorithm 1")
    assert (mine.filter(pl.col("gap") < 0.9 * critical)["snoozed"] < 0.01).all()
    assert (mine.filter((pl.col("gap") > 1.3 * critical) & (pl.col("gap") < 0.7))["snoozed"] > 0.2).all()
    turns = table.filter(policy=worst_gap.ROUND_ROBIN)
    assert turns["regret"].to_list() == pytest.approx((turns["gap"] * T / 2).to_list(), rel=1e-3)


def test_the_envelope_is_the_largest_of_each_drift_and_its_exponent_is_fitted() -> None:
    rows = [
        {"policy": "it", "drift": drift, "gap": gap, "regret": gap * 100 * (drift * 1e6) ** (1 / 3)}
        for drift in (1e-6, 1e-5, 1e-4, 1e-3)
        for gap in (0.2, 0.5, 0.3)
    ]
    table = pl.DataFrame(rows)
    assert worst_gap.envelope(table)["gap"].to_list() == [0.5] * 4
    fit = worst_gap.fit_envelope(table).row(0, named=True)
    assert fit["exponent"] == pytest.approx(1 / 3)
    assert not fit["bends"]


def forms(horizon: int, drift: float) -> dict[str, Any]:
    return {"it": SnoozeIt(horizon, drift, confidence=0.2)}


def test_many_drifts_reach_over_the_papers_range() -> None:
    assert [drift * 48_000 for drift in many_drifts.drifts_of("common-periods", 2)] == pytest.approx([0.33, 1.33])
    for k in (1, 2, 4):
        same = many_drifts.equally_far(T, k / 48_000)
        assert np.abs(same.means - equal_drift(k, T).means).max() < 1e-12
    between = many_drifts.equally_far(T, 2.5 / 48_000)
    assert between.drift_limit == pytest.approx(2.5 / 48_000)
    assert between.gap.max() == pytest.approx(equal_drift(1, T).gap.max(), rel=1e-3)


def test_the_parts_of_regret_are_those_of_a_plain_walk() -> None:
    table = many_drifts.many_drifts("common-periods", T, forms, 2, runs=2, seed=1)
    drift = many_drifts.drifts_of("common-periods", 2)[1]
    instance = instances.common_periods(1, T, drift)
    played = simulate(forms(T, drift), instance, runs=2, seed=1, events=True, checkpoints=1)
    lengths, gaps, quiet = [], [], np.zeros((2, T), bool)
    for row in played.events["it"].iter_rows(named=True):
        gaps.append(row["gap"])
        if row["snoozed"]:
            end = min(math.ceil(row["until"]), T)
            lengths.append(end - row["passed"])
            quiet[row["run"], row["passed"] : end] = True
    row = table.row(1, named=True)
    assert row["regret"] == pytest.approx(played.regret["it"][:, -1].mean())
    assert row["detected"] == pytest.approx(np.mean(gaps))
    assert row["snooze"] == pytest.approx(np.mean(lengths))
    assert row["snoozed"] == pytest.approx(quiet.mean())
    assert row["gap"] == pytest.approx(np.tile(instance.gap, (2, 1))[~quiet].mean())


def test_correlations_are_fishers() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=30)
    y = x + rng.normal(size=30)
    found = many_drifts.correlation(x, y)
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert math.atanh(found.high) - math.atanh(found.low) == pytest.approx(2 * 1.959964 / math.sqrt(27))
    assert many_drifts.correlation(x, np.ones(30)).value == 0.0
    with pytest.raises(InputError, match="at least 5 points; got 4"):
        many_drifts.correlation([1, 2, 3, 4], [1, 2, 3, 4])


@pytest.fixture(scope="module")
def checked() -> pl.DataFrame:
    half = 1 / 4_800 * 500
    worlds = {
        "together": (sharp_bounds.together(T, 1e-6, 0.6), 1e-6),
        "crossing": (instances.toggling(100_000, 1 / 4_800, flat=1_000, start=(0.5 + half, 0.5 - half)), 1 / 4_800),
        "swinging": (instances.common_periods(4, T, 5e-5), 5e-5),
    }
    return episodes.check_episodes(worlds, runs=2)


def test_lemmas_hold_on_episodes_except_the_one_that_is_false(checked: pl.DataFrame) -> None:
    found = {row["lemma"]: row for row in checked.iter_rows(named=True)}
    assert list(found) == list(episodes.LEMMAS)
    false = {name for name, row in found.items() if row["violations"]}
    assert episodes.EPISODIC in false
    assert false <= {episodes.EPISODIC, episodes.EPISODIC_BY_GAP}
    assert found[episodes.EPISODIC]["where"] == "crossing: 2"
    assert all(row["checks"] > 0 for row in found.values())
    assert found[episodes.SAFETY]["could_fail"] > 0
    assert found[episodes.GAUGE]["could_fail"] > 1_000


@pytest.mark.parametrize(
    ("lemma", "broken"),
    [
        (episodes.SIZE, {"shortest_episode": lambda *told: 3e4}),
        (episodes.COUNT, {"most_episodes": lambda *told: 0.5}),
        (episodes.EPISODIC, {"episode_regret": lambda *told: 1.0}),
        (episodes.GAUGE, {"detectable_gap": lambda instance: np.ones(T)}),
        (episodes.BLOCKS, {"C6": 1e-3}),
    ],
)
def test_a_constant_that_is_too_good_is_found_out(
    monkeypatch: pytest.MonkeyPatch, lemma: str, broken: dict[str, Any]
) -> None:
    for name, value in broken.items():
        monkeypatch.setattr(episodes, name, value)
    found = episodes.check_episodes({"it": (sharp_bounds.together(T, 1e-5, 0.6), 1e-5)}, runs=1)
    assert found.filter(lemma=lemma)["violations"][0] > 0


def test_a_snooze_of_the_better_arm_is_found_out() -> None:
    """SnoozeIt is told a tenth of the true drift, so that it snoozes for too long."""
    instance = instances.common_periods(4, T, 2e-4)
    found = episodes.check_episodes({"it": (instance, 1e-6)}, runs=1)
    assert found.filter(lemma=episodes.SAFETY)["violations"][0] > 0
