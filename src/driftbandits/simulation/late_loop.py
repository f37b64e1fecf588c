"""The loop for rewards that come late and decisions made in bundles; ``Player`` plays it, like those of ``loops``.

The reward of step s is known before the choice at step t when s + delay < t, and all choices of a bundle are made
before its first step. What a policy does meanwhile is what ``live.learners`` does in a Session, here compiled.
"""

from __future__ import annotations

import numpy as np

from driftbandits._numba.loops import (
    CHOOSING,
    DRAWING,
    WRONG_ARM,
    WRONG_REWARD,
    as_arm,
    blame,
    draw,
    learnt_of,
    mark,
    note_pending,
    select,
    update,
)

NOBODY = -1
"""In place of an arm or a step: there is none."""

PROGRESS = np.dtype(
    [
        ("step", "i8"),  # choices made
        ("come", "i8"),  # rewards that have come
        ("most_open", "i8"),  # the most choices that ever waited for their reward
        ("next_arm", "i8"),  # the arm that a policy which learns in turn waits for
        ("room", "i8"),  # updates that there is still room for
        ("learnt", "i8"),
        ("regret", "f8"),
        ("realised", "f8"),
    ],
    align=True,
)
"""How far a run is; ``advance_late`` continues from it."""


def unknown_arm(arm, ahead, known):
    """The arm ``ahead`` places after ``arm`` among those not known yet, in a circle; ``arm`` itself if it is known.

    At first most policies want each arm once, the first of them as long as they have learnt nothing.
    """
    if known[arm]:
        return arm
    unknown = np.flatnonzero(known == 0)
    return int(unknown[(np.searchsorted(unknown, arm) + ahead) % len(unknown)])


def put_aside(queues, following, arm, step):
    """Append a step to the queue of its arm; ``queues`` holds each arm's first and last step."""
    if queues[arm, 0] == NOBODY:
        queues[arm, 0] = step
    else:
        following[queues[arm, 1]] = step
    queues[arm, 1] = step


def taken(queues, following, arm, oldest):
    """The first step in an arm's queue, removed from it; those before ``oldest`` are dropped: means drift."""
    step = queues[arm, 0]
    while step != NOBODY and step < oldest:
        step = following[step]
    queues[arm, 0] = NOBODY if step == NOBODY else following[step]
    return int(step)


def advance_late(policy, state, fault, noise, takes, means, best, scatter, rng, late, kept, queue, progress, stop):
    """Play up to step ``stop``, or until there is no more room for updates. Returns the step reached.

    ``takes`` is (low, high), the rewards that the run takes, or (low, high, zero, unit) if they are rescaled.

    ``late`` is (delay, bundle, in_turn). A policy that learns ``in_turn`` is told the reward of exactly the arm that it
    chose before it chooses again; until then all choices are that arm, and rewards of others wait in ``queues``.
    """
    arms, rewards = kept
    known, queues, following = queue
    n_arms, (delay, bundle, in_turn), at = means.shape[1], late, progress[0]
    low, high = takes[0], takes[1]
    while at.step < stop:
        step = at.step
        if step % bundle == 0:
            while at.come < step - delay:
                came = at.come
                at.come += 1
                if in_turn:
                    put_aside(queues, following, arms[came], came)
                else:
                    learnt = learnt_of(takes, rewards[came])
                    note_pending(state, arms[came], -1)
                    mark(fault, came, arms[came], learnt)
                    update(policy, state, arms[came], learnt, rng)
                    known[arms[came]] = 1
                    at.learnt += 1
                    at.room -= 1
                    if at.room == 0:
                        return int(step)
            while in_turn:
                if at.next_arm == NOBODY:
                    mark(fault, step, CHOOSING, 0.0)
                    arm = as_arm(select(policy, state, rng))
                    if arm < 0 or arm >= n_arms:
                        return blame(fault, step, arm, 0.0, WRONG_ARM)
                    at.next_arm = arm
                # A reward put aside is at most as late again as the latest rewards were.
                came = taken(queues, following, at.next_arm, step - 2 * at.most_open - 1)
                if came == NOBODY:
                    break
                learnt = learnt_of(takes, rewards[came])
                mark(fault, came, at.next_arm, learnt)
                update(policy, state, at.next_arm, learnt, rng)
                at.next_arm = NOBODY
                at.learnt += 1
                at.room -= 1
                if at.room == 0:
                    return int(step)
        arm = at.next_arm
        if not in_turn:
            mark(fault, step, CHOOSING, 0.0)
            arm = as_arm(select(policy, state, rng))
            if arm < 0 or arm >= n_arms:
                return blame(fault, step, arm, 0.0, WRONG_ARM)
            arm = unknown_arm(arm, step - at.come, known)
        mark(fault, step, DRAWING, means[step, arm])
        reward = draw(noise, means[step, arm], scatter)
        if not low <= reward <= high:
            return blame(fault, step, arm, reward, WRONG_REWARD)
        arms[step], rewards[step] = arm, reward
        if not in_turn:
            note_pending(state, arm, 1)
        at.regret += best[step] - means[step, arm]
        at.realised += best[step] - reward
        at.step += 1
        at.most_open = max(at.most_open, at.step - at.come)
    return int(at.step)
