"""The break-even index for Gaussian random walks whose two variances are known: formulas, and two simulations.

The mathematics is in docs/proofs-neglect.md. The noise variance is 1 here, so the step variance is kappa, and an arm's
posterior is N(m, c). Its index is m + sqrt(c) x, where x = h f(x), h = scale (c / c*)^power, and c* is the c of an
arm that is pulled at every step.

Run as a program, it prints the table of that page in about two minutes, most of them in its last row:
python tests/support/neglect.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

SCALE = 3.0
"""B in docs/proofs-neglect.md."""
VARIANCE = 0.1
"""Prior variance of the means in the table; its horizon is VARIANCE / kappa."""


def gain(u: Any) -> Any:
    """f(u) = E (Z - u)^+ for a standard normal Z."""
    return np.exp(-u * u / 2) / math.sqrt(2 * math.pi) - u * ndtr(-u)


def settled(kappa: float) -> float:
    """c*, for which c / (1 + c) + kappa = c."""
    return (kappa + math.sqrt(kappa * kappa + 4 * kappa)) / 2


def solve(h: float, x: float = 0.0) -> float:
    """The root of x = h f(x), by Newton's method from x."""
    while True:
        tail = math.erfc(x / math.sqrt(2)) / 2
        step = (h * math.exp(-x * x / 2) / math.sqrt(2 * math.pi) - x * h * tail - x) / (1 + h * tail)
        x += step
        if abs(step) < 1e-12:
            return x


def excess(p: float, scale: float = SCALE, power: int = 1) -> float:
    """G(p) = sqrt(p) x(p): the index minus the estimate, as a multiple of sqrt(c*), for c = p c*."""
    return math.sqrt(p) * solve(scale * p**power)


def ratio(behind: float) -> float:
    """The p at which G(p) = behind."""
    return float(brentq(lambda p: excess(p) - behind, 1e-9, 1e9, xtol=1e-13, rtol=1e-14))


def return_variance(kappa: float, gap: float) -> float:
    """The c at which an arm is pulled again whose estimate is that much lower than a leader's with c = c*."""
    star = settled(kappa)
    return star * ratio(gap / math.sqrt(star) + excess(1.0))


def first_absence(kappa: float, gap: float) -> float:
    """Steps between the first pulls of the worse arm, before rounding up, if its c was c*."""
    return 1 + (return_variance(kappa, gap) - settled(kappa)) / kappa


def later_absence(kappa: float, gap: float) -> float:
    """The same for every later pull."""
    w = return_variance(kappa, gap)
    return w * w / (1 + w) / kappa


class Absence(NamedTuple):
    """Steps from one pull of an arm to its next."""

    steps: int
    variance: float
    """c at the first of the two pulls."""
    least: float
    """The least that the largest other index exceeded the arm's estimate by, in the steps of the absence."""
    most: float


def play(
    kappa: float, estimates: list[float], reward: Callable[[int, float], float], steps: int
) -> list[list[Absence]]:
    """Return the absences of each arm when arms are pulled by the index.

    Before the first step every arm has c = c*, as if all had just been pulled. ``reward(arm, estimate)`` is the reward
    of a pull.
    """
    star, arms = settled(kappa), range(len(estimates))
    m, c, x = list(estimates), [star] * len(estimates), [0.0] * len(estimates)
    since, before = [-1] * len(estimates), [star] * len(estimates)
    least, most = [math.inf] * len(estimates), [-math.inf] * len(estimates)
    found: list[list[Absence]] = [[] for _ in arms]
    for step in range(steps):
        x = [solve(SCALE * c[i] / star, x[i]) for i in arms]
        index = [m[i] + math.sqrt(c[i]) * x[i] for i in arms]
        for i in arms:
            behind = max(index[j] for j in arms if j != i) - m[i]
            least[i], most[i] = min(least[i], behind), max(most[i], behind)
        pulled = index.index(max(index))
        found[pulled].append(Absence(step - since[pulled], before[pulled], least[pulled], most[pulled]))
        since[pulled], before[pulled], least[pulled], most[pulled] = step, c[pulled], math.inf, -math.inf
        c[pulled] /= 1 + c[pulled]
        m[pulled] += c[pulled] * (reward(pulled, m[pulled]) - m[pulled])
        c = [each + kappa for each in c]
    return found


def density(kappa: float, steps: Any) -> Any:
    """The density at 0 of the difference of two means, that many steps after the first."""
    return 1 / np.sqrt(4 * math.pi * (VARIANCE + kappa * steps))


def regret_with_both_seen(kappa: float, horizon: int) -> np.ndarray[Any, Any]:
    """The least expected regret at each step if every policy sees the rewards of both arms: nobody has less."""
    c, variances = VARIANCE, np.empty(horizon)
    for step in range(horizon):
        variances[step] = c
        c = c / (1 + c) + kappa
    prior = VARIANCE + kappa * np.arange(horizon)
    correlation = np.sqrt(1 - variances / prior)
    return np.asarray(np.sqrt(2 * prior) * (1 - correlation) / math.sqrt(2 * math.pi))


def regret_of_index(
    kappa: float, power: int, scale: float, runs: int, every: int, seed: int = 1
) -> np.ndarray[Any, Any]:
    """For each run the regret of the index over its mean unit, sqrt(kappa) density(t), in the last 3/4 of the horizon.

    Beliefs are simulated, not means: under the model an estimate moves by N(0, c^2 / (1 + c)) at a pull, and the
    regret expected of a step is sqrt(c_1 + c_2) f(lead / sqrt(c_1 + c_2)). It is added up at every ``every``-th step.
    """
    rng, star, horizon = np.random.default_rng(seed), settled(kappa), round(VARIANCE / kappa)
    x = np.linspace(1e-3, 12, 20_000)
    p = (x / gain(x) / scale) ** (1 / power)
    grid = np.arange(-0.02, math.log(2 * VARIANCE / star) + 0.02, 0.01)
    table = math.sqrt(star) * np.interp(grid, np.log(p), np.sqrt(p) * x)
    c, lead, each = np.full((2, runs), VARIANCE), np.zeros(runs), np.arange(runs)
    total, units = np.zeros(runs), 0.0
    for step in range(horizon):
        above = np.interp(np.log(c / star), grid, table)
        arm = (lead + above[0] < above[1]).astype(np.intp)
        sign = 1 - 2 * arm
        if step >= horizon // 4 and step % every == 0:
            deviation = np.sqrt(c[0] + c[1])
            total += deviation * gain(sign * lead / deviation)
            units += math.sqrt(kappa) * float(density(kappa, step))
        before = c[arm, each]
        after = before / (1 + before)
        lead += sign * np.sqrt(before * after) * rng.standard_normal(runs)
        c[arm, each] = after
        c += kappa
    return total / units


ROWS = ((1e-4, 8_000, 1), (1e-5, 4_000, 3), (1e-6, 2_000, 10), (1e-7, 1_000, 30))
"""kappa, runs, and how often regret is measured."""


def row(kappa: float, runs: int, every: int) -> str:
    horizon = round(VARIANCE / kappa)
    late = np.arange(horizon // 4, horizon)
    both = regret_with_both_seen(kappa, horizon)[late].sum() / (math.sqrt(kappa) * density(kappa, late)).sum()
    cells = [f"{both:.2f}"]
    for power, scale in ((1, SCALE), (2, 0.5)):
        found = regret_of_index(kappa, power, scale, runs, every)
        cells.append(f"{found.mean():.2f} ± {2 * found.std() / math.sqrt(runs):.2f}")
    return f"| 10^−{round(-math.log10(kappa))} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print("| κ | both seen | h = 3p | h = p²/2 |\n|---|--:|--:|--:|")
    for settings in ROWS:
        print(row(*settings), flush=True)
