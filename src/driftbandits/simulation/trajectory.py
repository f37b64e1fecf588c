"""trajectory(policy, instance, noise, seed, run): every arm and every reward of one run of ``simulate``.

A simulation keeps checkpoints only. What depends on single steps (a likelihood, a statistic of the whole history H_T)
needs the run itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_seed, check_whole
from driftbandits._numba.player import Player, usual_mode
from driftbandits.instances import Instance
from driftbandits.instances.given import as_instance
from driftbandits.instances.noise import Noise, check_noise
from driftbandits.policies.registry import make_policy
from driftbandits.simulation.changing import first_arms, play_steps
from driftbandits.simulation.engine import COMPILED_CHUNK, NOISE, OWN, stream
from driftbandits.simulation.misfits import warn_of_misfits
from driftbandits.simulation.requirements import check_fits, usual_noise


class Trajectory(NamedTuple):
    """One run: the arm A(t) pulled and the reward received at every step, both of shape (T,)."""

    arms: Array
    rewards: Array


def trajectory(
    policy: Any, instance: Instance | str | Any, noise: Noise | None = None, seed: int | None = 0, run: int = 0
) -> Trajectory:
    """The arms and rewards of run number ``run`` of ``simulate({...: policy}, instance, noise, seed=seed)``, exactly.

    Policy and instance may be given as to ``simulate``: by name, or as a table of means. ``noise`` is that of
    ``simulate`` unless given. ``seed=None`` takes a new seed each time. A compiled policy is played compiled, any other
    object as it is.

    >>> from driftbandits import instances, policies
    >>> played = trajectory(policies.RoundRobin(), instances.stationary(horizon=5))
    >>> played.arms.tolist(), played.rewards.shape
    ([0, 1, 0, 1, 0], (5,))
    """
    instance = as_instance(instance)
    policy = make_policy(policy, instance) if isinstance(policy, str) else policy
    noise = check_noise(usual_noise(instance) if noise is None else noise)
    seed, run = check_seed(seed), check_whole("run", run, 0)
    noise_rng, own = stream(seed, run, NOISE), stream(seed, run, OWN)
    check_fits(policy, instance, noise)
    warn_of_misfits({type(policy).__name__: policy}, instance, noise)
    ahead = min(instance.horizon, COMPILED_CHUNK)
    mode = usual_mode(policy, noise)
    n_arms, limits = len(first_arms(policy, instance)), instance.reward_range
    player = Player(policy, n_arms, own, ahead, mode, limits, simulated=True)
    played = play_steps(player, instance, noise, noise_rng, chunk=instance.horizon)
    assert played is not None
    return Trajectory(played.arms, played.rewards)
