"""What a policy believes: estimates, intervals and snoozes, read from a State and shown to users."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array

if TYPE_CHECKING:
    from driftbandits._numba.player import Player


class Snooze(NamedTuple):
    """``arm`` is not pulled until the policy's step ``until``: over ``window`` pairs ``better`` led by ``gap``."""

    arm: int
    better: int
    gap: float
    window: int
    since: int
    until: float


class Crossing(NamedTuple):
    """``arm`` is expected to be better than ``other``, the best now, after so many ``steps`` more."""

    arm: int
    other: int
    steps: int


class Belief(NamedTuple):
    """``estimate``, ``low`` and ``high``: every arm's mean with a 95 % interval, nan where nothing is known.

    ``gap`` is the difference that the policy tests, over its last ``window`` pairs of pulls where it has windows,
    and ``threshold`` what the gap must exceed before it acts. ``slope`` is what each mean is expected to gain a step,
    and ``crossing`` the first change of the best arm that follows from it, for a policy that thinks of slopes.
    """

    estimate: Array | None = None
    low: Array | None = None
    high: Array | None = None
    snoozed: tuple[Snooze, ...] = ()
    gap: float | None = None
    threshold: float | None = None
    window: int | None = None
    slope: Array | None = None
    crossing: Crossing | None = None


def belief_of(player: Player, ahead: int = 0) -> Belief:
    """What a played policy believes, or forecasts for so many steps ``ahead``, on the scale of the rewards."""
    policy, taken = player.stage.policy, player.taken
    found: Belief = policy.forecast(player.state, ahead) if ahead else policy.belief(player.state)
    return rescaled(found, taken.zero, taken.unit) if taken.rescales else found


def rescaled(belief: Belief, zero: float, unit: float) -> Belief:
    """What is believed of rewards, where a policy believes it of (reward - zero)/unit.

    >>> rescaled(Belief(np.array([0.25]), gap=0.5), 2.0, 8.0)[:3], rescaled(Belief(gap=0.5), 2.0, 8.0).gap
    ((array([4.]), None, None), 4.0)
    """
    values = {name: getattr(belief, name) for name in ("estimate", "low", "high", "slope", "gap", "threshold")}
    zeros = {"estimate": zero, "low": zero, "high": zero}
    found = {name: zeros.get(name, 0.0) + unit * value for name, value in values.items() if value is not None}
    snoozed = tuple(snooze._replace(gap=unit * snooze.gap) for snooze in belief.snoozed)
    return belief._replace(snoozed=snoozed, **found)


def gaussian_belief(mean: Array, deviation: Array) -> Belief:
    """Means known up to a Gaussian error; the gap is that of the two best, the threshold its 95 % half-width."""
    low, high = mean - 1.96 * deviation, mean + 1.96 * deviation
    if len(mean) < 2 or not np.isfinite(mean).all():
        return Belief(mean, low, high)
    second, first = np.argsort(mean, kind="stable")[-2:]
    half_width = 1.96 * float(np.hypot(deviation[first], deviation[second]))
    return Belief(mean, low, high, gap=float(mean[first] - mean[second]), threshold=half_width)


def among(belief: Belief, on: Sequence[bool]) -> Belief:
    """What is believed where some arms can't be chosen: the gap is that of the two best which can."""
    mean, high = belief.estimate, belief.high
    if all(on) or mean is None or high is None:
        return belief
    these = np.flatnonzero(on)
    found = gaussian_belief(mean[these], (high - mean)[these] / 1.96)
    return belief._replace(gap=found.gap, threshold=found.threshold)


def of_rewards(belief: Belief, rewards: Iterable[float]) -> Belief:
    """What is believed of means of such ``rewards``: where all are 0 or 1, no mean lies outside of [0, 1].

    An infinite end stays, as it says that nothing is known.

    >>> wide = gaussian_belief(np.array([0.02, 0.5]), np.array([0.03, 0.1]))
    >>> [belief.low.round(3).tolist() for belief in (of_rewards(wide, [0, 1]), of_rewards(wide, [0, 0.5]))]
    [[0.0, 0.304], [-0.039, 0.304]]
    """
    seen = set(rewards)
    if not seen or not seen <= {0.0, 1.0}:
        return belief
    known = {name: values for name in ("estimate", "low", "high") if (values := getattr(belief, name)) is not None}
    cut = {name: np.where(np.isinf(values), values, np.clip(values, 0.0, 1.0)) for name, values in known.items()}
    return belief._replace(**cut)


def widened(freedom: int) -> float:
    """How much wider a 95 % interval is whose variance was learnt from so few: Student's quantile over the Gaussian's.

    >>> [round(1.96 * widened(n), 2) for n in (1, 4, 5, 10, 1000)]
    [12.71, 2.78, 2.57, 2.23, 1.96]
    """
    few = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
    n = float(freedom)
    # Beyond them the first terms of the quantile in powers of 1/n are good to 0.01.
    return few.get(freedom, 1.96 + 2.372 / n + 2.822 / n**2 + 2.556 / n**3) / 1.96
