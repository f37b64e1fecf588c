"""BreakEven: pull the arm whose pull breaks even at the highest price; no required parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from driftbandits._numba.memory import workspace
from driftbandits.policies._parts.belief import Belief, gaussian_belief, widened
from driftbandits.policies._parts.excess import excess
from driftbandits.policies._parts.filters import chance, cut_back, known_precision, student, total
from driftbandits.policies._parts.forecast import crossing, mixture
from driftbandits.policies._parts.learnt_noise import (
    ARM,
    MEMORY,
    POOLED_PULLS,
    RUN,
    VALUES,
    arm_noise,
    count_values,
    learn_total_variance,
    pooled_noise,
    switched_share,
)
from driftbandits.policies._parts.models import MODELS, POSTERIOR, models, predicted
from driftbandits.policies.base import Policy, Records, records

LASTING = 3.0
"""B: how long a gain lasts, in units of the time over which what was learnt stays true."""
SWITCHING = 6e-5
"""s: the odds per step that an arm changes its model."""
PRIOR_REWARDS = 30.0
"""How many rewards the prior counts for in the long-run shares of the models."""
FRESH = 16
"""A price is computed again once its arm has been away for longer by one part in 16."""
ROUNDS = 4
"""Newton steps from the price of an arm to its price with pending rewards."""
TINY = 1e-300
"""Added to standard deviations, so that none is 0."""


class BreakEvenState(NamedTuple):
    """``bank`` has one row per arm, ``shared`` one for all; each of their columns holds 16 numbers, one per model."""

    run: Records
    arms: Records
    bank: Records
    shared: Records


@dataclass(frozen=True)
class BreakEven(Policy):
    """An index policy: the price at which one more pull of an arm breaks even.

    In plain words: a pull is an investment. It costs the difference between the best alternative and the arm's mean. It
    pays if the arm turns out to be better than the alternative, for as long as what was learnt stays true. The price of
    an arm is the alternative at which cost and expected gain are equal, and BreakEven pulls the arm with the highest
    price. How an arm moves is not known in advance, so each arm has sixteen models: a stationary one, seven random
    walks and eight local linear trends, weighted by how well they predict. An arm that has not been pulled for long is
    uncertain, so its price rises until it is pulled. There is no forced exploration, no change detector and no random
    number.

    In detail: model j has weight w_j and posterior N(m_j, v c_j) of the mean, where v is the variance of the arm's
    noise. The price is the solution lambda of

        lambda - sum_j w_j m_j = sum_j w_j h_j E_j (mu - lambda)^+,    h_j = B c_j/(c*_j + s),    B = 3,    s = 6e-5,

    where c*_j is the value of c_j before each pull of an arm that is pulled at every step. With p rewards of the arm
    pending, h_j is multiplied by (1 + c_j)/((1 + p c_j)(1 + (p + 1) c_j)), the share of information that one more pull
    adds. ``docs/breakeven.md`` has the models, the update, the numerics and the reasons.

    Rewards may have any unit and origin. Rewards with two values are recognised as Bernoulli rewards.

    It must know nothing: not T, not the drift, not the noise. A step costs O(K + 16), of which K are comparisons.

    Citation: this package; after P. Whittle, "Restless bandits", Journal of Applied Probability 1988; T. L. Lai,
    "Adaptive treatment allocation and the multi-armed bandit problem", Annals of Statistics 1987; H. Blom,
    Y. Bar-Shalom, IEEE Transactions on Automatic Control 1988; A. Harvey, "Forecasting, Structural Time Series Models
    and the Kalman Filter", 1989 (the local linear trend).
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The number of models, and the shortest and the longest memory of a trend's velocity, in steps."""
        fading = models().fading
        return {"models": MODELS, "shortest_memory": 1.0 / fading[-1], "longest_memory": 1.0 / fading[fading > 0.0][0]}

    def init(self, n_arms: int) -> BreakEvenState:
        self.check_arms(n_arms)
        constants = models()
        run = records(1, **RUN, **VALUES, best="i8", rough="i8", turn="i8", second="f8")
        run.rough, run.second = -1, math.inf
        arms = records(n_arms, **ARM, center="f8", spread="f8", price="f8", due="i8", pending="i8", off="i8")
        arms.price = math.inf
        bank = records(n_arms, **dict.fromkeys(POSTERIOR, f"{MODELS}f8"))
        bank.weight, bank.variance, bank.slope_variance = constants.prior, 1.0, constants.rate
        names = ("pooled", "average", "walk", "rate", "fading", "lasting")
        shared = records(1, **dict.fromkeys(names, f"{MODELS}f8"))
        shared.pooled = shared.average = constants.prior
        shared.walk, shared.rate, shared.fading = constants.walk, constants.rate, constants.fading
        shared.lasting = LASTING / (constants.settled + SWITCHING)
        return BreakEvenState(run, arms, bank, shared)

    def add_arm(self, state: BreakEvenState) -> BreakEvenState:
        """A new arm begins with the pooled weights, and with the noise of all arms."""
        state = super().add_arm(state)
        state.bank.weight[-1] = state.shared.pooled[0]
        _rank(state)
        return state

    def set_arm(self, state: BreakEvenState, arm: int, on: bool) -> None:
        super().set_arm(state, arm, on)
        _rank(state)

    def belief(self, state: BreakEvenState) -> Belief:
        """Mean and standard deviation of each arm's mixture of models, its slope, and the next expected crossing."""
        found = self.forecast(state, 0)
        return found._replace(crossing=None if found.estimate is None else crossing(state, SWITCHING, found.estimate))

    def forecast(self, state: BreakEvenState, steps: int) -> Belief:
        """The same ``steps`` steps later, if no arm is pulled until then; intervals as those of AutoTS."""
        run, arms = state.run[0], state.arms
        mean, deviation, slope = (np.full(len(arms), np.nan) for _ in range(3))
        seen = np.flatnonzero(arms.last > 0)
        parts = mixture(state, SWITCHING, seen, steps)
        mean[seen] = (parts.weight * parts.mean).sum(axis=0)
        deviation[seen] = np.sqrt((parts.weight * (parts.variance + (parts.mean - mean[seen]) ** 2)).sum(axis=0))
        slope[seen] = (parts.weight * parts.slope).sum(axis=0)
        if run.values == 1:
            deviation[seen] = math.inf
        elif not run.coin:
            deviation *= widened(max(int(run.t) - len(seen), 1))
        return gaussian_belief(mean, deviation)._replace(slope=slope)

    def select(self, state: BreakEvenState, rng: np.random.Generator) -> int:
        best = state.arms[state.run[0].best]
        if best.pending == 0 or best.last == 0:
            return state.run[0].best  # type: ignore[no-any-return]
        return _best_with_pending(state)

    def update(self, state: BreakEvenState, arm: int, reward: float) -> None:
        run, mine = state.run[0], state.arms[arm]
        run.t += 1
        count_values(run, mine, reward)
        if mine.last == 0:
            state.bank[arm].level[:] = reward
            mine.center, mine.spread = reward, 1.0
            learnt = reward
        else:
            learnt = _learn(state, arm, reward)
        learn_total_variance(run, learnt)
        mine.last = run.t
        turn = run.turn + 1 if run.turn + 1 < len(state.arms) else 0
        if turn == arm:
            turn = turn + 1 if turn + 1 < len(state.arms) else 0
        run.turn = turn
        if turn < 2 or mine.pulls < POOLED_PULLS:
            run.noise = pooled_noise(run, state.arms)
        _compare(state, arm, turn)


def _learn(state: BreakEvenState, arm: int, reward: float) -> float:
    """Learn from a pull of an arm that was pulled before; return the reward, cut back if it was an outlier.

    All that is computed goes to the stack first: so the compiler knows that nothing overlaps, and computes several
    models at a time.
    """
    run, mine, row, shared = state.run[0], state.arms[arm], state.bank[arm], state.shared[0]
    w, m, c = workspace(MODELS), workspace(MODELS), workspace(MODELS)
    b, x, q = workspace(MODELS), workspace(MODELS), workspace(MODELS)
    pooled, square, first, second = workspace(MODELS), workspace(MODELS), workspace(MODELS), workspace(MODELS)
    steps, center = run.t - mine.last, mine.center
    merge = switched_share(SWITCHING, steps), center, mine.spread, known_precision(run, mine, center)
    for j in range(MODELS):
        w[j], m[j], c[j], b[j], x[j], q[j] = predicted(row, shared, j, float(steps), merge)
        first[j] = w[j] * (m[j] - center)
    learnt, precision = cut_back(run, mine, center + total(first, 0, MODELS), reward)
    coin, success, low = run.coin, learnt == run.high, run.low
    per_range = 1.0 / (run.high - run.low) if coin else 0.0
    for j in range(MODELS):
        error = learnt - m[j]
        scale, density = chance((m[j] - low) * per_range, c[j], success) if coin else student(error, c[j], precision)
        square[j] = w[j] * (error * error * scale)
        pooled[j] = shared.pooled[j] * density
        w[j] *= density
        m[j] = learnt - scale * error
        c[j] *= scale
        gain = x[j] * scale
        b[j] += gain * error
        q[j] -= gain * x[j]
        x[j] = gain
        offset = m[j] - center
        first[j] = w[j] * offset
        second[j] = w[j] * (c[j] + offset * offset * precision)
    mine.pulls = min(mine.pulls + 1.0, MEMORY)
    mine.noise += (total(square, 0, MODELS) - mine.noise) / mine.pulls
    own, all_arms = 1.0 / total(w, 0, MODELS), (1.0 - SWITCHING) / total(pooled, 0, MODELS)
    gone, newest = own * total(first, 0, MODELS), 1.0 / (PRIOR_REWARDS + run.t)
    mine.center, mine.spread = center + gone, own * total(second, 0, MODELS) - gone * gone * precision
    for j in range(MODELS):
        row.weight[j] = own * w[j]
        row.level[j] = m[j]
        row.variance[j] = c[j]
        row.slope[j] = b[j]
        row.covariance[j] = x[j]
        row.slope_variance[j] = q[j]
        average = shared.average[j]
        now = all_arms * pooled[j] + SWITCHING * average
        shared.pooled[j] = now
        shared.average[j] = average + newest * (now - average)
    return learnt


def _price(state: BreakEvenState, arm: int, above: float, pending: int, rounds: int) -> tuple[float, bool]:
    """Return the price of an arm at the next step, or its mean if that is above ``above``; and whether it is the mean.

    Newton's method begins at the last price, or at the mean if that is higher.
    """
    run, mine, row, shared = state.run[0], state.arms[arm], state.bank[arm], state.shared[0]
    w, m, c = workspace(MODELS), workspace(MODELS), workspace(MODELS)
    worth, part, tails = workspace(MODELS), workspace(MODELS), workspace(MODELS)
    coin, low, high, waiting = run.coin, run.low, run.high, float(pending)
    steps, center = run.t + 1 - mine.last, mine.center
    precision = known_precision(run, mine, center)
    merge = switched_share(SWITCHING, steps), center, mine.spread, precision
    for j in range(MODELS):
        w[j], m[j], c[j], _, _, _ = predicted(row, shared, j, float(steps), merge)
        part[j] = w[j] * (m[j] - center)
        worth[j] = w[j] * shared.lasting[j] * c[j]
    if pending > 0:
        for j in range(MODELS):
            worth[j] *= (1.0 + c[j]) / ((1.0 + waiting * c[j]) * (1.0 + (waiting + 1.0) * c[j]))
    if coin:  # the mean of Beta(1 + p/c, 1 + (1 - p)/c), and its variance divided by that of a reward
        for j in range(MODELS):
            kept = 1.0 / (1.0 + 2.0 * c[j])
            m[j] = kept * (min(max(m[j], low), high) + c[j] * (low + high))
            c[j] *= kept
            part[j] = w[j] * (m[j] - center)
    mean = center + total(part, 0, MODELS)
    if mean > above or precision == 0.0:
        return mean, mean > above
    noise, unsure, middle = arm_noise(run, mine), 1.0 / (1.0 + mine.pulls), run.center
    price = mine.price if mean < mine.price < np.inf else mean
    for _ in range(rounds):
        wide = (2.0 / 3.0) * max((price - low) * (high - price), 0.0)
        for j in range(MODELS):
            offset = m[j] - middle
            chances = (1.0 / 3.0) * (m[j] - low) * (high - m[j]) + wide
            v = chances if coin else noise + offset * offset * unsure
            deviation = math.sqrt(v * c[j]) + TINY
            gain, tail = excess((price - m[j]) / deviation)
            part[j] = worth[j] * deviation * gain
            tails[j] = worth[j] * tail
        price -= (price - mean - total(part, 0, MODELS)) / (1.0 + total(tails, 0, MODELS))
    return price, False


def _compare(state: BreakEvenState, arm: int, turn: int) -> None:
    """Price the arm that was pulled and the one whose turn it is, and find the arm with the highest price.

    No price is below its arm's mean. While the mean of the arm that was pulled exceeds all other prices, the arm is the
    best whatever its price is: then the mean stands for its price, which is ``rough``.
    """
    run, arms = state.run[0], state.arms
    mine, other, known = arms[arm], arms[turn], run.best == arm
    if run.rough >= 0 and run.rough != arm:
        arms[run.rough].price, _ = _price(state, run.rough, np.inf, 0, 1)
        known = False
    if other.last > 0 and run.t >= other.due:
        before = other.price
        other.price, _ = _price(state, turn, np.inf, 0, 1)
        other.due = run.t + 1 + (run.t - other.last) // FRESH
        known = known and (before < run.second or other.price >= before)
        if other.off == 0:
            run.second = max(run.second, other.price)
    if not known:
        run.second = _highest_but(arms, arm)
    mine.price, rough = _price(state, arm, run.second if mine.off == 0 else np.inf, 0, 1)
    run.rough = arm if rough else -1
    if mine.price > run.second and mine.off == 0:
        run.best = arm
    else:
        _rank(state)


def _highest_but(arms: Records, arm: int) -> float:
    """Return the highest price of the other arms that are on."""
    highest = -np.inf
    for index in range(len(arms)):
        if index != arm and arms[index].off == 0:
            highest = max(highest, arms[index].price)
    return highest


def _rank(state: BreakEvenState) -> None:
    """Find the arm with the highest price, among equals the one pulled least recently, and the second highest price."""
    arms, best, highest, second = state.arms, 0, -np.inf, -np.inf
    for index in range(len(arms)):
        arm = arms[index]
        if arm.off == 0:
            if arm.price > highest or (arm.price == highest and arm.last < arms[best].last):
                best, highest, second = index, arm.price, highest
            else:
                second = max(second, arm.price)
    state.run[0].best, state.run[0].second = best, second


def _best_with_pending(state: BreakEvenState) -> int:
    """Return the arm with the highest price, pending rewards counted: they never raise a price.

    While the mean of the best arm exceeds all other prices, it is the best with pending rewards too.
    """
    run, arms = state.run[0], state.arms
    best, highest = run.best, -np.inf
    if run.rough == best:
        return best  # type: ignore[no-any-return]
    for index in range(len(arms)):
        arm = arms[index]
        if arm.off == 0 and arm.price >= highest:
            price = arm.price
            if arm.pending > 0 and arm.last > 0:
                price, _ = _price(state, index, np.inf, arm.pending, ROUNDS)
                price = min(price, arm.price)
            if price > highest or (price == highest and arm.last < arms[best].last):
                best, highest = index, price
    return best  # type: ignore[no-any-return]
