"""The time of a Session: steady while it runs, and set right when it goes on after a clock was wrong."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import shown
from driftbandits.errors import InputError
from driftbandits.live.decisions import Rewound

if TYPE_CHECKING:
    from driftbandits.live.session import Session

SLACK = 60.0
"""Seconds by which clocks may differ before one of them is called wrong."""


def check_clock(clock: Any) -> Callable[[], float]:
    """A clock that was given, or a steady one."""
    if not (clock is None or callable(clock)):
        raise InputError(f"clock must be a function that returns seconds, such as time.time; got {shown(clock)}")
    return clock or steady_clock()


def read_clock(clock: Callable[[], float]) -> float:
    """Return what a clock shows, in seconds; InputError if that is not a finite number.

    >>> read_clock(lambda: "noon")
    Traceback (most recent call last):
    driftbandits.errors.InputError: clock must return a finite number of seconds, as time.time does; it returned 'noon'
    """
    now: Any = clock()
    try:
        seconds = float(now)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not -math.inf < seconds < math.inf:
        raise InputError(f"clock must return a finite number of seconds, as time.time does; it returned {shown(now)}")
    return seconds


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that never jump: the wall clock at the start, and a monotonic clock from there."""
    return running_from(time.time())


def running_from(start: float) -> Callable[[], float]:
    """A clock that shows ``start`` now."""
    offset = start - time.monotonic()
    return lambda: offset + time.monotonic()


def keep_time(session: Session, earliest: float) -> str | None:
    """Let a Session go on where the clock stands, if its log ends elsewhere; says what was wrong, if anything.

    A log that is ahead of the clock was written while the clock was wrong: time is set back, by an event. But if the
    clock shows a time before ``earliest``, which is past, it is wrong now: time goes on from the log's end.
    """
    now, last = read_clock(session.clock), session.time
    if now < earliest - SLACK:
        start = max(last, earliest)
        session.clock = running_from(start)
        return f"the clock shows {_date(now)}, which is before {_date(earliest)}: time goes on from {_date(start)}"
    if last > now + SLACK:
        session.apply(Rewound(now))
        return f"the log ends at {_date(last)}, but it is {_date(now)}: a clock was wrong, and time was set back"
    return None


def _date(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(max(0.0, min(seconds, 1e11))))
