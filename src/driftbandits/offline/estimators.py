"""What would have been earned: inverse propensity for fixed choices, rejection sampling for policies that learn.

Rows t = 1..N of a log have an arm A(t), its reward X(t), and p(t), the probability of that arm given all the past.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.threads import GoOn
from driftbandits._numba.compiled import loop
from driftbandits._numba.player import Player
from driftbandits.offline.replay_loop import replay
from driftbandits.offline.trust import Evidence
from driftbandits.simulation.engine import COMPILED_CHUNK, INTERPRETED_CHUNK, stream

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
    a replay is a genuine run of the policy on the instance behind the log, at steps that chance picked, one in 1/c.
    """

    def __init__(
        self, policy: Any, rows: Evidence, seed: int, parts: int, reward_range: tuple[float, float] | None = None
    ) -> None:
        self.policy, self.rows, self.seed, self.parts = policy, rows, seed, parts
        self.keep = rows.least / rows.probability
        own = self._stream(0, OWN, 0)
        ahead = min(max(len(rows), 1), COMPILED_CHUNK)
        self._model = Player(policy, len(rows.names), own, ahead, reward_range=reward_range)
        self._learnt = self._model.taken.learnt(rows.rewards)
        self._play(self._model, 0, 0, 1, lambda steps: True, stop=0)  # errors and compilation come now

    def play(self, replicate: int, turn: int, block: int, go_on: GoOn) -> tuple[Array, Array]:
        """Sums and numbers of the rewards received in each part of the log; ``turn`` counts replays of a replicate."""
        own = self._stream(replicate, OWN, turn)
        return self._play(self._model.another(own), replicate, turn, block, go_on, len(self.rows))

    def _stream(self, *key: int) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def _play(
        self, player: Player, replicate: int, turn: int, block: int, go_on: GoOn, stop: int
    ) -> tuple[Array, Array]:
        rows, n_arms = self.rows, self._model.n_arms
        chunk = INTERPRETED_CHUNK if player.mode == "interpreted" else COMPILED_CHUNK
        resample, gate = stream(self.seed, replicate, RESAMPLE), self._stream(replicate, GATE, turn)
        sums, counts = np.zeros(self.parts), np.zeros(self.parts, np.int64)
        progress = np.array([0, -1, 0])
        streams = tuple(player.lent(rng) for rng in (resample, gate, player.rng))
        offered = (rows.arms, rows.rewards, self._learnt, self.keep)
        given = (offered, streams, block, sums, counts, progress, n_arms)
        while True:
            before, room = int(progress[0]), player.room()
            progress[2] = room
            player.play(replay, *given, min(before + chunk, stop))
            player.step += room - int(progress[2])
            if progress[0] >= stop or not go_on(int(progress[0]) - before):
                return sums, counts
