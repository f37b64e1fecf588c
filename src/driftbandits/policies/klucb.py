"""KL-UCB: the largest mean that an arm's rewards do not yet rule out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_choice
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.policies._parts.kl_bounds import KL_BOUNDS, OPEN, bound_index, forget_bounds, surely_largest
from driftbandits.policies._parts.ucb import highest_index
from driftbandits.policies.base import Policy, Records, records

DIVERGENCES = ("bernoulli", "gaussian")
MOST_STEPS = 60
"""Newton's method takes 2 to 6 steps, rarely 13; the limit only makes the loop finite."""
NEARLY = 1e-8
"""A relative step this small is the last: Newton squares the error."""
TINY = 1e-300
"""Smaller means are 0 to Newton's method, which divides by them."""
SLACK = 1e-12
"""Far above rounding: an arm may be looked at once too often, never once too rarely."""


class KLUCBState(NamedTuple):
    run: Records
    arms: Records


@dataclass(frozen=True)
class KLUCB(Policy):
    """KL-UCB (Garivier and Cappe): pull the arm with the largest q such that n d(mean, q) <= ln t + c ln ln t.

    Mean and count n are taken over all the arm's pulls, t is the current step, from 1 on. Every arm is pulled once
    first; ties go to the lowest arm. The divergence d is

    - ``kl="bernoulli"``: d(p, q) = p ln(p/q) + (1 - p) ln((1 - p)/(1 - q)), for rewards in [0, 1].
    - ``kl="gaussian"``: d(p, q) = (q - p)^2 / (2 sigma^2), for rewards of that standard deviation.

    The authors prove their theorem with c = 3 and recommend c = 0. Made for means that do not move, where its regret
    meets the lower bound of Lai and Robbins; it forgets nothing. It must know nothing, or sigma. A step costs O(K):
    bounds on the indices are kept, which nearly always tell the largest, and where they don't, Newton's method finds
    the indices to full precision.

    Citation: A. Garivier, O. Cappe, "The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond", COLT 2011.

    >>> round(largest_mean(0.5, 0.1), 6)
    0.712879
    """

    c: float = 0.0
    kl: str = "bernoulli"
    sigma: float = 0.5

    def __post_init__(self) -> None:
        check_between("c", self.c, 0.0, 1e6)
        check_between("sigma", self.sigma, 1e-9, 1e9)
        check_choice("kl", self.kl, DIVERGENCES)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1], where the divergence is Bernoulli's; else any whose noise sigma bounds."""
        return Rewards.UNIT if self.kl == "bernoulli" else rewards_for(self.sigma)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """c and, where it is used, sigma."""
        return {"c": self.c, "sigma": self.sigma} if self.kl == "gaussian" else {"c": self.c}

    def init(self, n_arms: int) -> KLUCBState:
        self.check_arms(n_arms)
        state = KLUCBState(
            records(1, t="i8", gaussian="i8", allowed="f8"), records(n_arms, count="i8", total="f8", **KL_BOUNDS)
        )
        state.run.gaussian = self.kl == "gaussian"
        for arm in range(n_arms):
            forget_bounds(state.arms[arm])
        return state

    def select(self, state: KLUCBState, rng: np.random.Generator) -> int:
        run, arms = state.run[0], state.arms
        if run.t < len(arms):
            return run.t  # type: ignore[no-any-return]
        if run.gaussian:
            return highest_index(arms, 2.0 * self.sigma * self.sigma * run.allowed)
        best = surely_largest(arms, run.allowed)
        return best if best != OPEN else _largest_index(arms, run.allowed)

    def update(self, state: KLUCBState, arm: int, reward: float) -> None:
        run, pulled = state.run[0], state.arms[arm]
        run.t += 1
        pulled.count += 1
        pulled.total += reward
        run.allowed = math.log(run.t + 1)
        run.allowed += self.c * math.log(run.allowed)
        if not run.gaussian:
            bound_index(pulled, _mean(state.arms, arm), run.allowed, run.allowed, 1.0)


def _largest_index(arms: Records, allowed: float) -> int:
    """The arm with the largest index, solved for; one divergence shows of most arms that they are behind."""
    most_pulled = 0
    for arm in range(1, len(arms)):
        if arms[arm].count > arms[most_pulled].count:
            most_pulled = arm
    best, best_index = most_pulled, largest_mean(_mean(arms, most_pulled), allowed / arms[most_pulled].count)
    for arm in range(len(arms)):
        mean, level = _mean(arms, arm), allowed / arms[arm].count
        if arm != most_pulled and _may_reach(best_index, mean, level):
            index = largest_mean(mean, level)
            if index > best_index or (index == best_index and arm < best):
                best, best_index = arm, index
    return best


def _mean(arms: Records, arm: int) -> float:
    return min(arms[arm].total / arms[arm].count, 1.0)  # type: ignore[no-any-return]  # but for rounding it is


def _may_reach(index: float, mean: float, level: float) -> bool:
    """Whether an arm's own index can be ``index`` or more; one divergence tells."""
    if index == 1.0 or mean >= index:
        return True
    successes = mean * math.log(mean / index) if mean > 0.0 else 0.0
    return successes + (1.0 - mean) * math.log((1.0 - mean) / (1.0 - index)) < level + SLACK


def largest_mean(p: float, level: float) -> float:
    """The largest q in [p, 1] with Bernoulli kl(p, q) <= level, for level > 0.

    With 1 - q = (1 - p) e^(-y), kl = p ln p - p ln q + (1 - p) y is convex and increasing in y, so Newton's method
    comes down from any y above the root and never below. Two such y: from kl >= 2 (q - p)^2, and from -p ln q >= 0.
    """
    if p >= 1.0:
        return 1.0
    if p < TINY:
        return -math.expm1(-level)
    rest = 1.0 - p
    reach = math.sqrt(0.5 * level)
    y = -math.log1p(-reach / rest) if reach < rest else (level - p * math.log(p)) / rest
    for _ in range(MOST_STEPS):
        gain = -rest * math.expm1(-y)  # q - p
        step = (rest * y - p * math.log1p(gain / p) - level) * (p + gain) / gain
        y -= step
        if step < NEARLY * y:
            break
    return p - rest * math.expm1(-y)
