"""play_recorded(): policies on a series as it was recorded, of which they see only the arm that they choose.

There is no mean here, only what happened, and it happened once. So regret is against two rivals that look back: the
best fixed arm, and an oracle that always plays the arm with the best average of the day around each moment. The best
value of every single moment would be no rival: it follows the noise, and nobody could.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_whole, shown
from driftbandits._common.threads import GoOn, cores, in_threads
from driftbandits._numba.player import Player
from driftbandits.errors import FeasibilityWarning, InputError
from driftbandits.instances.base import Instance
from driftbandits.instances.noise import Gaussian
from driftbandits.instances.recorded import RecordedSeries, recorded_series
from driftbandits.policies.registry import short_horizon
from driftbandits.simulation.changing import play_steps
from driftbandits.simulation.engine import NOISE, OWN, stream

if TYPE_CHECKING:
    import polars as pl

EXACT = Gaussian(0.0)
"""A reward is what was recorded."""
LOW, HIGH = 0.05, 0.95
"""The quantiles of the past that become 0 and 1."""
RESAMPLED = 2_000
"""Draws of the bootstrap."""


def play_recorded(
    policies: Mapping[str, Any],
    series: str | RecordedSeries,
    *,
    starts: int = 20,
    seed: int = 0,
    workers: int | None = None,
) -> pl.DataFrame:
    """One row a policy: the mean reward, and the regret a step to the best fixed arm and to the smoothed oracle.

    ``series`` is a RecordedSeries, or the name of one that ships with the package (ad-prices-cpc, ad-prices-cpm,
    tweets, weather). Rewards are scaled by the past alone: the 5 % and 95 % quantiles of all values of the days before
    become 0 and 1, and what lies beyond is cut off; the first day only sets the scale.

    There is one history. A policy plays it ``starts`` times, each time from another moment on and round to it again,
    which averages over luck. What chance the history itself holds is in the intervals, at 95 %: blocks of one day are
    drawn anew (block bootstrap). A ``regret`` may be negative: a policy that follows the drift beats every fixed arm.

    >>> from driftbandits import policies
    >>> play_recorded({"turns": policies.RoundRobin()}, "ad-prices-cpm", starts=2).columns[:4]
    ['policy', 'reward', 'fixed', 'fixed_low']
    """
    import polars as pl

    history = recorded_series(series) if isinstance(series, str) else series
    if not isinstance(history, RecordedSeries):
        raise InputError(f"series must be a RecordedSeries, or the name of one such as 'tweets'; got {shown(series)}")
    starts, seed = check_whole("starts", starts, 1, len(history.values)), check_whole("seed", seed, 0)
    workers = cores() if workers is None else check_whole("workers", workers, 1)
    if not isinstance(policies, Mapping) or not policies:
        raise InputError('policies must name at least one policy, as in {"AutoTS": AutoTS()}')
    moments = [len(history.values) * number // starts for number in range(starts)]
    scaled = [scale_by_past(np.roll(history.values, -moment, axis=0), history.rows_a_day) for moment in moments]
    for name, policy in policies.items():
        if (why := short_horizon(policy, len(scaled[0]))) is not None:
            warnings.warn(f"policy {name!r}: {why}", FeasibilityWarning, stacklevel=2)
    todo = [(name, number) for name in policies for number in range(starts)]
    received: dict[tuple[str, int], Array] = {}
    players = {name: _compiled(policy, scaled[0]) for name, policy in policies.items()}

    def work(index: int, go_on: GoOn) -> None:
        name, number = todo[index]
        received[name, number] = _rewards(players[name], scaled[number], seed, number)
        go_on(1)

    in_threads(work, range(len(todo)), workers, "playing", len(todo), progress=False)
    fixed = _by_moment([table[:, table.mean(axis=0).argmax()] for table in scaled], moments, history.rows_a_day)
    followed = [_followed(table, history.rows_a_day) for table in scaled]
    oracle = _by_moment(followed, moments, history.rows_a_day)
    rows = []
    for name in policies:
        own = _by_moment([received[name, number] for number in range(starts)], moments, history.rows_a_day)
        found: dict[str, Any] = {"policy": name, "reward": float(own.mean())}
        for rival, theirs in (("fixed", fixed), ("oracle", oracle)):
            low, high = _bootstrap(theirs - own, history.rows_a_day, seed)
            found |= {rival: float((theirs - own).mean()), f"{rival}_low": low, f"{rival}_high": high}
        rows.append(found)
    return pl.DataFrame(rows).sort("reward", descending=True)


def scale_by_past(values: Array, rows_a_day: int) -> Array:
    """All days but the first, in [0, 1]: each scaled by the quantiles of what came before it, all arms together.

    >>> scale_by_past(np.array([[0.0, 10.0], [5.0, 20.0], [10.0, 0.0]]), 1).round(3).tolist()
    [[0.5, 1.0], [0.521, 0.0]]
    """
    days = []
    for first in range(rows_a_day, len(values), rows_a_day):
        low, high = np.quantile(values[:first], (LOW, HIGH))
        unit = high - low if high > low else 1.0
        days.append(np.clip((values[first : first + rows_a_day] - low) / unit, 0.0, 1.0))
    return np.ascontiguousarray(np.concatenate(days))


def _compiled(policy: Any, table: Array) -> Player:
    """A Player of which others are made, so that all are compiled by now, in the main thread."""
    player = Player(policy, table.shape[1], stream(0, 0, OWN))
    _rewards(player, table[:1], 0, 0)
    return player


def _rewards(model: Player, table: Array, seed: int, run: int) -> Array:
    """What the policy receives, moment by moment."""
    noise_rng, own = stream(seed, run, NOISE), stream(seed, run, OWN)
    player = model.another(own)
    played = play_steps(player, Instance(table), EXACT, noise_rng, chunk=len(table))
    assert played is not None
    return played.rewards


def _followed(table: Array, rows_a_day: int) -> Array:
    """What the oracle receives: at each moment the value of the arm with the best average of the day around it."""
    half = rows_a_day // 2
    sums = np.cumsum(np.pad(table, ((half + 1, half), (0, 0)), "edge"), axis=0)
    best = (sums[2 * half + 1 :] - sums[: -2 * half - 1]).argmax(axis=1)
    return np.asarray(table[np.arange(len(table)), best])


def _by_moment(played: list[Array], moments: list[int], rows_a_day: int) -> Array:
    """The average of several plays at each moment of the history, wherever each of them began."""
    n_rows = len(played[0]) + rows_a_day
    total, count = np.zeros(n_rows), np.zeros(n_rows)
    for rewards, moment in zip(played, moments, strict=True):
        at = (moment + rows_a_day + np.arange(len(rewards))) % n_rows
        total[at] += rewards
        count[at] += 1
    return np.asarray((total / np.maximum(count, 1))[count > 0])


def _bootstrap(differences: Array, block: int, seed: int) -> tuple[float, float]:
    """The 95 % interval of the mean of a series, from blocks of one day drawn with replacement."""
    whole = len(differences) // block
    sums = differences[: whole * block].reshape(whole, block).mean(axis=1)
    drawn = np.random.default_rng(seed).integers(whole, size=(RESAMPLED, whole))
    low, high = np.quantile(sums[drawn].mean(axis=1), (0.025, 0.975))
    return float(low), float(high)
