"""Runs in which rewards come late, or choices are made in bundles; all else is as in ``simulate``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_whole
from driftbandits._common.records import as_records
from driftbandits._common.threads import GoOn, cores
from driftbandits._numba.player import Player
from driftbandits.instances.base import Instance, check_always_there
from driftbandits.instances.noise import Noise
from driftbandits.simulation.engine import COMPILED_CHUNK, INTERPRETED_CHUNK, NOISE, Job, Run, play_all, stream
from driftbandits.simulation.late_loop import NOBODY, PROGRESS, advance_late

MOST = 1_000_000
"""The largest delay and the largest bundle."""


@dataclass
class LateJob(Job):
    """One policy on one instance whose rewards come late; see ``late_regret``."""

    delay: int = 0
    bundle: int = 1

    def _play(self, player: Player, run: int, go_on: GoOn, stop: int) -> Run | None:
        interpreted, (T, K) = player.mode == "interpreted", self.instance.means.shape
        arms, rewards = np.zeros(T, np.int64), np.zeros(T)
        known, queues, following = np.zeros(K, np.int64), np.full((K, 2), NOBODY), np.full(T, NOBODY)
        progress = as_records(np.zeros(1, PROGRESS))
        progress[0].next_arm = NOBODY
        drawn = (self.noise, player.taken.given, self.instance.means, self.instance.best_mean)
        world = (*drawn, player.lent(stream(self.seed, run, NOISE)), player.rng)
        late = self.delay, self.bundle, not getattr(self.policy, "any_order", False)
        kept = ((arms, rewards), (known, queues, following), progress)
        chunk = INTERPRETED_CHUNK if interpreted else COMPILED_CHUNK
        seconds, at = 0.0, progress[0]
        while True:
            before, at.learnt, at.room = int(at.step), 0, player.room()
            begun = time.thread_time()
            player.play(advance_late, *world, late, *kept, min(before + chunk, stop), others=(self.noise,))
            seconds += time.thread_time() - begun
            player.step += int(at.learnt)
            if not go_on(int(at.step) - before):
                return None
            if at.step == stop:
                regret, realised = np.array([at.regret]), np.array([at.realised])
                return Run(regret, realised, np.bincount(arms, minlength=K), seconds, None)


def late_regret(
    policies: Mapping[str, Any],
    instance: Instance,
    noise: Noise,
    *,
    delay: int = 0,
    bundle: int = 1,
    runs: int = 10,
    seed: int = 0,
    workers: int | None = None,
    progress: bool | None = False,
) -> dict[str, Array]:
    """The regret at T of every policy and run, shape (runs,), when each reward comes ``delay`` steps late.

    With ``bundle`` = b, b choices are made at a time, before any of their rewards is known. Policies that take rewards
    in any order learn each when it comes; others are told them in turn, as in a Session (``docs/sessions.md``). With no
    delay and bundles of 1 these are the regrets of ``simulate``, bit for bit.

    >>> from driftbandits import Gaussian, instances, policies
    >>> apart = instances.stationary(100, (0.9, 0.3))
    >>> late_regret({"turns": policies.RoundRobin()}, apart, Gaussian(), bundle=50, runs=2)["turns"]
    array([30., 30.])
    """
    delay, bundle = check_whole("delay", delay, 0, MOST), check_whole("bundle", bundle, 1, MOST)
    runs, seed = check_whole("runs", runs, 1), check_whole("seed", seed, 0)
    workers = cores() if workers is None else check_whole("workers", workers, 1)
    times = np.array([check_always_there(instance, "playing with late rewards").horizon])
    jobs = {
        name: LateJob(policy, instance, noise, times, seed, delay=delay, bundle=bundle)
        for name, policy in policies.items()
    }
    for job in jobs.values():
        job.prepare()
    found = {name: np.empty(runs) for name in policies}
    names = {id(job): name for name, job in jobs.items()}

    def finished(job: Job, run: int, result: Run) -> None:
        found[names[id(job)]][run] = result.regret[0]

    play_all([(job, run) for job in jobs.values() for run in range(runs)], finished, workers, progress)
    return found
