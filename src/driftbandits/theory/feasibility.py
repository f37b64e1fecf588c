"""Whether SnoozeIt can ever snooze: at the printed constants it often cannot.

Of an instance it is known how far its means lie apart. Until the first snooze the arms are pulled in turn, whatever
the rewards are. So the difference D(w) of the means of the arms' last w pulls is fixed but for noise: its expectation
lies within g + (K - 1) d, g the largest gap between two arms and d the largest step of a mean, and noise that is
1/2-sub-Gaussian exceeds x with probability at most exp(-w x^2) on one side. A snooze needs a D(w) above a limit that
is known. Added up over all steps, windows and pairs, that is a bound on the probability that a run snoozes at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import LARGEST_CONFIDENCE, check_choice, check_drift, check_factor, check_horizon
from driftbandits.instances.base import Instance
from driftbandits.theory.constants import C1, PASS, RHO
from driftbandits.theory.gaps import two_arms

NEVER = 0.01
"""A policy that snoozes in a run with at most this probability is round robin, for all that a user will see."""
OTHERS = "another policy, such as BreakEven"


class _Rule(NamedTuple):
    """lambda(w) = confidence sqrt(c L / w), buf = lambda/(divisor delta); with or without lambda <= 1 and floors."""

    c: float
    divisor: int
    whole: bool


_RULES = {"modified": _Rule(C1, 6, True), "original": _Rule(C1, 6, True), "released": _Rule(C1 / 2, 3, False)}


@dataclass(frozen=True)
class Feasibility:
    """What SnoozeIt can do at given constants; ``str()`` gives the sentence."""

    can_pass: bool
    """The test can pass within the horizon."""
    can_snooze: bool
    """A snooze of at least one step is possible."""
    smallest_window: int
    """The fewest pulls of each arm with which the test can pass."""
    needed_gap: float
    """The gap lambda that the test must show for a snooze to follow; the largest there is, is about 1."""
    longest_snooze: int
    """Steps of the longest snooze: after a test passed with the smallest window."""
    sentence: str
    largest_gap: float | None = None
    """The largest gap between the arms of the instance; None if none was given."""
    noiseless_gap: float | None = None
    """The largest gap of an instance with which no snooze is possible while rewards are their means."""
    chance: float | None = None
    """No run on the instance snoozes with a larger probability than this, if rewards are 1/2-sub-Gaussian."""

    def __str__(self) -> str:
        return self.sentence


def explain_feasibility(
    horizon: int, drift: float, variant: str = "modified", confidence: float = 1.0, *, instance: Any = None
) -> Feasibility:
    """Can SnoozeIt's test pass, and can it then snooze an arm, at this horizon T, drift delta and confidence k?

    Of an ``instance`` (an Instance of two arms, or its table of means) it also says whether its largest gap is enough.
    ``can_snooze`` is then False if a run snoozes with probability at most 0.01 (``chance``), whatever 1/2-sub-Gaussian
    noise the rewards have. Otherwise a snooze is not ruled out, which does not promise one.

    With L = ln T and lambda(w) = k sqrt(72 L / w), a test that passes with window w leads to a snooze of
    floor(buf - 2w) steps, buf = lambda/(6 delta) (``modified``; ``original`` has the length of the active phase, at
    least 2w, in place of 2w, so at best the same). Both fall as w grows, so the shortest window
    w_min = ceil(72 k^2 L) decides: some snooze is possible if and only if buf(w_min) >= 2 w_min + 1 and
    2 w_min < T. Without the rounding, w = 72 k^2 L / lambda^2 turns buf > 2w into lambda^3 > 864 k^2 delta L: a
    snooze needs delta < 1/(864 k^2 L), for lambda <= 1. Rewards that differ by 1 pass with w_min, since
    4 r(w_min) <= 2/3, so what is possible here does happen.

    ``released``: lambda(w) = k sqrt(36 L / w), buf = lambda/(3 delta), ceil(buf - 2w) steps, hence
    lambda^3 > 216 k^2 delta L. It has no w_min; for rewards in [0, 1] its test, 4 r(w) < 1, needs w > 32 k^2 L.

    >>> print(explain_feasibility(162_755, 1 / 4_800))
    SnoozeIt (modified) can never snooze at T=162,755, drift=0.000208333, confidence=1: its longest buffer is 799.5 \
steps, and a snooze needs 1,731; so it is round robin. A drift below about 9.62e-05 or a smaller confidence helps.
    >>> explain_feasibility(162_755, 1 / 48_000).longest_snooze
    6265
    >>> still = [[0.5, 0.3]] * 20_000
    >>> print(explain_feasibility(20_000, 5e-5, instance=still))
    SnoozeIt (modified) is round robin on 'instance': the largest gap between its arms is 0.2, and without noise a \
snooze needs one above 0.502; with 1/2-sub-Gaussian rewards at most one run in 100 snoozes. Take confidence=0.25, \
or another policy, such as BreakEven.
    """
    T, drift = check_horizon(horizon), check_drift(drift)
    check_choice("variant", variant, _RULES)
    check_factor("confidence", confidence, LARGEST_CONFIDENCE)
    rule, log_t = _RULES[variant], math.log(T)
    window = _smallest_window(rule, confidence, log_t)
    gap = confidence * math.sqrt(rule.c * log_t) / math.sqrt(window)
    buffer = gap / (rule.divisor * drift) if drift > 0 else math.inf
    steps = min(buffer - 2 * window, T - 2 * window)
    longest = max(0, math.floor(steps) if rule.whole else math.ceil(steps))
    can_pass = 2 * window <= T
    needed = (2 * rule.divisor * rule.c * confidence**2 * drift * log_t) ** (1 / 3)
    who = f"SnoozeIt ({variant})"
    where = f"at T={T:,}, drift={drift:g}, confidence={confidence:g}"
    if not can_pass:
        sentence = (
            f"{who}'s test can never pass {where}: it needs {2 * window:,} steps, so this is round robin. "
            "A longer horizon or a smaller confidence helps."
        )
    elif longest == 0 and 2 * window == T:
        sentence = f"{who} can never snooze {where}: its test cannot pass before the last step, so it is round robin."
    elif longest == 0:
        least = 2 * window + rule.whole
        sentence = (
            f"{who} can never snooze {where}: its longest buffer is {buffer:,.1f} steps, and a snooze needs "
            f"{least:,}; so it is round robin. A drift below about {gap / (rule.divisor * least):.3g} or a smaller "
            "confidence helps."
        )
    else:
        sentence = (
            f"{who} can snooze {where}: its test can pass after {2 * window:,} steps, a snooze needs a gap above "
            f"{needed:.3g}, and the longest lasts {longest:,} steps."
        )
    found = Feasibility(can_pass, longest > 0, window, needed, longest, sentence)
    return (
        found if instance is None else _on_instance(found, who, _Test(T, drift, rule, confidence), two_arms(instance))
    )


class _Test(NamedTuple):
    """SnoozeIt's test and what follows from it."""

    horizon: int
    drift: float
    rule: _Rule
    confidence: float

    @property
    def threshold(self) -> float:
        """4 r(1)."""
        return 4 * self.confidence * math.sqrt(2 * math.log(self.horizon))

    def windows(self, steps: int) -> tuple[int, int] | None:
        """The smallest and the largest window that can lead to a snooze within so many steps; None if none can."""
        rule, scale = self.rule, self.confidence**2 * self.rule.c * math.log(self.horizon)
        low, high = max(1, math.ceil(scale)) if rule.whole else 1, (steps - 1) // 2
        shortest = low

        def leads(window: int) -> bool:
            buffer = math.sqrt(scale / window) / (rule.divisor * self.drift) if self.drift > 0 else math.inf
            return buffer - 2 * window >= 1 if rule.whole else buffer > 2 * window

        if low > high or not leads(low):
            return None
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if leads(middle) else (low, middle - 1)
        return shortest, low

    def noiseless_gap(self, instance: Instance) -> float:
        """The largest gap with which no window that leads to a snooze can pass, while rewards are their means."""
        windows = self.windows(min(self.horizon, instance.horizon))
        return math.inf if windows is None else self.threshold / math.sqrt(windows[1]) - self.slack(instance)

    def slack(self, instance: Instance) -> float:
        """The test lets the difference be so much smaller than 4 r(w), and pulls in turn let it be larger than gaps."""
        return instance.drift_limit + (self.drift if self.rule.whole else 0.0)


def _on_instance(found: Feasibility, who: str, test: _Test, instance: Instance) -> Feasibility:
    gap, steps = _largest_gap(instance), min(test.horizon, instance.horizon)
    if not found.can_snooze:
        return replace(found, largest_gap=gap, chance=0.0)
    windows, limit = test.windows(steps), test.noiseless_gap(instance)
    told = replace(found, largest_gap=gap, noiseless_gap=max(0.0, limit), chance=0.0)
    if windows is None:
        short = f"{who} is round robin on {instance.name!r}, which has {steps:,} steps: its test needs more than "
        return replace(told, can_snooze=False, sentence=f"{short}{2 * found.smallest_window:,}. Take {OTHERS}.")
    slack = test.slack(instance)
    chance = _chance(steps, *windows, lambda w: test.threshold - (gap + slack) * np.sqrt(w))
    if chance <= NEVER:
        helping = _helping(gap, lambda k: test._replace(confidence=k).noiseless_gap(instance))
        sentence = _round_robin(who, instance, gap, limit, helping)
        return replace(told, can_snooze=False, chance=chance, sentence=sentence)
    more = ", so only noise can lead to one" if gap < limit else f"; the longest lasts {found.longest_snooze:,} steps"
    sentence = (
        f"{who} may snooze on {instance.name!r}: the largest gap between its arms is {gap:.3g}, and without noise a "
        f"snooze needs one above {max(0.0, limit):.3g}{more}."
    )
    return replace(told, chance=chance, sentence=sentence)


def _largest_gap(instance: Instance) -> float:
    return float((instance.means.max(axis=1) - instance.means.min(axis=1)).max())


def _chance(
    steps: int, low: float, high: float, margin: Callable[[Array], Array], pairs: int = 1, turn: float = 1.0
) -> float:
    """A run in which some D(w) with low <= w <= high is beyond its limit has at most this probability.

    ``margin`` is sqrt(w) (limit - largest expectation of D(w)); up to w = ``turn`` and from there on it is monotone.
    """
    edges = np.unique(np.append(np.geomspace(low, high, 400), min(max(turn, low), high)))
    margins = margin(edges)
    least = np.append(np.minimum(margins[1:], margins[:-1]), margins[-1])
    if least.min() <= 0:
        return 1.0
    counts = np.append(np.diff(edges), 0.0) + 1.0
    return float(min(1.0, 2 * steps * pairs * np.sum(counts * np.exp(-(least**2)))))


def _helping(gap: float, noiseless_gap: Callable[[float], float]) -> str:
    """A confidence with which the gap is enough without noise, if there is one, and the other way out."""
    low, high = 1e-4, 1.0
    if noiseless_gap(low) >= gap:
        return OTHERS
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if noiseless_gap(middle) < gap else (low, middle)
    unit = 10.0 ** (math.floor(math.log10(low)) - 1)
    return f"confidence={math.floor(low / unit) * unit:.2g}, or {OTHERS}"


def _round_robin(who: str, instance: Instance, gap: float, limit: float, helping: str) -> str:
    return (
        f"{who} is round robin on {instance.name!r}: the largest gap between its arms is {gap:.3g}, and without noise "
        f"a snooze needs one above {max(0.0, limit):.3g}; with 1/2-sub-Gaussian rewards at most one run in 100 "
        f"snoozes. Take {helping}."
    )


def why_never_tight(
    who: str, horizon: int, drift: float, confidence: float, instance: Instance | None = None
) -> str | None:
    """Why SnoozeItTight, or SnoozeItK, can never snooze while rewards lie in [0, 1]; None if it may.

    Its test passes when |D(w)| > 1.5 r(w), r(w) = k sqrt(3 L/w), and a snooze needs a lead of at least 2 delta, where
    lead = max over w of |D(w)| - r(w) - (2w - 1) delta. Rewards in [0, 1] give |D(w)| <= 1, so nothing passes with
    w <= 6.75 k^2 L. No window passed a step ago, and a step changes w D(w) by at most 1. So when the test passes,
    |D(w)| <= min(1, 1.5 r(w) + 1/w), and no lead is larger than

        max over w of min(1, 1.5 r(w) + 1/w) - r(w) - (2w - 1) delta.

    From the first w with 1.5 r(w) + 1/w <= 1 on every term falls; before, 1 - r(w) - (2w - 1) delta is largest at
    w = (r(1)/(4 delta))^(2/3). With more than two arms pulls are older, and leads smaller.

    >>> why_never_tight("SnoozeItTight", 10_000, 1e-3, 1.0) is None
    True
    >>> print(why_never_tight("SnoozeItTight", 10_000, 0.01, 1.0))
    SnoozeItTight can never snooze at T=10,000, drift=0.01, confidence=1 while rewards lie in [0, 1]: no lead is above \
-0.541, and a snooze needs 0.02; so it is round robin. A smaller drift or a smaller confidence helps.
    """
    T = check_horizon(horizon)
    radius = confidence * math.sqrt(RHO * math.log(T))
    where = f"at T={T:,}, drift={drift:g}, confidence={confidence:g} while rewards lie in [0, 1]"
    first = math.floor((PASS * radius) ** 2) + 1
    if 2 * first > T:
        return (
            f"{who}'s test can never pass {where}: it needs {2 * first:,} steps, so this is round robin. "
            "A longer horizon or a smaller confidence helps."
        )
    root = (PASS * radius + math.sqrt((PASS * radius) ** 2 + 4)) / 2
    last = max(first, math.ceil(root**2))
    best = (radius / (4 * drift)) ** (2 / 3) if drift > 0 else math.inf
    windows = {1, first, last} | {w for w in (math.floor(min(best, last)), math.ceil(min(best, last))) if w >= 1}
    lead = max(
        min(1.0, PASS * radius / math.sqrt(w) + 1 / w) - radius / math.sqrt(w) - (2 * w - 1) * drift for w in windows
    )
    if lead >= 2 * drift:
        return None if instance is None else _why_not_there(who, T, drift, confidence, instance)
    return (
        f"{who} can never snooze {where}: no lead is above {lead:.3g}, and a snooze needs {2 * drift:.3g}; so it is "
        "round robin. A smaller drift or a smaller confidence helps."
    )


def _why_not_there(who: str, horizon: int, drift: float, confidence: float, instance: Instance) -> str | None:
    """Why there is no snooze on an instance of K arms, as far as known; None if there may be one.

    A snooze needs a lead of 2 delta. The pulls behind D(w) are K(w - 1) + 1 steps old together, or older, so for some
    w |D(w)| - r(w) - (K(w - 1) + 1) delta >= 2 delta; and the test needs |D(w)| > 1.5 r(w) for some w.
    """
    K, gap, steps = instance.n_arms, _largest_gap(instance), min(horizon, instance.horizon)
    moved = (K - 1) * instance.drift_limit
    slope, offset, longest = K * drift, (3 - K) * drift, max(1.0, steps / K)

    def noiseless_gap(k: float) -> float:
        radius = k * math.sqrt(RHO * math.log(horizon))
        w = min(max(1.0, (radius / (2 * slope)) ** (2 / 3)), longest) if drift > 0 else longest
        lead = radius / math.sqrt(w) + slope * w + offset
        return max(lead, PASS * radius / math.sqrt(longest)) - moved

    radius, expected = confidence * math.sqrt(RHO * math.log(horizon)), gap + moved
    turn = (expected - offset) / (3 * slope) if drift > 0 else longest
    leads = _chance(steps, 1.0, longest, lambda w: radius + (slope * w + offset - expected) * np.sqrt(w), K - 1, turn)
    passes = _chance(steps, 1.0, longest, lambda w: PASS * radius - expected * np.sqrt(w), K - 1)
    if min(leads, passes) > NEVER:
        return None
    return _round_robin(who, instance, gap, noiseless_gap(confidence), _helping(gap, noiseless_gap))


def _smallest_window(rule: _Rule, confidence: float, log_t: float) -> int:
    if rule.whole:
        return max(1, math.ceil(confidence**2 * rule.c * log_t))
    threshold = 4 * confidence * math.sqrt(2 * log_t)
    window = max(1, math.floor(threshold**2))
    while window <= threshold * math.sqrt(window):  # what the policy itself asks of rewards that differ by 1
        window += 1
    return window
