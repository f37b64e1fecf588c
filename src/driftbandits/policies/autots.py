"""AutoTS: Thompson sampling that learns how fast each arm drifts and how noisy it is; told nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._numba.memory import workspace
from driftbandits.policies._parts.belief import Belief, gaussian_belief, widened
from driftbandits.policies._parts.filters import chance, cut_back, merged, student, total
from driftbandits.policies._parts.largest import keep_largest
from driftbandits.policies._parts.learnt_noise import (
    ARM,
    MEMORY,
    RUN,
    VALUES,
    arm_noise,
    count_values,
    draw_mean,
    learn_total_variance,
    pooled_noise,
    switched_share,
    switching_after,
)
from driftbandits.policies._parts.posteriors import beta_moments
from driftbandits.policies.base import Policy, Records, records

FILTERS = 8
SLOWEST, STEP = 2.0**-24, 8.0
"""Variance a step, in units of the noise's, of the slowest filter that drifts, and how much faster the next one is."""


class AutoTSState(NamedTuple):
    """Rows of ``mean``, ``spread`` and ``weight`` are arms, columns filters; ``spread`` is in units of the noise."""

    run: Records
    arms: Records
    walk: Array
    prior: Array
    pooled: Array
    mean: Array
    spread: Array
    weight: Array


@dataclass(frozen=True)
class AutoTS(Policy):
    """Thompson sampling with a bank of Kalman filters for each arm, each filter weighted by how well it predicts.

    In plain words: nobody knows in advance how fast an arm drifts, so AutoTS tries eight speeds at once. For each arm
    it runs eight estimators of the mean, the Kalman filters. One assumes that the mean never moves, the next that it
    moves very slowly, and so on up to fast. Every reward shows which of them predicted well, and those gain weight. To
    choose, AutoTS draws a plausible mean for every arm and pulls the arm with the largest. An arm that has not been
    pulled for a while is uncertain again, so it is tried again. The level of the noise is learnt on the way. AutoTS is
    the policy to begin with if you know neither horizon nor drift.

    In detail: filter j of an arm assumes that the mean is a random walk of variance kappa_j v a step, where v is the
    variance of the arm's noise: kappa_0 = 0, kappa_j = 8^(j-9), j = 1..7. Its posterior is N(m_j, v c_j), and c_j grows
    by kappa_j a step. To choose, each arm draws a filter by weight and a number from its posterior. The arm with the
    largest number is pulled; among equals, the one pulled least recently. The prior weights are 8^(-j). At first every
    arm is pulled once. Later a pull does four things:

    - The speed of the drift may change. A share s n/(1 + s n) of its weights, n the steps since its last pull,
      s = max(1e-5, min(0.05, 1/t)), goes to the weights of the *pool*, a bank that sees the predictions for all arms;
      a filter that receives weight is merged with what comes with it, mean and variance (moment matching, as in
      interacting multiple models).
    - Every filter predicts the reward X, with density proportional to (1 + z/63)^(-32) (1 + c_j)^(-1/2),
      z = (X - m_j)^2/(v (1 + c_j)). This is Student's distribution: close to a Gaussian, but no single reward can
      decide everything. Weights are multiplied by the density. So are the pool's, which then move back to the prior
      by the share s.
    - Every filter learns: g = c_j/(1 + c_j), m_j <- m_j + g (X - m_j), c_j <- g.
    - The noise is learnt from (X - m_j)^2/(1 + c_j), averaged by weight: v of an arm is that of its own last 3,000
      pulls or so and of 100 pulls like all arms' together, where each arm counts for at most 100, and all rewards'
      variance about their mean for one pull more. Few pulls of its own tell little of an arm's noise, so to choose,
      (m_j - mean of all rewards)^2 divided by their number is added to v.

    Outliers are limited. A reward that would weigh more than all rewards together that its arm's noise is learnt from
    is cut back to that weight, unless its distance to the arm's mean is at most twice the mean of all rewards.

    As long as there are only two different rewards, low and high, and some arm has had both, arms are treated as coins,
    for which Gaussians are too coarse. Nothing is cut back then. With p_j = (m_j - low)/(high - low), the draw is from
    Beta(1 + p_j/c_j, 1 + (1 - p_j)/c_j), and filter j predicts high with probability (p_j + c_j)/(1 + 2 c_j).

    Choices don't depend on the unit or the origin of rewards. ``docs/beyond-the-paper.md`` gives the reasons.

    It must know nothing: not T, not the drift, not the noise. A step costs O(K + 8).

    Citation: this package; after W. Thompson, Biometrika 1933; H. Blom, Y. Bar-Shalom, "The interacting multiple model
    algorithm", IEEE Transactions on Automatic Control 1988.
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The number of filters, and the slowest and the fastest steady gain among those that drift."""
        return {
            "filters": FILTERS,
            "slowest_gain": _steady_gain(SLOWEST),
            "fastest_gain": _steady_gain(SLOWEST * STEP ** (FILTERS - 2)),
        }

    def init(self, n_arms: int) -> AutoTSState:
        self.check_arms(n_arms)
        j = np.arange(FILTERS, dtype=np.float64)
        walk = np.where(j > 0, SLOWEST * np.power(STEP, j - 1), 0.0)
        prior = np.power(STEP, -j) / np.power(STEP, -j).sum()
        every_arm = (n_arms, FILTERS)
        return AutoTSState(
            records(1, **RUN, switching="f8", **VALUES),
            records(n_arms, **ARM, off="i8"),
            walk,
            prior,
            prior.copy(),
            np.zeros(every_arm),
            np.zeros(every_arm),
            np.tile(prior, (n_arms, 1)),
        )

    def add_arm(self, state: AutoTSState) -> AutoTSState:
        """A new arm is expected to drift as the pool does: its weights are the pool's. Its noise is that of all."""
        state = super().add_arm(state)
        state.weight[-1] = state.pooled
        return state

    def belief(self, state: AutoTSState) -> Belief:
        """Mean and deviation of the mixture that ``select`` draws from, and more where few rewards tell little.

        As long as all rewards were equal nothing is known of the noise, and intervals have no ends. Where three or more
        had two values, arms count as coins, also when none has had both. Otherwise intervals are Student's with t - k
        degrees of freedom, at least one, where k arms had rewards: the noise was learnt from as many differences.
        """
        run, arms = state.run[0], state.arms
        coins, freedom = run.values == 2 and run.t > 2, max(int(run.t) - int((arms.last > 0).sum()), 1)
        mean, deviation = np.full(len(arms), np.nan), np.full(len(arms), np.nan)
        for index in np.flatnonzero(arms.last > 0):
            away = run.t + 1 - arms[index].last
            switched = switched_share(run.switching, away)
            weight = switched * state.pooled + (1.0 - switched) * state.weight[index]
            means = state.mean[index]
            spread = state.spread[index] + state.walk * away
            if coins:
                p, variance = beta_moments((means - run.low) / (run.high - run.low), spread)
                means, spread = run.low + (run.high - run.low) * p, (run.high - run.low) ** 2 * variance
            else:
                spread *= arm_noise(run, arms[index]) + (means - run.center) ** 2 / (1.0 + arms[index].pulls)
            mean[index] = weight @ means
            deviation[index] = math.sqrt(weight @ (spread + (means - mean[index]) ** 2))
            if run.values == 1:
                deviation[index] = math.inf
        return gaussian_belief(mean, deviation if coins else deviation * widened(freedom))

    def select(self, state: AutoTSState, rng: np.random.Generator) -> int:
        run = state.run[0]
        best, largest = 0, -np.inf
        for index in range(len(state.arms)):
            arm = state.arms[index]
            if arm.off:
                continue
            if arm.last == 0:
                return index
            away = run.t + 1 - arm.last
            chosen = _draw_filter(state, index, run.switching * away, rng.random())
            spread = state.spread[index, chosen] + state.walk[chosen] * away
            mean = state.mean[index, chosen]
            drawn = draw_mean(run, arm, mean, spread, rng)
            if drawn == largest and arm.last < state.arms[best].last:
                best = index
            best, largest = keep_largest(best, largest, index, drawn)
        return best

    def update(self, state: AutoTSState, arm: int, reward: float) -> None:
        run, mine = state.run[0], state.arms[arm]
        run.t += 1
        count_values(run, mine, reward)
        if mine.last == 0:
            for j in range(FILTERS):
                state.mean[arm, j] = reward
                state.spread[arm, j] = 1.0
            learnt = reward
        else:
            learnt = _learn(state, arm, reward)
        learn_total_variance(run, learnt)
        run.noise = pooled_noise(run, state.arms)
        run.switching = switching_after(run.t)
        mine.last = run.t


def _steady_gain(walk: float) -> float:
    """The gain g = c/(1 + c) that a filter of this variance a step tends to: that of c = g + walk."""
    return (math.sqrt(walk * (walk + 4.0)) - walk) / 2.0


def _draw_filter(state: AutoTSState, arm: int, odds: float, uniform: float) -> int:
    """The filter in whose share of [0, 1] ``uniform`` falls: the pool's weights come first, then the arm's own.

    ``odds`` are those of the pool against the arm's own.
    """
    weights, left = state.weight[arm], uniform * (1.0 + odds) - odds
    if left < 0.0:
        weights, left = state.pooled, left / odds + 1.0
    for j in range(FILTERS - 1):
        left -= weights[j]
        if left < 0.0:
            return j
    return FILTERS - 1


def _learn(state: AutoTSState, arm: int, reward: float) -> float:
    """Learn from a pull of an arm that was pulled before; returns the reward, cut back if it was an outlier.

    All that is computed goes to the stack first: so the compiler knows that nothing overlaps, and computes several
    filters at a time.
    """
    run, mine, pooled, walk, prior = state.run[0], state.arms[arm], state.pooled, state.walk, state.prior
    mean, spread, weight = state.mean[arm], state.spread[arm], state.weight[arm]
    m, c, w = workspace(FILTERS), workspace(FILTERS), workspace(FILTERS)
    shared, part = workspace(FILTERS), workspace(FILTERS)
    for j in range(len(pooled)):
        part[j] = weight[j] * mean[j]
    center = total(part, 0, FILTERS)
    learnt, precision = cut_back(run, mine, center, reward)
    for j in range(len(pooled)):
        offset = mean[j] - center
        part[j] = weight[j] * (spread[j] + offset * offset * precision)
    width, steps = total(part, 0, FILTERS), run.t - mine.last
    away, switched = float(steps), switched_share(run.switching, steps)
    coin, success, low = run.coin, learnt == run.high, run.low
    per_range = 1.0 / (run.high - run.low) if coin else 0.0
    for j in range(len(pooled)):
        before, now, wide, _ = merged(
            (1.0 - switched) * weight[j], mean[j], spread[j], switched * pooled[j], center, width, precision
        )
        wide += walk[j] * away
        error = learnt - now
        scale, density = chance((now - low) * per_range, wide, success) if coin else student(error, wide, precision)
        m[j] = learnt - scale * error
        c[j] = wide * scale
        w[j] = before * density
        shared[j] = pooled[j] * density
        part[j] = before * (error * error * scale)
    own, others = 1.0 / total(w, 0, FILTERS), (1.0 - run.switching) / total(shared, 0, FILTERS)
    for j in range(len(pooled)):
        mean[j] = m[j]
        spread[j] = c[j]
    for j in range(len(pooled)):
        weight[j] = own * w[j]
        pooled[j] = others * shared[j] + run.switching * prior[j]
    mine.pulls = min(mine.pulls + 1.0, MEMORY)
    mine.noise += (total(part, 0, FILTERS) - mine.noise) / mine.pulls
    return learnt
