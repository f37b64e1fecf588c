"""Besbes, Gur and Zeevi's bounds for a budget of total variation, with constants. Proved in docs/proofs.md."""

from __future__ import annotations

import math

from driftbandits._common.checks import check_between, check_horizon, check_whole
from driftbandits.theory.lower import hidden_arm

LARGEST_GAP = 0.375
"""Up to here a block costs the more per step, the larger its gap g is: g - sqrt(kl(1/2, 1/2 + g)/8) rises."""


def budget_upper(horizon: int, variation: float, n_arms: int = 2) -> float:
    """Return what Rexp3 costs at most if the means' total variation is limited.

    Parameters
    ----------
    horizon : int
        The number of steps T.
    variation : float
        The budget V_T: the sum over steps of the largest move of any mean. A drift limit delta gives delta T at most.
    n_arms : int
        The number of arms K. Default: 2.

    Returns
    -------
    float
        The bound. For many long batches it is about 4.62 (K ln K V_T)^(1/3) T^(2/3).

    See Also
    --------
    budget_lower : what every policy costs at least.
    minimax_upper : Theorem 2, for SnoozeIt and a drift limit.

    Notes
    -----
    Rexp3 restarts Exp3 every Delta = ceil((K ln K)^(1/3) (T/V_T)^(2/3)) steps, at most T, with gamma =
    min(1, sqrt(K ln K/((e - 1) Delta))). Rewards lie in [0, 1]. The bound is

    (e - 1) gamma T + ceil(T/Delta) K ln K/gamma + 2 V_T Delta.

    The first two terms are Exp3's bound, summed over batches. The last one is what the best fixed arm of each batch
    loses to the best arm of each step.

    Besbes et al. state the order, C (K ln K V_T)^(1/3) T^(2/3) with an absolute constant C (their Theorem 2). We quote
    it from memory. The constants here are derived, from Exp3's published bound, in ``docs/proofs.md``. There is no
    ln T: for V_T = delta T and two arms the bound is about 5.15 delta^(1/3) T, where Theorem 2 for SnoozeIt has
    4.76 (delta ln T)^(1/3) T.

    References
    ----------
    O. Besbes, Y. Gur, A. Zeevi, "Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards", NeurIPS 2014.

    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The Nonstochastic Multiarmed Bandit Problem", SIAM Journal on
    Computing 32, 2002, Theorem 3.1.

    Examples
    --------
    >>> round(budget_upper(162_755, 162_755 / 4_800))
    49743
    """
    T, K = check_horizon(horizon), check_whole("n_arms", n_arms, 2)
    check_between("variation", variation, 0.0, math.inf)
    spread = K * math.log(K)
    batch = T if variation == 0 else math.ceil(min(T, spread ** (1 / 3) * (T / variation) ** (2 / 3)))
    gamma = min(1.0, math.sqrt(spread / ((math.e - 1) * batch)))
    return (math.e - 1) * gamma * T + math.ceil(T / batch) * spread / gamma + 2 * variation * batch


def budget_lower(horizon: int, variation: float, n_arms: int = 2) -> float:
    """Return what every policy costs at least, on some instance whose total variation is within the budget.

    Parameters
    ----------
    horizon : int
        The number of steps T.
    variation : float
        The budget V_T: the sum over steps of the largest move of any mean.
    n_arms : int
        The number of arms K. Default: 2.

    Returns
    -------
    float
        The bound. It never falls as V_T or T grows.

    See Also
    --------
    budget_upper : what Rexp3 costs at most.
    minimax_lower : Theorem 3, for means that may not jump.

    Notes
    -----
    The bound is the larger of two.

    1. There are n blocks of floor(T/n) or ceil(T/n) steps. In a block of k steps one arm, drawn at random, is better
       than the others by (1 - 1/K)/2 sqrt(K/k). The next draw moves no mean by more than that. So n is the largest
       number of blocks that the budget allows, with gaps of at most 3/8.
    2. At each step one arm, drawn at random, is better than the others by min(1, V_T/T). That costs
       (1 - 1/K) min(V_T, T).

    Besbes et al. have the first construction, and C (K V_T)^(1/3) T^(2/3) with an absolute constant C for
    1/K <= V_T <= T/K (their Theorem 1). We quote it from memory; their constant could not be checked. The constants
    here are derived in ``docs/proofs.md``. For two arms, many blocks and small V_T/T the bound is about
    V_T^(1/3) T^(2/3)/8.

    References
    ----------
    O. Besbes, Y. Gur, A. Zeevi, "Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards", NeurIPS 2014.

    Examples
    --------
    >>> round(budget_lower(162_755, 162_755 / 4_800)), round(budget_lower(162_755, 0.0), 2)
    (1204, 35.66)
    """
    T, K = check_horizon(horizon), check_whole("n_arms", n_arms, 2)
    check_between("variation", variation, 0.0, math.inf)
    blocks, beyond = 1, T + 1
    while beyond - blocks > 1:
        middle = (blocks + beyond) // 2
        gap = hidden_arm(T // middle, K).gap
        fits = gap <= LARGEST_GAP and (middle - 1) * gap <= variation
        blocks, beyond = (middle, beyond) if fits else (blocks, middle)
    steps, longer = divmod(T, blocks)
    hidden = (blocks - longer) * hidden_arm(steps, K).regret + longer * hidden_arm(steps + 1, K).regret
    return max(hidden, (1 - 1 / K) * min(variation, float(T)))
