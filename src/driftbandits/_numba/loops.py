"""The loops around a policy's kernels, each written once, as plain Python that calls stubs such as ``select``.

``Player`` plays them. Interpreted, a stub calls the policy's method. Compiled, ``entry`` puts the policy's own function
in the stub's place, by ``replacements``. Each loop takes the policy, its State and a fault: three numbers in which it
leaves the step, arm and reward it was at, so that an error can be reported. ``mark`` writes them before a kernel that
may fail, and is left out where indices are not checked; ``blame`` writes them in any case.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from driftbandits._common.checks import shown
from driftbandits._common.verbs import takes_rng
from driftbandits._numba.random import placed
from driftbandits.errors import PolicyError

CHOOSING, DRAWING = -1, -2
"""In place of an arm, while one is being chosen; while its reward is drawn, with the mean in place of the reward."""
WRONG_ARM, WRONG_REWARD = -1, -2
"""Loops return these when the policy chose an arm that does not exist, or the noise drew a reward it does not take."""


STEP, ARM, REWARD = 0, 1, 2
"""The numbers of a fault: where a loop was when something went wrong."""
NO_ARM = "must return the number of an arm, a whole number as in return int(arm)"

# Stubs: as they are called in Python


def select(policy: Any, state: Any, rng: Any) -> int:
    """The arm that ``policy`` pulls next."""
    arm = policy.select(state, rng)
    try:
        return int(arm) if isinstance(arm, np.bool_) else operator.index(arm)
    except TypeError:
        raise PolicyError(f"{type(policy).__name__}.select {NO_ARM}; it returned {shown(arm)}") from None


def update(policy: Any, state: Any, arm: int, reward: float, rng: Any) -> None:
    """Pass the reward of a pull to ``policy``."""
    if takes_rng(policy.update):
        policy.update(state, arm, reward, rng)
    else:
        policy.update(state, arm, reward)


def settle(policy, state):
    """Let ``policy`` do the work that it has put off."""
    policy.settle(state)


def draw(noise, mean, rng):
    """One reward with the given mean."""
    return noise.draw(mean, rng)


def learnt_of(takes, reward):
    """What a policy learns of a reward: itself, or (reward - zero)/unit where it takes (low, high, zero, unit)."""
    return reward if len(takes) == 2 else (reward - takes[2]) / takes[3]


def event_count(state):
    """How many events (tests passed, changes detected) the State has seen; 0 for policies that have none."""
    return state.event[0].count if hasattr(state, "event") else 0


def note_event(state, log, at):
    """Copy the State's last event to ``log[at]``."""
    if hasattr(state, "event"):
        log[at] = state.event[0]


def is_on(arms: Any, arm: int) -> bool:
    """Whether an arm may be chosen: unless the column ``off`` of a State's arms says that it may not."""
    return "off" not in arms.dtype.names or arms[arm].off == 0


def counts_pending(state: Any) -> bool:
    """Whether the arms of a State have a column ``pending``: the number of pulls whose reward has not come yet.

    The caller keeps it, since only the caller knows which arms are really pulled.
    """
    arms = getattr(state, "arms", None)
    return isinstance(arms, np.ndarray) and "pending" in (arms.dtype.names or ())


def note_pending(state, arm, change):
    """Count pending rewards of an arm where its State does."""
    if counts_pending(state):
        state.arms[arm].pending += change


def mark(fault, step, arm, reward):
    """Write down where a loop is, before a kernel that may fail."""
    fault[STEP], fault[ARM], fault[REWARD] = step, arm, reward


def blame(fault, step, arm, reward, answer):
    """Record where a loop was, and return what went wrong."""
    fault[STEP], fault[ARM], fault[REWARD] = step, arm, reward
    return answer


def as_arm(arm):
    """What ``select`` returned, if it is the number of an arm; in Python ``select`` itself has checked."""
    return arm


@overload(as_arm, strict=False)  # or numba compares annotations too
def _as_arm(arm):
    """As in Python: compiled, 0.5 would be arm 0 in one loop, and what can't be compiled in another."""
    if isinstance(arm, types.Integer):
        return lambda arm: arm
    if isinstance(arm, types.Boolean):
        return lambda arm: int(arm)
    found = "None on one of its paths" if isinstance(arm, types.Optional) else f"a number of type {arm}"
    raise numba.TypingError(f"{NO_ARM}; it returns {found}")


# What takes a stub's place in compiled code, where that is not the policy's own function


def update_without_rng(policy, state, arm, reward, rng):
    told(policy, state, arm, reward)


def told(policy, state, arm, reward):
    """The policy's own ``update``, if it takes no random generator."""


def rescaled(takes, reward):
    return (reward - takes[2]) / takes[3]


def unchanged(takes, reward):
    return reward


def count_of_event(state):
    return state.event[0].count


def no_events(state):
    return 0


def copy_event(state, log, at):
    log[at] = state.event[0]


def no_event(state, log, at):
    pass


def count_pending(state, arm, change):
    state.arms[arm].pending += change


def no_pending(state, arm, change):
    pass


def not_off(arms, arm):
    return arms[arm].off == 0


def always_on(arms, arm):
    return True


def no_mark(fault, step, arm, reward):
    pass


def not_moved(rng, step):
    return rng


# The loops


def select_once(policy, state, fault, rng, n_arms):
    """The arm to pull now."""
    mark(fault, 0, CHOOSING, 0.0)
    arm = as_arm(select(policy, state, rng))
    if arm < 0 or arm >= n_arms:
        return blame(fault, 0, arm, 0.0, WRONG_ARM)
    return int(arm)


def update_once(policy, state, fault, rng, arm, reward):
    """Learn from one pull."""
    mark(fault, 0, arm, reward)
    update(policy, state, arm, reward, rng)
    return 0


def settle_once(policy, state, fault):
    """Do the work that was put off."""
    settle(policy, state)
    return 0


def select_many(policy, state, fault, stream, step, draws, explore, holdout, played, arms, p):
    """Choose for steps ``step``, ``step + 1``, ...; p receives the probability of each choice.

    ``explore`` is (on, choices, share): which arms are on, their numbers, and the share of choices that falls on
    any of them alike. The others are one of ``draws`` draws of the policy, taken at random. So the probability of
    an arm, given the draws, is known exactly for whatever policy: share/(number of choices) + (1 - share) * (share
    of the draws that agree).

    ``holdout`` is (flags, share, arm): choices with a flag, which that share of them has by chance, are that arm.
    Choices that are ``played`` are pending when the next ones are made.
    """
    drawn = np.empty(draws, np.int64)
    on, choices, share = explore
    flags, held_share, control = holdout
    n_arms, n_choices = len(on), len(choices)
    mark(fault, 0, CHOOSING, 0.0)
    for index in range(len(arms)):
        rng = placed(stream, step + index)
        for draw_index in range(draws):
            arm = as_arm(select(policy, state, rng))
            if arm < 0 or arm >= n_arms or not on[arm]:
                return blame(fault, 0, arm, 0.0, WRONG_ARM)
            drawn[draw_index] = arm
        arms[index] = drawn[0]
        if share > 0.0:
            by_chance = rng.random() < share
            where = rng.random()
            arms[index] = choices[int(where * n_choices)] if by_chance else drawn[int(where * draws)]
        if held_share > 0.0 and flags[index]:
            arms[index] = control
        agreed = 0
        for draw_index in range(draws):
            agreed += drawn[draw_index] == arms[index]
        p[index] = share / n_choices + (1.0 - share) * (agreed / draws)
        if held_share > 0.0:
            p[index] = (held_share if arms[index] == control else 0.0) + (1.0 - held_share) * p[index]
        if played:
            note_pending(state, arms[index], 1)
    return 0


def update_many(policy, state, fault, stream, first, pulls, count):
    """Learn from pulls; number ``first + index`` draws from that step of ``stream``, if it is a StepStream."""
    arms, rewards = pulls
    for index in range(count):
        mark(fault, index, arms[index], rewards[index])
        update(policy, state, arms[index], rewards[index], placed(stream, first + index))
    return 0


COUNT_FROM_NOW = (select_once, update_once, select_many, update_many, settle_once)
"""Loops that know no step but their own: theirs are counted from the updates that the State has learnt from."""
