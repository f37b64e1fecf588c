"""Policies on recorded series, against a plain twin: one play after the other, one moment after the other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from driftbandits.errors import InputError
from driftbandits.instances.recorded import RecordedSeries
from driftbandits.offline.recorded import _bootstrap, play_recorded, scale_by_past
from driftbandits.policies import AutoTS, RoundRobin

DAY, DAYS = 6, 9
VALUES = (
    np.random.default_rng(3).normal(10.0, 3.0, (DAYS * DAY + 2, 3)) + np.sin(np.arange(DAYS * DAY + 2) / 7)[:, None]
)
SERIES = RecordedSeries("mine", ("a", "b", "c"), VALUES, DAY)


def naive_scaled(values: Any) -> list[list[float]]:
    rows = []
    for t in range(DAY, len(values)):
        past = sorted(float(x) for row in values[: t - t % DAY] for x in row)
        ends = []
        for q in (0.05, 0.95):
            at = q * (len(past) - 1)
            below = math.floor(at)
            ends.append(past[below] + (at - below) * (past[min(below + 1, len(past) - 1)] - past[below]))
        rows.append([min(1.0, max(0.0, (float(x) - ends[0]) / (ends[1] - ends[0]))) for x in values[t]])
    return rows


def naive_play(starts: int) -> tuple[float, float, float]:
    """Mean reward of taking turns, and its regrets, averaged at each moment of the history first."""
    n = len(VALUES)
    sums: dict[int, list[tuple[float, float, float]]] = {}
    for number in range(starts):
        first = n * number // starts
        table = naive_scaled([VALUES[(first + t) % n] for t in range(n)])
        totals = [sum(row[arm] for row in table) for arm in range(3)]
        for t, row in enumerate(table):
            around = [table[min(max(s, 0), len(table) - 1)] for s in range(t - DAY // 2, t + DAY // 2 + 1)]
            followed = max(range(3), key=lambda arm: sum(near[arm] for near in around))
            reward = row[t % 3]
            found = (reward, row[totals.index(max(totals))] - reward, row[followed] - reward)
            sums.setdefault((first + DAY + t) % n, []).append(found)
    means = [[sum(one[k] for one in found) / len(found) for k in range(3)] for found in sums.values()]
    return tuple(sum(row[k] for row in means) / len(means) for k in range(3))  # type: ignore[return-value]


@pytest.mark.parametrize("starts", [1, 4])
def test_it_is_the_twins(starts: int) -> None:
    (row,) = play_recorded({"turns": RoundRobin()}, SERIES, starts=starts).iter_rows(named=True)
    assert (row["reward"], row["fixed"], row["oracle"]) == pytest.approx(naive_play(starts), abs=1e-12)
    assert row["fixed_low"] < row["fixed"] < row["fixed_high"]
    assert row["oracle_low"] < row["oracle"] < row["oracle_high"]


def test_the_scale_knows_the_past_alone() -> None:
    whole = scale_by_past(VALUES, DAY)
    for cut in (2 * DAY, 5 * DAY, 5 * DAY + 3):
        other = VALUES.copy()
        other[cut:] = 1e6
        assert (scale_by_past(other, DAY)[: cut - DAY] == whole[: cut - DAY]).all()
    assert scale_by_past(np.ones((4, 2)), 2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert (whole >= 0).all()
    assert (whole <= 1).all()


def test_the_result_depends_on_the_seed_alone() -> None:
    policies = {"AutoTS": AutoTS(), "turns": RoundRobin()}
    first = play_recorded(policies, SERIES, starts=5, seed=1, workers=1)
    assert first.equals(play_recorded(policies, SERIES, starts=5, seed=1, workers=3))
    assert not first.equals(play_recorded(policies, SERIES, starts=5, seed=2))


def test_the_bootstrap_of_independent_days_is_the_normal_interval() -> None:
    days = np.random.default_rng(0).normal(1.0, 2.0, 400)
    low, high = _bootstrap(np.repeat(days, 5), 5, 0)
    assert (high + low) / 2 == pytest.approx(days.mean(), abs=0.02)
    assert high - low == pytest.approx(2 * 1.96 * days.std() / 20, rel=0.08)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"starts": 0}, "starts must be"),
        ({"series": "nothing"}, "no series 'nothing'"),
        ({"policies": {}}, "at least one"),
    ],
)
def test_bad_input(wrong: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"policies": {"turns": RoundRobin()}, "series": SERIES}
    with pytest.raises(InputError, match=said):
        play_recorded(**(given | wrong))
