"""The loops of simulations: policies play an instance, and regret is added up or steps are written down.

They are compiled as ``driftbandits._numba.loops`` explains.
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
    event_count,
    learnt_of,
    mark,
    note_event,
    select,
    update,
)

TALLY = np.dtype(
    [("regret", "f8"), ("realised", "f8"), ("checkpoint", "i8"), ("events", "i8"), ("step", "i8")], align=True
)
"""What a run has accumulated so far; ``advance`` continues from it."""

PROGRESS = np.dtype([("step", "i8"), ("wanted", "i8"), ("events", "i8")], align=True)
"""How far a run is that is written down; ``record`` continues from it."""


def advance(policy, state, fault, noise, takes, means, best, scatter, rng, times, sums, log, tally, stop):
    """Play steps ``tally.step .. stop-1``; stop early when the event log is full. Returns the step reached.

    ``takes`` is (low, high), the rewards that the run takes, or (low, high, zero, unit) if they are rescaled.
    """
    regret, realised, pulls = sums
    n_arms = means.shape[1]
    total, received = tally[0].regret, tally[0].realised
    checkpoint, events, seen = tally[0].checkpoint, tally[0].events, event_count(state)
    step = tally[0].step
    low, high = takes[0], takes[1]
    while step < stop:
        mark(fault, step, CHOOSING, 0.0)
        arm = as_arm(select(policy, state, rng))
        if arm < 0 or arm >= n_arms:
            return blame(fault, step, arm, 0.0, WRONG_ARM)
        mark(fault, step, DRAWING, means[step, arm])
        reward = draw(noise, means[step, arm], scatter)
        if not low <= reward <= high:
            return blame(fault, step, arm, reward, WRONG_REWARD)
        learnt = learnt_of(takes, reward)
        mark(fault, step, arm, learnt)
        update(policy, state, arm, learnt, rng)
        total += best[step] - means[step, arm]
        received += best[step] - reward
        pulls[arm] += 1
        step += 1
        if step == times[checkpoint]:
            regret[checkpoint] = total
            realised[checkpoint] = received
            checkpoint += 1
        if event_count(state) != seen:
            seen = event_count(state)
            if len(log) > 0:
                note_event(state, log, events)
                events += 1
                if events == len(log):
                    break
    tally[0].regret, tally[0].realised = total, received
    tally[0].checkpoint, tally[0].events, tally[0].step = checkpoint, events, step
    return int(step)


def record(policy, state, fault, noise, takes, means, scatter, rng, places, arms, rewards, log, progress, stop):
    """As ``advance``, but steps ``progress.step .. stop-1`` are written down, and nothing is added up.

    ``places`` holds the number in ``means`` of each arm that the policy knows; ``CHOOSING`` for one that is off.
    ``progress.wanted`` is the arm that the policy chose already, if it did.
    """
    events, seen = progress[0].events, event_count(state)
    step, wanted = progress[0].step, progress[0].wanted
    low, high = takes[0], takes[1]
    while step < stop:
        arm = wanted
        if arm == CHOOSING:
            mark(fault, step, CHOOSING, 0.0)
            arm = as_arm(select(policy, state, rng))
        wanted = CHOOSING
        if arm < 0 or arm >= len(places) or places[arm] == CHOOSING:
            return blame(fault, step, arm, 0.0, WRONG_ARM)
        mark(fault, step, DRAWING, means[step, places[arm]])
        reward = draw(noise, means[step, places[arm]], scatter)
        if not low <= reward <= high:
            return blame(fault, step, arm, reward, WRONG_REWARD)
        learnt = learnt_of(takes, reward)
        mark(fault, step, arm, learnt)
        update(policy, state, arm, learnt, rng)
        arms[step] = places[arm]
        rewards[step] = reward
        step += 1
        if event_count(state) != seen:
            seen = event_count(state)
            if len(log) > 0:
                note_event(state, log, events)
                events += 1
                if events == len(log):
                    break
    progress[0].events, progress[0].step, progress[0].wanted = events, step, wanted
    return int(step)
