"""Runs policies on an instance: one run is one call chain, many runs share threads, and nothing depends on how many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.records import as_records
from driftbandits._common.threads import GoOn, in_threads
from driftbandits._numba.player import Mode, Player, usual_mode
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Noise
from driftbandits.simulation.changing import Played, first_arms, play_steps, rehearse_change
from driftbandits.simulation.events import EventLog
from driftbandits.simulation.loops import TALLY, advance
from driftbandits.simulation.requirements import check_fits

COMPILED_CHUNK = 1 << 18
INTERPRETED_CHUNK = 1 << 10
"""Steps between two checks of the clock and of Ctrl-C: some ten milliseconds either way."""

BLOCKS_PER_WORKER = 16
NOISE, OWN = 0, 1
"""The two random streams of a run: the noise, the same for every policy, and the policy's own."""


@dataclass(frozen=True)
class Run:
    """The result of one run of one policy."""

    regret: Array
    realised: Array
    pulls: Array
    seconds: float
    events: Array | None


@dataclass
class Job:
    """One policy on one instance: everything its runs have in common."""

    policy: Any
    instance: Instance
    noise: Noise
    times: Array
    seed: int
    events: bool = False
    mode: Mode | None = None
    """How kernels run; None as usual for the policy."""
    _spare: list[Player] = field(default_factory=list, init=False)
    _model: list[Player] = field(default_factory=list, init=False)
    """The first Player, of which others are made: empty until ``prepare``."""

    def prepare(self) -> None:
        """Check arms and rewards and compile, in the main thread, so that errors come early and clocks start late."""
        own = stream(self.seed, 0, OWN)
        ahead = min(self.instance.horizon, COMPILED_CHUNK)
        check_fits(self.policy, self.instance, self.noise)
        first = first_arms(self.policy, self.instance)
        mode = self.mode or usual_mode(self.policy, self.noise)
        limits = self.instance.reward_range
        player = Player(self.policy, len(first), own, ahead, mode, limits, simulated=True)
        self._play(player, 0, lambda steps: True, stop=0)
        rehearse_change(player, self.instance)
        self._model.append(player)
        self._spare.append(player)

    def elsewhere(self, instance: Instance) -> Job:
        """The same policy on another instance of the same shape: compiled code and States are shared, nothing else."""
        other = replace(self, instance=instance)
        other._spare, other._model = self._spare, self._model
        return other

    def play(self, run: int, go_on: GoOn) -> Run | None:
        """Run number ``run``; ``go_on`` is called every few steps, and once it returns False the result is None."""
        if not self._model:
            self.prepare()
        own, n_arms = stream(self.seed, run, OWN), len(first_arms(self.policy, self.instance))
        try:
            player = self._spare.pop()  # asking first would let another thread take the last one in between
        except IndexError:
            player = None
        if player is None or player.n_arms != n_arms:
            player = self._model[0].another(own, n_arms)
        else:
            player.restart(own)
        result = self._play(player, run, go_on, self.instance.horizon)
        self._spare.append(player)
        return result

    def _play(self, player: Player, run: int, go_on: GoOn, stop: int) -> Run | None:
        interpreted, instance = player.mode == "interpreted", self.instance
        chunk, noise_rng = INTERPRETED_CHUNK if interpreted else COMPILED_CHUNK, stream(self.seed, run, NOISE)
        if instance.available is not None:
            options: dict[str, Any] = {"chunk": chunk, "go_on": go_on, "events": self.events, "stop": stop}
            return self._added_up(play_steps(player, instance, self.noise, noise_rng, **options))
        regret, realised = np.zeros(len(self.times)), np.zeros(len(self.times))
        pulls, tally = np.zeros(instance.n_arms, np.int64), as_records(np.zeros(1, TALLY))
        log = EventLog(player.state, self.events)
        streams = (player.lent(noise_rng), player.rng)
        drawn = (self.noise, player.taken.given, instance.means, instance.best_mean)
        given = (*drawn, *streams, self.times, (regret, realised, pulls))
        seconds = 0.0
        while True:
            before, noted = player.step, int(tally[0].events)
            until = min(before + min(chunk, player.room()), stop)
            begun = time.thread_time()
            player.step = player.play(advance, *given, log.rows, tally, until, others=(self.noise,))
            seconds += time.thread_time() - begun
            log.came(noted, int(tally[0].events), player.stage.start)
            if not go_on(player.step - before):
                return None
            if player.step == stop:
                return Run(regret, realised, pulls, seconds, log.kept(int(tally[0].events)))

    def _added_up(self, played: Played | None) -> Run | None:
        """A run that was written down step by step as ``advance`` would have added it up."""
        if played is None:
            return None
        instance, at = self.instance, self.times - 1
        lost = instance.best_mean - instance.means[np.arange(instance.horizon), played.arms]
        regret, realised = np.cumsum(lost)[at], np.cumsum(instance.best_mean - played.rewards)[at]
        pulls = np.bincount(played.arms, minlength=instance.n_arms)
        return Run(regret, realised, pulls, played.seconds, played.events)


def stream(seed: int, run: int, which: int) -> np.random.Generator:
    """The random generator of a run: it depends on nothing but these three numbers."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(run, which))))


def play_all(
    todo: list[tuple[Job, int]], finished: Callable[[Job, int, Run], None], workers: int, progress: bool | None
) -> None:
    """Play every (prepared job, run) of ``todo`` on threads; ``finished`` is called, one at a time, as each ends.

    Ctrl-C stops the threads within milliseconds and is raised again; what was finished has been reported by then.
    """
    lock = threading.Lock()
    size = max(1, len(todo) // (workers * BLOCKS_PER_WORKER))

    def work(first: int, go_on: GoOn) -> None:
        for job, run in todo[first : first + size]:
            result = job.play(run, go_on)
            if result is None:
                return
            with lock:
                finished(job, run, result)

    steps = sum(job.instance.horizon for job, _ in todo)
    in_threads(work, range(0, len(todo), size), workers, "simulating", steps, progress)
