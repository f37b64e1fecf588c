"""Whether a log can answer: tests what it claims about itself, and refuses, saying what would be needed.

Both tests are two-sided; each refuses a log that tells the truth once in 10,000 times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import shown
from driftbandits._numba.compiled import loop
from driftbandits.errors import InputError
from driftbandits.offline.log import Log

RARE = 1e-4
"""A log that claims what has no more chance than this is not believed."""
MOST_CERTAIN = 0.1
"""The largest share of steps at which the policy that ran had no choice (probability 1)."""
PARTS = 20
WAVE = 100.0
"""Steps over which an arm's share, and its usual reward, are followed."""
CONTRADICTIONS = (
    "was chosen more or less often than that",
    "came in waves",
    "followed itself more or less often than that",
    "was repeated more or less often after high rewards",
)
"""What contradicts a log, for each g: 1; the recent mean of D; 1{A(t-1) = a}; that times the last reward's surprise."""
HOW_TO_LOG = "log the probability of each choice, as a Session or a Store's experiment with explore=0.1 does"
FEWEST = 100
"""Rows that a replay must be able to use, and effective rows behind the estimate for an arm alone."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The rows of a log that estimates rest on, with the probability of every choice, and what was left out.

    ``places`` are the numbers of these rows in the log, from 0 on.
    """

    names: tuple[str, ...]
    arms: Array
    rewards: Array
    probability: Array
    places: Array
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

    Rows without a probability are left out, wherever they are. Whether a probability is logged must be settled before
    the choice, as it is if exploration is switched on or off. Then the rows that have one are, given all the past, as
    good as those of a log in which the others never were, and every estimate here holds for these rows: a replay is a
    run of the policy on the instance at the steps that have a probability. If probabilities were logged for some arms
    rather than others, the tests of ``_check_chances`` find that the probabilities can't be right. Across a gap, means
    drift as far as in all of its steps: the result says so. The drift of the log is estimated from all of its rows.

    ``logged="uniform"`` says that the log, which has no probabilities, chose every arm with the same chance whatever
    the rewards were. ``missing`` stands for rewards that never came; without it their rows are left out.
    """
    probability = _probability(log, logged)
    notes = []
    if log.again:
        notes.append(f"{log.again:,} Decisions gave a unit the arm that it had and are left out: nothing was chosen")
    places = np.flatnonzero(np.isfinite(probability))
    if len(places) < len(log):
        notes.append(_unlogged(places, len(log)))
        if len(places) < FEWEST:
            raise InputError(
                f"only {len(places):,} of {len(log):,} rows of the log have a probability; at least {FEWEST} are "
                f"needed: {HOW_TO_LOG}"
            )
        log = replace(log, arms=log.arms[places], rewards=log.rewards[places], probability=probability[places])
        probability = probability[places]
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
            f"what other arms would have earned; at most {MOST_CERTAIN:.0%} may be so: give every arm a chance at "
            "every step, say 1 in 20, and log it"
        )
    if certain.any():
        notes.append(f"{certain.sum():,} of {len(log):,} steps left no choice (probability 1) and are left out")
    used = came & ~certain
    if used.sum() < FEWEST:
        raise InputError(f"only {used.sum():,} rows of the log can be used; at least {FEWEST} are needed")
    claim = "the log was not drawn uniformly" if logged else "the probabilities can't be right"
    _check_chances(log, ~certain, probability, claim)
    return Evidence(log.names, log.arms[used], rewards[used], probability[used], places[used], tuple(notes))


def _unlogged(places: Array, rows: int) -> str:
    """What of a log is left out because its probability was not logged, and where it lies."""
    count = f"{rows - len(places):,} of {rows:,} rows have no probability and are left out"
    first, last = (int(places[0]), int(places[-1]) + 1) if len(places) else (rows, rows)
    between = last - first - len(places)
    where = [f"the first {first:,}"] * (first > 0) + [f"the last {rows - last:,}"] * (last < rows)
    gap = f"{between:,} between others; across such a gap means drift as far as in all of its steps"
    where += [gap] * (between > 0)
    return f"{count}: {' and '.join(where)}"


def _probability(log: Log, logged: str | None) -> Array:
    if logged is not None and not (isinstance(logged, str) and logged == "uniform"):
        raise InputError(f"logged must be 'uniform', or left out; got {shown(logged)}")
    if log.probability is not None:
        if logged:
            raise InputError("the log has probabilities of its own: leave logged='uniform' out, or remove that column")
        return log.probability
    if not logged:
        raise InputError(
            "the log has no probabilities, so how its choices depend on the rewards is not known: "
            f"{HOW_TO_LOG}; or, if every arm had the same chance whatever the rewards were, say logged='uniform' "
            "(--logged uniform), which is then tested"
        )
    return np.full(len(log), 1.0 / log.n_arms)


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
            "them out would favour an arm; say what a reward that never came is worth, as in missing=0 (--missing 0)"
        )


def _check_chances(log: Log, used: Array, probability: Array, claim: str) -> None:
    """Refuse probabilities that the log's own choices contradict.

    If they are right and no arm is ever out of reach, D(t) = 1{A(t) = a}/p(t) - 1 has mean 0 given the past, for every
    arm a; so has g(t) D(t) for every g(t) known before. Four functions g are tried: ``CONTRADICTIONS``.
    """
    found = _test_statistics(log.arms[used], log.rewards[used], probability[used], log.n_arms)
    counts = np.bincount(log.arms[used], minlength=log.n_arms)
    # Of an arm seen a few times only, the variance is not known: its estimate is refused on its own.
    z = np.where(counts[:, None] >= FEWEST, found, 0.0)
    arm, test = (int(index) for index in np.unravel_index(np.abs(z).argmax(), z.shape))
    if _chance_of(float(z[arm, test])) < RARE / z.size:
        raise InputError(
            f"{claim}: arm {log.names[arm]!r} {CONTRADICTIONS[test]} ({z[arm, test]:+.1f} standard errors); log the "
            "probability with which an arm was chosen at that step, and give every arm a chance at every step"
        )


@loop
def _test_statistics(arms: Array, rewards: Array, probability: Array, n_arms: int) -> Array:
    """For each arm and each g, the sum of g D in standard errors."""
    sums, squares, sizes = np.zeros((n_arms, 4)), np.zeros((n_arms, 4)), np.zeros((n_arms, 4))
    spread, recent, usual, known = np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms), np.zeros(n_arms)
    g = np.zeros(4)
    g[0] = 1.0
    last, surprise = -1, 0.0
    for step in range(len(arms)):
        for arm in range(n_arms):
            excess = 1.0 / probability[step] - 1.0 if arms[step] == arm else -1.0
            g[1] = recent[arm]
            g[2] = 1.0 if arm == last else 0.0
            g[3] = surprise if arm == last else 0.0
            for j in range(4):
                sums[arm, j] += g[j] * excess
                squares[arm, j] += (g[j] * excess) ** 2
                sizes[arm, j] += g[j] ** 2
            recent[arm] += (excess - recent[arm]) / WAVE
        last = arms[step]
        spread[last] += (1.0 / probability[step] - 1.0) / probability[step]
        surprise = 0.0
        if np.isfinite(rewards[step]):
            surprise = rewards[step] - usual[last] if known[last] > 0 else 0.0
            known[last] += 1
            usual[last] += (rewards[step] - usual[last]) / min(known[last], WAVE)
    for arm in range(n_arms):
        for j in range(4):
            # What the squares say, but no less than what the probabilities do.
            variance = max(squares[arm, j], sizes[arm, j] * spread[arm] / len(arms))
            sums[arm, j] = sums[arm, j] / math.sqrt(variance) if variance > 0 else 0.0
    return sums
