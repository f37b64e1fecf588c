"""Rewards that a policy is defined for, and those that one run of it takes."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from driftbandits._common.checks import LARGEST_REWARD, shown
from driftbandits.errors import InputError

FARTHEST = 4.5
"""Nine standard deviations of 1/2. Noise that is 1/2-sub-Gaussian goes farther with a probability of 3e-18 per step."""
USUAL_SIGMA = 0.5
"""No rewards in [0, 1] have a larger standard deviation."""
MOST_EXCESS = 12.0 * math.log(10.0)
"""The sum beyond [0, 1] that such noise passes with a probability of 1e-12 per step: see ``Excess``."""


class Rewards(enum.Enum):
    """The rewards that a policy is defined for; a policy declares one of these as ``Policy.rewards``.

    With ``reward_range=(low, high)``, policies declared ``UNIT`` or ``SCALED`` learn (reward - low)/(high - low).
    Others learn rewards as they are.

    >>> from driftbandits import KLUCB, UCB1, AutoTS
    >>> KLUCB().rewards.value, KLUCB(kl="gaussian").rewards.name, KLUCB(kl="gaussian", sigma=2.0).rewards.name
    ('rewards in [0, 1]', 'SCALED', 'SIGMA')
    >>> UCB1().rewards.name, UCB1().rewards.limits, AutoTS().rewards.name
    ('SCALED', (-4.5, 5.5), 'REAL')
    """

    UNIT = "rewards in [0, 1]"
    SCALED = "rewards in [0, 1], or 1/2-sub-Gaussian around means in [0, 1]"
    SIGMA = "any rewards, with noise of standard deviation sigma at most"
    REAL = "any rewards"

    @property
    def rescaled(self) -> bool:
        """Whether the policy learns rewards on the scale of [0, 1]."""
        return self in (Rewards.UNIT, Rewards.SCALED)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest reward; for ``SCALED`` those that such noise practically never passes."""
        if self is Rewards.UNIT:
            return 0.0, 1.0
        return (-FARTHEST, 1.0 + FARTHEST) if self is Rewards.SCALED else (-LARGEST_REWARD, LARGEST_REWARD)


class Taken(NamedTuple):
    """The rewards that a run takes are from ``low`` to ``high``; the policy learns (reward - zero)/unit."""

    low: float
    high: float
    zero: float
    unit: float

    @property
    def rescales(self) -> bool:
        """Whether the policy learns other numbers than the rewards."""
        return self.zero != 0.0 or self.unit != 1.0

    @property
    def given(self) -> tuple[float, ...]:
        """As loops take it: without what the policy learns, where that is the reward, to lose no time."""
        return tuple(self) if self.rescales else (self.low, self.high)

    def learnt(self, reward: Any) -> Any:
        """What the policy learns of a reward, or of an array of rewards."""
        return (reward - self.zero) / self.unit if self.rescales else reward


def rewards_of(policy: Any) -> Rewards:
    """The rewards that a policy is defined for; any, for a plain object."""
    found = getattr(policy, "rewards", Rewards.REAL) if hasattr(policy, "arms_change") else Rewards.REAL
    if not isinstance(found, Rewards):
        raise InputError(
            f"rewards of {type(policy).__name__} must be one of db.Rewards, such as Rewards.UNIT; got {shown(found)}"
        )
    return found


def rewards_for(sigma: float) -> Rewards:
    """What a policy with a parameter sigma is defined for: any rewards, if another sigma than 1/2 was given.

    With 1/2, which nobody need have chosen, they must be of the scale on which it is right.
    """
    return Rewards.SCALED if sigma == USUAL_SIGMA else Rewards.SIGMA


class Excess:
    """How far a policy's rewards went beyond [0, 1] together, where each alone might be noise around a mean in it.

    If noise is 1/2-sub-Gaussian around means of at most 1, E exp(r - 1) <= exp(1/8). So by Ville's inequality the sum
    of r - 9/8, from any given reward on, ever exceeds ``MOST_EXCESS`` with a probability of 1e-12 at most. The largest
    of these sums is max(0, itself before + r - 9/8), as in Page's test; likewise below 0. Rewards in [0, 1] are always
    taken; a reward that would make a sum too large is not.

    >>> ratings = Excess()
    >>> ratings.add([4.0] * 9)
    >>> low, high = ratings.narrowed((-4.5, 5.5))
    >>> low, round(high, 3)
    (-4.5, 2.881)
    """

    def __init__(self) -> None:
        self.above = self.below = 0.0

    def narrowed(self, limits: tuple[float, float]) -> tuple[float, float]:
        """The least and the largest reward that can be taken now, of those within the limits."""
        low, high = limits
        return max(low, self.below - MOST_EXCESS - 0.125), min(high, MOST_EXCESS - self.above + 1.125)

    def add(self, rewards: Iterable[float]) -> None:
        """These were taken."""
        for reward in rewards:
            self.above = max(0.0, self.above + reward - 1.125)
            self.below = max(0.0, self.below - reward - 0.125)


def excess_for(policy: Any, reward_range: tuple[float, float] | None) -> Excess | None:
    """To watch the rewards of a run; None where the limits alone say which are taken."""
    return Excess() if reward_range is None and rewards_of(policy) is Rewards.SCALED else None


def range_for(policy: Any, reward_range: tuple[float, float] | None) -> tuple[float, float] | None:
    """The range that the policy's rewards are rescaled from, if they are."""
    return reward_range if rewards_of(policy).rescaled else None


def taken_by(policy: Any, reward_range: tuple[float, float] | None = None, *, simulated: bool = False) -> Taken:
    """The rewards that a run of this policy takes.

    Where rewards are ``simulated`` the user chose the noise, so a policy declared ``SCALED`` takes all that it draws.

    >>> from driftbandits import KLUCB
    >>> taken_by(KLUCB(), (2.0, 10.0)).learnt(4.0)
    0.25
    """
    kind = rewards_of(policy)
    low, high = reward_range or kind.limits
    if simulated and kind is not Rewards.UNIT:
        low, high = Rewards.REAL.limits
    if reward_range is None or not kind.rescaled:
        return Taken(low, high, 0.0, 1.0)
    return Taken(low, high, reward_range[0], reward_range[1] - reward_range[0])


DECLARE = "declare reward_range=(low, high), and rewards are rescaled to [0, 1]"
DECLARE_MEANS = "declare reward_range=(low, high) of the instance (--reward-range LOW HIGH) to rescale them to [0, 1]"
STAY = "give rewards on that scale, or declare a wider reward_range"
OTHER_NOISE = "take noise that stays there, such as Bernoulli()"
OWN_NOISE = "take noise that stays there: one of your own, or Bernoulli() where means lie in [0, 1]"


def not_taken(
    policy: Any,
    reward_range: tuple[float, float] | None,
    got: str,
    *,
    undeclared: str = DECLARE,
    declared: str = STAY,
) -> InputError:
    """The error for what a run of this policy does not take.

    What can be done about it: ``declared`` where a range was declared, else ``undeclared``, or another policy.
    """
    if reward_range is not None:
        low, high = reward_range
        return InputError(f"rewards are between {low:g} and {high:g}, as reward_range declares; got {got}: {declared}")
    kind, name = rewards_of(policy), type(policy).__name__
    form = next((field for field in ("kl", "posterior", "test") if hasattr(policy, field)), None)
    gaussian = undeclared == OTHER_NOISE and form is not None and kind is Rewards.UNIT
    other = f'{name}({form}="gaussian") or ' if gaussian else ""
    return InputError(
        f"{name} is defined for {kind.value}; got {got}: {undeclared}; or take {other}a policy for any rewards, "
        "such as BreakEven()"
    )


def first_not_taken(policy: Any, reward_range: tuple[float, float] | None, rewards: Sequence[float]) -> int | None:
    """Which of these rewards a run of this policy would not take, if any."""
    low, high = usual = taken_by(policy, reward_range)[:2]
    excess = excess_for(policy, reward_range)
    for index, reward in enumerate(rewards):
        if not low <= reward <= high:
            return index
        if excess is not None:
            excess.add([reward])
            low, high = excess.narrowed(usual)
    return None
