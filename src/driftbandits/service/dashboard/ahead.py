"""What the policy expects of each arm beyond now, for policies that look ahead: a mean and a band that widens."""

from __future__ import annotations

from typing import Any

from driftbandits.live.session import Session
from driftbandits.service.dashboard.numbers import number_or_none

POINTS = 8
SHARE = 0.2
"""Of the steps that a figure shows, it looks so far ahead."""


def ahead_json(session: Session, shown: int, drawn: tuple[int, ...]) -> dict[str, Any] | None:
    """Forecasts for 1 to a fifth of the ``shown`` steps ahead, of the arms ``drawn``; None if the policy makes none.

    >>> from driftbandits import BreakEven, SWUCB
    >>> session = Session(BreakEven(), ["red", "blue"])
    >>> for decision in session.ask_many(4):
    ...     _ = session.tell(decision, 1.0)
    >>> ahead_json(session, 400, (0, 1))["steps"]
    [1, 12, 23, 34, 46, 57, 68, 80]
    >>> ahead_json(Session(SWUCB(window=50, xi=1.0), ["red", "blue"]), 400, (0, 1)) is None
    True
    """
    furthest = max(POINTS, int(SHARE * shown))
    steps = [1 + (furthest - 1) * point // (POINTS - 1) for point in range(POINTS)]
    if session.belief(steps[0]).estimate is None:
        return None
    found = [session.belief(each) for each in steps]
    columns = {"mean": "estimate", "low": "low", "high": "high"}
    return {"steps": steps} | {
        name: [[number_or_none(getattr(belief, field)[arm]) for belief in found] for arm in drawn]
        for name, field in columns.items()
    }
