"""When Decisions were asked and how late their rewards came, in a few hundred cohorts: the law of delays."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np

from driftbandits._common.arrays import Array

OCTAVES, PER_OCTAVE = 14, 8
TICKS = 2**OCTAVES
"""A timeout has so many ticks: Decisions of one tick are of the same age."""
BINS = OCTAVES * PER_OCTAVE + 1
"""Ranges of delays up to the timeout, eight to an octave; the first holds all that are shorter."""
PER_LEVEL = 16
"""Cohorts of the same size; two of the oldest become one twice as large when there are more."""
PRIOR = 5.0
"""Conversions that the first guess weighs as much as: that delays are alike up to the age of the experiment."""
REMEMBERED = 10_000.0
"""Delays of Decisions that are past their timeout; when there are more, all of them weigh half."""
RENEWALS = 256
"""How often the law is estimated anew within a timeout, and at first whenever the experiment is a sixteenth older."""
ROOM = 192
"""Cohorts that there is room for at first: there are hardly ever more."""
ASKED, TOLD, SETTLED = 0, 1, 2


class Cohorts:
    """Decisions that were asked in ``first`` to ``last``: how many of each arm, told and settled, and the delays.

    Young cohorts are a tick long, older ones up to an eighth of their age: there are fewer than 200 of them, however
    many Decisions there are. One is let go when its timeout has ended and all of it is closed.

    ``law`` is F at each age of ``bounds``: the probability that a reward which comes before the timeout has come by
    that age. A delay is seen only if it is shorter than its Decision's age, so young Decisions show short delays only.
    Of the rewards of Decisions that are at least b_j old, let D_j have come by age b_j, and N_j of them after age
    b_(j-1). The probability that a delay of at most b_j is longer than b_(j-1) is then about N_j/D_j, whatever the
    traffic was and however conversion rates moved, and F(b_i) is the product of 1 - N_j/D_j over all j > i: the
    product-limit estimator for delays that are truncated on the right (Lynden-Bell 1971, Woodroofe 1985). Between the
    b_j it is a line.

    While the experiment is younger than its timeout, later delays are unknown, and F is that of delays up to its age.
    """

    def __init__(self, timeout: float, n_arms: int) -> None:
        self.n_arms = n_arms
        self.since = math.inf
        """When the first was asked."""
        self.renewed = -math.inf
        """When ``law`` was estimated."""
        self.law = np.ones(BINS)
        self.first: list[float] = []
        self.last: list[float] = []
        self.levels: list[int] = []
        self.counts = np.zeros((ROOM, 3, n_arms), np.int64)
        self.delays = np.zeros((ROOM, BINS))
        self.done = np.zeros(BINS)
        """Delays of the cohorts that were let go."""
        self._set_timeout(timeout)

    def _set_timeout(self, timeout: float) -> None:
        self.timeout, self.tick = timeout, timeout / TICKS
        self._top = math.ceil(PER_OCTAVE * math.log2(timeout))
        powers = np.arange(self._top - BINS + 1, self._top + 1) / PER_OCTAVE
        self.bounds: Array = np.append(2.0 ** powers[:-1], timeout)

    def change_timeout(self, timeout: float, now: float) -> None:
        """From here on; delays stay in ranges of the same seconds, and those beyond a shorter timeout are dropped."""
        before = self._top
        self._set_timeout(timeout)
        shift = self._top - before
        self.done = _shifted(self.done, shift)
        self.delays = np.array([_shifted(delays, shift) for delays in self.delays])
        self.law, self.renewed = self.estimate(now), now

    def add_arm(self) -> None:
        """One more."""
        self.n_arms += 1
        self.counts = np.pad(self.counts, ((0, 0), (0, 0), (0, 1)))

    def ask(self, arm: int, time: float) -> None:
        """A Decision is asked, later than those before."""
        if not self.last or time // self.tick > self.last[-1] // self.tick:
            self._let_go(time)
            self.since = min(self.since, time)
            self.first.append(time)
            self.last.append(time)
            self.levels.append(0)
            if len(self.last) == len(self.counts):
                self.counts = np.append(self.counts, np.zeros_like(self.counts), axis=0)
                self.delays = np.append(self.delays, np.zeros_like(self.delays), axis=0)
            self._merge()
            if self._is_old(time):
                self.law, self.renewed = self.estimate(time), time
        self.counts[len(self.last) - 1, ASKED, arm] += 1
        self.last[-1] = time

    def tell(self, arm: int, asked: float, delay: float) -> None:
        """The reward of a Decision asked at that time came so late."""
        place = bisect_left(self.last, asked)
        self.counts[place, TOLD, arm] += 1
        if delay <= self.timeout:
            beyond = 0 if delay <= self.bounds[0] else math.ceil(PER_OCTAVE * math.log2(delay)) - self._top + BINS - 1
            self.delays[place, min(max(beyond, 0), BINS - 1)] += 1.0

    def settle(self, arm: int, asked: float) -> None:
        """A Decision asked at that time has had its timeout."""
        self.counts[bisect_left(self.last, asked), SETTLED, arm] += 1

    def drop(self, arm: int, asked: float) -> None:
        """A Decision asked at that time counts no more."""
        self.counts[bisect_left(self.last, asked), ASKED, arm] -= 1

    def rewind(self, time: float) -> None:
        """Nothing was asked later than this."""
        while len(self.last) > 1 and self.last[-2] >= time:
            self._join(len(self.last) - 2, self.levels[-2])
        self.since, self.renewed = min(self.since, time), min(self.renewed, time)
        self.first = [min(each, time) for each in self.first]
        self.last = [min(each, time) for each in self.last]

    def estimate(self, now: float) -> Array:
        """F at each of ``bounds``, from what is known now."""
        delays = self.delays[: len(self.last)]
        watched = (now - np.array(self.last))[:, None] >= self.bounds
        late = self.done + (delays * watched).sum(axis=0)
        all_of_them = self.done.cumsum() + (delays.cumsum(axis=1) * watched).sum(axis=0)
        guess = PRIOR * np.minimum(self.bounds / max(now - self.since, self.tick), 1.0)
        hazard = (late + np.diff(guess, prepend=0.0)) / np.maximum(all_of_them + guess, 1e-300)
        kept = np.cumprod((1.0 - hazard)[::-1])[::-1]
        return np.append(kept[1:], 1.0)

    def _is_old(self, now: float) -> bool:
        """Whether the law should be estimated anew."""
        return now - self.renewed >= min(self.timeout / RENEWALS, (self.renewed - self.since) / 16)

    def weights(self, now: float) -> Array:
        """F at the age of each cohort."""
        ages = now - (np.array(self.first) + np.array(self.last)) / 2.0
        law = self.estimate(now) if self._is_old(now) else self.law  # kept with the next ask: to look changes nothing
        found: Array = np.interp(ages, np.append(0.0, self.bounds), np.append(0.0, law))
        return found

    def missing(self, now: float) -> Array:
        """For each arm, how much silence its open Decisions amount to by now: F of each, less those that were told."""
        if not self.last:
            return np.zeros(self.n_arms)
        counts = self.counts[: len(self.last)]
        weighed = (self.weights(now)[:, None] * (counts[:, ASKED] - counts[:, SETTLED])).sum(axis=0)
        found: Array = weighed - counts[:, TOLD].sum(axis=0)
        return found

    def packed(self) -> dict[str, Array]:
        """All of it, for a snapshot."""
        return {
            "cohort_times": np.array(
                [(self.since, self.renewed, -1), *zip(self.first, self.last, self.levels, strict=True)]
            ),
            "cohort_counts": self.counts[: len(self.last)],
            "cohort_delays": np.array([self.law, self.done, *self.delays[: len(self.last)]]),
        }

    def resume(self, arrays: dict[str, Array]) -> None:
        """Go on from a snapshot."""
        (self.since, self.renewed, _), *times = arrays["cohort_times"].tolist()
        self.first, self.last = [first for first, _, _ in times], [last for _, last, _ in times]
        self.levels = [int(level) for _, _, level in times]
        room = max(ROOM, len(times))
        self.counts, self.delays = np.zeros((room, 3, self.n_arms), np.int64), np.zeros((room, BINS))
        self.law, self.done = arrays["cohort_delays"][:2].copy()
        self.counts[: len(times)], self.delays[: len(times)] = arrays["cohort_counts"], arrays["cohort_delays"][2:]

    def _let_go(self, now: float) -> None:
        """Of cohorts past their timeout only the delays are of use."""
        while self.last and self.last[0] + self.timeout <= now:
            asked, told, settled = self.counts[0]
            if (asked > told + settled).any():
                return
            self.done += self.delays[0]
            if self.done.sum() > REMEMBERED:
                self.done *= 0.5
            self._forget(0)

    def _merge(self) -> None:
        level = 0
        while self.levels.count(level) > PER_LEVEL:
            self._join(self.levels.index(level), level + 1)
            level += 1

    def _join(self, place: int, level: int) -> None:
        """Make one of a cohort and the next."""
        self.last[place], self.levels[place] = self.last[place + 1], level
        for rows in (self.counts, self.delays):
            rows[place] += rows[place + 1]
        self._forget(place + 1)

    def _forget(self, place: int) -> None:
        end = len(self.last)
        for rows in (self.counts, self.delays):
            rows[place : end - 1] = rows[place + 1 : end]
            rows[end - 1] = 0
        for each in (self.first, self.last, self.levels):
            del each[place]


def _shifted(delays: Array, shift: int) -> Array:
    """The same delays when ranges begin so many places later."""
    moved = np.zeros(BINS)
    places = np.arange(BINS) - shift
    kept = places < BINS
    np.add.at(moved, places[kept].clip(0), delays[kept])
    return moved
