"""The likelihood ratio of every split of an arm's rewards in two, exactly, without testing every split.

Let F(n, S) be the largest log-likelihood of n rewards that sum to S, up to terms that cancel. The statistic of split s
after n pulls is G_n(s) = F(s, S_s) + F(n-s, S_n - S_s) - F(n, S_n), and F is the perspective of a convex function: it
is convex in (n, S), and F(a + b) <= F(a) + F(b). So G_n is convex in the point (s, S_s), its maximum over s lies at a
vertex of the convex hull of these points, and one test of the vertices stays valid for a while.
"""

from __future__ import annotations

import math
from typing import Any

from driftbandits.policies.base import Records

GUARD = 1e-9
"""Relative slack of the shortcut below, far above rounding: it may look once too often, never once too rarely."""


def fit(gaussian: bool, count: int, total: float) -> float:
    """F(count, total)."""
    if gaussian:
        return 2.0 * total * total / count
    if total / count <= 0.0 or total >= count:  # a quotient so small that it is 0 has no logarithm
        return 0.0
    return total * math.log(total / count) + (count - total) * math.log((count - total) / count)


def may_pass(gaussian: bool, pulled: Any) -> bool:
    """Whether some split may pass now, judged in O(1) from the last look, which was after m pulls.

    For s <= m, F(n-s, .) <= F(m-s, .) + F(n-m, .) gives G_n(s) <= G_m(s) + G_n(m). For s > m likewise
    G_n(s) <= G_n(m) + (G of the last n-m rewards alone), and that is at most the sum of their F(1, X) less F(n-m, .).
    The threshold only grows with n, so that of the last look will do.
    """
    whole = fit(gaussian, pulled.count, pulled.total)
    recent = fit(gaussian, pulled.count - pulled.looked, pulled.total - pulled.looked_total)
    bound = pulled.looked_fit + recent - whole + max(pulled.largest, pulled.alone - recent)
    return bound >= pulled.level - GUARD * (1.0 + abs(whole))  # type: ignore[no-any-return]


def look(run: Any, pulled: Any, vertices: Records) -> float:
    """The largest statistic of any split, from the vertices of both hulls; remembered for the next ``may_pass``."""
    whole, largest = fit(run.gaussian, pulled.count, pulled.total), 0.0
    for top in (pulled.lower, pulled.upper):
        point = top
        while point >= 0:
            left, total = vertices[point].count, vertices[point].total
            parts = fit(run.gaussian, left, total) + fit(run.gaussian, pulled.count - left, pulled.total - total)
            largest = max(largest, parts - whole)
            point = vertices[point].below
    pulled.looked = pulled.count
    pulled.looked_total = pulled.total
    pulled.looked_fit = whole
    pulled.largest = largest
    pulled.alone = 0.0
    pulled.level = run.first_level + 1.5 * math.log(pulled.count)
    return largest
