"""The good event (the paper's own Claim 1), measured: how small may SnoozeIt's radius be before means leave it?"""

import math
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import CONFIDENCES
from reproduction.statistics import share_interval


@dataclass(frozen=True)
class GoodEventRow:
    """The share of runs that leave the radius at a confidence, with its interval and two union bounds."""

    confidence: float
    failed: float
    low: float
    high: float
    union: float
    claim: float


@dataclass(frozen=True)
class GoodEvent:
    """A row per confidence."""

    rows: tuple[GoodEventRow, ...]

    def at(self, confidence: float) -> GoodEventRow:
        """The row of a confidence."""
        return next(row for row in self.rows if row.confidence == confidence)


def good_event(context: Context) -> GoodEvent:
    """Measure how often the good event fails, at each confidence.

    Notes
    -----
    A run fails at ``confidence`` if |muhat_(a,t)(w) - mu_(a,t)(w)| >= r(w) = confidence * sqrt(2 L/w), L = ln T, for
    some arm a, step t and window w. One number per run answers this for all confidences. ``union`` is Hoeffding's
    2 T^(-4 confidence^2) times the number of windows; ``claim`` has the paper's rounder T^3 for that number, so 2/T at
    confidence 1. Both are cut at 1 and hold for 1/2-sub-Gaussian rewards.
    """
    T, runs = context.settings.horizon, context.settings.runs
    critical = critical_confidences(T, runs, context.settings.seed)
    windows = 2 * sum(n * (n + 1) // 2 for n in (T // 2, (T + 1) // 2))
    rows = []
    for confidence in np.unique([*CONFIDENCES, *np.linspace(0.4, 1.0, 61).round(2)]).tolist():
        failed = int((critical >= confidence).sum())
        tail = 2 * T ** (-4 * confidence**2)
        bounds = min(1.0, windows * tail), min(1.0, T**3 * tail)
        rows.append(GoodEventRow(confidence, failed / runs, *share_interval(failed, runs), *bounds))
    return GoodEvent(tuple(rows))


def critical_confidences(horizon: int, runs: int, seed: int, noise: db.Noise | None = None, arms: int = 2) -> Any:
    """For each run the largest confidence at which the good event fails, exactly, shape (runs,).

    As in the proof of Claim 1 all rewards of all arms are drawn ahead, and a window has w steps of one parity: t, t-2,
    ..., t-2(w-1). With S the sums of (reward - mean) over the odd or over the even steps, the answer is the largest
    |S_e - S_s|/sqrt(e - s) over all arms, both parities and all s < e, divided by sqrt(2 L).
    """
    instance = db.instances.stationary(horizon, (0.5,) * arms)
    largest = np.empty(runs)
    always = [db.Oracle(np.full(1, arm)) for arm in range(arms)]
    for run in range(runs):
        ratio = 0.0
        for arm, policy in enumerate(always):
            # A policy that never leaves an arm receives that arm's tape; each tape has a stream of its own.
            rewards = db.trajectory(policy, instance, noise or db.Gaussian(0.5), seed, run * arms + arm).rewards
            tape = rewards - instance.means[:, arm]
            for first in (0, 1):
                ratio = largest_ratio(np.concatenate([[0.0], np.cumsum(tape[first::2])]), ratio)
        largest[run] = ratio / math.sqrt(2 * math.log(horizon))
    return largest


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def largest_ratio(sums: Any, known: float) -> float:
    """The largest |S_e - S_s|/sqrt(e - s) over all s < e, or ``known`` if that is larger: exactly, by branch and bound.

    Points are cut in halves again and again. For two blocks of b points, k blocks apart, no pair can exceed the larger
    max S - min S between them, divided by the root of the least distance (k-1) b + 1. Pairs of blocks that this bound
    rules out are left alone, nearly all that do not touch.
    """
    low, high, size = _extremes(sums)
    best = known
    stack = np.empty((4 * 64, 3), np.int64)  # each of at most 62 halvings leaves three pairs waiting
    stack[0, 0], stack[0, 1], stack[0, 2] = 1, 1, size
    waiting = 1
    while waiting > 0:
        waiting -= 1
        left, right, width = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        if left < right:
            most = max(high[right] - low[left], high[left] - low[right])
            bound = most / math.sqrt((right - left - 1) * width + 1)
            if not bound > best:
                continue
            if width == 1:
                best = bound
                continue
        elif width == 1:
            continue
        half = width // 2
        for i in range(2):
            for j in range(2):
                if 2 * left + i <= 2 * right + j:
                    stack[waiting, 0], stack[waiting, 1], stack[waiting, 2] = 2 * left + i, 2 * right + j, half
                    waiting += 1
    return best


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _extremes(sums: Any) -> tuple[Any, Any, int]:
    """Least and largest sum of every block (node 1 is all, i splits into 2i and 2i+1), and the leaves."""
    size = 1
    while size < len(sums):
        size *= 2
    low, high = np.full(2 * size, np.inf), np.full(2 * size, -np.inf)
    low[size : size + len(sums)] = sums
    high[size : size + len(sums)] = sums
    for node in range(size - 1, 0, -1):
        low[node] = min(low[2 * node], low[2 * node + 1])
        high[node] = max(high[2 * node], high[2 * node + 1])
    return low, high, size
