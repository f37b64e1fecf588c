"""What becomes of a policy when arms come and go: in Sessions and in simulations alike."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

RECENT = 1_000
"""Rewards that a policy which begins anew learns again, at most."""

Waiting = TypeVar("Waiting")


def with_arms(policy: Any, state: Any, was: Sequence[bool], on: Sequence[bool]) -> Any:
    """The State of a policy that goes on when arms are ``on`` that ``was`` tells of before; those beyond are new.

    The State that was given may be changed.
    """
    for _ in on[len(was) :]:
        state = policy.add_arm(state)
    before = [*was, *[True] * (len(on) - len(was))]
    for wanted in (True, False):  # on first: an arm can be chosen at any time
        for place, (then, now) in enumerate(zip(before, on, strict=True)):
            if then != now == wanted:
                policy.set_arm(state, place, now)
    return state


def learn_in_turn(
    waiting: Sequence[deque[Waiting]], arm: int, learn: Callable[[int, Waiting], None], choose: Callable[[], int]
) -> int:
    """Rewards for a policy that must be told the one of exactly the arm that it chose before it chooses again.

    It learns the first that waits of ``arm``, chooses the next arm, and continues while there are rewards of what it
    chooses (Joulani, György, Szepesvári 2013, QPM-D). Returns the arm that it chose last.
    """
    while waiting[arm]:
        learn(arm, waiting[arm].popleft())
        arm = choose()
    return arm
