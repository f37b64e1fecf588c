"""Recorded series: they ship with the package, and the instances made of them are what is said of them."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.instances import recorded
from driftbandits.instances.recorded import ROWS_A_DAY, RecordedSeries, read_data, recorded_series, spread

DATA = Path(recorded.__file__).with_name("data")
MADE_OF: dict[str, Callable[[int], instances.Instance]] = {
    "ad-prices-cpc": instances.ad_prices,
    "ad-prices-cpm": partial(instances.ad_prices, price="cpm"),
    "tweets": instances.tweets,
    "weather": instances.weather,
}


def test_every_file_is_small_and_named_with_its_licence() -> None:
    files = {path.stem: path.stat().st_size for path in DATA.glob("*.parquet")}
    assert set(files) == {"clicks", *ROWS_A_DAY}
    assert sum(files.values()) < 1_000_000
    said = (DATA / "README.md").read_text(encoding="utf-8")
    rows = [line for line in said.splitlines() if ".parquet" in line]
    assert {name for line in rows for name in re.findall(r"`(\S+)\.parquet`", line)} == set(files)
    assert all(re.search(r"\| (MIT, ©.+|CC0) \|$", line) for line in rows)
    for name in files:
        shape = read_data(name)[1].shape
        assert any(f"`{name}.parquet`" in line and f"| {shape[0]:,}, {shape[1]} |" in line for line in rows)


@pytest.mark.parametrize("name", ROWS_A_DAY)
def test_means_are_medians_of_a_day_joined_by_lines(name: str) -> None:
    series, T = recorded_series(name), 4_001
    n, half = len(series.values), series.rows_a_day // 2
    largest = max(
        statistics.median(series.values[[min(max(s, 0), n - 1) for s in range(t - half, t + half + 1)], arm])
        for arm in range(len(series.arms))
        for t in (range(n) if n < 2_000 else [int(np.argmax(MADE_OF[name](n).means[:, arm]))])
    )
    means = MADE_OF[name](T).means
    for step in (0, 1, 17, 2_000, T - 1):
        at = step * (n - 1) / (T - 1)
        for arm in range(len(series.arms)):
            ends = []
            for t in (math.floor(at), math.ceil(at)):
                day = [series.values[min(max(s, 0), n - 1), arm] for s in range(t - half, t + half + 1)]
                ends.append(statistics.median(day) / largest)
            assert means[step, arm] == pytest.approx(ends[0] + (at - math.floor(at)) * (ends[1] - ends[0]), abs=1e-9)


def test_clicks_are_the_published_rates() -> None:
    means = instances.clicks(8 * 1_000 + 1).means
    assert np.allclose(means[::1_000], read_data("clicks")[1], atol=1e-15)
    assert means[500, 0] == pytest.approx((0.071 + 0.055) / 2)
    assert spread(read_data("clicks")[1], 1).shape == (1, 6)


def series(**other: object) -> RecordedSeries:
    given = {"name": "mine", "arms": ("a", "b"), "values": np.ones((4, 2)), "rows_a_day": 2}
    return RecordedSeries(**(given | other))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"values": np.ones((4, 3))}, "one column for each"),
        ({"values": np.ones(4)}, "one column for each"),
        ({"values": np.array([["x", "y"]] * 4)}, "floating-point"),
        ({"values": np.full((4, 2), np.nan)}, "finite"),
        ({"values": np.full((4, 2), 1e300)}, "finite and at most"),
        ({"values": np.ones((3, 2))}, "two days at least; got 3 rows"),
        ({"rows_a_day": 0}, "rows_a_day must be"),
        ({"arms": ("a",), "values": np.ones((4, 1))}, "two arms or more"),
    ],
)
def test_a_wrong_series_is_refused(wrong: dict[str, object], said: str) -> None:
    assert series().rows_a_day == 2
    with pytest.raises(InputError, match=said):
        series(**wrong)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="no series 'prices'; choose one of ad-prices-cpc"):
        recorded_series("prices")
    with pytest.raises(InputError, match="price must be one of cpc, cpm; got 'cpx'"):
        instances.ad_prices(100, "cpx")
