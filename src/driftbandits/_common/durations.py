"""How long: 90d, 12h, 30m."""

from __future__ import annotations

import math
import re

from driftbandits.errors import InputError

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds_of(text: str) -> float | None:
    """Seconds; None for "forever".

    >>> seconds_of("90d"), seconds_of("1.5h"), seconds_of("forever")
    (7776000.0, 5400.0, None)
    >>> seconds_of("soon")
    Traceback (most recent call last):
    driftbandits.errors.InputError: a time is a number and s, m, h, d or w, as in 90d, or forever; got 'soon'
    """
    if text == "forever":
        return None
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)([smhdw])", text)
    seconds = float(found[1]) * SECONDS[found[2]] if found else math.nan
    if not seconds > 0:
        raise InputError(f"a time is a number and s, m, h, d or w, as in 90d, or forever; got {text!r}")
    return seconds
