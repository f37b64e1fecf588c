"""The Kullback-Leibler divergence of Bernoulli distributions, and the upper confidence bound made from it."""

from __future__ import annotations

import math

CLOSE = 1e-13
MOST_ITERATIONS = 60


def bernoulli_divergence(p: float, q: float) -> float:
    """kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)) for p in [0, 1] and q in (0, 1)."""
    found = 0.0
    if p > 0.0:
        found += p * math.log(p / q)
    if p < 1.0:
        found += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return found


def bernoulli_upper(p: float, level: float) -> float:
    """The largest q with kl(p, q) <= level, for p in [0, 1].

    kl is convex in q, so Newton's method falls to the solution from any start above it. Two such starts are Pinsker's
    p + sqrt(level/2), and the solution of (1-p) ln(1/(1-q)) = level + H(p), H being the entropy.
    """
    if level <= 0.0 or p >= 1.0:
        return p
    entropy = -(1.0 - p) * math.log(1.0 - p)
    if p > 0.0:
        entropy -= p * math.log(p)
    q = min(p + math.sqrt(level / 2.0), 1.0 - math.exp(-(level + entropy) / (1.0 - p)))
    if q >= 1.0:
        return 1.0
    for _ in range(MOST_ITERATIONS):
        if q <= p:
            return p
        step = (bernoulli_divergence(p, q) - level) * q * (1.0 - q) / (q - p)
        q -= step
        if step < CLOSE:
            break
    return max(p, q)
