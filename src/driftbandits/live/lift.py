"""What the policy gains over a holdout that always gets the same arm, with an interval that is honest under drift."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftbandits._common.intervals import Z, are_binary, share_mean_interval

if TYPE_CHECKING:
    from driftbandits.live.session import Session

FIRST_WIDTH, MOST_BLOCKS = 64, 256
FEWEST = 20
"""Rewards of either group in a stretch of time that is compared."""
GROUPS, T_31 = 32, 2.04
"""Groups of units, and the 97.5 % quantile of Student's t with one less degrees of freedom."""


class Lift(NamedTuple):
    """``lift``: the mean reward of Decisions that the policy made, less that of the holdout, with a 95 % interval.

    ``policy`` and ``holdout`` are the two means and ``rewards``, ``held_out`` how many rewards they are of. All but the
    counts are None while there are fewer than 20 rewards of either.

    ``unknown``: Decisions of the same time without a reward, because they wait or were dropped. Where only successes
    are told, these are failures that are not counted yet, of both groups: while they are many, the lift is too near 0.
    """

    lift: float | None
    low: float | None
    high: float | None
    policy: float | None
    holdout: float | None
    rewards: int
    held_out: int
    unknown: int = 0


class Strata:
    """Counts, sums and squares of rewards of both groups, in blocks of steps: at most 256, and then wider ones.

    A Decision is held out by chance, so in every stretch of time the holdout is a sample of the same visitors. A
    stretch is as many blocks as it takes until both groups have 20 rewards. With n_b of all N rewards in stretch b,
    means x_b, y_b and variances s_b^2, r_b^2 of the m_b rewards of the policy and the k_b of the holdout, the lift is
    the average of x_b - y_b with weights n_b/N, and its variance the sum of (n_b/N)^2 (s_b^2/m_b + r_b^2/k_b). Means
    may drift as they like: what moves from one stretch to another is compared within each.

    Where all rewards are 0 or 1, each group's average gets Wilson's interval for as many rewards as its variance says
    it is worth, and the lift Newcombe's (1998, method 10): both averages are apart from it by their distances to those
    ends, squared and added up. It lies within [-1, 1], and has a length also where all rewards of a group are alike.

    Where units are named, they are what is held out by chance, and rewards of one unit are no independent ones. Units
    are in G = 32 groups by their hash. Group g, with m_bg rewards of sum x_bg of the policy and k_bg of sum y_bg of the
    holdout, adds D_g = sum_b n_b/N ((x_bg - m_bg x_b)/m_b - (y_bg - k_bg y_b)/k_b) to the error of the lift. Groups are
    independent, however often a unit comes: the variance is G/(G-1) times the sum of D_g^2, for those rewards.
    """

    def __init__(self) -> None:
        self.width = FIRST_WIDTH
        self.blocks: dict[int, list[float]] = {}
        self.units: dict[int, Any] = {}
        """Of blocks with rewards of units: counts and sums of the policy and of the holdout, each by group."""

    def add(self, step: int, held_out: bool, reward: float, group: int | None = None) -> None:
        """A reward of the Decision of that step, for a unit of that group if one was named."""
        number = (step - 1) // self.width
        block = self.blocks.setdefault(number, [0.0] * 6)
        if group is None:
            first = 3 if held_out else 0
            block[first] += 1.0
            block[first + 1] += reward
            block[first + 2] += reward * reward
        else:
            first = 2 if held_out else 0
            sums = self.units.setdefault(number, np.zeros((4, GROUPS)))
            sums[first, group] += 1.0
            sums[first + 1, group] += reward
        if len(self.blocks) > MOST_BLOCKS:
            before, self.blocks, self.width = self.blocks, {}, 2 * self.width
            for number, numbers in sorted(before.items()):
                there = self.blocks.get(number // 2, [0.0] * 6)
                self.blocks[number // 2] = [one + other for one, other in zip(there, numbers, strict=True)]
            grouped, self.units = self.units, {}
            for number, sums in sorted(grouped.items()):
                self.units[number // 2] = self.units.get(number // 2, 0.0) + sums

    def lift(self, before: float = math.inf) -> Lift:
        """What is known now, of blocks whose steps are all ``before`` that one."""
        empty = np.zeros((4, GROUPS))
        stretches: list[tuple[Any, Any]] = [(np.zeros(6), empty)]
        for number, numbers in sorted(self.blocks.items()):
            if (number + 1) * self.width >= before:
                break
            if min(_counts(stretches[-1])) >= FEWEST:
                stretches.append((np.zeros(6), empty))
            _join(stretches, (np.array(numbers), self.units.get(number, empty)))
        if len(stretches) > 1 and min(_counts(stretches[-1])) < FEWEST:
            _join(stretches, stretches.pop())
        rewards, held_out = (sum(column) for column in zip(*map(_counts, stretches), strict=True))
        if min(rewards, held_out) < FEWEST:
            return Lift(None, None, None, None, None, int(rewards), int(held_out))
        lift = gained = control = 0.0
        averages, variances, worth = np.zeros(2), np.zeros(2), np.zeros(2)
        errors = np.zeros(GROUPS)
        for stretch in stretches:
            (m0, x0, xx, k0, y0, yy), (m_g, x_g, k_g, y_g) = stretch
            (m, k), x, y = _counts(stretch), x0 + x_g.sum(), y0 + y_g.sum()
            share, x_mean, y_mean = (m + k) / (rewards + held_out), x / m, y / k
            lift, gained, control = lift + share * (x_mean - y_mean), gained + x, control + y
            scatters = _scatter(m0, x0, xx, x_mean) / (m * (m - 1.0)), _scatter(k0, y0, yy, y_mean) / (k * (k - 1.0))
            averages += share * np.array([x_mean, y_mean])
            variances += share**2 * np.array(scatters)
            worth += share**2 / np.array([m, k])
            errors += share * ((x_g - m_g * x_mean) / m - (y_g - k_g * y_mean) / k)
        if not self.units and self._are_binary():
            low, high = share_mean_interval(averages, np.sqrt(variances), 1.0 / worth)
            below, above = averages - low, high - averages
            down, up = float(np.hypot(below[0], above[1])), float(np.hypot(above[0], below[1]))
        else:
            variance = float(variances.sum() + GROUPS / (GROUPS - 1) * (errors**2).sum())
            down = up = (T_31 if self.units else Z) * math.sqrt(variance)
        lift, means = float(lift), (float(gained / rewards), float(control / held_out))
        return Lift(lift, lift - down, lift + up, *means, int(rewards), int(held_out))

    def _are_binary(self) -> bool:
        count, total, squares = np.array(list(self.blocks.values())).reshape(-1, 2, 3).transpose(2, 0, 1)
        return bool(are_binary(count, total, squares).all())


def lift_of(session: Session) -> Lift:
    """Of all rewards; where silence is weighed, of Decisions before the oldest open one.

    Rewards come late there, and failures later than successes: of young Decisions only successes are known, of both
    groups alike, which would hide the lift. What is left out for now is at most a timeout old.
    """
    if session.late:  # up to the oldest open one all are known
        return session._strata.lift(next((asked.step for asked, _ in session._open.values()), math.inf))
    found = session._strata.lift()
    ends = [*(first for first, _ in session._holdouts[1:]), session.step + 1]
    made = sum(end - first for (first, share), end in zip(session._holdouts, ends, strict=False) if share > 0.0)
    return found._replace(unknown=made - found.rewards - found.held_out)


def _counts(stretch: tuple[Any, Any]) -> tuple[float, float]:
    """How many rewards of the policy, and of the holdout."""
    alone, units = stretch
    return alone[0] + units[0].sum(), alone[3] + units[2].sum()


def _join(stretches: list[tuple[Any, Any]], more: tuple[Any, Any]) -> None:
    stretches[-1] = stretches[-1][0] + more[0], stretches[-1][1] + more[1]


def _scatter(count: float, total: float, squares: float, mean: float) -> float:
    """The squared distances of so many rewards from that mean."""
    return max(squares - 2.0 * mean * total + count * mean * mean, 0.0)
