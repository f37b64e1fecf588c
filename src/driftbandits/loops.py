"""The loops around a policy's kernels, each written once: compiled they are the functions that numba caches on disk.

``kernels.entry`` compiles what a maker makes. Its ``digest``, of all the code that the loop can reach, is there for the
cache alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftbandits.kernels import borrowed, draw, event_count, note_event, select, update
from driftbandits.lowlevel import generator_at, seat

TALLY = np.dtype(
    [("regret", "f8"), ("realised", "f8"), ("checkpoint", "i8"), ("events", "i8"), ("step", "i8")], align=True
)
"""What a run has accumulated so far; ``advance`` continues from it."""

OUT_OF_RANGE = -1
"""``advance`` answers this when the policy chose an arm that does not exist."""


def make_advance(digest: str) -> Callable[..., Any]:
    def advance(
        policy: Any,
        noise: Any,
        state: Any,
        means: Any,
        best: Any,
        world: Any,
        own: Any,
        times: Any,
        regret: Any,
        realised: Any,
        pulls: Any,
        log: Any,
        tally: Any,
        stop: int,
    ) -> int:
        """Play steps ``tally.step .. stop-1``; stop early when the event log is full. Answers the step reached."""
        assert digest
        held = borrowed(state)
        n_arms = means.shape[1]
        total, received = tally[0].regret, tally[0].realised
        checkpoint, events, seen = tally[0].checkpoint, tally[0].events, event_count(held)
        step = tally[0].step
        while step < stop:
            arm = select(policy, held, own)
            if arm < 0 or arm >= n_arms:
                tally[0].step = step
                return OUT_OF_RANGE
            reward = draw(noise, means[step, arm], world)
            update(policy, held, arm, reward)
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


def make_select(digest: str) -> Callable[..., Any]:
    def select_once(policy: Any, state: Any, generator: Any) -> int:
        assert digest
        return select(policy, borrowed(state), generator_at(generator))

    return select_once


def make_update(digest: str) -> Callable[..., Any]:
    def update_once(policy: Any, state: Any, arm: int, reward: float) -> None:
        assert digest
        update(policy, borrowed(state), arm, reward)

    return update_once


def make_replay(digest: str) -> Callable[..., Any]:
    def replay(
        policy: Any,
        state: Any,
        arms: Any,
        rewards: Any,
        keep: Any,
        resample: Any,
        gate: Any,
        own: Any,
        block: int,
        sums: Any,
        counts: Any,
        wanted: Any,
        start: int,
        stop: int,
    ) -> int:
        """Offer rows ``start .. stop-1`` of a log to the policy, which learns from those with the arm it wants.

        In place of each row comes one drawn from its block of ``block`` rows; 1 leaves the log as it is. It is kept
        with the chance ``keep``. ``sums`` and ``counts`` gather the rewards received, by equal parts of the log. Both
        draws are made for every row, so all policies are offered the same ones. ``wanted`` holds the arm that the
        policy waits for, -1 for none yet, and the number of arms.
        """
        assert digest
        held = borrowed(state)
        n_rows, n_parts = len(arms), len(sums)
        arm = wanted[0]
        for step in range(start, stop):
            first = step - step % block
            row = first + int(resample.random() * min(block, n_rows - first))
            if gate.random() >= keep[row]:
                continue
            if arm < 0:
                arm = select(policy, held, own)
                if arm < 0 or arm >= wanted[1]:
                    return OUT_OF_RANGE
            if arms[row] == arm:
                update(policy, held, arm, rewards[row])
                part = step * n_parts // n_rows
                sums[part] += rewards[row]
                counts[part] += 1
                arm = -1
        wanted[0] = arm
        return int(stop)

    return replay


def make_select_many(digest: str) -> Callable[..., Any]:
    def select_many(
        policy: Any, state: Any, generator: Any, memory: Any, step: int, draws: int, explore: Any, arms: Any, p: Any
    ) -> None:
        """Choose for steps ``step``, ``step + 1``, ...; p receives the probability of each choice.

        ``explore`` is (n_arms, share): that share of choices falls on any arm alike. The others are one of ``draws``
        draws of the policy, taken at random. So the probability of an arm, given the draws, is known exactly for
        whatever policy: share/n_arms + (1 - share) * (share of the draws that agree).
        """
        assert digest
        held = borrowed(state)
        rng = generator_at(generator)
        drawn = np.empty(draws, np.int64)
        n_arms, share = explore
        for index in range(len(arms)):
            seat(memory, step + index)
            for draw_index in range(draws):
                drawn[draw_index] = select(policy, held, rng)
            arms[index] = drawn[0]
            if share > 0.0:
                by_chance = rng.random() < share
                where = rng.random()
                arms[index] = int(where * n_arms) if by_chance else drawn[int(where * draws)]
            p[index] = share / n_arms + (1.0 - share) * np.mean(drawn == arms[index])

    return select_many


def make_update_many(digest: str) -> Callable[..., Any]:
    def update_many(policy: Any, state: Any, arms: Any, rewards: Any) -> None:
        assert digest
        held = borrowed(state)
        for index in range(len(arms)):
            update(policy, held, arms[index], rewards[index])

    return update_many


interpreted_advance = make_advance("interpreted")
"""The same loop in plain Python: for policies that know nothing of numba, and to check the compiled ones against."""
interpreted_replay = make_replay("interpreted")
