"""Predictive sampling: Thompson sampling that explores an arm less, the sooner what it learns will be out of date."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_drift
from driftbandits._common.rewards import Rewards
from driftbandits.errors import InputError
from driftbandits.policies._parts.belief import Belief, gaussian_belief
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies.base import Policy, Records, records


class PredictiveSamplingState(NamedTuple):
    """Of each mean as it is at the coming step: its ``estimate`` and the ``variance`` of that."""

    run: Records
    arms: Records


@dataclass(frozen=True)
class PredictiveSampling(Policy):
    """Predictive sampling (Liu, Van Roy, Xu) for means that return to a centre: it draws what the future could tell.

    In plain words: Thompson sampling draws from all that is uncertain about a mean today. Part of that will not matter
    tomorrow, as the mean will have moved on. Predictive sampling draws only from the part that the rewards of all later
    steps could still tell, so it pays less for news that is soon out of date.

    In detail: each mean is modelled as an AR(1) process, mean <- c + g (mean - c) + W, with c = ``centre``,
    g = ``memory`` and W Gaussian of variance w = (1 - g^2) ``spread``^2, so that in the long run its deviation is
    ``spread``; it begins there. A reward is the mean and Gaussian noise of deviation ``sigma``. A Kalman filter keeps
    the mean m and the variance P of every arm. Each step draws for every arm from

        N(m, g^2 P^2 / (g^2 P + x)),   x = (u + sqrt(u^2 + 4 g^2 w sigma^2)) / 2,   u = w + (1 - g^2) sigma^2,

    and pulls the largest (the lowest of equals). For g = 1 the means stand still, x = 0, and this is Thompson sampling.
    For g = 0 nothing is worth learning, and it pulls the first arm.

    It must know the AR(1) process: ``memory``, ``centre``, ``spread`` and ``sigma``; not T. Told ``drift`` in the place
    of ``memory`` it takes g^2 = 1 / (1 + q/spread^2) with q = 4^(2/3) delta^(4/3) sigma^(2/3), the walk that KalmanTS
    has for this delta. That, and a spread of 1/4 around 1/2 for means in [0, 1], is our choice: the authors have no
    tuning for means that move by at most delta. A step costs O(K).

    Proved in the work cited: a Bayesian regret of at most sqrt(2 K s^2 T D) for s-sub-Gaussian rewards, against a
    player who knows all later rewards; D is what there is to learn, and grows like T where means keep moving. Nothing
    is proved there for means that move by at most delta.

    Checked against the paper's text (Example 2, Algorithm 3, Proposition 3 and its proof). There every arm may have a
    process of its own; here all have the same.

    Citation: Y. Liu, B. Van Roy, K. Xu, "Nonstationary Bandit Learning via Predictive Sampling", AISTATS 2023.

    >>> chosen = PredictiveSampling(drift=1e-3).parameters(2)
    >>> round(chosen["memory"], 5), round(chosen["walk"], 6)
    (0.99873, 0.000158)
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    drift: float | None = None
    memory: float | None = None
    sigma: float = 0.5
    centre: float = 0.5
    spread: float = 0.25

    def __post_init__(self) -> None:
        check_between("memory", self.memory, 0.0, 1.0, optional=True)
        check_between("sigma", self.sigma, 1e-9, 1e9)
        check_between("centre", self.centre, -1e9, 1e9)
        check_between("spread", self.spread, 1e-9, 1e9)
        if self.drift is not None:
            check_drift(self.drift, 1e9)
        elif self.memory is None:
            raise InputError("PredictiveSampling needs drift to choose its memory, or memory=... itself")

    @property
    def rewards(self) -> Rewards:
        """Those around means in [0, 1], unless ``centre`` and ``spread`` say where else means are."""
        return Rewards.SCALED if (self.centre, self.spread) == (0.5, 0.25) else Rewards.SIGMA

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The memory g, the variance w of a mean's own step, and the x of a draw's variance."""
        memory = self.memory
        if memory is None:
            assert self.drift is not None
            walk = 4 ** (2 / 3) * self.drift ** (4 / 3) * self.sigma ** (2 / 3)
            memory = 1 / math.sqrt(1 + walk / self.spread**2)
        forgotten = (1 - memory) * (1 + memory)
        walk, noise = forgotten * self.spread**2, self.sigma**2
        half = (walk + forgotten * noise) / 2
        return {"memory": memory, "walk": walk, "future": half + math.sqrt(half**2 + memory**2 * walk * noise)}

    def init(self, n_arms: int) -> PredictiveSamplingState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        state = PredictiveSamplingState(
            records(1, memory="f8", walk="f8", future="f8"), records(n_arms, estimate="f8", variance="f8", off="i8")
        )
        state.run.memory, state.run.walk, state.run.future = chosen["memory"], chosen["walk"], chosen["future"]
        state.arms.estimate, state.arms.variance = self.centre, self.spread**2
        return state

    def belief(self, state: PredictiveSamplingState) -> Belief:
        return gaussian_belief(state.arms.estimate.copy(), np.sqrt(state.arms.variance))

    def select(self, state: PredictiveSamplingState, rng: np.random.Generator) -> int:
        run = state.run[0]
        best, largest = 0, -np.inf
        for index in range(len(state.arms)):
            arm = state.arms[index]
            if arm.off:
                continue
            kept = run.memory * run.memory * arm.variance
            deviation = math.sqrt(kept * arm.variance / (kept + run.future))
            drawn = arm.estimate + deviation * rng.standard_normal()
            best, largest = keep_largest(best, largest, index, drawn)
        return best

    def update(self, state: PredictiveSamplingState, arm: int, reward: float) -> None:
        run, arms = state.run[0], state.arms
        noise = self.sigma * self.sigma
        gain = arms[arm].variance / (arms[arm].variance + noise)
        arms[arm].estimate += gain * (reward - arms[arm].estimate)
        arms[arm].variance = gain * noise
        for index in range(len(arms)):
            arms[index].estimate = self.centre + run.memory * (arms[index].estimate - self.centre)
            arms[index].variance = run.memory * run.memory * arms[index].variance + run.walk
