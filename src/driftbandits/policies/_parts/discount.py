"""What discounted policies share: sums in which a pull s steps ago weighs discount^s, in constant time a step.

Instead of shrinking all sums at every step, every new pull weighs more than the one before; only ratios matter. Sums
divided by ``run.weight``, the weight of the last pull, are the discounted ones.
"""

from __future__ import annotations

from typing import NamedTuple

from driftbandits.policies.base import Records, records

SMALLEST_DISCOUNT = 1e-9
"""What a drift of 1 is given: nothing but the last pull counts."""
LARGEST_WEIGHT = 1e100


class DiscountState(NamedTuple):
    run: Records
    arms: Records


def start_discount(n_arms: int, discount: float, **columns: str) -> DiscountState:
    """No pulls yet; ``columns`` are the policy's own in ``run``."""
    arms = records(n_arms, count="f8", total="f8", off="i8")
    state = DiscountState(records(1, growth="f8", weight="f8", **columns), arms)
    state.run.growth, state.run.weight = 1 / discount, 1.0
    return state


def discount_and_add(state: DiscountState, arm: int, reward: float) -> None:
    """Let all earlier pulls of all arms weigh less by a factor ``discount``, and take in a new one."""
    run = state.run[0]
    run.weight *= run.growth
    state.arms[arm].count += run.weight
    state.arms[arm].total += run.weight * reward
    if run.weight > LARGEST_WEIGHT:
        for index in range(len(state.arms)):
            state.arms[index].count /= run.weight
            state.arms[index].total /= run.weight
        run.weight = 1.0
