"""AutoUCB: an index over filters that know speeds and slopes; told nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.bank import (
    FILTERS,
    FORGOTTEN,
    MEAN,
    PART,
    POOL,
    SLOPE_STEP,
    SLOPES,
    SLOWEST_SLOPE,
    SPREAD,
    VARIANCE,
    WALK,
    WALKS,
    WEIGHT,
    fast_share,
    first_reward,
    half,
    learn,
    look_ahead,
    new_bank,
    shake,
    slope_ahead,
)
from driftbandits.policies._parts.belief import Belief, gaussian_belief
from driftbandits.policies._parts.filters import total
from driftbandits.policies._parts.forecast import crossing, mixture
from driftbandits.policies._parts.leader import COSTS, LEADER, cost_of_pull, find_lead, follow_lead, rarity
from driftbandits.policies._parts.learnt_noise import (
    ARM,
    POOLED_PULLS,
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
from driftbandits.policies._parts.looks import HOPES, LOOKS, NEAR, RISE, hope_after, look_is_due
from driftbandits.policies.base import Policy, Records, records

DEVIATIONS = 2.7
"""How many deviations above its mean a filter's bound lies."""
PACE = 60.0
"""Steps for each draw that looks make up for: an arm is looked at again once a filter's weight, summed over the steps
since, allows for so many draws from it that the best of them would have reached the leader."""
RARELY = 4.0
"""How many times more rarely an arm is looked at, at most, because earlier looks did not pay."""
FRESH = 16
"""An index is computed anew when its arm has been away for longer by one part in so many."""
HAZARD = 1e-7
"""The smallest weight in the watch: about how likely a jump is at a step."""
ALARM, CALM = 0.5, 0.1
"""What fast walks weigh in the watch when means have jumped, and when the jump is over."""
PATIENCE = 20.0
"""When rewards come later than this, in rewards, choices are drawn."""
FORGIVEN = 1e-4
"""How fast it is forgotten that rewards came late, a reward."""


class AutoUCBState(NamedTuple):
    """Rows of ``bank`` are arms (``policies/_parts/bank.py``); ``shared`` is what they share."""

    run: Records
    arms: Records
    bank: Array
    shared: Array


@dataclass(frozen=True)
class AutoUCB(Policy):
    """An index over a bank of Kalman filters for each arm, some of which know that means keep their direction.

    In plain words: AutoUCB learns what AutoTS learns, and two things more. An arm whose mean has been rising for a
    thousand steps will probably rise on, so besides eight filters that assume a mean to wander, at eight speeds, each
    arm has eight that assume it to have a slope. They predict arms that are left alone, also across the moment when one
    overtakes another. And AutoUCB draws nothing: it pulls the arm with the highest bound, the mean that can hardly be
    exceeded. Draws keep paying for information that expires when means drift. To be safe from a filter that is sure and
    wrong, every arm is looked at again after a time, as if draws had been made all along and one of them had won. Where
    such looks have cost much and the arm has hardly ever led, they become rarer; an arm close below the best is looked
    at often, because that costs little. A look that pleases is repeated at once. When rewards show that means have
    jumped, all arms forget half of what they know. When rewards come late, a bound would give many choices to one
    arm before it learns of the first: then AutoUCB draws after all, from the same filters.

    In detail: v is the variance of an arm's noise, learnt as in AutoTS, with whom AutoUCB also shares how weights learn
    and switch, how outliers are limited, and how coins are recognised and predicted. A walk j is AutoTS's filter j. A
    slope i = 0..7 assumes that the mean moves by b a step, where b has deviation d sqrt(v), d = 10^-5 3^i, and a memory
    of 1/(2 d) steps: in that time it would move the mean by half a deviation of the noise. Its posterior of mean and b
    is Gaussian, with covariance v P. After n steps without a pull, with x = 2 d n and D = 1 + x + x^2/2 in the place of
    e^x,

    - the mean has moved by A b, A = n (1 + x/2)/D, and b is b/D;
    - P has become F P F' + Q, F = ((1, A), (0, 1/D)), where Q has d^2 n^2 x (1 + 5x/4 + x^2/2)/D^2 for the mean,
      2 d^3 A^2 off the diagonal, and d^2 (1 - 1/D^2) for b.

    A pull then updates both by Kalman's rule. Unlike in AutoTS, filters receive weight from the pool before they age:
    an arm that drifts otherwise than before does so from its last pull on. A slope that receives a share of weight
    keeps the rest of b and of the covariance, merged with a slope of mean 0 and deviation d sqrt(v). Prior weights are
    proportional to 8^(-j) for walks, 0.97 in all, and 3^(-i) for slopes, 0.03 in all.

    The arm *leads* whose filters have the highest mean by weight. The index of an arm is the larger of two bounds, with
    w_j, m_j, v c_j the weight, mean and variance of filter j at this step, n the steps since the arm's last pull:

    - the mean over all filters, by weight, of m_j + 2.7 sqrt(v c_j);
    - h plus the largest m_j + sqrt(2 ln(r_j) v c_j) of those filters for which r_j > 1, where r_j = y/(1 + g ln y),
      y = n w_j/l for the filter that stands still, n w_j min(1, 2 sqrt(w_j))/l for the others. About n w_j draws from
      filter j would have been made since the last pull, and the best of so many would have reached about that far. Of
      filters with little weight there are many, and most looks on their account are in vain: hence the root. g is the
      share of c_j that came since the last pull, for slopes three times that share: when the arm had just been pulled,
      its draws did not reach as far as now. Draws need only reach the leader's mean, not its bound: h is how far the
      leader's index lies above its mean, 0 for the leader itself.

    l = 60 min(4, 1 + S/(5 + N/100)) min(1, k/32) says how rarely an arm is looked at. N is the number of steps that
    this arm led, S what its pulls cost while another one did: the sum of the distances to the leader's mean, in
    deviations of the noise; k is the number of its pulls, because one that was unlucky at first would else be found
    late.

    Looks at an arm close below the leader cost little, so an arm is also pulled when n q > 40 + (u/0.012)^2, where u is
    its distance to the leader's mean in deviations of the noise, and q what all filters but the one that stands still
    weigh in the pool. And a look that pleases is repeated, since one reward tells little. The arm's *hope* begins at 0.
    At each of its pulls while another arm leads it becomes max(0, hope + (X - a)/sqrt(v)), where a is the middle
    between its own mean and a mean sqrt(v)/2 above the leader's; while it is above 0, the arm is pulled on. Both are
    done only while rewards come at once, that is while L < 1 below.

    To v is added (m_j - mean of all rewards)^2 divided by the number of pulls, as in AutoTS. For coins the bound at z
    deviations, m + z sqrt(v c), is instead the larger x with (x - p)^2 = z^2 c' (p (1 - p) + 2 x (1 - x))/3, where
    p = (p_j + c)/(1 + 2 c), c' = c/(1 + 2 c), close to what the Kullback-Leibler divergence gives. An index is computed
    anew after a pull of the arm, and else in turn, one arm a step, once n has grown by a sixteenth. At first every arm
    is pulled once; among equals, the arm pulled least recently.

    Jumps: the *watch* is one more set of weights of the walks. They begin at 8^(-j), are multiplied by the density of
    every reward, sum to one, and then each grows by 10^-7, so that none is ever too small to come back. There is an
    alarm when the five fastest walks weigh more than 1/2 in it, and the next one only after they weighed less than
    1/10. At an alarm every arm gives half of its weights to the watch's. What comes with them has the mean of all
    filters, and their variance and v more. All indices are computed anew.

    Late rewards: when a reward comes of another arm than AutoUCB would choose now, it was chosen earlier. The length L
    of the longest run of such rewards, forgotten at a rate of 10^-4 a reward, is how late they come. While L > 20 each
    arm draws a filter by weight and a mean from it, L steps further ahead, as AutoTS does, and the arm with the largest
    is pulled.

    Choices don't depend on the unit or the origin of rewards, and while rewards come at once, on no random number.
    ``docs/autoucb.md`` has reasons and figures.

    It must know nothing: not T, not the drift, not the noise. A step costs O(K + 16), of which K are comparisons.

    Citation: this package; after P. Auer, N. Cesa-Bianchi, P. Fischer, Machine Learning 2002; H. Blom, Y. Bar-Shalom,
    IEEE Transactions on Automatic Control 1988; A. Harvey, "Forecasting, Structural Time Series Models and the Kalman
    Filter", 1989 (the local linear trend).
    """

    any_order: ClassVar[bool] = True
    arms_change: ClassVar[str] = "native"

    def init(self, n_arms: int) -> AutoUCBState:
        self.check_arms(n_arms)
        counts = {"turn": "i8", "best": "i8", "alarm": "i8", "streak": "i8", "late": "f8"}
        values = {"deviations": "f8", "pace": "f8", "rarely": "f8", "hazard": "f8", "patience": "f8"}
        run = records(1, **RUN, **VALUES, **LEADER, **LOOKS, **counts, **values)
        arms = records(n_arms, **ARM, **COSTS, **HOPES, index="f8", due="i8", off="i8")
        state = AutoUCBState(run, arms, *new_bank(n_arms))
        state.run.deviations, state.run.pace, state.run.rarely = DEVIATIONS, PACE, RARELY
        state.run.near, state.run.rise = NEAR, RISE
        state.run.hazard, state.run.patience = HAZARD, PATIENCE
        return state

    def add_arm(self, state: AutoUCBState) -> AutoUCBState:
        """A new arm is expected to drift as the pool does: its weights are the pool's. Its noise is that of all."""
        state = super().add_arm(state)
        state.bank[-1, WEIGHT : WEIGHT + FILTERS] = state.shared[POOL : POOL + FILTERS]
        _choose(state)
        return state

    def set_arm(self, state: AutoUCBState, arm: int, on: bool) -> None:
        super().set_arm(state, arm, on)
        _choose(state)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """The number of filters, and how long the steepest and the flattest slope are remembered, in steps."""
        longest = 1.0 / (FORGOTTEN * SLOWEST_SLOPE)
        shortest = longest / SLOPE_STEP ** (SLOPES - 1)
        return {"filters": FILTERS, "shortest_memory": shortest, "longest_memory": longest}

    def belief(self, state: AutoUCBState) -> Belief:
        """Mean and deviation of each arm's mixture of filters, its slope, and the next crossing that follows."""
        found = self.forecast(state, 0)
        return found._replace(crossing=None if found.estimate is None else crossing(state, found.estimate))

    def forecast(self, state: AutoUCBState, steps: int) -> Belief:
        """The same of each arm so many steps on, if it is left alone until then."""
        arms = state.arms
        mean, deviation, slope = (np.full(len(arms), np.nan) for _ in range(3))
        seen = np.flatnonzero(arms.last > 0)
        parts = mixture(state, seen, steps)
        mean[seen] = (parts.weight * parts.mean).sum(axis=0)
        deviation[seen] = np.sqrt((parts.weight * (parts.variance + (parts.mean - mean[seen]) ** 2)).sum(axis=0))
        slope[seen] = (parts.weight[WALKS:] * parts.slope).sum(axis=0)
        return gaussian_belief(mean, deviation)._replace(slope=slope)

    def after_log(self, state: AutoUCBState) -> None:
        """Rewards of arms that it would not have chosen were another policy's, and not late."""
        state.run.streak, state.run.late = 0, 0.0

    def select(self, state: AutoUCBState, rng: np.random.Generator) -> int:
        run = state.run[0]
        return _draw(state, rng) if run.late > run.patience else run.best

    def update(self, state: AutoUCBState, arm: int, reward: float) -> None:
        run, mine = state.run[0], state.arms[arm]
        run.t += 1
        run.streak = 0 if arm == run.best else run.streak + 1
        run.late = max((1.0 - FORGIVEN) * run.late, float(run.streak))
        count_values(run, mine, reward)
        lead = state.arms[run.lead]
        lead.led += 1
        if arm != run.lead and mine.last > 0 and lead.last > 0:
            mine.spent += cost_of_pull(run, mine, lead)
        if mine.last == 0:
            first_reward(state.bank[arm], state.shared, reward)
            learnt = reward
        else:
            learnt = learn(run, mine, state.bank[arm], state.shared, reward)
            mine.hope = 0.0 if arm == run.lead or lead.last == 0 else hope_after(run, mine, lead, learnt)
        learn_total_variance(run, learnt)
        run.switching = switching_after(run.t)
        mine.last = run.t
        turn = run.turn + 1 if run.turn + 1 < len(state.arms) else 0
        if turn == arm:
            turn = turn + 1 if turn + 1 < len(state.arms) else 0
        run.turn = turn
        if turn < 2 or mine.pulls < POOLED_PULLS:
            run.noise = pooled_noise(run, state.arms)
        fast = fast_share(state.shared)
        if fast > ALARM and run.alarm == 0:
            run.alarm = 1
            _shake_all(state)
        elif fast < CALM:
            run.alarm = 0
        mine.index = _index(state, arm)
        if mine.hope > 0.0:
            mine.index = np.inf
        other = state.arms[turn]
        if other.last > 0 and run.t >= other.due:
            other.index = _index(state, turn)
            other.due = run.t + 1 + (run.t - other.last) // FRESH
        run.best = _best(state.arms)
        follow_lead(run, state.arms, arm, turn)


def _choose(state: AutoUCBState) -> None:
    """Other arms are on than before: another one may be the best, and another one may lead."""
    state.run.best = _best(state.arms)
    find_lead(state.run[0], state.arms)


def _best(arms: Records) -> int:
    """The arm with the highest index; one that was never pulled before all others; none that is off.

    Whether an arm is off is looked at last, when it would be chosen else: so it costs nothing with many arms.
    """
    best, largest = 0, -np.inf
    for index in range(len(arms)):
        arm = arms[index]
        if arm.last == 0:
            if arm.off:
                continue
            return index
        if (arm.index > largest or (arm.index == largest and arm.last < arms[best].last)) and arm.off == 0:
            best, largest = index, arm.index
    return best


def _shake_all(state: AutoUCBState) -> None:
    """Means have jumped: every arm forgets half of what it knows, and all indices are computed anew."""
    state.run[0].rival = np.inf
    for index in range(len(state.arms)):
        arm = state.arms[index]
        if arm.last > 0:
            shake(state.run[0], arm, state.bank[index], state.shared)
            arm.index = _index(state, index)


def _draw(state: AutoUCBState, rng: np.random.Generator) -> int:
    """The arm with the largest draw: of a filter by weight, and of a mean from it."""
    run, shared = state.run[0], state.shared
    best, largest = 0, -np.inf
    for index in range(len(state.arms)):
        arm, row = state.arms[index], state.bank[index]
        if arm.off:
            continue
        if arm.last == 0:
            return index
        steps = run.t + 1 + int(run.late) - arm.last
        away, switched = float(steps), switched_share(run.switching, steps)
        left, j = rng.random(), 0
        while j < FILTERS - 1:
            left -= switched * shared[POOL + j] + (1.0 - switched) * row[WEIGHT + j]
            if left < 0.0:
                break
            j += 1
        if j < WALKS:
            mean, spread = row[MEAN + j], row[SPREAD + j] + shared[WALK + j] * away
        else:
            mean, spread = slope_ahead(row, shared, away, j - WALKS)
        drawn = draw_mean(run, arm, mean, spread, rng)
        if drawn > largest or (drawn == largest and arm.last < state.arms[best].last):
            best, largest = index, drawn
    return best


def _index(state: AutoUCBState, arm: int) -> float:
    """The bound of an arm at the next step: that of its filters by weight, or a higher one if a look is due."""
    run, mine, row, shared = state.run[0], state.arms[arm], state.bank[arm], state.shared
    lead = state.arms[run.lead]
    steps = run.t + 1 - mine.last
    away, switched = float(steps), switched_share(run.switching, steps)
    look_ahead(row, shared, away, shared)
    noise, unsure = arm_noise(run, mine), 1.0 / (1.0 + mine.pulls)
    square = run.deviations * run.deviations
    if run.coin:
        per_range = 1.0 / (run.high - run.low)
        for j in range(2 * half(row)):
            weight = switched * shared[POOL + j] + (1.0 - switched) * row[WEIGHT + j]
            p = min(max((shared[MEAN + j] - run.low) * per_range, 0.0), 1.0)
            c = shared[SPREAD + j]
            kept = 1.0 / (1.0 + 2.0 * c)
            p = (p + c) * kept
            shared[MEAN + j] = p
            shared[VARIANCE + j] = c * kept
            shared[PART + j] = weight * coin_bound(p, square * c * kept)
        bound = run.low + (run.high - run.low) * total(shared, PART, FILTERS)
    else:
        base = row[MEAN]
        for j in range(2 * half(row)):
            weight = switched * shared[POOL + j] + (1.0 - switched) * row[WEIGHT + j]
            offset = shared[MEAN + j] - run.center
            variance = (noise + offset * offset * unsure) * shared[SPREAD + j]
            shared[VARIANCE + j] = variance
            shared[PART + j] = weight * (shared[MEAN + j] - base + run.deviations * math.sqrt(variance))
        bound = base + total(shared, PART, FILTERS)
    mine.center = _center_ahead(run, row, shared, switched)
    if look_is_due(run, mine, lead, shared[POOL], steps):
        return np.inf
    chances = away / (run.pace * rarity(run, mine))
    if chances > 1.0:
        above = lead.index - lead.center if arm != run.lead and lead.center < lead.index < np.inf else 0.0
        bound = max(bound, above + _best_draw(run, row, shared, chances, switched))
    return bound  # type: ignore[no-any-return]


def _best_draw(run: Any, row: Array, shared: Array, draws: float, switched: float) -> float:
    """How far the best of so many draws would have reached, each from a filter by weight, since the last pull."""
    best = -np.inf
    for j in range(FILTERS):
        weight = switched * shared[POOL + j] + (1.0 - switched) * row[WEIGHT + j]
        chances = draws * (weight if j == 0 else weight * min(1.0, 2.0 * math.sqrt(weight)))
        if chances > 1.0:
            grown = (1.0 if j < WALKS else 3.0) * (1.0 - row[SPREAD + j] / shared[SPREAD + j])
            chances /= 1.0 + grown * math.log(chances)
            if chances > 1.0:
                square = 2.0 * math.log(chances) * shared[VARIANCE + j]
                p = shared[MEAN + j]
                best = max(best, coin_bound(p, square) if run.coin else p + math.sqrt(square))
    return run.low + (run.high - run.low) * best if run.coin and best > -np.inf else best


def _center_ahead(run: Any, row: Array, shared: Array, switched: float) -> float:
    """The mean of an arm's filters by weight, of the means that ``_index`` has left in ``shared``."""
    for j in range(2 * half(row)):
        weight = switched * shared[POOL + j] + (1.0 - switched) * row[WEIGHT + j]
        shared[PART + j] = weight * shared[MEAN + j]
    center = total(shared, PART, FILTERS)
    return run.low + (run.high - run.low) * center if run.coin else center


def coin_bound(p: float, square: float) -> float:
    """The largest x with (x - p)^2 = square (p (1 - p)/3 + 2 x (1 - x)/3): a quantile of a coin's probability."""
    third = square / 3.0
    return (p + third + math.sqrt(square * p * (1.0 - p) * (1.0 + square * (2.0 / 9.0)) + third * third)) / (
        1.0 + third + third
    )
