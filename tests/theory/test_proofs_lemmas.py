"""The lemmas behind SnoozeIt's bounds, at rewards as misleading as the good event allows; docs/proofs.md names these.

Every check comes with a companion: the constant as stated holds, and made 10 % better it fails on some instance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import adversary
import driftbandits as db
import naive_theory as naive
from driftbandits._common.arrays import Array
from driftbandits.errors import InputError
from driftbandits.theory import bounds

T = 20_000
L = math.log(T)
VARIANTS = ["original", "modified"]


def radius(w: float) -> float:
    return math.sqrt(2 * L / w)


def hidden_gap(steps: int) -> tuple[Array, Array]:
    """True and shown means whose gap of 6 r(w), w = steps/2, looks like one of 4 r(w): no window can pass."""
    true = adversary.two_arms(np.full(steps, 6 * radius(steps / 2)))
    shown = adversary.two_arms(np.full(steps, 4 * radius(steps / 2) * (1 - 1e-9)))
    return true, shown


# Lemma 2 (snooze safety)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("factor", "safe"), [(1.0, True), (1.1, False)])
def test_a_snooze_is_safe_and_no_longer_one_is(variant: str, factor: float, safe: bool) -> None:
    """The gap closes as fast as it may, and looks 2 r(w) larger than it is."""
    drift, w = 2e-5, math.ceil(72 * L)
    gap = 2 * radius(w) - 2 * drift * (np.arange(T) - w)
    true = adversary.two_arms(gap)
    shown = np.repeat(adversary.two_arms(np.array([4 * radius(w) * (1 + 1e-9)])), T, axis=0)
    assert adversary.worst_deviation(shown[: 2 * w], true[: 2 * w], T) <= 1 + 1e-6
    first = adversary.events(adversary.quiet(T, drift, variant), shown)[0]
    assert (first["passed"], first["window"], first["snoozed"], first["arm"]) == (2 * w, w, 1, 0)
    assert first["until"] == math.floor(first["buffer"])  # an active phase of 2w: both algorithms agree
    asleep = gap[2 * w : math.floor(factor * first["buffer"])]
    assert (asleep > 0).all() == safe


@pytest.mark.parametrize(("longer", "safe"), [(0.0, True), (1.0, True), (-1.5, True), (2.0, False)])
def test_a_snooze_may_be_rounded_up_and_w_steps_longer(longer: float, safe: bool) -> None:
    """Safe up to w - 3/2 steps after the unrounded end; here 1 rounds up, -1.5 and 2 are added to w steps."""
    drift, w = 2e-5, math.ceil(72 * L)
    gap = 2 * radius(w) - 2 * drift * (np.arange(T) - w)  # at its end the window shows what it has on average
    end = radius(w) / drift + (longer if 0 <= longer <= 1 else w + longer)
    assert (gap[2 * w : math.ceil(end)] > 0).all() == safe


@pytest.mark.parametrize("drift", [1e-4, 1e-3, 1e-2])
def test_what_a_passing_window_says_of_its_last_step(drift: float) -> None:
    """A mean difference of d over w pairs leaves a gap of d - (2 w + 1) delta or more at the last step."""
    rng, closest = np.random.default_rng(5), math.inf
    for number in range(2_000):
        w = int(rng.integers(2, 30))
        moves = rng.choice([-1, 1], (2 * w, 2)) if number else np.tile([-1, 1], (2 * w, 1))
        table = 0.5 + drift * np.cumsum(moves, axis=0)
        for first in (0, 1):
            pulled = (np.arange(2 * w) + first) % 2
            difference = (table[pulled == 0, 0].sum() - table[pulled == 1, 1].sum()) / w
            closest = min(closest, (table[-1, 0] - table[-1, 1] - difference) / drift + 2 * w + 1)
    assert -1e-9 <= closest <= 2 + 1e-9


# Lemma 4 (episodic regret), for stretches in which the best arm does not change


@pytest.mark.parametrize("steps", [1_440, 2_000, 2_001, 6_000])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_a_stretch_costs_six_roots_and_no_less(steps: int, factor: float, holds: bool) -> None:
    true, shown = hidden_gap(steps)
    if steps <= 2_001:
        assert adversary.worst_deviation(shown, true, T) <= 1 + 1e-8
    arms = adversary.arms_played(adversary.quiet(T, 0.0), shown)
    assert (arms[1:] != arms[:-1]).all()  # no test has passed
    regret = adversary.regrets(arms, true).sum()
    assert (regret <= 1 + factor * (bounds.episode_regret(steps, T) - 1)) == holds


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_drift_between_turns_costs_a_stretch_nothing(factor: float, holds: bool) -> None:
    """Means that jump by delta every step hide delta of the gap, and the test's "- delta" gives it back."""
    steps, drift = 2_000, 0.05
    gap = 6 * radius(steps / 2)
    up = np.arange(steps) % 2 * drift  # both arms are high when arm 1, the worse one, is pulled
    true = adversary.two_arms(np.full(steps, gap)) + (up - drift / 2)[:, None]
    shown = true + np.array([-1, 1]) * radius(steps / 2) * (1 - 1e-9)
    arms = adversary.arms_played(adversary.quiet(T, drift), shown)
    regret = adversary.regrets(arms, true).sum()
    assert (arms == np.arange(steps) % 2).all()
    (event,) = adversary.events(adversary.quiet(T, drift), shown + np.array([1e-6, -1e-6]))
    assert event["passed"] == steps  # a little more would have been seen
    assert (regret <= 1 + factor * (bounds.episode_regret(steps, T) - 1)) == holds


def test_a_stretch_too_short_for_the_test_is_no_exception() -> None:
    """Below w_min = ceil(72 L) pulls nothing is tested; a gap of 1 then costs half a step each."""
    for steps in range(1, 2 * math.ceil(72 * L)):
        assert math.ceil(steps / 2) <= bounds.episode_regret(steps, T) * (1 + 1e-12)


# Lemma 5 (gauge to lambda)


def worst_case_passes(table: Array, drift: float, tau: int) -> bool:
    """Does some window pass after tau steps of turns, whatever the good event and the order of turns may be?"""
    for first in (0, 1):
        pulled = (np.arange(tau) + first) % 2
        signed = np.where(pulled == 0, table[:tau, 0], -table[:tau, 1])[::-1]
        w = np.arange(1, tau // 2 + 1)
        lead = np.abs(np.cumsum(signed)[1::2][: len(w)])
        seen = lead - 2 * np.sqrt(2 * L * w)
        threshold = 4 * np.sqrt(2 * L * w) - drift * w
        if not (seen > threshold - 1e-9)[w >= 72 * L].any():  # 1e-9: sums here and there are rounded differently
            return False
    return True


@pytest.mark.parametrize("drift", [0.0, 1e-5, 1e-3, 0.05])
def test_a_gap_above_the_gauge_makes_the_test_pass(drift: float) -> None:
    rng = np.random.default_rng(7)
    implied = 0
    for number in range(12):
        steps = np.cumsum(rng.choice([-1, 1], (2_600, 2)), axis=0)
        if drift > 1e-4:  # means that jump up and down: against one of the two orders of turns, or at random
            steps = rng.integers(0, 2, (2_600, 2)) if number % 2 else np.arange(2_600)[:, None] % 2
        walk = drift * steps + np.array([rng.uniform(0.8, 0.95), rng.uniform(0.0, 0.1)])
        table = np.abs((walk + 1) % 2 - 1)  # reflected at 0 and 1
        lambdas = db.detectable_gap(table, horizon=T)
        for tau in [*range(1_426, 1_460), *rng.integers(1_426, 2_600, 30).tolist()]:
            if lambdas[tau - 1] > bounds.gauge_to_lambda(tau, T):
                implied += 1
                assert worst_case_passes(table, drift, tau)
    assert implied > 50


@pytest.mark.parametrize("steps", [1_440, 2_000, 6_000])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_the_gauge_is_tight(steps: int, factor: float, holds: bool) -> None:
    """With 0.9 c2 the lemma would promise that a test has passed which has not."""
    true, shown = hidden_gap(steps)
    arms = adversary.arms_played(adversary.quiet(T, 0.0), shown)
    assert (arms[1:] != arms[:-1]).all()
    at_the_end = db.detectable_gap(true, horizon=T)[-1]
    assert (at_the_end <= math.sqrt(factor) * bounds.gauge_to_lambda(steps, T) * (1 + 1e-12)) == holds


def test_the_gauge_counts_whole_pairs() -> None:
    """For an odd number of steps the printed lemma, with tau itself, is false: the test sees a step less."""
    tau = 2_001
    gap = math.sqrt(144 * L / tau) * (1 + 1e-6)
    true = adversary.two_arms(np.full(tau, gap))
    shown = adversary.two_arms(np.full(tau, gap - 2 * radius(1_000)))
    assert adversary.worst_deviation(shown, true, T) <= 1 + 1e-8
    assert db.detectable_gap(true, horizon=T)[-1] > math.sqrt(144 * L / tau)
    arms = adversary.arms_played(adversary.quiet(T, 0.0), shown)
    assert (arms[1:] != arms[:-1]).all()
    assert db.detectable_gap(true, horizon=T)[-1] <= bounds.gauge_to_lambda(tau, T)


def test_the_gauge_is_its_formula() -> None:
    for tau in (2, 3, 1_000, 1_001):
        assert bounds.gauge_to_lambda(tau, T) == pytest.approx(math.sqrt(144 * L / (tau - tau % 2)))
    assert bounds.gauge_to_lambda([1, 4], T).tolist() == [math.inf, pytest.approx(6 * math.sqrt(L))]
    with pytest.raises(InputError, match="active_length must be finite and at least 1"):
        bounds.gauge_to_lambda(0, T)


# Lemma 7 (episode size)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.1, False)])
def test_no_episode_is_shorter_than_x(variant: str, factor: float, holds: bool) -> None:
    """The test passes after about x steps, where the buffer is as long as the active phase."""
    drift = 5e-5
    x = bounds.shortest_episode(T, drift)
    shortest = math.inf
    for active in (0.9 * x, 0.99 * x, x - 1, x + 1, 1.05 * x):
        seen = 4 * radius(math.floor(active / 2)) * (1 + 1e-9)
        shown = np.repeat(adversary.two_arms(np.array([seen])), T, axis=0)
        for event in adversary.events(adversary.quiet(T, drift, variant), shown)[:-1]:
            shortest = min(shortest, event["until"] - event["start"])
    assert (shortest >= math.floor(factor * x)) == holds


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_as_many_episodes_as_corollary_1_allows(variant: str, factor: float, holds: bool) -> None:
    """Every test passes just after x steps, when no snooze is left: the shortest episodes, one after the other."""
    horizon, drift = 100_000, 5e-5
    x = bounds.shortest_episode(horizon, drift)
    seen = 4 * math.sqrt(2 * math.log(horizon) / math.floor((x + 2) / 2)) * (1 + 1e-9)
    shown = np.repeat(adversary.two_arms(np.array([seen])), horizon, axis=0)
    found = adversary.events(adversary.quiet(horizon, drift, variant), shown)
    episodes = len({int(event["start"]) for event in found} | {int(event["until"]) for event in found} - {horizon})
    assert (episodes <= factor * (bounds.most_episodes(horizon, drift) - 1) + 1) == holds
    assert bounds.most_episodes(horizon, 0.0) == 1  # nothing less: a run has an episode


def test_episodes_of_algorithm_2_are_as_long_as_those_of_algorithm_1() -> None:
    """A snooze after tau steps with window w makes an episode of tau - 2w + buf(2w) >= max(tau, buf(tau)) steps."""
    rng = np.random.default_rng(3)
    for _ in range(5_000):
        drift, tau = 10 ** rng.uniform(-7, 0), int(10 ** rng.uniform(0.4, 6))
        w = int(rng.integers(1, tau // 2 + 1))

        def buffer(steps: int, drift: float = drift) -> float:
            return 2 / drift * math.sqrt(L / steps)

        first = max(tau, math.floor(buffer(tau)))
        second = tau - 2 * w + math.floor(buffer(2 * w)) if buffer(2 * w) > 2 * w else tau
        assert second >= first >= math.floor(bounds.shortest_episode(T, drift))


# Where the best arm changes


def turns(differences: Array) -> float:
    """Regret of turns, for the worse choice of the first arm."""
    table = adversary.two_arms(differences).tolist()
    return max(naive.turns_regret(table, 0, len(table), first) for first in (0, 1))


@pytest.mark.parametrize("steps", [200, 201, 2_000])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_a_stretch_next_to_a_crossing(steps: int, factor: float, holds: bool) -> None:
    drift = 1 / (4 * steps)
    regret = turns(2 * drift * np.arange(1, steps + 1))
    assert (regret <= factor * bounds.crossing_stretch_regret(steps, drift) * (1 + 1e-12)) == holds


@pytest.mark.parametrize("steps", [200, 201, 2_000])
@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (0.9, False)])
def test_a_crossed_block(steps: int, factor: float, holds: bool) -> None:
    drift = 1 / (4 * steps)
    regret = turns(2 * drift * np.arange(-1, steps - 1))
    assert (regret <= factor * bounds.crossed_block_regret(steps, drift)) == holds


def test_crossed_blocks_at_random() -> None:
    """Gaps that turn at random, many crossings or one: no block costs more than the formula says."""
    rng = np.random.default_rng(11)
    crossed, worst = 0, 0.0
    for _ in range(400):
        steps = int(rng.integers(2, 120))
        drift = 10 ** rng.uniform(-4, -2.5)
        turning = np.where(rng.random(steps) < rng.choice([0.0, 0.02, 0.3]), -1.0, 1.0).cumprod()
        gap = 2 * drift * (np.cumsum(turning * rng.choice([1.0, 0.5])) - rng.integers(0, steps + 1) - rng.random())
        if gap.min() < 0 < gap.max():
            crossed += 1
            worst = max(worst, turns(gap) / float(bounds.crossed_block_regret(steps, drift)))
    assert crossed > 100
    assert 0.8 < worst <= 1
