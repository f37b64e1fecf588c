"""How sure a verdict is: p-values for and against a claim, and Holm's correction where many claims are judged at once.

A claim that says several things at once ("rises at each of three steps") is shown only when every one of them is, so
its p-value is the largest of theirs. It is refuted when one of them is; the chance of one false alarm among k is at
most k times that of each, so that p-value is k times the smallest (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED

Key = TypeVar("Key")

LEVEL = 0.05
"""The chance of a false verdict that is allowed; for a family of verdicts, of even one."""


class Evidence(NamedTuple):
    """p-values: how likely numbers as these are if the claim is false (``shown``), and if it is true (``refuted``)."""

    shown: float
    refuted: float

    @property
    def p_value(self) -> float:
        """That of the better supported side, doubled since there are two."""
        return min(1.0, 2 * min(self.shown, self.refuted))

    @property
    def opposite(self) -> Evidence:
        """The same numbers, said of the claim's opposite."""
        return Evidence(self.refuted, self.shown)


NOTHING = Evidence(1.0, 1.0)
"""What a single run says."""


def is_positive(values: Array) -> Evidence:
    """Whether the mean of these differences, one a run, exceeds 0 (Student's test, each side by itself)."""
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        return NOTHING
    return exceeds(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)), len(values), 0.0)


def exceeds(mean: float, error: float, runs: int, limit: float) -> Evidence:
    """Whether the expectation behind a mean of so many runs, with this standard error, exceeds ``limit``."""
    from scipy.special import stdtr

    if error == 0.0:  # the same in every run: nothing is left to chance
        return Evidence(0.0, 1.0) if mean > limit else Evidence(1.0, 0.0)
    score = (mean - limit) / error
    return Evidence(float(stdtr(runs - 1, -score)), float(stdtr(runs - 1, score)))


def all_of(parts: Sequence[Evidence]) -> Evidence:
    """Whether all of these are true."""
    return Evidence(max(part.shown for part in parts), min(1.0, len(parts) * min(part.refuted for part in parts)))


def decide(evidence: Evidence, p_value: float | None = None) -> str:
    """The verdict at 5 %; ``p_value`` is one that was corrected for the other verdicts of its family."""
    if (evidence.p_value if p_value is None else p_value) > LEVEL:
        return UNDECIDED
    return HOLDS if evidence.shown < evidence.refuted else FAILS


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's corrected p-values: reject those up to 5 %, and the chance of even one false rejection is 5 % at most.

    The i-th smallest of k is multiplied by k - i + 1, and none may be smaller than one before it. No independence is
    needed: the claims at all confidences are judged on the same noise.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = np.argsort(p_values, kind="stable")
    corrected, least = [0.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = least
    return corrected


def decide_all(family: Mapping[Key, Evidence]) -> dict[Key, str]:
    """The verdicts of a whole family, with a chance of 5 % that even one of them is false."""
    corrected = holm([one.p_value for one in family.values()])
    return {key: decide(one, p) for (key, one), p in zip(family.items(), corrected, strict=True)}
