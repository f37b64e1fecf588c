"""The paper's instances and policies as data, and what trajectories and explanations read off them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from reproduction.experiments import EXPERIMENTS, HORIZON, OTHER_FORMS, SIMULATIONS, defective_exp3s, wave
from reproduction.statistics import summarised
from reproduction.studies import gap_profile, mechanisms, trajectories
from reproduction.studies.gap_profile import AUTHORS, PAPER, facts_of_profile, profiles
from reproduction.studies.many_drifts import DriftRow, Parts


def test_policies_are_given_the_drift_of_their_instances() -> None:
    assert HORIZON == 162_755
    for experiment in EXPERIMENTS.values():
        for instance in experiment.instances:
            assert instance.build(HORIZON).drift_limit == pytest.approx(instance.drift, rel=1e-9)


def test_every_simulation_plays_its_own_instance() -> None:
    names = {name: planned.instance(2_000).name for name, planned in SIMULATIONS.items()}
    assert names["common-periods-3"] != names["common-periods-4"]
    assert names["confidence-equal-drift-2"] == names["equal-drift-2"]
    assert list(SIMULATIONS["confidence-toggling"].policies(2_000)) != list(SIMULATIONS["toggling"].policies(2_000))


def test_the_defective_gamma() -> None:
    assert defective_exp3s(162_755, 1 / 48_000).gamma == pytest.approx(0.000239, abs=1e-6)


def test_instances_with_two_sources_differ_as_much_as_is_said() -> None:
    apart = {}
    for name, other in OTHER_FORMS.items():
        taken, built = EXPERIMENTS[name].instances[0].build(HORIZON), other.build(HORIZON)
        assert built.drift_limit == pytest.approx(other.drift, rel=1e-9)
        apart[name] = float(np.abs(taken.means - built.means).max())
    assert apart["separated"] == pytest.approx(0.032, abs=0.001)
    assert apart["toggling"] > 0.5


def test_the_wave_drifts_at_its_limit_and_ends_with_separated_arms() -> None:
    means = wave(HORIZON).means
    assert np.abs(np.diff(means, axis=0)).max() == pytest.approx(1 / 500)
    assert means[-1].tolist() == pytest.approx([0.9, 0.1])
    assert means[:, 0].min() == pytest.approx(0.1)
    still = wave(HORIZON, 0).means
    assert np.array_equal(means[: HORIZON - 20_000], still[: HORIZON - 20_000])
    crossings = np.count_nonzero(np.diff(np.sign(still[:, 0] - 0.5)))
    assert crossings > 400


@pytest.fixture(scope="module")
def runs() -> dict[str, trajectories.Run]:
    return {name: trajectories.play(name, HORIZON, 0) for name in trajectories.MADE}


def test_a_growing_gap_shortens_active_phases_and_lengthens_passive_ones(runs: dict[str, trajectories.Run]) -> None:
    story = runs["growing"].story
    assert story.without_snooze() == []
    assert story.given == pytest.approx(2.5)
    first, last = story.episodes[0], story.episodes[-1]
    assert first.passed - first.start > 2 * (last.passed - last.start)
    assert first.until - first.passed < (last.until - last.passed) / 2
    assert story.phases is not None
    assert story.phases[0] < 0 < story.phases[1]


def test_swinging_arms_have_episodes_without_passive_phase(runs: dict[str, trajectories.Run]) -> None:
    story = runs["swinging"].story
    assert story.without_snooze()[0] == 1
    assert len(story.without_snooze()) >= 2
    assert sum(row.snoozed for row in story.episodes) >= 5


def test_the_episode_of_the_opening_snoozes(runs: dict[str, trajectories.Run]) -> None:
    row = runs["episode"].story.first_snooze()
    assert row is not None
    assert row.gap_after < row.true_gap


def test_the_snoozed_arms_empirical_mean_stays_flat(runs: dict[str, trajectories.Run]) -> None:
    run = runs["growing"]
    means = trajectories.empirical_means(run.played, trajectories.episode_starts(run))
    first = run.story.episodes[0]
    passive = means[first.passed : int(first.until)]
    assert len(np.unique(passive[:, 1 - first.arm])) == 1
    assert len(np.unique(passive[:, first.arm])) > 1_000
    pulled = run.played.arms[:500] == 1
    assert means[499, 1] == pytest.approx(run.played.rewards[:500][pulled].mean())


def test_stretches_are_counted_one_by_one() -> None:
    assert mechanisms.longest_stretch(np.array([1, 0, 1, 1, 1, 0, 1, 1], bool)) == 3
    assert mechanisms.longest_stretch(np.ones(4, bool)) == 4


def test_a_part_of_an_explanation_keeps_the_papers_sign() -> None:
    mean = summarised([1.0, 1.0])
    parts = [Parts(0.5, float(k) if k > 1 else None, 1.0, 2.0, 0.5, 0.3) for k in range(9)]
    rows = [DriftRow("it", k * 1e-5, "it", mean, one) for k, one in enumerate(parts)]
    for way in (1, -1):
        found = mechanisms._explained("it", "snooze", way, "printed", rows)
        assert (found.way, found.first, found.last, found.known, found.drifts) == (way, 2.0, 8.0, 7, 9)
        assert found.r is not None
        assert found.r.value > 0.99
    assert mechanisms._explained("it", "snooze", 1, "printed", rows[:4]).r is None
    assert all(way in (1, -1) for each in mechanisms.EXPLAINED.values() for _, way in each)


def test_stairs_come_from_the_released_code() -> None:
    found = facts_of_profile(gap_profile.figure_instance(HORIZON))
    paper, authors = found.of(PAPER), found.of(AUTHORS)
    assert (paper.values, paper.steps) == (60, 60)
    assert 2 * authors.values <= authors.steps
    assert paper.jump == pytest.approx(0.218, abs=0.001)
    assert (paper.variation, found.gap_variation) == pytest.approx((2.51, 3.44), abs=0.01)
    assert 1 - 1e-9 < found.least_product < found.largest_product < 1.001


def test_both_definitions_share_their_windows() -> None:
    found = profiles(db.instances.common_periods(3))
    assert (found[AUTHORS] <= found[PAPER] * (1 + 1e-12)).all()
    assert np.abs(found[PAPER] - found[AUTHORS]).max() < 2e-4


def test_a_profile_of_stationary_arms_does_not_jump() -> None:
    row = facts_of_profile(db.instances.stationary(100_000, (0.9, 0.1))).of(PAPER)
    assert row.jump < 1e-9
    assert row.values <= 2  # up to rounding
    assert not facts_of_profile(db.instances.stationary(100, (0.9, 0.1))).rows


def test_a_trajectory_is_that_of_the_simulation(runs: dict[str, trajectories.Run]) -> None:
    run: Any = runs["swinging"]
    means = run.instance.means
    regret = float((means.max(axis=1) - means[np.arange(HORIZON), run.played.arms]).sum())
    policy = db.SnoozeIt(HORIZON, run.drift)
    played = db.simulate({"it": policy}, run.instance, runs=1, checkpoints=1)
    assert math.isclose(regret, float(played.regret["it"][0, -1]), rel_tol=1e-9)
