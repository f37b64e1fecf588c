"""What the paper's constants cost: the smallest ones for which its proofs still work, found by search.

The printed constants all follow from two numbers. The *radius*: the difference of two means of w pulls each is taken
to lie within sqrt(q L/w) of the truth; the paper allows r(w) for each arm, 2 r(w) = sqrt(8 L/w) together, so q = 8.
The *threshold*: the test passes above theta radii (less delta); the paper has 4 r(w), so theta = 2. This module writes
every constant as a function of q and theta, finds the smallest q that the union bound allows and the theta that is
best, and puts printed, corrected and best constants side by side. See docs/proofs.md for why the proofs allow it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from driftbandits._common.checks import check_horizon

PRINTED_RADIUS = 8.0
"""(2 r(w))^2 w / L."""
PRINTED_THRESHOLD = 2.0
"""4 r(w) / 2 r(w)."""


@dataclass(frozen=True)
class Proof:
    """The constants that the proofs give for a radius q and a threshold theta > 1.

    A test that passes shows a gap of (theta - 1) radii, and one that does not pass hides at most theta + 1.

    >>> printed = Proof(8.0, 2.0)
    >>> printed.stretch, printed.c1, printed.c2, round(printed.c3, 3), printed.c4, round(printed.per_step, 3)
    (6.0, 72.0, 144.0, 1.587, 72.0, 4.762)
    """

    radius: float
    threshold: float

    @property
    def stretch(self) -> float:
        """Lemma 4 (episodic regret): n active steps cost 1 + ``stretch`` sqrt((n - 1) L): (theta + 1) sqrt(q/2)."""
        return (self.threshold + 1) * math.sqrt(self.radius / 2)

    @property
    def c1(self) -> float:
        """The shortest window is c1 L pulls of each arm, where theta + 1 radii are 1: (theta + 1)^2 q."""
        return (self.threshold + 1) ** 2 * self.radius

    @property
    def c2(self) -> float:
        """Lemma 5 (gauge to lambda), and c0 of the detectable gap: 2 c1."""
        return 2 * self.c1

    @property
    def c3(self) -> float:
        """Lemma 7 (episode size): an episode lasts c3 delta^(-2/3) L^(1/3): ((theta - 1) sqrt(q/2))^(2/3)."""
        return math.pow((self.threshold - 1) * math.sqrt(self.radius / 2), 2 / 3)

    @property
    def c4(self) -> float:
        """An active stretch costs c4 L/lambda + 1: ``stretch`` times sqrt(c2), which is c1."""
        return self.c1

    @property
    def per_step(self) -> float:
        """Theorem 2: T (delta L)^(1/3) times this; ``stretch``/sqrt(c3) = (q/2)^(1/3) (theta + 1)/(theta - 1)^(1/3)."""
        return self.stretch / math.sqrt(self.c3)

    @property
    def per_step_and_gap(self) -> float:
        """Theorem 1 for a constant lambda: T delta^(2/3) L^(2/3)/lambda times this; 2 c4/c3."""
        return 2 * self.c4 / self.c3

    @property
    def confidence(self) -> float:
        """What ``SnoozeIt`` must be given to have this radius, if the threshold is the printed one: sqrt(q/8)."""
        return math.sqrt(self.radius / PRINTED_RADIUS)

    def largest_drift(self, horizon: int, *, shortest_window: bool = True) -> float:
        """The largest delta at which a snooze of one step is possible, for rewards in [0, 1].

        A test that passes with w pulls of each arm gives buf = (theta - 1) sqrt(q L/w)/(2 delta), and a snooze needs
        buf >= 2w + 1. Short windows are best. The paper's rule allows w >= c1 L; without that rule (no proof needs it)
        the test can pass from theta^2 q L on, where theta radii are 1.

        >>> round(Proof(8.0, 2.0).largest_drift(162_755), 8)
        9.623e-05
        """
        log_t = math.log(check_horizon(horizon))
        least = self.c1 if shortest_window else self.threshold**2 * self.radius
        w = max(1, math.ceil(least * log_t))
        return (self.threshold - 1) * math.sqrt(self.radius * log_t / w) / (2 * (2 * w + 1))


PRINTED = Proof(PRINTED_RADIUS, PRINTED_THRESHOLD)


def failure_bound(horizon: int, radius: float) -> float:
    """Claim 1 (good event) for the difference of both arms: the chance that some window leaves sqrt(q L/w), at most.

    By Hoeffding one difference of means of w pulls each fails with probability 2 T^(-q). Windows that end at t have w
    up to t/2 pulls, and either arm may have been pulled last: 4 T^(-q) times the number of (t, w).

    >>> round(failure_bound(1_000, 3.0), 6)
    0.001
    """
    T = check_horizon(horizon)
    return 4.0 * _windows(T) * math.pow(T, -radius)


def smallest_radius(horizon: int) -> float:
    """The least q for which the good event still fails with probability 2/T at most: about 3 - ln(2)/L.

    The paper's own count (T arms, T windows at each of T steps, each arm for itself) asks for r(w) = sqrt(2 L/w) for
    each arm, that is q = 8.

    >>> round(smallest_radius(162_755), 4), round(smallest_radius(10**12), 4)
    (2.9422, 2.9749)
    """
    T = check_horizon(horizon, 2)
    return math.log(2.0 * T * _windows(T)) / math.log(T)


def _windows(horizon: int) -> int:
    """How many (t, w) there are with 1 <= w <= t/2, t <= T."""
    return (horizon // 2) * ((horizon + 1) // 2)


def best_threshold(cost: Callable[[Proof], float], radius: float = PRINTED_RADIUS) -> float:
    """The theta in (1, 9] at which ``cost`` is least, by golden section; the costs here have one minimum.

    >>> round(best_threshold(lambda proof: proof.per_step), 6)
    2.0
    """
    return _least(lambda theta: cost(Proof(radius, theta)), 1 + 1e-9, 9.0)


class LowerRate(NamedTuple):
    """Theorem 3 with a bump of height eps = c/sqrt(m): T delta^(1/3) ``rate`` as delta falls."""

    bump: float
    rate: float


def lower_rate(bump: float, divergence: float) -> float:
    """The rate of Theorem 3 for a bump c, if kl(1/2, (1 + eps)/2) is at most ``divergence`` times eps^2.

    Pinsker: the less pulled arm's share is at most s = 1/2 + c sqrt(divergence)/2 with the bump, and the other arm's
    m (1 - s) pulls cost at least (eps/m) (m (1 - s))^2/4. The slope c m^(-3/2) <= delta allows m = (c/delta)^(2/3).

    >>> round(lower_rate(0.5, 1.0) * 128 / 2 ** (1 / 3), 9)
    1.0
    """
    other = max(0.0, 0.5 - bump * math.sqrt(divergence) / 2)
    return math.pow(bump, 2 / 3) * other**2 / 4


def best_lower_rate() -> LowerRate:
    """The best bump, with kl(1/2, (1 + eps)/2) = -ln(1 - eps^2)/2, which is eps^2/2 for small eps; the paper has eps^2.

    >>> best = best_lower_rate()
    >>> round(best.bump, 4), round(best.rate, 5)
    (0.3536, 0.01758)
    """
    bump = _least(lambda c: -lower_rate(c, 0.5), 0.0, math.sqrt(2))
    return LowerRate(bump, lower_rate(bump, 0.5))


class Price(NamedTuple):
    """One constant: as the paper prints it, as it must read to be true, and the best that the same proof allows."""

    result: str
    constant: str
    printed: float
    corrected: float
    best: float


def price_of_constants(horizon: int) -> list[Price]:
    """Every constant of the proofs, printed, corrected and best, at this horizon T.

    Corrected keeps the algorithm as printed. Best changes its radius to the smallest that the good event allows, which
    is ``SnoozeIt(..., confidence=sqrt(q/8))``. The printed threshold is the best one already: it makes the rate of
    Theorem 2, c6/c3 of Theorem 1 and the largest drift with w_min as good as they can be.

    >>> for row in price_of_constants(162_755)[:3]:
    ...     print(row.result, "|", row.constant, "|", row.printed, "|", row.corrected, "|", round(row.best, 2))
    Claim 1 (good event) | q | 8.0 | 8.0 | 2.94
    Definition 2 (betterness) | θ | 2.0 | 2.0 | 2.0
    Definition 2 (betterness) | c1 | 72.0 | 72.0 | 26.48
    """
    q = smallest_radius(horizon)
    best = Proof(q, best_threshold(lambda proof: proof.per_step, q))
    half = math.sqrt(2) / 2  # blocks of floor(x) whole steps: two stretches share the pulls of one
    lower = lower_rate(0.5, 1.0)  # the paper halves its sum too little: it has 1/64 for 1/128

    def same(result: str, constant: str, value: Callable[[Proof], float]) -> Price:
        return Price(result, constant, value(PRINTED), value(PRINTED), value(best))

    return [
        same("Claim 1 (good event)", "q", lambda proof: proof.radius),
        same("Definition 2 (betterness)", "θ", lambda proof: proof.threshold),
        same("Definition 2 (betterness)", "c1", lambda proof: proof.c1),
        same("Lemma 4 (episodic regret)", "6", lambda proof: proof.stretch),
        same("Lemma 4 (episodic regret)", "c4", lambda proof: proof.c4),
        same("Lemma 5 (gauge to lambda)", "c2", lambda proof: proof.c2),
        same("Lemma 7 (episode size)", "c3", lambda proof: proof.c3),
        Price("Theorem 1", "c6", 2 * PRINTED.c4, 2 * PRINTED.c4, 2 * best.c4 * half),
        Price("Theorem 1", "c6/c3", PRINTED.per_step_and_gap, PRINTED.per_step_and_gap, best.per_step_and_gap * half),
        same("Theorem 2", "3·2^(2/3)", lambda proof: proof.per_step),
        Price("Theorem 3", "T δ^(1/3)", 2 * lower, lower, best_lower_rate().rate),
        same("Largest drift", "with w_min", lambda proof: proof.largest_drift(horizon)),
        same("Largest drift", "without", lambda proof: proof.largest_drift(horizon, shortest_window=False)),
    ]


def _least(cost: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one minimum in [low, high] is least, by golden section."""
    step = (math.sqrt(5) - 1) / 2
    while high - low > 1e-10:
        left, right = high - step * (high - low), low + step * (high - low)
        low, high = (low, right) if cost(left) < cost(right) else (left, high)
    return (low + high) / 2
