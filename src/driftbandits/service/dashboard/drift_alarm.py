"""An alarm when rewards drift faster than the policy was told, with false alarms rarer than one in a million."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

FIRST = 32
"""Rewards in the shortest block."""
CHANCE = 1e-6
"""The largest probability of a false alarm, over all arms and the experiment's whole life."""


@dataclass(frozen=True)
class Block:
    """Consecutive rewards of one arm: how many, their sum, the sum of their steps, the first and the last step."""

    count: int
    total: float
    steps: int
    first: int
    last: int

    @property
    def mean(self) -> float:
        """The mean reward."""
        return self.total / self.count

    @property
    def step(self) -> float:
        """The mean step."""
        return self.steps / self.count


class Alarm(NamedTuple):
    """An arm's mean changed by ``change`` between two blocks, around the steps ``since`` and ``until``.

    ``allowed`` is the most that the declared drift explains, ``radius`` what chance explains besides, and ``at_least``
    the drift a step that is certain, except with a probability of one in a million.
    """

    arm: int
    since: float
    until: float
    change: float
    allowed: float
    radius: float
    at_least: float


class DriftAlarm:
    """Compares each block of n rewards of an arm with the block before it, for n = 32, 64, 128, ...

    Let an arm's mean move by at most delta = ``drift`` a step. Then the expectations of two blocks differ by at most
    delta W, W being the Wasserstein distance of their steps: the difference of the mean steps, and for late rewards at
    most twice the overlap more. With noise that is sigma-sub-Gaussian (``sigma`` as declared, or the rewards' own
    deviation within blocks if that is larger) the difference of two means of n rewards exceeds that by
    sigma sqrt(4 L/n) with probability 2 exp(-L) at most. Test i of an arm gets L = ln(2 K i (i + 1)/1e-6), so that all
    tests of K arms together fail with probability 1e-6 at most, however long the experiment runs.

    An arm costs O(1) a reward and O(log n) memory.
    """

    def __init__(self, n_arms: int, drift: float, sigma: float = 0.5) -> None:
        self.drift, self.sigma = drift, sigma
        self.squares, self.freedom = 0.0, 0
        self.rewards: list[list[tuple[float, float]]] = [[] for _ in range(n_arms)]
        """Of each arm, as (step, reward), those that fill no block yet."""
        self.tests = [0] * n_arms
        self.levels: list[list[tuple[Block, bool]]] = [[] for _ in range(n_arms)]
        """The last block of each length, and whether it waits for another one to make a longer block with."""

    def add_arm(self) -> None:
        """One arm more."""
        self.rewards.append([])
        self.tests.append(0)
        self.levels.append([])

    def take(self, arm: int, rewards: list[tuple[float, float]]) -> list[Alarm]:
        """More rewards of an arm, as (step, reward), and the alarms they raise: of several at once the surest."""
        waiting = self.rewards[arm] + rewards
        ready = len(waiting) // FIRST * FIRST
        self.rewards[arm] = waiting[ready:]
        found = (self._test_block(arm, waiting[start : start + FIRST]) for start in range(0, ready, FIRST))
        return [alarm for alarm in found if alarm]

    def _test_block(self, arm: int, rewards: list[tuple[float, float]]) -> Alarm | None:
        steps, values = zip(*rewards, strict=True)
        block = Block(len(rewards), math.fsum(values), int(sum(steps)), int(min(steps)), int(max(steps)))
        mean = block.mean
        self.squares += math.fsum([(value - mean) ** 2 for value in values])
        self.freedom += block.count - 1
        found, levels, length = [], self.levels[arm], 0
        while length < len(levels):
            before, waits = levels[length]
            found.append(self._compare(arm, before, block))
            levels[length] = (block, not waits)
            if not waits:
                break
            block, length = _join(before, block), length + 1
        else:
            levels.append((block, True))
        return max((alarm for alarm in found if alarm), key=lambda alarm: alarm.at_least, default=None)

    def _compare(self, arm: int, before: Block, after: Block) -> Alarm | None:
        self.tests[arm] = test = self.tests[arm] + 1
        sigma = max(self.sigma, math.sqrt(self.squares / self.freedom))
        exponent = math.log(2 * len(self.tests) * test * (test + 1) / CHANCE)
        radius = sigma * math.sqrt(4 * exponent / after.count)
        apart, change = distance(before, after), after.mean - before.mean
        if abs(change) <= self.drift * apart + radius:
            return None
        at_least = (abs(change) - radius) / apart if apart else math.inf
        return Alarm(arm, before.step, after.step, change, self.drift * apart, radius, at_least)

    def as_dict(self) -> dict[str, Any]:
        """All it remembers, as plain JSON."""
        levels = [[(astuple(block), waits) for block, waits in arm] for arm in self.levels]
        return {name: getattr(self, name) for name in ("squares", "freedom", "rewards", "tests")} | {"levels": levels}

    def resume(self, data: dict[str, Any]) -> None:
        """Continue from ``as_dict``."""
        self.squares, self.freedom, self.tests = data["squares"], data["freedom"], data["tests"]
        self.rewards = [[(step, reward) for step, reward in arm] for arm in data["rewards"]]
        self.levels = [[(Block(*block), waits) for block, waits in arm] for arm in data["levels"]]


def distance(before: Block, after: Block) -> float:
    """At least the Wasserstein distance of the steps of two blocks, and just that when they do not overlap."""
    return after.step - before.step + 2 * max(0, before.last - after.first)


def _join(one: Block, other: Block) -> Block:
    return Block(
        one.count + other.count,
        one.total + other.total,
        one.steps + other.steps,
        min(one.first, other.first),
        max(one.last, other.last),
    )
