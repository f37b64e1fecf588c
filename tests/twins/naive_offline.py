"""Plain twins of the estimators of ``driftbandits.offline``, and a log whose probabilities are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from driftbandits._numba.loops import update
from driftbandits.instances import Instance
from driftbandits.simulation.engine import stream


def generators(seed: int, replicate: int, turn: int) -> tuple[Any, Any, Any]:
    """The streams of a replay: redrawn rows, rejections, the policy's own."""
    keys = [(replicate, which, turn) for which in (1, 2)]
    seeds = [np.random.SeedSequence(seed, spawn_key=key) for key in keys]
    gate, own = (np.random.Generator(np.random.SFC64(one)) for one in seeds)
    return stream(seed, replicate, 0), gate, own


def redrawn(n_rows: int, block: int, rng: Any) -> list[int]:
    """Every row replaced by one of its block."""
    blocks = [range(first, min(first + block, n_rows)) for first in range(0, n_rows, block)]
    return [rows[int(rng.random() * len(rows))] for rows in blocks for _ in rows]


def naive_replay(policy: Any, rows: Any, seed: int, replicate: int, turn: int, block: int) -> list[tuple[int, float]]:
    """Li et al.'s replay, after rejection: the steps at which the policy got a reward, and the rewards."""
    resample, gate, own = generators(seed, replicate, turn)
    least = min(rows.probability)
    offered = enumerate(redrawn(len(rows.arms), block, resample))
    kept = [(step, row) for step, row in offered if gate.random() < least / rows.probability[row]]
    state = policy.init(len(rows.names))
    if hasattr(policy, "reserve"):
        state = policy.reserve(state, len(rows.arms))
    received = []
    while kept:
        arm = policy.select(state, own)
        while kept and rows.arms[kept[0][1]] != arm:
            kept.pop(0)
        if kept:
            step, row = kept.pop(0)
            update(policy, state, arm, rows.rewards[row], own)
            received.append((step, rows.rewards[row]))
    return received


def naive_fixed(rows: Any, seed: int, replicate: int, block: int) -> Any:
    """What each arm alone, Uniform and the log earn at every step, (K + 2, N)."""
    K = len(rows.names)
    histories: list[list[float]] = [[] for _ in range(K)]
    earned = []
    everything: list[float] = []
    for row in redrawn(len(rows.arms), block, stream(seed, replicate, 0)):
        arm, reward = rows.arms[row], rows.rewards[row]
        average = float(np.mean(everything or [0.0]))
        guesses = [_follow(history) if history else average for history in histories]
        alone = [
            guess + (reward - guess) / rows.probability[row] if a == arm else guess for a, guess in enumerate(guesses)
        ]
        earned.append([*alone, np.mean(alone), reward])
        histories[arm].append(reward)
        everything.append(reward)
    return np.array(earned).T


def _follow(history: list[float]) -> float:
    guess = 0.0
    for count, reward in enumerate(history, 1):
        guess += (reward - guess) / min(count, 100)
    return guess


def greedy_log(instance: Instance, explore: float, sigma: float, seed: int) -> pl.DataFrame:
    """The log of a policy that pulls the arm that seems best, and with probability ``explore`` any arm."""
    rng = np.random.Generator(np.random.SFC64(seed))
    T, K = instance.means.shape
    explores, anyone = (rng.random(T) < explore).tolist(), rng.integers(0, K, T).tolist()
    noise, means = (sigma * rng.standard_normal(T)).tolist(), instance.means.tolist()
    guesses, rows = [0.5] * K, []
    for t in range(T):
        best = guesses.index(max(guesses))
        arm = anyone[t] if explores[t] else best
        reward = means[t][arm] + noise[t]
        guesses[arm] += 0.05 * (reward - guesses[arm])
        rows.append((t, arm, reward, explore / K + (1 - explore) * (arm == best)))
    return pl.DataFrame(rows, schema=["step", "arm", "reward", "probability"], orient="row")
