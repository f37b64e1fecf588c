"""A little of a View: what a list of a thousand experiments shows of each."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.live.session import Session
from driftbandits.service.dashboard.numbers import number_or_none
from driftbandits.service.dashboard.tracks import ARMS, SUMS, Track
from driftbandits.service.dashboard.views import View

POINTS = 32
"""Of a sparkline."""
REWARDS, TOTAL = ARMS.index("rewards"), ARMS.index("total")


def summary_of(view: View, session: Session) -> str:
    """As JSON: counts, recent mean, a sparkline of mean rewards, the last reward, alarms, lift, what is forced.

    >>> session = Session(arms=["red", "blue"])
    >>> json.loads(summary_of(View(session), session))["step"]
    0
    """
    view.take_in()
    lift = session.lift()
    last = view.alarms[-1][1] if view.alarms else None
    found = {
        "step": view.step,
        "time": round(view.time, 1),
        "rewards": int(view.rows(view.whole).sums[:, SUMS.index("told")].sum()),
        "pending": view.pending,
        "mean": number_or_none(_means(view, view.recent, 1)[0]),
        "spark": [number_or_none(mean, 4) for mean in _means(view, view.whole, POINTS).tolist()],
        "last": None if view.rewarded is None else round(view.rewarded, 1),
        "alarms": view.alarm_count,
        "alarmed": None if last is None else round(last, 1),
        "lift": None if lift.lift is None else [number_or_none(each or 0.0) for each in lift[:3]],
        "unknown": round(lift.unknown / max(lift.rewards + lift.held_out + lift.unknown, 1), 3),
        "forced": session.forced,
        "holdout": session.holdout,
    }
    return json.dumps(found, separators=(",", ":"), allow_nan=False)


def _means(view: View, track: Track, points: int) -> Array:
    """Mean rewards of all arms together, of so many equal parts of the rows; nan where none came."""
    by_row = view.rows(track).arms[:, :, [REWARDS, TOTAL]].sum(axis=1)
    if not len(by_row):
        return np.full(1, math.nan)
    starts = np.unique(np.linspace(0, len(by_row), min(points, len(by_row)), endpoint=False).astype(int))
    rewards, total = np.add.reduceat(by_row, starts).T
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = total / rewards + (view.origin or 0.0)
    return means


def experiment_row(stored: Any, status: str, summary: str | None, here: bool) -> str:
    """What the list shows of an experiment, as JSON; ``here``: this service holds it, and the summary is of now."""
    arms = [arm for arm, is_now in zip(stored.arms, stored.statuses, strict=True) if is_now != "removed"]
    about = {
        "id": stored.id,
        "title": stored.title,
        "status": status,
        "policy": stored.policy["class"],
        "arms": arms[:MOST],
        "count": len(arms),
        "created": round(stored.created, 1),
        "events": stored.last_seq,
        "here": here,
    }
    return f'{json.dumps(about, separators=(",", ":"))[:-1]},"summary":{summary or "null"}}}'


MOST = 30
"""Names of arms, which a search looks at."""
