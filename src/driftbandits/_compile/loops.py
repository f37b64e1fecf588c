"""The loops around a policy's kernels, each written once: compiled they are the functions that numba caches on disk.

``Player`` plays them. Each takes the policy, its State and a fault: three numbers in which it leaves the step, arm and
reward it was at, so that an error can be reported. ``mark`` writes them before a kernel that may fail, and costs
nothing where none may; ``blame`` writes them in any case. The ``digest``, of all the code that a loop can reach, is
there only for the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftbandits._compile.kernels import (
    as_arm,
    blame,
    draw,
    event_count,
    learnt_of,
    mark,
    note_event,
    note_pending,
    select,
    settle,
    update,
)
from driftbandits._compile.lowlevel import borrowed, generator_of, move_to

TALLY = np.dtype(
    [("regret", "f8"), ("realised", "f8"), ("checkpoint", "i8"), ("events", "i8"), ("step", "i8")], align=True
)
"""What a run has accumulated so far; ``advance`` continues from it."""

PROGRESS = np.dtype([("step", "i8"), ("wanted", "i8"), ("events", "i8")], align=True)
"""How far a run is that is written down; ``record`` continues from it."""

CHOOSING, DRAWING = -1, -2
"""In place of an arm, while one is being chosen; while its reward is drawn, with the mean in place of the reward."""
WRONG_ARM, WRONG_REWARD = -1, -2
"""Loops return these when the policy chose an arm that does not exist, or the noise drew a reward it does not take."""


def make_advance(digest: str) -> Callable[..., Any]:
    def advance(
        policy: Any,
        state: Any,
        fault: Any,
        noise: Any,
        takes: Any,
        means: Any,
        best: Any,
        noise_rng: Any,
        own: Any,
        times: Any,
        regret: Any,
        realised: Any,
        pulls: Any,
        log: Any,
        tally: Any,
        stop: int,
    ) -> int:
        """Play steps ``tally.step .. stop-1``; stop early when the event log is full. Returns the step reached.

        ``takes`` is (low, high), the rewards that the run takes, or (low, high, zero, unit) if they are rescaled.
        """
        assert digest
        held, rng, scatter = borrowed(state), generator_of(own), generator_of(noise_rng)
        n_arms = means.shape[1]
        total, received = tally[0].regret, tally[0].realised
        checkpoint, events, seen = tally[0].checkpoint, tally[0].events, event_count(held)
        step = tally[0].step
        low, high = takes[0], takes[1]
        while step < stop:
            mark(fault, step, CHOOSING, 0.0)
            arm = as_arm(select(policy, held, rng))
            if arm < 0 or arm >= n_arms:
                return blame(fault, step, arm, 0.0, WRONG_ARM)
            mark(fault, step, DRAWING, means[step, arm])
            reward = draw(noise, means[step, arm], scatter)
            if not low <= reward <= high:
                return blame(fault, step, arm, reward, WRONG_REWARD)
            learnt = learnt_of(takes, reward)
            mark(fault, step, arm, learnt)
            update(policy, held, arm, learnt)
            total += best[step] - means[step, arm]
            received += best[step] - reward
            pulls[arm] += 1
            step += 1
            if step == times[checkpoint]:
                regret[checkpoint] = total
                realised[checkpoint] = received
                checkpoint += 1
            if event_count(held) != seen:
                seen = event_count(held)
                if len(log) > 0:
                    note_event(held, log, events)
                    events += 1
                    if events == len(log):
                        break
        tally[0].regret, tally[0].realised = total, received
        tally[0].checkpoint, tally[0].events, tally[0].step = checkpoint, events, step
        return int(step)

    return advance


def make_record(digest: str) -> Callable[..., Any]:
    def record(
        policy: Any,
        state: Any,
        fault: Any,
        noise: Any,
        takes: Any,
        means: Any,
        noise_rng: Any,
        own: Any,
        places: Any,
        arms: Any,
        rewards: Any,
        log: Any,
        progress: Any,
        stop: int,
    ) -> int:
        """As ``advance``, but steps ``progress.step .. stop-1`` are written down, and nothing is added up.

        ``places`` holds the number in ``means`` of each arm that the policy knows; ``CHOOSING`` for one that is off.
        ``progress.wanted`` is the arm that the policy chose already, if it did.
        """
        assert digest
        held, rng, scatter = borrowed(state), generator_of(own), generator_of(noise_rng)
        events, seen = progress[0].events, event_count(held)
        step, wanted = progress[0].step, progress[0].wanted
        low, high = takes[0], takes[1]
        while step < stop:
            arm = wanted
            if arm == CHOOSING:
                mark(fault, step, CHOOSING, 0.0)
                arm = as_arm(select(policy, held, rng))
            wanted = CHOOSING
            if arm < 0 or arm >= len(places) or places[arm] == CHOOSING:
                return blame(fault, step, arm, 0.0, WRONG_ARM)
            mark(fault, step, DRAWING, means[step, places[arm]])
            reward = draw(noise, means[step, places[arm]], scatter)
            if not low <= reward <= high:
                return blame(fault, step, arm, reward, WRONG_REWARD)
            learnt = learnt_of(takes, reward)
            mark(fault, step, arm, learnt)
            update(policy, held, arm, learnt)
            arms[step] = places[arm]
            rewards[step] = reward
            step += 1
            if event_count(held) != seen:
                seen = event_count(held)
                if len(log) > 0:
                    note_event(held, log, events)
                    events += 1
                    if events == len(log):
                        break
        progress[0].events, progress[0].step, progress[0].wanted = events, step, wanted
        return int(step)

    return record


def make_select(digest: str) -> Callable[..., Any]:
    def select_once(policy: Any, state: Any, fault: Any, generator: Any, n_arms: int) -> int:
        assert digest
        mark(fault, 0, CHOOSING, 0.0)
        arm = as_arm(select(policy, borrowed(state), generator_of(generator)))
        if arm < 0 or arm >= n_arms:
            return blame(fault, 0, arm, 0.0, WRONG_ARM)
        return int(arm)

    return select_once


def make_update(digest: str) -> Callable[..., Any]:
    def update_once(policy: Any, state: Any, fault: Any, arm: int, reward: float) -> int:
        assert digest
        mark(fault, 0, arm, reward)
        update(policy, borrowed(state), arm, reward)
        return 0

    return update_once


def make_settle(digest: str) -> Callable[..., Any]:
    def settle_once(policy: Any, state: Any, fault: Any) -> int:
        assert digest
        settle(policy, borrowed(state))
        return 0

    return settle_once


def make_replay(digest: str) -> Callable[..., Any]:
    def replay(
        policy: Any,
        state: Any,
        fault: Any,
        arms: Any,
        rewards: Any,
        learnt: Any,
        keep: Any,
        resample: Any,
        gate: Any,
        own: Any,
        block: int,
        sums: Any,
        counts: Any,
        progress: Any,
        n_arms: int,
        stop: int,
    ) -> int:
        """Offer rows of a log up to ``stop`` to the policy, which learns from those with the arm it wants.

        ``learnt`` is what it learns of each of the ``rewards``.

        In place of each row comes one drawn from its block of ``block`` rows; 1 leaves the log as it is. It is kept
        with the chance ``keep``. ``sums`` and ``counts`` gather the rewards received, by equal parts of the log. Both
        draws are made for every row, so all policies are offered the same ones. ``progress`` holds the next row, the
        arm that the policy waits for, -1 for none yet, and the number of updates that there is room for.
        """
        assert digest
        held, rng = borrowed(state), generator_of(own)
        row_rng, gate_rng = generator_of(resample), generator_of(gate)
        n_rows, n_parts = len(arms), len(sums)
        step, arm, room = progress[0], progress[1], progress[2]
        while step < stop and room > 0:
            first = step - step % block
            row = first + int(row_rng.random() * min(block, n_rows - first))
            kept = gate_rng.random() < keep[row]
            if kept and arm < 0:
                mark(fault, step, CHOOSING, 0.0)
                arm = as_arm(select(policy, held, rng))
                if arm < 0 or arm >= n_arms:
                    return blame(fault, step, arm, 0.0, WRONG_ARM)
            if kept and arms[row] == arm:
                mark(fault, step, arm, learnt[row])
                update(policy, held, arm, learnt[row])
                part = step * n_parts // n_rows
                sums[part] += rewards[row]
                counts[part] += 1
                arm = -1
                room -= 1
            step += 1
        progress[0], progress[1], progress[2] = step, arm, room
        return int(step)

    return replay


def make_select_many(digest: str) -> Callable[..., Any]:
    def select_many(
        policy: Any,
        state: Any,
        fault: Any,
        generator: Any,
        memory: Any,
        step: int,
        draws: int,
        explore: Any,
        holdout: Any,
        played: bool,
        arms: Any,
        p: Any,
    ) -> int:
        """Choose for steps ``step``, ``step + 1``, ...; p receives the probability of each choice.

        ``explore`` is (on, choices, share): which arms are on, their numbers, and the share of choices that falls on
        any of them alike. The others are one of ``draws`` draws of the policy, taken at random. So the probability of
        an arm, given the draws, is known exactly for whatever policy: share/(number of choices) + (1 - share) * (share
        of the draws that agree).

        ``holdout`` is (flags, share, arm): choices with a flag, which that share of them has by chance, are that arm.

        Choices that are ``played`` are pending when the next ones are made.
        """
        assert digest
        held = borrowed(state)
        rng = generator_of(generator)
        drawn = np.empty(draws, np.int64)
        on, choices, share = explore
        flags, held_share, control = holdout
        n_arms, n_choices = len(on), len(choices)
        mark(fault, 0, CHOOSING, 0.0)
        for index in range(len(arms)):
            move_to(memory, step + index)
            for draw_index in range(draws):
                arm = as_arm(select(policy, held, rng))
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
                note_pending(held, arms[index], 1)
        return 0

    return select_many


def make_update_many(digest: str) -> Callable[..., Any]:
    def update_many(policy: Any, state: Any, fault: Any, arms: Any, rewards: Any) -> int:
        assert digest
        held = borrowed(state)
        for index in range(len(arms)):
            mark(fault, index, arms[index], rewards[index])
            update(policy, held, arms[index], rewards[index])
        return 0

    return update_many


COUNT_FROM_NOW = (make_select, make_update, make_select_many, make_update_many, make_settle)
"""Loops that know no step but their own: theirs are counted from the updates that the State has learnt from."""
