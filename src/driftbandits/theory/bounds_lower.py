"""Theorem 3 for every drift limit: what the worst instance costs any policy. Proved in docs/proofs.md."""

from __future__ import annotations

import math
from typing import NamedTuple

from driftbandits._common.checks import check_drift, check_horizon
from driftbandits.theory.lower import block_length, bump_regret, hidden_arm

BEST_BLOCK = 24
"""Of all m, bump_regret(m)/m is largest here: the derivative of m^(-1/2) - 8 m^(-3/2) is 0 at m = 24."""


class MinimaxLower(NamedTuple):
    """Theorem 3: three lower bounds for the same drift limit; ``float()`` gives the largest."""

    total: float
    """The largest of the three."""
    bumps: float
    """The paper's construction: blocks with a triangular bump on one arm each. 0 if no block fits."""
    constant_gap: float
    """One arm is better throughout, by a gap that T steps hardly reveal: at least sqrt(T)/14."""
    coin_flips: float
    """delta T/2: at each step a fair coin decides which arm is better by delta."""
    blocks: int
    """How many blocks with bumps there are; 0 if none fits."""
    block_length: float
    """T/``blocks``. Each block has that many steps, rounded up or down. Infinite if none fits."""

    def __float__(self) -> float:
        return self.total


def minimax_lower(horizon: int, drift: float) -> MinimaxLower:
    """Return Theorem 3: for every policy, some instance with this drift limit costs at least so much.

    Parameters
    ----------
    horizon : int
        The number of steps T.
    drift : float
        The drift limit delta, in [0, 1].

    Returns
    -------
    MinimaxLower
        The bound and its parts. It never falls as delta or T grows. It is at least sqrt(T)/14 and at least
        T delta^(1/3)/130.

    See Also
    --------
    minimax_upper : Theorem 2, for SnoozeIt.
    budget_lower : the same for a budget of total variation.

    Notes
    -----
    The bound is the largest of three, for three kinds of instances.

    1. Bumps. There are n = floor(T/m) blocks, m = max(24, ceil((2 delta)^(-2/3))). Each has floor(T/n) or ceil(T/n)
       steps. In a block of k steps one arm, drawn by a fair coin, has a bump of slope 1/(2 k^(3/2)) <= delta. That
       costs (sqrt(k) - 8/sqrt(k))/128.
    2. A constant gap. One arm, drawn by a fair coin, is better throughout by 1/sqrt(8 T). That costs at least
       sqrt(T)/14, for delta = 0 too.
    3. Coin flips. The means are 1/2 + delta/2 and 1/2 - delta/2, exchanged at each step or not by a fair coin. That
       costs delta T/2.

    The paper has only the first, for all delta > 0. Corrected: its block costs 1/128 and not 1/64. Its last step
    concludes from sqrt(m) >= (2 delta)^(-1/3), which bounds T/sqrt(m) from above; the step needs the smallest m that
    the drift limit allows. For (2 delta)^(-2/3) < 8 its block bound is negative, and for m > T no block fits.

    The family ``instances.lower_bound`` draws each block's bump from three cases, one of them no bump. Averaged over
    seeds it costs two thirds of floor(T/m) (sqrt(m) - 8/sqrt(m))/128 or more, m = ceil((2 delta)^(-2/3)).

    References
    ----------
    R. Krishnamurthy, A. Gopalan, "On Slowly-varying Non-stationary Bandits", 2021, Theorem 3 and appendix C.

    Examples
    --------
    >>> bound = minimax_lower(162_755, 1 / 48_000)
    >>> bound.blocks, round(bound.bumps, 2), round(bound.constant_gap, 2), round(bound.coin_flips, 2)
    (195, 43.59, 35.66, 1.7)
    >>> round(minimax_lower(162_755, 0.0).total, 2), minimax_lower(162_755, 1.0).total
    (35.66, 81377.5)
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    blocks = T // max(BEST_BLOCK, block_length(drift)) if drift > 0 else 0
    bumps = 0.0
    if blocks > 0:
        steps, longer = divmod(T, blocks)
        bumps = (blocks - longer) * bump_regret(steps) + longer * bump_regret(steps + 1)
    constant_gap, coin_flips = hidden_arm(T).regret, drift * T / 2
    total = max(bumps, constant_gap, coin_flips)
    return MinimaxLower(total, bumps, constant_gap, coin_flips, blocks, T / blocks if blocks else math.inf)
