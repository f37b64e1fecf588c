"""The values of one parameter of a grid: one, a list, or a range."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from driftbandits._common.checks import check_whole, shown
from driftbandits.errors import InputError

DIGITS = 12
"""Points of a range are rounded to so many significant digits: 1e-07 rather than 1.0000000000000001e-07."""
MOST_POINTS = 1_000_000


def values_of(given: Any) -> list[Any]:
    """The values that a parameter takes.

    ``{"log": [first, last], "points": n}`` is a range evenly spaced in its logarithm, ``{"linear": ...}`` one evenly
    spaced itself; ends are included, and two whole ends make whole points. A list is a list of values, anything else
    a single one.

    >>> values_of({"log": [1e-6, 1e-2], "points": 3}), values_of({"log": [1_000, 100_000], "points": 3})
    ([1e-06, 0.0001, 0.01], [1000, 10000, 100000])
    >>> values_of({"linear": [0.0, 1.0], "points": 5}), values_of("SnoozeIt")
    ([0.0, 0.25, 0.5, 0.75, 1.0], ['SnoozeIt'])
    """
    if isinstance(given, Mapping):
        return _range(given)
    if isinstance(given, range):
        given = list(given)
    given = plain(given)
    if not isinstance(given, (list, tuple)):
        return [given]
    values = list(map(plain, given))
    if not values:
        raise InputError("is an empty list: with no value there is no cell")
    for at, value in enumerate(values):
        if any(_same(value, before) for before in values[:at]):
            raise InputError(f"lists {shown(value)} twice")
    return values


def plain(value: Any) -> Any:
    """An array as a list and a number of numpy as Python's: a file holds no others.

    >>> plain(np.array([5, 9])), plain(np.float64(0.5)), plain("UCB1")
    ([5, 9], 0.5, 'UCB1')
    """
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _same(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other)
    except Exception:  # of arrays, and of whatever else can't be compared
        return False


def _range(given: Mapping[str, Any]) -> list[Any]:
    kinds = {"log", "linear"} & set(given)
    if set(given) - {"log", "linear", "points"} or len(kinds) != 1 or "points" not in given:
        raise InputError(
            "a range is written { log = [first, last], points = n } or { linear = [first, last], points = n }; "
            f"got the keys {', '.join(given) or 'none'}"
        )
    (kind,) = kinds
    points = check_whole("points", given["points"], 2, MOST_POINTS)
    ends = given[kind]
    if not (isinstance(ends, (list, tuple)) and len(ends) == 2 and all(map(_finite, ends)) and ends[0] != ends[1]):
        raise InputError(f"{kind} must hold two different numbers, [first, last]; got {shown(ends)}")
    if kind == "log" and min(ends) <= 0:
        raise InputError(f"a logarithmic range needs two ends above 0; got {shown(list(ends))}: give a list of values")
    first, last = ends
    made = np.geomspace(first, last, points) if kind == "log" else np.linspace(first, last, points)
    if not all(isinstance(end, int) for end in ends):
        return [float(f"{value:.{DIGITS}g}") for value in made]
    whole = [round(float(value)) for value in made]
    if len(set(whole)) < points:
        raise InputError(
            f"{points} whole points do not fit between {ends[0]} and {ends[1]}: take fewer, or write {ends[0]}.0 and "
            f"{ends[1]}.0 if fractions are meant"
        )
    return whole


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
