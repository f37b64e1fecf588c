"""MASTER: UCB1 run at many scales at once, and two tests that restart everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.checks import check_between, check_horizon
from driftbandits._compile.kernels import kernel
from driftbandits.policies._parts.own_random import mix_in, new_generator, seed_generator, uniform
from driftbandits.policies.base import Policy, Records, records


class MASTERState(NamedTuple):
    """``plays[m * K + a]`` is what the copy of order m knows of arm a."""

    run: Records
    orders: Records
    plays: Records
    generator: Records
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
    learns. Its G_t = min(1, largest mean + sqrt(2 ln T / N)) is optimistic for the best mean (an arm it has not pulled
    counts 1 and goes first, ties go to the lowest). U_t is the least G of the block so far. Everything restarts, with
    a block of one step, when

    - a copy of order m ends and the mean of all rewards in its life is at least U_t + 9 rhohat(2^m), or
    - G_t less the reward, averaged over the block so far, its t' steps, is at least 3 rhohat(t').

    rho(t) = sqrt(K/t) + K/t and rhohat(t) = confidence * 6 (log2(T) + 1) ln(T/risk) rho(t), with risk = 1/T.

    It must know T. With the theory's ``confidence`` = 1 neither test can pass for rewards in [0, 1] while
    3 rhohat(T) > 1: below about 10^9 steps for two arms (``parameters`` says when: ``first_test``). MASTER then only
    follows its schedule. Less makes the tests more eager: at T = 10^5 they begin to pass at about 0.003.

    A step costs O(K) and a few draws, whatever T; memory is O(K log T).

    Checked against the paper's text: Procedure 1, Algorithms 2 and 3, both tests and rhohat with its ln(T/risk) agree
    (a restatement has ln T there, which is ``confidence`` = 0.5 here). UCB1 is in its appendix (I.1). The index is
    c sqrt(ln(T/risk)/N) there, c being left open: with c = 1 that is sqrt(2 ln T/N). The cap at 1 is ours, as the
    paper's optimistic values lie in [0, 1]. Two things differ: an arm not yet pulled counts there like one pulled once
    for a reward of 0, and (34) has K ln(T/risk) in rho where we have K, with which the tests would pass even later.

    Citation: C.-Y. Wei, H. Luo, "Non-stationary Reinforcement Learning without Prior Knowledge: An Optimal Black-box
    Approach", COLT 2021; on its constants: A. Gerogiannis, Y.-H. Huang, V. Veeravalli, "Is Prior-Free Black-Box
    Non-Stationary Reinforcement Learning Feasible?", 2024.

    >>> MASTER(horizon=162_755).parameters(2)["first_test"] > 162_755
    True
    """

    horizon: int
    confidence: float = 1.0

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_between("confidence", self.confidence, 1e-12, 1e12)

    def parameters(self, n_arms: int) -> dict[str, float]:
        """rhohat / rho, the width of UCB1's index at N = 1, and the first step of a block at which a test can pass."""
        log_t = math.log(self.horizon)
        scale = self.confidence * 6 * (math.log2(self.horizon) + 1) * 2 * log_t
        # 3 scale (x^2 + x) < 1 for x = sqrt(K/t)
        root = (math.sqrt(1 + 4 / (3 * scale)) - 1) / 2 if scale > 0 else math.inf
        return {"scale": scale, "width": math.sqrt(2 * log_t), "first_test": max(1, math.ceil(n_arms / root**2))}

    def init(self, n_arms: int) -> MASTERState:
        self.check_arms(n_arms)
        chosen = self.parameters(n_arms)
        orders = int(self.horizon).bit_length() + 1
        state = MASTERState(
            records(
                1,
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
            new_generator(),
            records(1, count="i8", step="i8", arm="i8", order="i8", statistic="f8", threshold="f8"),
        )
        state.run.scale, state.run.width = chosen["scale"], chosen["width"]
        _begin_block(state, n_arms, 0)
        return state

    def seed(self, state: MASTERState, rng: np.random.Generator) -> None:
        seed_generator(state.generator, rng)

    def select(self, state: MASTERState, rng: np.random.Generator) -> int:
        return state.run[0].chosen  # type: ignore[no-any-return]

    def update(self, state: MASTERState, arm: int, reward: float) -> None:
        run = state.run[0]
        n_arms = len(state.plays) // len(state.orders)
        mix_in(state.generator[0], arm, reward)
        learning = state.plays[run.active * n_arms + arm]
        learning.count += 1
        learning.total += reward
        run.t += 1
        run.played += 1
        run.received += reward
        run.shortfall += run.optimistic - reward
        run.lowest = min(run.lowest, run.optimistic)
        if _end_instances(state, n_arms) or _test(state, n_arms, -1, run.shortfall / run.played, 3.0, run.played, 0.0):
            _begin_block(state, n_arms, 0)
        elif run.played == 1 << run.order:
            _begin_block(state, n_arms, min(run.order + 1, len(state.orders) - 1))
        else:
            _schedule(state, n_arms)


@kernel
def _rho(n_arms: int, steps: float) -> float:
    return math.sqrt(n_arms / steps) + n_arms / steps


@kernel
def _test(
    state: MASTERState, n_arms: int, order: int, statistic: float, factor: float, steps: float, above: float
) -> bool:
    """Whether the statistic is at least ``above`` + factor rho^(steps); then the event is written."""
    threshold = above + factor * state.run[0].scale * _rho(n_arms, steps)
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


@kernel
def _end_instances(state: MASTERState, n_arms: int) -> bool:
    """Instances that end now undergo the first test; whether one passed. Life spans are aligned to their lengths."""
    run, orders = state.run[0], state.orders
    order, span = 0, 1
    while order <= run.order and run.played % span == 0:
        if orders[order].alive:
            orders[order].alive = 0
            mean = (run.received - orders[order].received) / span
            if _test(state, n_arms, order, mean, 9.0, span, run.lowest):
                return True
        order, span = order + 1, 2 * span
    return False


@kernel
def _begin_block(state: MASTERState, n_arms: int, order: int) -> None:
    run = state.run[0]
    run.order = order
    run.played = 0
    run.received = 0.0
    run.shortfall = 0.0
    run.lowest = 1.0
    for each in range(len(state.orders)):
        state.orders[each].alive = 0
    _schedule(state, n_arms)


@kernel
def _schedule(state: MASTERState, n_arms: int) -> None:
    """Begin the instances that are drawn for the next step, and let the lowest one alive choose its arm."""
    run, orders = state.run[0], state.orders
    block = _rho(n_arms, float(1 << run.order))
    order, span = 0, 1
    while order <= run.order and run.played % span == 0:
        if uniform(state.generator[0]) < block / _rho(n_arms, float(span)):
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


@kernel
def _choose(run: Any, plays: Records, first: int, n_arms: int) -> None:
    best_index = -np.inf
    for arm in range(n_arms):
        count = plays[first + arm].count
        if count == 0:
            run.chosen = arm
            run.optimistic = 1.0
            return
        share = 1.0 / count
        index = plays[first + arm].total * share + run.width * math.sqrt(share)
        if index > best_index:
            run.chosen = arm
            best_index = index
    run.optimistic = min(1.0, best_index)
