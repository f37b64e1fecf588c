"""What would have been earned: inverse propensity for choices that don't look, rejection for policies that learn.

Rows t = 1..N of a log have an arm A(t), its reward X(t), and p(t), the probability of that arm given all the past.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from driftbandits.engine import COMPILED_CHUNK, INTERPRETED_CHUNK, stream
from driftbandits.errors import InputError
from driftbandits.kernels import entry, loop
from driftbandits.loops import OUT_OF_RANGE, interpreted_replay, make_replay
from driftbandits.offline.trust import Evidence
from driftbandits.policies.base import Policy

Array = np.ndarray[Any, np.dtype[Any]]

MEMORY = 100.0
"""Pulls over which the baseline of an arm is averaged."""
RESAMPLE, GATE, OWN = 0, 1, 2
"""The random streams of a replay: which rows are drawn, which are rejected, and the policy's own."""


def fixed_choices(rows: Evidence, block: int, seed: int, replicate: int, parts: int) -> Array:
    """Sums over each part of the log of the rewards of each arm alone (rows 0..K-1), Uniform (K) and the log (K+1).

    Of arm a alone, step t would have earned, without bias however the log was made,

        m_a(t) + 1{A(t) = a} (X(t) - m_a(t)) / p(t),

    where m_a(t) is any guess made before step t: here the average of the arm's last hundred or so rewards, which
    follows the drift and makes the variance small. Its expectation given the past is mu_(a,t). Uniform is the mean over
    all a. In place of each row comes one drawn from its block of ``block`` rows; 1 leaves the log as it is.
    """
    sums = np.zeros((len(rows.names) + 2, parts))
    _fixed(rows.arms, rows.rewards, rows.probability, stream(seed, replicate, RESAMPLE), block, sums)
    return sums


@loop
def _fixed(arms: Array, rewards: Array, probability: Array, resample: Any, block: int, sums: Array) -> None:
    n_rows, n_parts, n_arms = len(arms), sums.shape[1], len(sums) - 2
    baseline, pulls = np.zeros(n_arms), np.zeros(n_arms)
    common = 0.0
    for step in range(n_rows):
        first = step - step % block
        row = first + int(resample.random() * min(block, n_rows - first))
        arm, reward, part = arms[row], rewards[row], step * n_parts // n_rows
        surprise = (reward - baseline[arm]) / probability[row]
        total = surprise
        for other in range(n_arms):
            sums[other, part] += baseline[other]
            total += baseline[other]
        sums[arm, part] += surprise
        sums[n_arms, part] += total / n_arms
        sums[n_arms + 1, part] += reward
        pulls[arm] += 1
        common += (reward - common) / (step + 1)
        baseline[arm] += (reward - baseline[arm]) / min(pulls[arm], MEMORY)
        for other in range(n_arms):
            if pulls[other] == 0:  # until it is seen, an arm is taken for an average one
                baseline[other] = common


class Replayer:
    """Plays one policy over the rows of a log, again and again.

    A row is kept with the chance c/p(t), c the least probability in the log, and used if it has the arm that the policy
    wants. Whatever the policy wants, that happens with probability p(t) c/p(t) = c, and does not depend on the past. So
    a replay is a true run of the policy in the world of the log, at steps that chance picked, one in 1/c.
    """

    def __init__(self, policy: Any, rows: Evidence, seed: int, parts: int) -> None:
        self.policy, self.rows, self.seed, self.parts = policy, rows, seed, parts
        self.keep = rows.least / rows.probability
        self.compiled = isinstance(policy, Policy)
        self._replay: Callable[..., int] | None = None
        self.play(0, 0, 1, lambda steps: True, stop=0)  # errors and compilation come now, in the main thread

    def play(
        self, replicate: int, turn: int, block: int, go_on: Callable[[int], bool], stop: int | None = None
    ) -> tuple[Array, Array]:
        """Sums and numbers of the rewards received in each part of the log; ``turn`` counts replays of a replicate."""
        n_arms, rows = len(self.rows.names), self.rows
        # A plain object may keep what it learns in itself, so every replay gets its own copy.
        policy = self.policy if self.compiled else copy.deepcopy(self.policy)
        me, state = policy.compiled() if self.compiled else policy, policy.init(n_arms)
        chunk = COMPILED_CHUNK if self.compiled else INTERPRETED_CHUNK
        stop = len(rows) if stop is None else stop
        own = np.random.SeedSequence(self.seed, spawn_key=(replicate, OWN, turn))
        gate = np.random.SeedSequence(self.seed, spawn_key=(replicate, GATE, turn))
        streams = (
            stream(self.seed, replicate, RESAMPLE),
            *(np.random.Generator(np.random.SFC64(s)) for s in (gate, own)),
        )
        sums, counts, wanted = np.zeros(self.parts), np.zeros(self.parts, np.int64), np.array([-1, n_arms])
        step = 0
        while True:
            until = min(step + chunk, stop)
            state = policy.reserve(state, until - step) if self.compiled else state
            arguments = (
                me,
                state,
                rows.arms,
                rows.rewards,
                self.keep,
                *streams,
                block,
                sums,
                counts,
                wanted,
                step,
                until,
            )
            if self._replay is None:
                self._replay = entry(make_replay, (type(policy),), arguments) if self.compiled else interpreted_replay
            if self._replay(*arguments) == OUT_OF_RANGE:
                name = type(policy).__name__
                raise InputError(f"{name} chose an arm that does not exist: arms are 0 to {n_arms - 1}")
            if until >= stop or not go_on(until - step):
                return sums, counts
            step = until
