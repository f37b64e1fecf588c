"""trajectory(policy, instance, noise, seed, run): every arm and every reward of one run of ``simulate``.

A simulation keeps checkpoints only. What depends on single steps (a likelihood, a statistic of the whole history H_T)
needs the run itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_seed, check_whole
from driftbandits._compile.loops import make_record
from driftbandits._compile.player import Player
from driftbandits.instances import Instance
from driftbandits.instances.given import as_instance
from driftbandits.instances.noise import Gaussian, Noise, check_noise
from driftbandits.policies.registry import make_policy
from driftbandits.simulation.engine import COMPILED_CHUNK, NOISE, OWN, stream


class Trajectory(NamedTuple):
    """One run: the arm A(t) pulled and the reward received at every step, both of shape (T,)."""

    arms: Array
    rewards: Array


def trajectory(
    policy: Any, instance: Instance | str | Any, noise: Noise | None = None, seed: int | None = 0, run: int = 0
) -> Trajectory:
    """The arms and rewards of run number ``run`` of ``simulate({...: policy}, instance, noise, seed=seed)``, exactly.

    Policy and instance may be given as to ``simulate``: by name, or as a table of means. ``noise`` is ``Gaussian(0.5)``
    unless given. ``seed=None`` takes a new seed each time. A compiled policy is played compiled, any other object as it
    is.

    >>> from driftbandits import instances, policies
    >>> played = trajectory(policies.RoundRobin(), instances.stationary(horizon=5))
    >>> played.arms.tolist(), played.rewards.shape
    ([0, 1, 0, 1, 0], (5,))
    """
    instance = as_instance(instance)
    policy = make_policy(policy, instance) if isinstance(policy, str) else policy
    noise = check_noise(Gaussian(0.5) if noise is None else noise)
    seed, run = check_seed(seed), check_whole("run", run, 0)
    T, K = instance.means.shape
    noise_rng, own = stream(seed, run, NOISE), stream(seed, run, OWN)
    player = Player(policy, K, lambda step: own, min(T, COMPILED_CHUNK))
    scatter = noise if player.mode == "interpreted" else noise.compiled()
    played = Trajectory(np.empty(T, np.int64), np.empty(T))
    while player.step < T:
        stop = min(player.step + player.room(), T)
        given = (scatter, instance.means, noise_rng, own, *played, player.step, stop)
        player.step = player.play(make_record, *given, others=(noise,))
    return played
