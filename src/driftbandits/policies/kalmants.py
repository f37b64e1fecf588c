"""KalmanTS: Thompson sampling on means modelled as random walks, told how fast they may drift."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_drift
from driftbandits._common.rewards import Rewards, rewards_for
from driftbandits.policies._parts.belief import Belief, gaussian_belief
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies._parts.posteriors import beta_moments, check_posterior, draw_beta
from driftbandits.policies.base import Policy, Records, records


class KalmanTSState(NamedTuple):
    """``spread`` is the posterior variance of an arm's mean just after its pull at time ``last`` (0: never), and
    ``walk`` what it gains a step, both in units of the noise's variance."""

    run: Records
    arms: Records


@dataclass(frozen=True)
class KalmanTS(Policy):
    """Thompson sampling with a Kalman filter for each arm.

    Each mean is modelled as a Gaussian random walk of variance q a step, observed with noise of deviation sigma. An arm
    pulled last at time s has the posterior N(m, P + q (t - s)) at time t; a number is drawn from each posterior and the
    arm with the largest is pulled. After reward X, with P' = P + q (t - s) and gain g = P'/(P' + sigma^2),
    m <- m + g (X - m) and P <- (1 - g) P'. At first every arm is pulled once, in order.

    Means that move by at most delta = ``drift`` are not a random walk, but q can be chosen for the worst case, the
    ramp: a gain g follows it with squared bias (delta/g)^2 and variance g sigma^2/2, whose sum is least at
    g = (4 delta^2/sigma^2)^(1/3). That is the steady gain of q = g^2 sigma^2 = 4^(2/3) delta^(4/3) sigma^(2/3).

    Rewards of 0 and 1 have less noise the nearer their mean is to either, and ``posterior="beta"`` uses that: the
    filter is the same, but what it knows counts as n = sigma^2/P' pulls, and the draw is from
    Beta(1 + n m, 1 + n - n m). A reward between is taken as the fraction it is. With delta = 0 this is
    ThompsonSampling.

    It must know delta and what the noise is like: its deviation ``sigma``, or that rewards are 0 or 1; not T. A step
    costs O(K).

    Citation: this package; after W. Thompson, Biometrika 1933, and R. Kalman, Journal of Basic Engineering 1960.

    >>> round(KalmanTS(drift=1e-3).parameters(2)["gain"], 4)
    0.0252
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    drift: float
    sigma: float = 0.5
    posterior: str = "gaussian"

    def __post_init__(self) -> None:
        check_posterior(self.posterior, self.sigma)
        check_drift(self.drift, 1.0 if self.posterior == "beta" else 1e9)

    @property
    def rewards(self) -> Rewards:
        """Those in [0, 1] for Beta posteriors; else any whose noise sigma bounds."""
        return Rewards.UNIT if self.posterior == "beta" else rewards_for(self.sigma)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """q, the variance a mean gains a step, and the gain that an arm pulled at every step settles at."""
        gain = float((2 * self.drift / self.sigma) ** (2 / 3))
        return {"walk": gain**2 * self.sigma**2, "gain": gain}

    def init(self, n_arms: int) -> KalmanTSState:
        self.check_arms(n_arms)
        run = records(1, t="i8", walk="f8", beta="i8")
        state = KalmanTSState(run, records(n_arms, estimate="f8", spread="f8", last="i8", off="i8"))
        state.run.walk = self.parameters(n_arms)["gain"] ** 2
        state.run.beta = self.posterior == "beta"
        return state

    def belief(self, state: KalmanTSState) -> Belief:
        run, arms = state.run[0], state.arms
        known = arms.last > 0
        mean, spread = arms.estimate, arms.spread + run.walk * (run.t + 1 - arms.last)
        mean, variance = beta_moments(mean, spread) if run.beta else (mean, self.sigma**2 * spread)
        return gaussian_belief(np.where(known, mean, np.nan), np.where(known, np.sqrt(variance), np.nan))

    def select(self, state: KalmanTSState, rng: np.random.Generator) -> int:
        run = state.run[0]
        best, largest = 0, -np.inf
        for index in range(len(state.arms)):
            arm = state.arms[index]
            if arm.off:
                continue
            if arm.last == 0:
                return index
            spread = arm.spread + run.walk * (run.t + 1 - arm.last)
            if run.beta:
                drawn = draw_beta(arm.estimate / spread, (1.0 - arm.estimate) / spread, rng)
            else:
                drawn = arm.estimate + self.sigma * math.sqrt(spread) * rng.standard_normal()
            best, largest = keep_largest(best, largest, index, drawn)
        return best

    def update(self, state: KalmanTSState, arm: int, reward: float) -> None:
        run, mine = state.run[0], state.arms[arm]
        run.t += 1
        gain = 1.0
        if mine.last > 0:
            spread = mine.spread + run.walk * (run.t - mine.last)
            gain = spread / (spread + 1.0)
        mine.estimate += gain * (reward - mine.estimate)
        mine.spread = gain
        mine.last = run.t
