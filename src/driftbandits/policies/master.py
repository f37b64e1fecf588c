"""MASTER: UCB1 run at many scales at once, and two tests that restart everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_horizon
from driftbandits._common.rewards import Rewards
from driftbandits.policies.base import Policy, Records, records


class MASTERState(NamedTuple):
    """``plays[m * K + a]`` is what the copy of order m knows of arm a."""

    run: Records
    orders: Records
    plays: Records
    event: Records


@dataclass(frozen=True)
class MASTER(Policy):
    """MASTER (Wei and Luo) over UCB1: needs to know neither the number nor the amount of changes.

    In plain words: MASTER runs copies of UCB1 that start at random times and live for different lengths. Short copies
    notice that a neglected arm has improved; long ones learn precisely. Two tests compare what copies promise with what
    they earn. When these differ by more than chance allows, the means must have changed, and everything restarts.

    In detail: blocks of 1, 2, 4, ... steps follow each other. In a block of 2^n steps, at every tau that is a multiple
    of 2^m, a copy of UCB1 of order m begins with probability rho(2^n) / rho(2^m), and lives for 2^m steps; the copy of
    order n, as long as the block, always begins. Of the copies alive, the one of the lowest order plays, and only it
    learns. It pulls the arm with the largest mean + sqrt(ln(T/risk) / N), where an arm not yet pulled counts as pulled
    once for a reward of 0, and ties go to the lowest. G_t, this largest value or 1 if that is less, is optimistic for
    the best mean. U_t is the least G of the block so far. Everything restarts, with a block of one step, when

    - a copy of order m ends and the mean of all rewards in its life is at least U_t + 9 rhohat(2^m), or
    - G_t less the reward, averaged over the block so far, its t' steps, is at least 3 rhohat(t').

    rho(t) = sqrt(L/t) + L/t and rhohat(t) = confidence * 6 (log2(T) + 1) ln(T/risk) rho(t), with risk = 1/T and
    L = K ln(T/risk).

    It must know T. With the theory's ``confidence`` = 1 neither test can pass for rewards in [0, 1] while
    3 rhohat(t') > 1. For two arms and T = 162,755 that holds in the first 3·10^9 steps of a block, far more than T
    (``parameters`` has this number: ``first_test``). Only from T = 4.3·10^11 on is a block so long. Below that MASTER
    only follows its schedule. A smaller ``confidence`` makes the tests more eager: at T = 10^5 they can pass from
    0.0036 on down, and at 0.0007 they see the better of two arms fall from 0.9 to 0.1.

    A step costs O(K) and a few draws, whatever T; memory is O(K log T).

    Checked against the paper's text: Procedure 1, Algorithms 2 and 3, both tests, rhohat (Lemma 3), UCB1 (Algorithm 7,
    with its rule for arms not yet pulled) and rho, its (34), agree. The paper leaves open risk, the constant before the
    root of UCB1, and one before rho: here 1/T, 1 and 1. It says nothing of ties. The cap of G_t at 1 is not in its
    UCB1, but its Assumption 1 has optimistic values in [0, 1].

    Citation: C.-Y. Wei, H. Luo, "Non-stationary Reinforcement Learning without Prior Knowledge: An Optimal Black-box
    Approach", COLT 2021; on its constants: A. Gerogiannis, Y.-H. Huang, V. Veeravalli, "Is Prior-Free Black-Box
    Non-Stationary Reinforcement Learning Feasible?", 2024.

    >>> MASTER(horizon=162_755).parameters(2)["first_test"] > 162_755
    True
    """

    rewards: ClassVar[Rewards] = Rewards.SCALED

    horizon: int
    confidence: float = 1.0

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_between("confidence", self.confidence, 1e-12, 1e12)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """K ln(T/risk), rhohat / rho, UCB1's width at N = 1, and the first step of a block at which a test can pass."""
        log_t_over_risk = 2 * math.log(max(self.horizon, 2))
        spread = n_arms * log_t_over_risk
        scale = self.confidence * 6 * (math.log2(self.horizon) + 1) * log_t_over_risk
        root = (math.sqrt(1 + 4 / (3 * scale)) - 1) / 2  # 3 scale (x + x^2) = 1 at x = sqrt(spread / t)
        return {
            "spread": spread,
            "scale": scale,
            "width": math.sqrt(log_t_over_risk),
            "first_test": max(1, math.ceil(spread / root**2)),
        }

    def init(self, n_arms: int) -> MASTERState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        orders = int(self.horizon).bit_length() + 1
        state = MASTERState(
            records(
                1,
                spread="f8",
                scale="f8",
                width="f8",
                t="i8",
                order="i8",
                played="i8",
                received="f8",
                shortfall="f8",
                lowest="f8",
                active="i8",
                chosen="i8",
                optimistic="f8",
            ),
            records(orders, alive="i8", received="f8"),
            records(orders * n_arms, count="i8", total="f8"),
            records(1, count="i8", step="i8", arm="i8", order="i8", statistic="f8", threshold="f8"),
        )
        state.run.spread, state.run.scale, state.run.width = chosen["spread"], chosen["scale"], chosen["width"]
        _begin_block(state, n_arms, 0, np.random.default_rng(0))  # nothing is drawn for a block of one step
        return state

    def select(self, state: MASTERState, rng: np.random.Generator) -> int:
        return state.run[0].chosen  # type: ignore[no-any-return]

    def update(self, state: MASTERState, arm: int, reward: float, rng: np.random.Generator) -> None:  # type: ignore[override]
        run = state.run[0]
        n_arms = len(state.plays) // len(state.orders)
        learning = state.plays[run.active * n_arms + arm]
        learning.count += 1
        learning.total += reward
        run.t += 1
        run.played += 1
        run.received += reward
        run.shortfall += run.optimistic - reward
        run.lowest = min(run.lowest, run.optimistic)
        if _end_instances(state) or _test(state, -1, run.shortfall / run.played, 3.0, run.played, 0.0):
            _begin_block(state, n_arms, 0, rng)
        elif run.played == 1 << run.order:
            _begin_block(state, n_arms, min(run.order + 1, len(state.orders) - 1), rng)
        else:
            _schedule(state, n_arms, rng)


def _rho(spread: float, steps: float) -> float:
    return math.sqrt(spread / steps) + spread / steps


def _test(state: MASTERState, order: int, statistic: float, factor: float, steps: float, above: float) -> bool:
    """Whether the statistic is at least ``above`` + factor rho^(steps); then the event is written."""
    threshold = above + factor * state.run[0].scale * _rho(state.run[0].spread, steps)
    if statistic < threshold:
        return False
    event = state.event[0]
    event.count += 1
    event.step = state.run[0].t
    event.arm = -1
    event.order = order
    event.statistic = statistic
    event.threshold = threshold
    return True


def _end_instances(state: MASTERState) -> bool:
    """Instances that end now undergo the first test; whether one passed. Life spans are aligned to their lengths."""
    run, orders = state.run[0], state.orders
    order, span = 0, 1
    while order <= run.order and run.played % span == 0:
        if orders[order].alive:
            orders[order].alive = 0
            mean = (run.received - orders[order].received) / span
            if _test(state, order, mean, 9.0, span, run.lowest):
                return True
        order, span = order + 1, 2 * span
    return False


def _begin_block(state: MASTERState, n_arms: int, order: int, rng: np.random.Generator) -> None:
    run = state.run[0]
    run.order = order
    run.played = 0
    run.received = 0.0
    run.shortfall = 0.0
    run.lowest = 1.0
    for each in range(len(state.orders)):
        state.orders[each].alive = 0
    _schedule(state, n_arms, rng)


def _schedule(state: MASTERState, n_arms: int, rng: np.random.Generator) -> None:
    """Begin the instances that are drawn for the next step, and let the lowest one alive choose its arm."""
    run, orders = state.run[0], state.orders
    block = _rho(run.spread, float(1 << run.order))
    order, span = 0, 1
    while order <= run.order and run.played % span == 0:
        if order == run.order or rng.random() < block / _rho(run.spread, float(span)):  # the longest one is certain
            orders[order].alive = 1
            orders[order].received = run.received
            for arm in range(n_arms):
                state.plays[order * n_arms + arm].count = 0
                state.plays[order * n_arms + arm].total = 0.0
        order, span = order + 1, 2 * span
    run.active = 0
    while not orders[run.active].alive:
        run.active += 1
    _choose(run, state.plays, run.active * n_arms, n_arms)


def _choose(run: Any, plays: Records, first: int, n_arms: int) -> None:
    best_index = -np.inf
    for arm in range(n_arms):
        share = 1.0 / max(plays[first + arm].count, 1)
        index = plays[first + arm].total * share + run.width * math.sqrt(share)
        if index > best_index:
            run.chosen = arm
            best_index = index
    run.optimistic = min(1.0, best_index)
