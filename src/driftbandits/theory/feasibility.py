"""Whether SnoozeIt can ever snooze: at the printed constants it often cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from driftbandits._common.checks import LARGEST_CONFIDENCE, check_choice, check_drift, check_factor, check_horizon
from driftbandits.theory.constants import C1, PASS, RHO


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

    def __str__(self) -> str:
        return self.sentence


def explain_feasibility(horizon: int, drift: float, variant: str = "modified", confidence: float = 1.0) -> Feasibility:
    """Can SnoozeIt's test pass, and can it then snooze an arm, at this horizon T, drift delta and confidence k?

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
    return Feasibility(can_pass, longest > 0, window, needed, longest, sentence)


def why_never_tight(who: str, horizon: int, drift: float, confidence: float) -> str | None:
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
        return None
    return (
        f"{who} can never snooze {where}: no lead is above {lead:.3g}, and a snooze needs {2 * drift:.3g}; so it is "
        "round robin. A smaller drift or a smaller confidence helps."
    )


def _smallest_window(rule: _Rule, confidence: float, log_t: float) -> int:
    if rule.whole:
        return max(1, math.ceil(confidence**2 * rule.c * log_t))
    threshold = 4 * confidence * math.sqrt(2 * log_t)
    window = max(1, math.floor(threshold**2))
    while window <= threshold * math.sqrt(window):  # what the policy itself asks of rewards that differ by 1
        window += 1
    return window
