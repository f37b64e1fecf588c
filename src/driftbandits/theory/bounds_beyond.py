"""Regret bounds for SnoozeItTight and SnoozeItK, and what a budget of total variation allows.

The proofs are in ``docs/proofs-beyond.md``. L is ln T throughout, and ``confidence`` is 1. All are offered by
``bounds``, as ``bounds.snoozeit_tight`` and so on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from driftbandits._common.checks import check_between, check_drift, check_horizon, check_whole
from driftbandits.errors import InputError
from driftbandits.theory.constants import PASS, RHO

SEEN = PASS + 1.0
"""While no test passes, the true mean difference of w pairs is at most so many radii: the test's and the noise's."""
SPLIT = (math.sqrt(7) - 1) / (12 - 4 * math.sqrt(7)) ** (2 / 3)
"""The most that (1 + s)/(1 + s^2)^(2/3) can be, at s = sqrt(7) - 2: two pieces of a spell, charged as one."""


class TightUpper(NamedTuple):
    """SnoozeItTight's bound, term by term; ``float()`` gives the total."""

    total: float
    per_step: float
    """The most that a step of any episode but the last costs on average, but for the terms below."""
    all_steps: float
    """T times ``per_step``."""
    last_episode: float
    """What the last episode can cost beyond that, because the horizon cuts it off."""
    episode_ends: float
    """1 for the last active step of every episode."""
    unequal_times: float
    """delta T/2: the arms are pulled one after the other, and move in between."""
    bad_event: float
    """T times the probability that some difference leaves its radius."""

    def __float__(self) -> float:
        return self.total


class ManyArmsUpper(NamedTuple):
    """SnoozeItK's bound, term by term; ``float()`` gives the total."""

    total: float
    pieces: float
    """What the pieces cost into which the arms' spells are cut; the leading term, of order T (K delta L)^(1/3)."""
    last_pieces: float
    """What one piece for each arm costs, because the horizon cuts it off."""
    piece_ends: float
    """Pulls at the ends of pieces that belong to no pair."""
    events: float
    """Steps with an event, at which the policy does not look at the other pairs."""
    unequal_times: float
    """delta K T: the arms of a pair are not pulled at the same time, and move in between."""
    bad_event: float
    """T times the probability that some difference leaves its radius."""

    def __float__(self) -> float:
        return self.total


def snoozeit_tight(horizon: int, drift: float) -> TightUpper:
    """SnoozeItTight's regret is bounded, whatever the instance of two arms with this drift limit. It is at most

    rho T + max over n <= T of (3.06 sqrt(n L) - rho n) + (T/(x - 1/2) + 1) + delta T/2 + 1/2,

    with rho = 2.5 (1.5 delta L)^(1/3) = 2.86 (delta L)^(1/3), 3.06 = 2.5 sqrt(1.5), and x = 1.08 (L/delta^2)^(1/3) the
    shortest episode. Theorem 2 has 4.76 in place of 2.86. An episode with active phase tau costs 1 + 3.06 sqrt(tau L)
    and lasts at least max(tau, tau/2 + sqrt(6 L/tau)/(4 delta) - 1/2) steps; the ratio is largest where no snooze is
    left, at tau = (1.5 L/delta^2)^(1/3). Where the means cross in an active phase a step costs 1.67 (delta L)^(1/3).

    >>> bound = snoozeit_tight(162_755, 1 / 4_800)
    >>> round(bound.total), round(bound.all_steps), round(bound.last_episode), round(bound.episode_ends, 1)
    (63537, 63215, 72, 232.1)
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    log_t = math.log(T)
    per_step = SEEN * (RHO / 2 * drift * log_t) ** (1 / 3)
    root = SEEN * math.sqrt(RHO / 2 * log_t)
    longest = min(float(T), (root / (2 * per_step)) ** 2) if per_step > 0 else float(T)
    last_episode = root * math.sqrt(longest) - per_step * longest
    shortest = 1.5 * (3 / 8 * log_t) ** (1 / 3) * drift ** (-2 / 3) - 0.5 if drift > 0 else math.inf
    episode_ends = T / max(1.0, shortest) + 1.0
    unequal_times, bad_event = drift * T / 2, 0.5
    total = T * per_step + last_episode + episode_ends + unequal_times + bad_event
    return TightUpper(total, per_step, T * per_step, last_episode, episode_ends, unequal_times, bad_event)


def snoozeit_k(horizon: int, drift: float, n_arms: int) -> ManyArmsUpper:
    """SnoozeItK's expected regret, whatever the instance of K arms with this drift limit, is O(T (K delta L)^(1/3)).

    With A = sqrt(3 L)/(4 delta) and M = K (T/max(1, A^(2/3) - 4) + 1), at most

    C sqrt(3 L) A^(-1/3) (T + 4 M)^(2/3) (K T + M)^(1/3) + 3 sqrt(3 L K min(T, K A^(2/3)))
        + 4 M + (M + K (K-1)/2 T/(2 A^2)^(1/3)) + delta K T + (K-1)/2,    C = 1.3046 (2.5 sqrt(2) + 0.5) = 5.26.

    The first term is 12.05 (K delta L)^(1/3) T as the drift gets small. The constant is not sharp. The order is that of
    the budgeted problem's lower bound for V = delta T, but for L. For A <= 8 the bound exceeds T. For two arms
    SnoozeItK is SnoozeItTight, and ``snoozeit_tight`` is much smaller. For drift = 0, 3 sqrt(3 L K T) and a few steps
    for each arm are left.

    >>> bound = snoozeit_k(10**7, 1e-8, 3)
    >>> round(bound.total), round(bound.pieces), round(bound.last_pieces), round(bound.events + bound.piece_ends)
    (981530, 946028, 34928, 573)
    """
    T, drift, K = check_horizon(horizon), check_drift(drift), check_whole("n_arms", n_arms, 2)
    log_t = math.log(T)
    unit = math.sqrt(RHO * log_t)
    # A: half a radius of w pairs allows a snooze of A/sqrt(w) steps. For T = 1 nothing is ever compared.
    allowance = unit / (4 * drift) if drift > 0 and T > 1 else math.inf
    shortest = max(1.0, allowance ** (2 / 3) - 4)
    M = K * (T / shortest + 1)
    cost = SPLIT * (SEEN * math.sqrt(2) + 0.5) * unit
    pieces = cost * allowance ** (-1 / 3) * (T + 4 * M) ** (2 / 3) * (K * T + M) ** (1 / 3)
    last_pieces = (SEEN + 0.5) * unit * math.sqrt(K * min(float(T), K * allowance ** (2 / 3)))
    restarts = K * (K - 1) / 2 * T / (2 ** (1 / 3) * allowance ** (2 / 3))
    piece_ends, events, unequal_times, bad_event = 4 * M, M + restarts, drift * K * T, (K - 1) / 2
    total = pieces + last_pieces + piece_ends + events + unequal_times + bad_event
    return ManyArmsUpper(total, pieces, last_pieces, piece_ends, events, unequal_times, bad_event)


def constant_best_arm(horizon: int, gaps: Sequence[float], variation: float = 0.0) -> float:
    """If one arm is best at all steps, the expected regret of SnoozeItK(T, drift=0) is O(sum over arms of L/gap).

    ``gaps`` has, for each other arm, the least gap to the best one over all steps; ``variation`` is the sum over steps
    of the largest move of any mean, V. With a^2 = 18.75 L the bound is the sum over the K - 1 gaps D of

    a s + V + 2.5,    s = (a + sqrt(a^2 + 4 V D))/(2 D), at most a^2/D + a sqrt(V/D) + V + 2.5.

    Told that nothing moves, the policy never takes a snooze back. That is right as long as no other arm becomes the
    best one, and the best one's mean moves by at most the least gap within any K - 1 steps: the two pulls of a pair are
    at different steps. See ``undetected_jump`` for why the best arm may not change. With two arms the policy is
    SnoozeItTight.

    >>> round(constant_best_arm(100_000, [0.5]), 2), round(constant_best_arm(100_000, [0.5, 0.1], variation=0.4), 2)
    (434.23, 2597.01)
    """
    T = check_horizon(horizon)
    check_between("variation", variation, 0.0, math.inf)
    try:
        gaps = list(gaps)
    except TypeError:
        gaps = []
    if not gaps:
        raise InputError("gaps must hold a number for each arm but the best, as in [0.5, 0.1]; got none")
    a = SEEN * math.sqrt(RHO * math.log(T))
    total = 0.0
    for gap in gaps:
        check_between("gap", gap, 5e-324, 1.0)  # above 0: a tie has no gap to find
        total += a * (a + math.sqrt(a * a + 4 * variation * gap)) / (2 * gap) + variation + 2.5
    return total


def undetected_jump(horizon: int, gap: float, regret: float) -> float:
    """Little regret while nothing happens means much when something does: for every policy, whatever it is told.

    Two arms with means 1/2 and 1/2 - gap cost the policy ``regret`` on average: it pulls the worse one N = regret/gap
    times. Then for some step s, on the instance in which that arm jumps to 1/2 + gap after s and stays there, it pays

    gap (q - N q (q + 1)/(2 (T - q + 1))) or more,    q = min(T, floor((T + 1)/(N + 1))).

    The product of the two is thus at least about T gap^2/2: with a total variation of 2 gap, an instance-dependent
    bound of order log T is impossible, however large the gap. A drift limit helps because it excludes jumps.

    >>> round(undetected_jump(162_755, 0.4, 500.0), 2)
    25.82
    """
    T = check_horizon(horizon)
    check_between("gap", gap, 5e-324, 0.5)
    check_between("regret", regret, 0.0, T * gap)
    pulls = regret / gap
    q = min(T, math.floor((T + 1) / (pulls + 1)))
    return gap * (q - pulls * q * (q + 1) / (2 * (T - q + 1)))
