"""Long series in little memory: rows that are folded, two into one, or forgotten, when there are too many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftbandits._common.arrays import Array

SUMS = ("told", "late", "settled")
"""Counted over a row: rewards that came, those of them that newer ones overtook, Decisions whose time was up."""
LAST = ("step", "time", "pending", "gap", "threshold")
"""As they were at the end of a row."""
ARMS = ("asks", "rewards", "total", "squares", "weight", "weighted", "snoozed")
"""Of each arm, over a row: asks, rewards with their sum and squares, these weighted by 1/probability, steps snoozed."""


class Rows(NamedTuple):
    """Rows of numbers: ``sums`` (rows, SUMS), ``last`` (rows, LAST), ``arms`` (rows, arms, ARMS)."""

    sums: Array
    last: Array
    arms: Array

    def part(self, start: int, end: int) -> Rows:
        """The rows from ``start`` to before ``end``."""
        return Rows(self.sums[start:end], self.last[start:end], self.arms[start:end])

    def with_arm(self) -> Rows:
        """The same rows with one arm more, of which nothing was seen."""
        return self._replace(arms=np.pad(self.arms, ((0, 0), (0, 1), (0, 0))))

    def joined(self, other: Rows) -> Rows:
        """These rows, followed by the others."""
        return Rows(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    def folded(self, count: int) -> Rows:
        """Every ``count`` rows, whose number must divide by it, as one."""
        sums, last, arms = self
        return Rows(
            sums.reshape(-1, count, *sums.shape[1:]).sum(axis=1),
            last[count - 1 :: count],
            arms.reshape(-1, count, *arms.shape[1:]).sum(axis=1),
        )


def empty_rows(count: int, n_arms: int) -> Rows:
    """So many rows of zeros."""
    return Rows(np.zeros((count, len(SUMS))), np.zeros((count, len(LAST))), np.zeros((count, n_arms, len(ARMS))))


class Track:
    """At most ``most`` rows, an even number. When full, either two rows become one (``folds``), or the older half goes.

    ``generation`` changes when rows that were there before change; else rows only follow one another.
    """

    def __init__(self, most: int, n_arms: int, folds: bool) -> None:
        self.most, self.folds = most, folds
        self.rows, self.rest = empty_rows(0, n_arms), empty_rows(0, n_arms)
        """Rows of full width, and at most one made of the ``filled`` shortest ones that fill no such row yet."""
        self.width, self.filled, self.generation = 1, 0, 0

    def add(self, rows: Rows) -> None:
        """More rows, of the shortest width."""
        at, count = 0, len(rows.last)
        while at < count:
            ready = 0 if self.filled else (count - at) // self.width
            if ready and len(self.rows.last) == self.most:
                self._make_room()
            elif ready:
                end = at + min(ready, self.most - len(self.rows.last)) * self.width
                self.rows = self.rows.joined(rows.part(at, end).folded(self.width))
                at = end
            else:
                end = min(at + self.width - self.filled, count)
                self._fill(rows.part(at, end))
                at = end

    def _fill(self, rows: Rows) -> None:
        rest = self.rest.joined(rows)
        self.rest, self.filled = rest.folded(len(rest.last)), self.filled + len(rows.last)
        if self.filled == self.width and len(self.rows.last) == self.most:
            self._make_room()  # and if rows are twice as wide now, it fills half of one
        if self.filled == self.width:
            self.rows, self.rest, self.filled = self.rows.joined(self.rest), self.rest.part(0, 0), 0

    def all_rows(self, unfinished: Rows) -> Rows:
        """All rows, the last one made of what fills no full row yet and of one ``unfinished`` row."""
        rest = self.rest.joined(unfinished)
        return self.rows.joined(rest.folded(len(rest.last)))

    def _make_room(self) -> None:
        if self.folds:
            self.rows = self.rows.folded(2)
            self.width *= 2
        else:
            self.rows = self.rows.part(self.most // 2, self.most)
        self.generation += 1
