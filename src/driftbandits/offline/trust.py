"""Can a log answer? Tests what it claims of itself, and refuses, saying what would be needed.

All tests are two-sided; each refuses a log that tells the truth once in 10,000 times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from driftbandits.errors import InputError
from driftbandits.offline.log import Log

Array = np.ndarray[Any, np.dtype[Any]]

RARE = 1e-4
"""A log that claims what has no more chance than this is not believed."""
MOST_CERTAIN = 0.1
"""The largest share of steps at which the policy that ran had no choice (probability 1)."""
PARTS = 20
FEWEST = 100
"""Rows that a replay must be able to use, and effective rows behind the estimate for an arm alone."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows of a log that estimates rest on, with the probability of every choice, and what was left out."""

    names: tuple[str, ...]
    arms: Array
    rewards: Array
    probability: Array
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def least(self) -> float:
        """c, the least probability of any choice: what a replay uses of the log."""
        return float(self.probability.min())

    @property
    def effective(self) -> Array:
        """For each arm alone the effective number of rows, (sum of w)^2 / sum of w^2 with weights w = 1/p."""
        weights = [np.bincount(self.arms, self.probability**-power, len(self.names)) for power in (1.0, 2.0)]
        return weights[0] ** 2 / weights[1]


def evidence(log: Log, logged: str | None = None, missing: float | None = None) -> Evidence:
    """What of the log can be used, or an InputError that says why it can't answer.

    ``logged="uniform"`` says that the log, which has no probabilities, chose every arm with the same chance whatever
    the rewards were. ``missing`` stands for rewards that never came; without it their rows are left out.
    """
    probability = _probability(log, logged)
    notes = []
    rewards, came = log.rewards, np.isfinite(log.rewards)
    if not came.all():
        count = f"{(~came).sum():,} of {len(log):,} rewards never came"
        if missing is None:
            _check_missing(log, came)
            notes.append(f"{count}: those rows are left out, as if chance had chosen them")
        else:
            rewards, came = np.where(came, rewards, missing), np.ones(len(log), bool)
            notes.append(f"{count}: each counts as {missing:g}")
    certain = probability >= 1.0
    if certain.mean() > MOST_CERTAIN:
        raise InputError(
            f"at {certain.mean():.0%} of its steps the log's policy had no choice (probability 1), so it does not show "
            f"what other arms would have earned. At most {MOST_CERTAIN:.0%} may be so: give every arm a chance at "
            "every step, say 1 in 20, and log it"
        )
    if certain.any():
        notes.append(f"{certain.sum():,} of {len(log):,} steps left no choice (probability 1) and are left out")
    used = came & ~certain
    if used.sum() < FEWEST:
        raise InputError(f"only {used.sum():,} rows of the log can be used; at least {FEWEST} are needed")
    _check_weights(log.names, log.arms[~certain], probability[~certain])
    return Evidence(log.names, log.arms[used], rewards[used], probability[used], tuple(notes))


def _probability(log: Log, logged: str | None) -> Array:
    if logged not in (None, "uniform"):
        raise InputError(f"logged must be 'uniform', or left out; got {logged!r}")
    if log.probability is not None:
        if logged:
            raise InputError("the log has probabilities of its own: leave logged='uniform' out, or remove that column")
        return log.probability
    if not logged:
        raise InputError(
            "the log has no probabilities, so it can't be told how its choices and the rewards hang together. Log the "
            "probability of each choice; or, if every arm had the same chance whatever the rewards were, say "
            "logged='uniform' (--logged uniform), which is then tested"
        )
    check_uniform(log)
    return np.full(len(log), 1.0 / log.n_arms)


def check_uniform(log: Log) -> None:
    """Raise InputError when the log contradicts that arms were drawn uniformly, one independent of the other.

    If they were, then the arms in each part of the log are uniform; so is A(t+1) - A(t) mod K; and whether an arm
    comes twice in a row has nothing to do with its reward.
    """
    arms, K = log.arms.astype(np.int64), log.n_arms
    parts = max(1, min(PARTS, len(log) // (20 * K)))
    part = np.arange(len(log)) * parts // len(log)
    shares = np.bincount(part * K + arms, minlength=parts * K).reshape(parts, K)
    turns = np.bincount(np.diff(arms) % K, minlength=K)[None, :]
    again, reward = np.diff(arms) == 0, log.rewards[:-1]
    came = np.isfinite(reward)
    centred = reward[came] - reward[came].mean() if came.any() else reward[came]
    scale = math.sqrt((1 - 1 / K) / K * (centred**2).sum())
    pull = float(((again[came] - 1 / K) * centred).sum()) / scale if scale > 0 else 0.0
    found = {
        "the shares of the arms": chance_of_counts(shares),
        "which arm follows which": chance_of_counts(turns),
        "whether an arm is repeated after a high reward": _chance_of(pull),
    }
    for what, chance in found.items():
        if chance < RARE:
            raise InputError(
                f"the log was not drawn uniformly: {what} would be as uneven as here with a chance of {chance:.1g}. "
                "Log the probability of each choice instead"
            )


def chance_of_counts(counts: Array) -> float:
    """The chance that counts, uniform in each row, are as uneven as these: chi-squared, by Wilson and Hilferty.

    >>> round(chance_of_counts(np.array([[60, 40]])), 3), chance_of_counts(np.array([[900, 100]])) < 1e-9
    (0.046, True)
    """
    expected = counts.sum(axis=1, keepdims=True) / counts.shape[1]
    freedom = counts.shape[0] * (counts.shape[1] - 1)
    ratio = float(((counts - expected) ** 2 / expected).sum()) / freedom
    spread = 2 / (9 * freedom)
    return NormalDist().cdf((1 - spread - ratio ** (1 / 3)) / math.sqrt(spread))


def _chance_of(z: float) -> float:
    return 2 * NormalDist().cdf(-abs(z))


def _check_missing(log: Log, came: Array) -> None:
    """Rewards may be missing more at one time than at another, but within each part of the log alike for all arms."""
    K, parts = log.n_arms, max(1, min(PARTS, len(log) // (20 * log.n_arms)))
    part = np.arange(len(log)) * parts // len(log)
    key = part * K + log.arms
    size = np.bincount(key, minlength=parts * K).reshape(parts, K)
    lost = np.bincount(key[~came], minlength=parts * K).reshape(parts, K)
    total, rate = size.sum(axis=1, keepdims=True), lost.sum(axis=1, keepdims=True) / size.sum(axis=1, keepdims=True)
    # Given how many are lost in a part, an arm's share of them is hypergeometric.
    variance = (rate * (1 - rate) * size * (total - size) / np.maximum(total - 1, 1)).sum(axis=0)
    excess = (lost - rate * size).sum(axis=0)
    z = np.divide(excess, np.sqrt(variance), out=np.zeros(K), where=variance > 0)
    worst = int(np.abs(z).argmax())
    if _chance_of(float(z[worst])) < RARE / K:
        share = lost[:, worst].sum() / size[:, worst].sum()
        others = np.delete(lost, worst, 1).sum() / max(np.delete(size, worst, 1).sum(), 1)
        raise InputError(
            f"{share:.1%} of the rewards of arm {log.names[worst]!r} never came, {others:.1%} of the others': leaving "
            "them out would favour an arm. Say what a reward that never came is worth, as in missing=0 (--missing 0)"
        )


def _check_weights(names: tuple[str, ...], arms: Array, probability: Array) -> None:
    """If the probabilities are right and no arm was ever out of reach, an arm's 1/p add up to the number of steps."""
    inverse = 1.0 / probability
    sums = np.bincount(arms, inverse, len(names))
    variance = np.bincount(arms, inverse**2 - inverse, len(names))
    counts = np.bincount(arms, minlength=len(names))
    for name, total, spread, count in zip(names, sums, variance, counts, strict=True):
        z = (total - len(arms)) / math.sqrt(spread) if spread > 0 else 0.0
        # Of an arm seen a few times only, the variance is not known: its estimate is refused on its own.
        if count >= FEWEST and _chance_of(z) < RARE / len(names):
            raise InputError(
                f"the probabilities can't be right, or arm {name!r} was out of reach at times: its 1/probability add "
                f"up to {total / len(arms):.3f} a step in place of 1 ({z:+.1f} standard errors). Log the probability "
                "with which the arm was chosen at that step, and give every arm a chance at every step"
            )
