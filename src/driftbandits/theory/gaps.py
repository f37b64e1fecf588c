"""The detectable gap: how large a gap the recent past can reveal at each step."""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_between, check_horizon, shown
from driftbandits._numba.compiled import loop
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance, check_always_there
from driftbandits.theory.constants import C0


class GapProfile(NamedTuple):
    """``gap[t-1]`` is lambda_t, and ``window[t-1]`` the steps behind it: 0 where no window detects anything."""

    gap: Array
    window: Array


def detectable_gap(means: Any, *, c0: float = C0, horizon: int | None = None) -> Array:
    """lambda_t of every step t = 1..T, shape (T,); ``means`` is an Instance or its (T, K) table. For two arms:

    lambda_t = sup{lambda in (0, 1] : |sum over the last w(lambda) steps of mu_1 - mu_2| >= lambda w(lambda)},
    w(lambda) = ceil(c0 L / lambda^2) <= t, L = ln T; and sqrt(c0 L / t), which may exceed 1, if there is no such
    lambda. ``horizon`` is T when the table holds only the first steps of a longer instance.

    Only whole windows matter. With c = c0 L, lambda has the window w if and only if sqrt(c/w) <= lambda and
    lambda < sqrt(c/(w-1)). So some lambda of window w is detected if and only if its smallest is: if
    S(w) = |sum over w steps| >= sqrt(c w), equality included. Shorter windows stand for larger lambdas, so the
    shortest such w >= ceil(c) decides, and lambda_t = min(1, S(w)/w, sqrt(c/(w-1))). The paper writes max. When the
    last of the three is the least, it is approached and not attained, since sqrt(c/(w-1)) itself has the window w - 1,
    which fails (for w = ceil(c) it is not the least: it exceeds 1). A window has one step at least: for T = 1, where
    L = 0, lambda_1 is the gap.

    Exact at a cost of O(log T) a step in practice, in memory proportional to T. For K > 2 arms, which the paper leaves
    out, it is the second smallest of the ``detectable_gaps`` of the arms: all arms but one can be seen to be worse than
    another by at least that much. For arms that stand still it is the gap, and for K = 2 it is the above.

    >>> from driftbandits import instances
    >>> detectable_gap(instances.stationary(100_000, (0.9, 0.3)))[[99, 999, -1]].round(4).tolist()
    [4.0717, 1.2876, 0.6]
    """
    instance = _instance(means)
    if instance.n_arms == 2:
        return gap_profile(instance, c0=c0, horizon=horizon).gap
    gaps: Array = np.partition(detectable_gaps(instance, c0=c0, horizon=horizon), 1, axis=1)[:, 1]
    return gaps


def detectable_gaps(means: Any, *, c0: float = C0, horizon: int | None = None) -> Array:
    """How much worse than another arm each arm x can be seen to be: lambda_t(x), shape (T, K), for K >= 2 arms.

    lambda_t(x) = sup{lambda in (0, 1] : for some arm y the sum over the last w(lambda) steps of mu_y - mu_x is at
    least lambda w(lambda)}, w(lambda) = ceil((K/2) c0 L / lambda^2) <= t; and sqrt((K/2) c0 L / t) where there is none.
    A window is K/2 times as long as with two arms, since arms pulled in turn are pulled so much less often. For K = 2
    the larger of the two is lambda_t. The best arm's is small: nothing shows that it is worse.

    With c0 = 37.5 it says when SnoozeItK's test must pass while all arms are active; see ``docs/proofs-beyond.md``.
    The cost is that of ``detectable_gap`` for each of the K (K - 1) ordered pairs.

    >>> from driftbandits import instances
    >>> detectable_gaps(instances.stationary(100_000, (0.9, 0.3, 0.7)))[-1].round(4).tolist()
    [0.1577, 0.6, 0.2]
    """
    table = _instance(means).means
    c, shortest = _scale(table, c0 * table.shape[1] / 2, horizon)
    found = np.zeros(table.shape)
    for x, y in itertools.permutations(range(table.shape[1]), 2):
        lead = np.ascontiguousarray(table[:, y] - table[:, x])
        np.maximum(found[:, x], _profile(lead, c, shortest, False)[0], out=found[:, x])
    return found


def gap_profile(means: Any, *, c0: float = C0, horizon: int | None = None) -> GapProfile:
    """lambda_t and the window that decides it, for every step; see ``detectable_gap``.

    >>> from driftbandits import instances
    >>> gap_profile(instances.stationary(100_000, (0.9, 0.3))).window[[99, 999, -1]].tolist()
    [0, 0, 4606]
    """
    table = two_arms(means).means
    c, shortest = _scale(table, c0, horizon)
    return GapProfile(*_profile(np.ascontiguousarray(table[:, 0] - table[:, 1]), c, shortest, True))


def lasting_gap(means: Any, budget: float) -> float:
    """The gap that no budget of total variation can undo: the largest gap of two arms at any step less 2 budget, or 0.

    If means move by no more than ``budget`` in all (the sum over steps of the larger of the two moves), the gap at one
    step is within 2 budget of that at any other. So where this is positive the same arm is best at all steps, the gap
    is never smaller, and ``bounds.constant_best_arm`` applies. Where it is 0, ``bounds.undetected_jump`` does.

    >>> from driftbandits import instances
    >>> round(lasting_gap(instances.stationary(1_000, (0.9, 0.3)), budget=0.2), 3)
    0.2
    """
    check_between("budget", budget, 0.0, math.inf)
    table = two_arms(means).means
    return max(0.0, float(np.abs(table[:, 0] - table[:, 1]).max()) - 2 * budget)


def two_arms(means: Any) -> Instance:
    """An Instance of exactly two arms, from itself or from its table."""
    instance = _instance(means)
    if instance.n_arms != 2:
        raise InputError(f"this is defined for 2 arms; these means have {instance.n_arms}")
    return instance


def _instance(means: Any) -> Instance:
    if isinstance(means, Instance):
        return check_always_there(means, "the theory of detectable gaps").rescaled()
    return Instance(getattr(means, "means", means)).rescaled()


def _scale(table: Array, c0: float, horizon: int | None) -> tuple[float, int]:
    """c = c0 L, and the shortest window that any lambda <= 1 has."""
    T = len(table) if horizon is None else check_horizon(horizon, len(table))
    if not 0 < c0 < math.inf:
        raise InputError(f"c0 must be positive and finite; got {shown(c0)}")
    c = c0 * math.log(T)
    return c, max(1, math.ceil(min(c, len(table) + 1.0)))  # longer than the table: never used


# S(w) = |G_t - G_(t-w)|, G the sums so far; if not for both directions, G_t - G_(t-w). A block of neighbouring starts
# t - w cannot hold a passing one when even the largest and the smallest G of the block lie too close to G_t for the
# block's shortest window. Blocks of 2^level starts have their extremes stored; the search goes back in time, skips a
# block that cannot pass and then tries one twice as long, and halves a block that might pass. Rounded subtraction,
# product and root are all monotone, so a block is skipped only if every window in it fails the same rounded comparison:
# the answer is that of trying all windows.


@loop
def _profile(differences: Array, c: float, shortest: int, both: bool) -> tuple[Array, Array]:
    T = len(differences)
    gap, window = np.empty(T), np.zeros(T, np.int64)
    lows, highs, offsets = _extremes(_sums(differences))
    for t in range(1, T + 1):
        now = lows[t]
        start, level = t - shortest, 0  # the block in question ends at start
        while start >= 0:
            block = start >> level
            at = offsets[level] + block
            most = max(highs[at] - now, now - lows[at]) if both else now - lows[at]
            if most < math.sqrt(c * (t - start)):
                start -= 1 << level
                level += 1 - (block & 1)  # the double block ends here only if this one was the first of its pair
            elif level > 0:
                level -= 1
            else:
                window[t - 1] = t - start
                break
        w = window[t - 1]
        if w == 0:
            gap[t - 1] = math.sqrt(c / t)
        else:
            cap = 1.0 if w == shortest else math.sqrt(c / (w - 1))
            gap[t - 1] = min(cap, abs(now - lows[t - w]) / w)
    return gap, window


@loop
def _sums(differences: Array) -> Array:
    """G_0 .. G_T, summed with Kahan's correction: rounding does not grow with t."""
    sums = np.zeros(len(differences) + 1)
    lost = 0.0
    for t in range(len(differences)):
        term = differences[t] - lost
        sums[t + 1] = sums[t] + term
        lost = (sums[t + 1] - sums[t]) - term
    return sums


@loop
def _extremes(sums: Array) -> tuple[Array, Array, Array]:
    """The least and the greatest sum of every block, level after level, and where each level begins."""
    n = len(sums)
    lows, highs = np.empty(2 * n), np.empty(2 * n)
    lows[:n] = sums
    highs[:n] = sums
    offsets = np.zeros(64, np.int64)
    level, length = 0, n
    while length > 1:
        here, above = offsets[level], offsets[level] + length
        length //= 2
        for block in range(length):
            left, right = here + 2 * block, here + 2 * block + 1
            lows[above + block] = min(lows[left], lows[right])
            highs[above + block] = max(highs[left], highs[right])
        level += 1
        offsets[level] = above
    return lows, highs, offsets
