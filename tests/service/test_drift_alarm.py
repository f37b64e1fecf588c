"""The drift alarm: silent while the declared drift holds, whoever chooses the arms; not silent when it does not."""

from __future__ import annotations

import math
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftbandits import instances
from driftbandits.service.dashboard import drift_alarm
from driftbandits.service.dashboard.drift_alarm import CHANCE, FIRST, Alarm, Block, DriftAlarm

Array = np.ndarray[Any, np.dtype[np.float64]]


def as_numbers(pair: tuple[Block, Block]) -> tuple[Any, ...]:
    return astuple(pair[0]) + astuple(pair[1])


def feed(alarm: DriftAlarm, means: Array, luck: np.random.Generator, sigma: float = 0.5, lag: int = 0) -> list[Alarm]:
    """Rewards of random arms, one a step; with a ``lag`` they come late, in a random order."""
    steps = np.arange(1, len(means) + 1)
    arms = luck.integers(0, means.shape[1], len(means))
    rewards = means[steps - 1, arms] + sigma * luck.standard_normal(len(means))
    order = np.argsort(steps + lag * luck.random(len(means)), kind="stable")
    found = []
    for arm in range(means.shape[1]):
        mine = order[arms[order] == arm]
        found += alarm.take(arm, list(zip(steps[mine].tolist(), rewards[mine].tolist(), strict=True)))
    return found


@pytest.mark.parametrize("lag", [0, 500])
@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_silent_while_the_drift_holds(lag: int, scale: float) -> None:
    # A false alarm has a chance of 1e-6 a run at most, and these drift as fast as they may, all the time.
    played = [
        instances.sinusoid(40_000, 1e-3),
        instances.toggling(40_000, 1e-3, flat=700),
        instances.walk(40_000, 1e-3),
    ]
    for seed in range(10):
        for instance in played:
            alarm = DriftAlarm(2, 1e-3 * scale)
            assert not feed(alarm, scale * instance.means, np.random.default_rng(seed), 0.5 * scale, lag)
            assert sum(alarm.tests) > 1_000


@pytest.mark.parametrize("declared", [0.0, 1e-5, 2.5e-4])
def test_it_tells_a_drift_several_times_the_declared_one(declared: float) -> None:
    for seed in range(10):
        found = feed(DriftAlarm(2, declared), instances.sinusoid(40_000, 1e-3).means, np.random.default_rng(seed))
        assert found
        assert all(declared < alarm.at_least <= 1e-3 for alarm in found)


def test_it_tells_a_jump_soon() -> None:
    means = np.full((6_000, 2), 0.3)
    means[3_000:, 1] = 0.8
    for seed in range(10):
        found = feed(DriftAlarm(2, 1e-5), means, np.random.default_rng(seed))
        assert {alarm.arm for alarm in found} == {1}
        assert found[0].since < 3_000 < found[0].until < 4_000
        assert found[0].change > found[0].allowed + found[0].radius


def test_an_arm_left_alone_may_have_drifted_meanwhile() -> None:
    luck = np.random.default_rng(0)
    alarm = DriftAlarm(1, 1e-4)
    early = [(step, 0.1 + 0.01 * luck.standard_normal()) for step in range(1, 1_025)]
    late = [(step + 10_000, 0.9 + 0.01 * luck.standard_normal()) for step in range(1, 1_025)]
    assert not alarm.take(0, [*early, *late])
    assert DriftAlarm(1, 1e-5).take(0, [*early, *late])


@given(st.integers(0, 600), st.integers(0, 2**32 - 1), st.lists(st.integers(1, 90), max_size=10))
@settings(max_examples=60, deadline=None)
def test_every_block_is_compared_with_the_one_before_it(count: int, seed: int, cuts: list[int]) -> None:
    """Long lists, so that longer blocks are joined from shorter ones: hypothesis would hardly ever make any."""
    luck = np.random.default_rng(seed)
    steps, values = luck.integers(1, 10**6, count).tolist(), luck.choice([0.0, 0.25, 1.0], count).tolist()
    rewards: list[tuple[float, float]] = list(zip(steps, values, strict=True))
    compared: list[tuple[Block, Block]] = []

    class Spy(DriftAlarm):
        def _compare(self, arm: int, before: Block, after: Block) -> Alarm | None:
            compared.append((before, after))
            return super()._compare(arm, before, after)

    alarm, left = Spy(1, 0.1), list(rewards)
    for cut in cuts:
        alarm.take(0, left[:cut])
        left = left[cut:]
    alarm.take(0, left)
    expected, size = list[tuple[Block, Block]](), FIRST
    while 2 * size <= count:
        blocks = list[Block]()
        for start in range(0, count - size + 1, size):
            mine = steps[start : start + size]
            blocks.append(Block(size, sum(values[start : start + size]), sum(mine), min(mine), max(mine)))
        expected += pairwise(blocks)
        size *= 2
    assert sorted(map(as_numbers, compared)) == sorted(map(as_numbers, expected))
    whole = len(rewards) // FIRST * FIRST
    squares = sum(
        float(np.var([reward for _, reward in rewards[start : start + FIRST]])) * FIRST
        for start in range(0, whole, FIRST)
    )
    assert alarm.squares == pytest.approx(squares)


@given(st.lists(st.integers(1, 200), min_size=1, max_size=30), st.lists(st.integers(1, 200), min_size=1, max_size=30))
@settings(deadline=None)
def test_the_distance_covers_overlapping_blocks(one: list[int], other: list[int]) -> None:
    """The Wasserstein distance of two sets of steps, by its definition, is never above what the test allows for."""
    grid = np.arange(202)
    ours = np.searchsorted(np.sort(one), grid, side="right") / len(one)
    theirs = np.searchsorted(np.sort(other), grid, side="right") / len(other)
    before = Block(len(one), 0.0, sum(one), min(one), max(one))
    after = Block(len(other), 0.0, sum(other), min(other), max(other))
    assert np.abs(ours - theirs).sum() <= drift_alarm.distance(before, after) + 1e-9


def test_all_tests_together_stay_within_the_chance() -> None:
    alarm = DriftAlarm(3, 0.0, sigma=1.0)
    alarm.take(1, [(step, 0.0) for step in range(32 * 2)])
    assert alarm.tests == [0, 1, 0]
    # The radius of the first test of one of three arms: 2 exp(-L) = 1e-6/(3 * 1 * 2).
    luck = math.log(2 * 3 * 2 / CHANCE)
    before, after = Block(32, 0.0, 0, 0, 0), Block(32, 32 * 10.0, 32, 1, 1)
    fresh = DriftAlarm(3, 0.0, sigma=1.0)
    fresh.freedom = 1
    found = fresh._compare(1, before, after)
    assert found is not None
    assert found.radius == pytest.approx(math.sqrt(2 * luck * (1 / 32 + 1 / 32)))
