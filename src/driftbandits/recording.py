"""trajectory(policy, instance, noise, seed, run): every arm and every reward of one run of ``simulate``.

A simulation keeps checkpoints only. What depends on single steps (a likelihood, a statistic of the whole history H_T)
needs the run itself, so the policy is wrapped into one that writes down what it does and is played by the same loop.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftbandits.checks import check_whole
from driftbandits.engine import OWN, WORLD, stream
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.kernels import entry, select, update
from driftbandits.loops import OUT_OF_RANGE, TALLY, interpreted_advance, make_advance
from driftbandits.noise import Gaussian, Noise
from driftbandits.policies.base import Policy, Stage, stages

Array = np.ndarray[Any, np.dtype[Any]]


class Trajectory(NamedTuple):
    """One run: the arm A(t) pulled and the reward received at every step, both of shape (T,)."""

    arms: Array
    rewards: Array


class Recording(NamedTuple):
    """A policy with its own State, and the pages it is written down on."""

    policy: Any
    state: Any
    arms: Array
    rewards: Array
    step: Array


@dataclass(frozen=True)
class Recorder(Policy):
    """Plays as the policy in its State does, and keeps every arm and reward."""

    def select(self, state: Recording, rng: np.random.Generator) -> int:
        return select(state.policy, state.state, rng)

    def update(self, state: Recording, arm: int, reward: float) -> None:
        update(state.policy, state.state, arm, reward)
        step = state.step[0]
        state.arms[step] = arm
        state.rewards[step] = reward
        state.step[0] = step + 1


def trajectory(policy: Any, instance: Instance, noise: Noise | None = None, seed: int = 0, run: int = 0) -> Trajectory:
    """The arms and rewards of run number ``run`` of ``simulate({...: policy}, instance, noise, seed=seed)``, exactly.

    ``noise`` is ``Gaussian(0.5)`` unless given. A compiled policy is played compiled, any other object as it is.

    >>> from driftbandits import instances, policies
    >>> played = trajectory(policies.RoundRobin(), instances.stationary(horizon=5))
    >>> played.arms.tolist(), played.rewards.shape
    ([0, 1, 0, 1, 0], (5,))
    """
    noise = Gaussian(0.5) if noise is None else noise
    seed, run = check_whole("seed", seed, 0), check_whole("run", run, 0)
    T, K = instance.means.shape
    compiled = isinstance(policy, Policy)
    # A plain object may keep what it learns in itself, so every run gets its own copy.
    played = list(stages(policy, T)) if compiled else [Stage(copy.deepcopy(policy), 0, T)]
    player, scatter = (Recorder().compiled(), noise.compiled()) if compiled else (Recorder(), noise)
    pages = np.empty(T, np.int64), np.empty(T), np.zeros(1, np.int64)
    tally = np.zeros(1, TALLY).view(np.recarray)
    streams = stream(seed, run, WORLD), stream(seed, run, OWN)
    no_log = np.zeros(0, np.int64).view(np.recarray)
    totals = np.array([T]), np.zeros(1), np.zeros(1), np.zeros(K, np.int64), no_log, tally
    for stage in played:
        learner, state = stage.policy, stage.policy.init(K)
        if compiled:
            learner, state = learner.compiled(), stage.policy.reserve(state, stage.stop - stage.start)
        recording = Recording(learner, state, *pages)
        arguments = player, scatter, recording, instance.means, instance.best_mean, *streams, *totals, stage.stop
        # The policy's class is among the owners, so that the loop's cache notices when its kernels change.
        owners = type(stage.policy), type(noise), Recorder
        advance = entry(make_advance, owners, arguments) if compiled else interpreted_advance
        if advance(*arguments) == OUT_OF_RANGE:
            raise InputError(
                f"{type(stage.policy).__name__} chose an arm that does not exist at step {tally[0].step + 1}: "
                f"arms are 0 to {K - 1}"
            )
    return Trajectory(pages[0], pages[1])
