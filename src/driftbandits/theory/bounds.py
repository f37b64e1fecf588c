"""The paper's bounds on regret as numbers, with every constant written out. L is ln T throughout.

They hold for both printed forms of SnoozeIt, ``original`` (Algorithm 1) and ``modified`` (Algorithm 2). Proofs, and the
corrections to the paper's, are in docs/proofs.md. Lemmas have the numbers of the compiled paper, where lemmas and
claims are counted together. Ends of snoozes are rounded down; the paper's condition t >= s rounds them up. This is our
choice, and floor(x) below follows from it. It is no correction.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import LARGEST_CONFIDENCE, check_drift, check_factor, check_horizon, shown
from driftbandits._common.notebook import html_table
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.theory.bounds_beyond import ManyArmsUpper as ManyArmsUpper
from driftbandits.theory.bounds_beyond import TightUpper as TightUpper
from driftbandits.theory.bounds_beyond import constant_best_arm as constant_best_arm
from driftbandits.theory.bounds_beyond import snoozeit_k as snoozeit_k
from driftbandits.theory.bounds_beyond import snoozeit_tight as snoozeit_tight
from driftbandits.theory.bounds_beyond import undetected_jump as undetected_jump
from driftbandits.theory.bounds_budget import budget_lower as budget_lower
from driftbandits.theory.bounds_budget import budget_upper as budget_upper
from driftbandits.theory.bounds_lower import MinimaxLower as MinimaxLower
from driftbandits.theory.bounds_lower import minimax_lower as minimax_lower
from driftbandits.theory.constants import C2, C3, C6, C7, C8
from driftbandits.theory.gaps import detectable_gap, two_arms


class InstanceBound(NamedTuple):
    """Theorem 1, term by term; ``float()`` gives the total."""

    total: float
    edges: Array
    """Block j = 0..m-1 holds the steps edges[j] + 1 .. edges[j+1]."""
    lambda_min: Array
    """The least detectable gap of each block, shape (m,)."""
    per_block: Array
    """c6 L / lambda_min of each block, shape (m,)."""
    episode_ends: float
    """c7 m: the last active step of each of at most two episodes a block."""
    bad_event: float
    """c8: what the failures of the good event cost on average."""

    def __float__(self) -> float:
        return self.total

    def __repr__(self) -> str:
        return f"<InstanceBound {self.total:,.0f}: {', '.join(f'{what} {cost:,.0f}' for what, cost in self._terms())}>"

    def _repr_html_(self) -> str:
        rows = [(what, f"{cost:,.0f}") for what, cost in [*self._terms(), ("total", self.total)]]
        gaps = f"least detectable gap of a block: {self.lambda_min.min():.3g} to {self.lambda_min.max():.3g}"
        return html_table(["term", "regret"], rows, "Theorem 1: expected regret is at most", gaps)

    def _terms(self) -> list[tuple[str, float]]:
        blocks = f"{len(self.per_block):,} block{'s' * (len(self.per_block) > 1)}"
        ends = ("ends of episodes", self.episode_ends)
        return [(blocks, float(self.per_block.sum())), ends, ("bad event", self.bad_event)]


class MinimaxUpper(NamedTuple):
    """Theorem 2, term by term; ``float()`` gives the total."""

    total: float
    per_step: float
    """The most that a step of any episode but the last costs on average."""
    all_steps: float
    """T times ``per_step``."""
    last_episode: float
    """What the last episode can cost beyond that, because the horizon cuts its snooze off."""
    episode_ends: float
    """1 for the last active step of every episode."""
    bad_event: float
    """c8: what the failures of the good event cost on average."""

    def __float__(self) -> float:
        return self.total


class RegretPerStep(NamedTuple):
    """The two curves of appendix B over an episode's duration."""

    snoozed: Any
    not_snoozed: Any


def instance_dependent(means: Any, drift: float) -> InstanceBound:
    """Theorem 1: SnoozeIt's expected regret is at most c8 + sum over blocks j of (c6 L / lambda_min(j) + c7).

    Time is cut into m = ceil(T/tau) blocks ((j-1) tau, j tau], tau = min(T, c3 delta^(-2/3) L^(1/3)) the shortest
    episode; lambda_min(j) is the least detectable gap of block j; c6 = 144, c7 = c8 = 2. For delta = 0 one block is
    all of time, and the bound is at most 4 + 144 L / gap when the gap is constant.

    Corrected: the paper adds c7 once, though its proof needs it once a block; its m is not rounded up; its blocks
    [(j-1) tau + 1, j tau] lose a step wherever tau is not whole. It charges whole episodes to blocks, by Claim 8 (block
    regret), which is false: see the wave in docs/proofs.md. The corrected proof counts what is paid within each block:
    two active stretches of 72 L/lambda + 1 each, or ``crossed_block_regret`` if the best arm changes within the block,
    which is far less. ``drift`` must cover the instance's own drift.

    >>> from driftbandits import instances
    >>> bound = instance_dependent(instances.separated(), 1 / 48_000)
    >>> round(bound.total), len(bound.per_block), bound.episode_ends, bound.bad_event
    (101648, 34, 68.0, 2.0)
    """
    table = two_arms(means).means
    Instance(table, drift=drift)  # the theorem says nothing of means that move faster
    T = len(table)
    block = max(1.0, min(float(T), shortest_episode(T, drift)))
    edges = np.unique(np.append(np.floor(block * np.arange(math.ceil(T / block))), T)).astype(np.int64)
    lambda_min = np.minimum.reduceat(detectable_gap(table), edges[:-1])
    per_block = C6 * math.log(T) / lambda_min if T > 1 else np.zeros(1)  # L = 0: nothing to learn in one step
    episode_ends = C7 * len(per_block)
    total = float(per_block.sum()) + episode_ends + C8
    return InstanceBound(total, edges, lambda_min, per_block, episode_ends, C8)


def minimax_upper(horizon: int, drift: float) -> MinimaxUpper:
    """Theorem 2: whatever the instance, SnoozeIt's expected regret is O(T (delta L)^(1/3)). With constants, at most

    3 * 2^(2/3) (delta L)^(1/3) T + 6 sqrt(min(T, x) L) + (T/floor(x) + 1) + 2, with x = c3 delta^(-2/3) L^(1/3).

    An episode with active phase tau costs 1 + 6 sqrt(tau L) and lasts max(tau, (2/delta) sqrt(L/tau)) steps. The
    ratio is largest at tau = x, where both of the paper's cases give 3 * 2^(2/3) = 6 / 2^(1/3) times (delta L)^(1/3).

    Corrected: the horizon may cut the last snooze off, so the last episode need not last that long and pays
    6 sqrt(min(T, x) L) of its own, a term the paper leaves out: without it the bound would be 3 for delta = 0, where
    it is 6 sqrt(T L) + 3. Corollary 1 lacks the 1 of the last episode. (x is rounded down because we round the ends of
    snoozes down.) Algorithm 2's episodes last tau - 2w + buf(2w) >= max(tau, buf(tau)) steps, so the bound is theirs
    too. Where the best arm changes within an active phase, Lemma 4 (episodic regret) holds for each stretch between two
    changes, and ``crossing_stretch_regret`` too: the smaller of both is below the rate above for every length of the
    stretch.

    >>> bound = minimax_upper(162_755, 1 / 48_000)
    >>> round(bound.total), round(bound.all_steps), round(bound.last_episode), round(bound.episode_ends, 1)
    (50303, 48827, 1440, 34.9)
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    log_t = math.log(T)
    per_step = 3 * C3 * (drift * log_t) ** (1 / 3)
    last_episode = 6 * math.sqrt(min(T, shortest_episode(T, drift)) * log_t)
    episode_ends = most_episodes(T, drift)
    total = T * per_step + last_episode + episode_ends + C8
    return MinimaxUpper(total, per_step, T * per_step, last_episode, episode_ends, C8)


def shortest_episode(horizon: int, drift: float) -> float:
    """Lemma 7 (episode size): every episode but the last lasts x = c3 delta^(-2/3) L^(1/3) steps, c3 = 2^(2/3).

    An episode lasts max(tau, buf(tau)) or longer, buf = (2/delta) sqrt(L/tau), which is least where the two are equal.
    With our rounding an episode may last floor(x) steps only. For delta = 0 x is infinite: the first snooze never ends.

    >>> round(shortest_episode(162_755, 1 / 4_800), 2)
    1034.13
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    return C3 * math.log(T) ** (1 / 3) * drift ** (-2 / 3) if drift > 0 else math.inf


def most_episodes(horizon: int, drift: float) -> float:
    """Corollary 1: SnoozeIt has at most T/floor(x) + 1 episodes, x the ``shortest_episode``.

    Corrected: the paper lacks the 1, for the last episode, which may be short. The floor is our rounding of the ends of
    snoozes; with the paper's condition t >= s the bound is T/x + 1.

    >>> round(most_episodes(162_755, 1 / 4_800), 2), most_episodes(162_755, 0.0)
    (158.4, 1.0)
    """
    T = check_horizon(horizon)
    shortest = shortest_episode(T, drift)
    whole = math.floor(shortest) if drift > 0 else math.inf
    return T / max(1, whole) + 1.0  # an episode has a step, even where T = 1 makes x = 0


def episode_regret(active_length: Any, horizon: int) -> Any:
    """Lemma 4 (episodic regret): tau steps of an active phase cost at most 1 + 6 sqrt((tau - 1) L).

    True, under the good event, for any tau steps in a row of an active phase, all of it or a part, while the best arm
    does not change. The paper leaves this condition out. Its proof reads the regret of turns off the difference of the
    arms' sums; where the means cross, one arm's lead cancels the other's in that difference, but not in the regret. On
    the instance toggling(drift=1/4800, flat=1000, start=(0.6042, 0.3958)) the printed test never passes, and one
    episode costs 12,735 where this formula says 8,386. On the wave of docs/proofs.md an episode's regret is linear in
    its length, so no constant in place of 6 would do. ``active_length`` may be an array.

    >>> round(float(episode_regret(162_755, 162_755)))
    8386
    """
    tau = _at_least(active_length, 1, "active_length")
    return 1 + 6 * np.sqrt((tau - 1) * math.log(check_horizon(horizon)))


def gauge_to_lambda(active_length: Any, horizon: int) -> Any:
    """Lemma 5 (gauge to lambda): tau steps into an active phase, a detectable gap above this makes the test pass.

    Under the good event, lambda_t > sqrt(c2 L/(2 floor(tau/2))), t = t_i + tau, c2 = 144, makes some window pass at t.
    Read backwards: while no test has passed, lambda_t is at most this, so tau - 1 <= 144 L/lambda_t^2.

    Corrected: the paper has tau in place of 2 floor(tau/2). For odd tau that is false, if only just: the window of
    lambda_t may then be all tau steps, and the test, which needs as many pulls of either arm, sees tau - 1 of them. It
    is infinite for tau < 2. ``active_length`` may be an array.

    >>> gauge_to_lambda([1, 2_000, 2_001, 162_755], 162_755).round(4).tolist()
    [inf, 0.9295, 0.9295, 0.103]
    """
    pairs = np.floor(_at_least(active_length, 1, "active_length") / 2)
    with np.errstate(divide="ignore"):
        return np.where(pairs > 0, np.sqrt(C2 * math.log(check_horizon(horizon)) / (2 * pairs)), math.inf)[()]


def crossing_stretch_regret(length: Any, drift: float) -> Any:
    """What n steps of turns can cost if the best arm changes right before or right after them: delta (n + 1)^2/2.

    At the k-th step from the change the gap is at most 2 delta k, and no two steps in a row are regretted: the sum of
    2 delta k over k = n, n - 2, ... is at most delta (n + 1)^2/2. It replaces Lemma 4 (episodic regret) where an active
    phase is cut at changes of the best arm. ``length`` may be an array.

    >>> float(crossing_stretch_regret(1_000, 1 / 4_800).round(2))
    104.38
    """
    return check_drift(drift) * (_at_least(length, 1, "length") + 1) ** 2 / 2


def crossed_block_regret(length: Any, drift: float) -> Any:
    """What SnoozeIt can pay, under the good event, in n steps within which the best arm changes: delta (n^2 + 4)/2.

    The two sides of the change cost ``crossing_stretch_regret`` each, however often the best arm changes again: two
    regretted steps in a row lie next to a change, and cost 2 delta together. For a block of Theorem 1 that is about
    2^(1/3) delta^(-1/3) L^(2/3), while c6 L/lambda_min is at least 12 times as much. ``length`` may be an array.

    >>> float(crossed_block_regret(1_034, 1 / 4_800).round(2))
    111.37
    """
    return check_drift(drift) * (_at_least(length, 2, "length") ** 2 + 4) / 2


def regret_per_step_by_active_length(active_length: Any, horizon: int, drift: float) -> Any:
    """Appendix B: the regret bound a step of an episode whose active phase lasts tau, without the 1 of its last step.

    Either 3 delta tau, if tau < x: a snooze follows, the episode lasts (2/delta) sqrt(L/tau) steps.
    Or 6 sqrt(L/tau), if tau >= x: no snooze. x is the ``shortest_episode``; there both are 3 * 2^(2/3) (delta L)^(1/3),
    the most.

    >>> regret_per_step_by_active_length([100, 1_000, 10_000], 162_755, 1 / 4_800).round(4).tolist()
    [0.0625, 0.625, 0.2078]
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    tau = _at_least(active_length, 1, "active_length")
    return np.where(tau < shortest_episode(T, drift), 3 * drift * tau, 6 * np.sqrt(math.log(T) / tau))[()]


def regret_per_step_by_duration(duration: Any, horizon: int, drift: float) -> RegretPerStep:
    """Appendix B: the regret bound a step of an episode that lasts d = t_(i+1) - t_i steps, without the 1 of its end.

    Either 12 L/(delta d^2), with a snooze: d = (2/delta) sqrt(L/tau) gives tau = 4 L/(delta d)^2, and 3 delta tau
    follows. Or 6 sqrt(L/d), without: then d = tau. Both hold for d >= x, the ``shortest_episode``; no other d occurs
    but in the last episode. So the shortest episodes have the largest bounds, and the two curves part there.

    >>> rates = regret_per_step_by_duration(2_000, 162_755, 1 / 4_800)
    >>> round(float(rates.snoozed), 4), round(float(rates.not_snoozed), 4)
    (0.1728, 0.4648)
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    d = _at_least(duration, shortest_episode(T, drift), "duration")
    log_t = math.log(T)
    return RegretPerStep(12 * log_t / (drift * d**2), 6 * np.sqrt(log_t / d))


def good_event_probability(horizon: int, confidence: float = 1.0) -> float:
    """Claim 1 (good event): all of SnoozeIt's averages are within r(w) of the truth with probability at least 1 - 2/T.

    Hoeffding bounds each failure by 2 exp(-2 w r(w)^2), and there are at most T arms, T times and T windows. With
    r(w) = k sqrt(2 L / w), k the ``confidence``, that is 1 - 2 T^(3 - 4 k^2); for k <= sqrt(3)/2 it proves nothing,
    and the answer is 0, although failures may still be rare.

    >>> good_event_probability(1_000), good_event_probability(1_000, confidence=0.5)
    (0.998, 0.0)
    """
    T = check_horizon(horizon)
    check_factor("confidence", confidence, LARGEST_CONFIDENCE)
    exponent = (3 - 4 * confidence * confidence) * math.log(T)
    return 1 - 2 * math.exp(exponent) if exponent < -math.log(2) else 0.0


def _at_least(values: Any, least: float, name: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if not ((array >= least) & (array < math.inf)).all():
        raise InputError(f"{name} must be finite and at least {least:g}; got {shown(values)}")
    return array
