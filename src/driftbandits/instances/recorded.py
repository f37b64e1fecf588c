"""Series that were recorded in the world and ship with the package; sources and licences are in ``data/README.md``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import LARGEST_REWARD, check_horizon, check_whole
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance

ROWS_A_DAY = {"ad-prices-cpc": 24, "ad-prices-cpm": 24, "tweets": 288, "weather": 24}
"""The series of single measurements, and how many of them make a day."""


@dataclass(frozen=True, eq=False)
class RecordedSeries:
    """What was recorded: ``values[t, a]`` is what arm a had at moment t; ``rows_a_day`` moments make a day.

    >>> import numpy as np
    >>> RecordedSeries("mine", ("red", "blue"), np.ones((48, 2)), 24).name
    'mine'
    """

    name: str
    arms: tuple[str, ...]
    values: Array
    rows_a_day: int

    def __post_init__(self) -> None:
        check_whole("rows_a_day", self.rows_a_day, 1)
        values = np.asarray(self.values)
        if values.ndim != 2 or values.shape[1] != len(self.arms) or len(self.arms) < 2:
            raise InputError(
                f"values must have one row a moment and one column for each of two arms or more; got shape "
                f"{values.shape} for {len(self.arms)} arms"
            )
        if not (np.issubdtype(values.dtype, np.floating) and (np.abs(values) <= LARGEST_REWARD).all()):
            raise InputError(f"values must be floating-point numbers, finite and at most {LARGEST_REWARD:g} in size")
        if len(values) < 2 * self.rows_a_day:
            raise InputError(
                f"a series needs two days at least; got {len(values):,} rows of which {self.rows_a_day:,} make a day"
            )


@cache
def recorded_series(name: str) -> RecordedSeries:
    """The series ``ad-prices-cpc``, ``ad-prices-cpm``, ``tweets`` or ``weather``, as it was recorded.

    >>> recorded_series("weather").arms, recorded_series("weather").values.shape
    (('EWR', 'JFK', 'LGA'), (8694, 3))
    """
    if name not in ROWS_A_DAY:
        raise InputError(f"there is no series {name!r}; choose one of {', '.join(ROWS_A_DAY)}")
    arms, values = read_data(name)
    return RecordedSeries(name, arms, values, ROWS_A_DAY[name])


def read_data(name: str) -> tuple[tuple[str, ...], Array]:
    """The names of the arms and the values, one column an arm, of a file in ``data``."""
    import polars as pl

    file = files("driftbandits.instances").joinpath("data", f"{name}.parquet")
    table = pl.read_parquet(file.read_bytes()).drop("timestamp", strict=False)
    values = table.cast(pl.Float64).to_numpy().copy()
    values.flags.writeable = False
    return tuple(table.columns), values


def day_by_day(name: str, horizon: int) -> Instance:
    """Each arm's median over the day around a moment, as a share of the largest there is, spread over T steps.

    The median leaves out single outliers. Between two moments means are interpolated, so the drift is far smaller than
    that of what was recorded, and the regret is exact.
    """
    import polars as pl

    series = recorded_series(name)
    half = series.rows_a_day // 2
    padded = np.pad(series.values, ((half, half), (0, 0)), "edge")
    medians = [pl.Series(column).rolling_median(2 * half + 1).to_numpy()[2 * half :] for column in padded.T]
    smooth = np.column_stack(medians)
    low = min(0.0, float(smooth.min()))
    means = spread((smooth - low) / (smooth.max() - low), horizon)
    return Instance(means, name=name.replace("-", " "), arms=series.arms)


def spread(values: Array, horizon: int) -> Array:
    """The rows of a table as points evenly spaced over T steps, the first at step 1, and straight lines between them.

    >>> spread(np.array([[0.0, 1.0], [1.0, 0.0]]), 5).tolist()
    [[0.0, 1.0], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]
    """
    at = np.linspace(0, len(values) - 1, check_horizon(horizon))
    return np.column_stack([np.interp(at, np.arange(len(values)), column) for column in values.T])
