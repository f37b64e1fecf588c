"""Plain-Python twins of the theory: the definitions, word by word, and slow."""

from __future__ import annotations

import math
from collections.abc import Sequence

Table = Sequence[Sequence[float]]


def is_detected(means: Table, t: int, lam: float, c0: float, horizon: int) -> bool:
    """The paper's condition on one lambda in (0, 1], as printed: its window must fit, and show a gap of lambda."""
    w = math.ceil(c0 * math.log(horizon) / lam**2)
    if w < 1 or w > t:
        return False
    return abs(math.fsum(a - b for a, b in means[t - w : t])) / w >= lam


def profile(means: Table, c0: float, horizon: int) -> tuple[list[float], list[int]]:
    """lambda_t and its window for every t, by trying all windows."""
    c = c0 * math.log(horizon)
    gaps, windows = [], []
    for t in range(1, len(means) + 1):
        best, found, total = math.sqrt(c / t), 0, 0.0
        for w in range(1, t + 1):
            total += means[t - w][0] - means[t - w][1]
            if w < c or abs(total) < math.sqrt(c * w):
                continue
            lambdas = [1.0, abs(total) / w]
            if w - 1 >= c and w > 1:  # else even lambda = 1 has no shorter window
                lambdas.append(math.sqrt(c / (w - 1)))
            best, found = min(lambdas), w
            break
        gaps.append(best)
        windows.append(found)
    return gaps, windows


def gaps_of_arms(means: Table, c0: float, horizon: int) -> list[list[float]]:
    """lambda_t(x) for every step and arm, by trying all windows and all other arms."""
    K = len(means[0])
    c = c0 * K / 2 * math.log(horizon)
    rows = []
    for t in range(1, len(means) + 1):
        row = [math.sqrt(c / t)] * K
        for x in range(K):
            for w in range(1, t + 1):
                lead = max(math.fsum(r[y] - r[x] for r in means[t - w : t]) for y in range(K) if y != x)
                if w >= c and lead >= math.sqrt(c * w):
                    row[x] = min(1.0, lead / w, math.sqrt(c / (w - 1)) if w - 1 >= c and w > 1 else 1.0)
                    break
        rows.append(row)
    return rows


def instance_bound(means: Table, drift: float) -> float:
    """Theorem 1, corrected, step by step."""
    T = len(means)
    log_t = math.log(T)
    tau = float(T) if drift == 0 else min(float(T), 2 ** (2 / 3) * drift ** (-2 / 3) * log_t ** (1 / 3))
    gaps, _ = profile(means, 144.0, T)
    least: dict[int, float] = {}
    for t in range(1, T + 1):
        block = math.ceil(t / tau)
        least[block] = min(least.get(block, math.inf), gaps[t - 1])
    assert sorted(least) == list(range(1, math.ceil(T / tau) + 1))
    return 2 + sum(144 * log_t / lam + 2 for lam in least.values())


def turns_regret(means: Table, start: int, end: int, first: int) -> float:
    """Regret of pulling two arms in turn at the steps start + 1 .. end, beginning with arm ``first``."""
    arms = [(first + k) % 2 for k in range(end - start)]
    return math.fsum(max(row) - row[arm] for row, arm in zip(means[start:end], arms, strict=True))


def longest_snooze(horizon: int, drift: float, variant: str, confidence: float) -> int:
    """Steps of the longest snooze when one arm always pays 1 and the other 0, by looking at every window."""
    log_t = math.log(horizon)
    longest = 0
    for w in range(1, (horizon + 1) // 2):
        radius = confidence * math.sqrt(2 * log_t / w)
        if variant == "released":
            passes, buffer = 4 * radius < 1, math.sqrt(2) * radius / drift if drift else math.inf
        else:
            passes, buffer = w >= 72 * confidence**2 * log_t, radius / drift if drift else math.inf
        left = min(buffer - 2 * w, horizon - 2 * w)
        if passes:
            longest = max(longest, math.ceil(left) if variant == "released" else math.floor(left))
    return longest
