"""Events of an experiment, added up into rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.policies._parts.belief import Snooze
from driftbandits.service.dashboard.tracks import ARMS, Rows, empty_rows

WIDTH = 8
"""Steps in a row."""


class BeliefAt(NamedTuple):
    """What the policy believed after a step; nan for what it does not have."""

    step: int
    gap: float
    threshold: float
    snoozed: tuple[Snooze, ...]


class Asks(NamedTuple):
    """Asks as columns; probability nan where it is not kept."""

    row: Any
    step: Any
    arm: Any
    time: Array
    probability: Array


class Closed(NamedTuple):
    """Rewards and settlements as columns.

    ``row`` is where they came, ``step`` which Decision they close, asked at ``asked``; reward and probability are nan
    where there is none.
    """

    row: Any
    step: Any
    arm: Any
    reward: Array
    probability: Array
    time: Array
    asked: Array
    told: Any


def row_of(step: Any, since: int) -> Any:
    """Rows are counted from step ``since`` + 1 on; what comes before it belongs to row 0."""
    return np.maximum(np.asarray(step, np.int64) - since - 1, 0) // WIDTH


def ask_columns(numbers: list[float], since: int) -> Asks:
    """Columns of asks, which come one after the other as (step, arm, time, probability)."""
    step, arm, time, probability = np.array(numbers, np.float64).reshape(-1, 4).T
    return Asks(row_of(step, since), step.astype(np.int64), arm.astype(np.int64), time, probability)


def closed_columns(numbers: list[float], since: int) -> Closed:
    """Columns of what closes, as (newest step when it came, step, arm, reward, probability, time, when asked, told)."""
    came, step, arm, reward, probability, time, asked, told = np.array(numbers, np.float64).reshape(-1, 8).T
    step, arm = step.astype(np.int64), arm.astype(np.int64)
    return Closed(row_of(came, since), step, arm, reward, probability, time, asked, told > 0)


def add_up(
    before: Rows, asks: Asks, closed: Closed, beliefs: list[BeliefAt], since: int, newest: int, origin: float
) -> Rows:
    """All rows from ``before``, the last and unfinished one so far, to the one that is unfinished now.

    ``beliefs`` begins with what was known before, ``newest`` is the newest step closed before, ``origin`` is subtracted
    from each reward.
    """
    begin = int(before.last[0, 0])
    end = int(asks.step[-1]) if len(asks.step) else begin
    first, n_arms = int(row_of(begin, since)), before.arms.shape[1]
    count = int(row_of(end, since)) - first + 1
    rows = empty_rows(count, n_arms)
    rows.sums[0], rows.arms[0] = before.sums[0], before.arms[0]
    asked_in, came_in = asks.row - first, closed.row - first

    told, overtaken = (
        closed.told,
        closed.step < np.maximum.accumulate(np.where(closed.told, closed.step, newest).clip(newest)),
    )
    for index, which in enumerate((told, told & overtaken, ~told)):
        rows.sums[:, index] += np.bincount(came_in[which], minlength=count)

    known = ~np.isnan(closed.reward)
    cell, above = (came_in * n_arms + closed.arm)[known], closed.reward[known] - origin
    weight = 1.0 / np.nan_to_num(closed.probability[known], nan=1.0)
    asked_cell = asked_in * n_arms + asks.arm
    cells = ((asked_cell, None), (cell, None), (cell, above), (cell, above**2), (cell, weight), (cell, weight * above))
    for index, (where, what) in enumerate(cells):
        rows.arms[:, :, index] += np.bincount(where, what, count * n_arms).reshape(count, n_arms)
    for belief, until in zip(beliefs, [*(belief.step for belief in beliefs[1:]), end], strict=True):
        meanwhile = asked_in[(asks.step > belief.step) & (asks.step <= until)] if belief.snoozed else asked_in[:0]
        for snooze in belief.snoozed:
            rows.arms[:, snooze.arm, ARMS.index("snoozed")] += np.bincount(meanwhile, minlength=count)

    rows.last[:, 0] = np.minimum(since + WIDTH * np.arange(first + 1, first + count + 1), end)
    rows.last[0, 1] = before.last[0, 1]
    np.maximum.at(rows.last[:, 1], asked_in, asks.time)
    np.maximum.at(rows.last[:, 1], came_in, closed.time)
    pending = np.bincount(asked_in, minlength=count) - np.bincount(came_in, minlength=count)
    rows.last[:, 2] = before.last[0, 2] + np.cumsum(pending)
    for belief in beliefs:
        rows.last[max(int(row_of(belief.step, since)) - first, 0) :, 3:] = belief.gap, belief.threshold
    return rows
