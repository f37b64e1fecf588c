"""A View as the JSON that the page draws."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftbandits.service.dashboard.curves import Curves, make_curves
from driftbandits.service.dashboard.numbers import number_or_none
from driftbandits.service.dashboard.tallies import WIDTH
from driftbandits.service.dashboard.tracks import ARMS, SUMS
from driftbandits.service.dashboard.views import SnoozeSpan, View

MOST_DRAWN = 20
"""Arms with curves, those with most pulls: more colours and patterns cannot be told apart."""
MOST_LISTED = 50


class Cursor(NamedTuple):
    """What a page has: the first ``rows`` rows of a span are final unless the generation or the arms drawn change."""

    span: str
    generation: int
    rows: int
    drawn: tuple[int, ...]


def view_json(view: View, span: str = "whole", have: Cursor | None = None) -> tuple[dict[str, Any], Cursor]:
    """All that the page draws, as plain JSON: of the ``whole`` life, or of the ``recent`` steps in more detail.

    ``have`` is the cursor that came with what the page got before: then only rows that are new or have grown are in
    ``rows``, which go behind the first ``start`` of those before.
    """
    view.take_in()
    track = view.recent if span == "recent" else view.whole
    rows, lifetime = view.rows(track), view.rows(view.whole)
    totals = lifetime.arms.sum(axis=0)
    busiest = np.argsort(-totals[:, 0], kind="stable").tolist()
    drawn = tuple(sorted(busiest[:MOST_DRAWN]))
    origin = view.origin or 0.0
    curves = make_curves(rows, origin)
    cursor = Cursor(span, track.generation, max(len(rows.last) - 1, 0), drawn)
    start = have.rows if have and have._replace(rows=0) == cursor._replace(rows=0) else 0
    whole = {name: _column(name, column[start:]) for name, column in curves.whole.items()}
    by_arm = {name: [_column(name, column[start:, arm]) for arm in drawn] for name, column in curves.arms.items()}
    answered, total = float(totals[:, 1].sum()), float(totals[:, 2].sum())
    counts = dict(zip(SUMS, lifetime.sums.sum(axis=0).astype(int).tolist(), strict=True))
    found = {
        "step": view.step,
        "since": view.since,
        "shown": len(rows.last) * WIDTH * track.width,
        "time": round(view.time, 3),
        "counts": counts | {"pending": view.pending},
        "mean": number_or_none(total / answered + origin) if answered else None,
        "delay": _delays(view),
        "arms": _arms(view, sorted(busiest[:MOST_LISTED]), totals, curves),
        "drawn": drawn,
        "start": start,
        "width": WIDTH * track.width,
        "rows": whole | by_arm,
        "weighted": bool((totals[:, ARMS.index("weight")] != totals[:, ARMS.index("rewards")]).any()),
        "decisions": _decisions(view),
        "snoozes": [_span(view, span) for span in reversed(view.snoozes)],
        "alarm": _alarm(view),
        "changes": view.changes,
        "crossing": _crossing(view),
    }
    return found, cursor


def _arms(view: View, listed: list[int], totals: Any, curves: Curves) -> list[dict[str, Any]]:
    with np.errstate(invalid="ignore"):
        mean = totals[:, 2] / totals[:, 1] + (view.origin or 0.0)
    snoozed = {snooze.arm: snooze.until for snooze in view.snoozed}
    unknown = np.full(len(totals), np.nan)
    last = {name: column[-1] if len(column) else unknown for name, column in curves.arms.items()}
    belief = view.belief
    thought = {"estimate": belief.estimate, "estimate_low": belief.low, "estimate_high": belief.high}
    return [
        {
            "index": arm,
            "arm": view.names[arm],
            "asks": int(totals[arm, 0]),
            "rewards": int(totals[arm, 1]),
            "overall": number_or_none(mean[arm]),
        }
        | {name: number_or_none(column[arm]) for name, column in last.items()}
        | {name: None if values is None else number_or_none(values[arm]) for name, values in thought.items()}
        | {"snoozed": arm in snoozed, "until": number_or_none(snoozed.get(arm, math.nan))}
        for arm in listed
    ]


def _delays(view: View) -> dict[str, float | None]:
    """Seconds from ask to tell, of the last rewards: the median, and what 9 of 10 don't exceed."""
    if not view.delays:
        return {"median": None, "most": None}
    median, most = np.percentile(np.array(view.delays), [50, 90]).tolist()
    return {"median": number_or_none(median), "most": number_or_none(most)}


def _decisions(view: View) -> list[dict[str, Any]]:
    seen = sorted((each for each in view.decisions if each), key=lambda each: -each.step)
    return [each._asdict() | {"id": f"{view.session_name}-{each.step}", "arm": view.names[each.arm]} for each in seen]


def _span(view: View, span: SnoozeSpan) -> dict[str, Any]:
    arm, better, gap, window, _, until = span.snooze
    names = {"arm": view.names[arm], "better": view.names[better]}
    return names | {
        "gap": number_or_none(gap),
        "window": window,
        "until": number_or_none(until),
        "start": span.start,
        "end": span.end,
    }


def _crossing(view: View) -> dict[str, Any] | None:
    found = view.belief.crossing
    if found is None or max(found.arm, found.other) >= len(view.names):
        return None
    return {"arm": view.names[found.arm], "other": view.names[found.other], "steps": found.steps}


def _alarm(view: View) -> dict[str, Any] | None:
    if view.alarm is None:
        return None
    last = [
        {name: number_or_none(value) for name, value in alarm._asdict().items()}
        | {"arm": view.names[alarm.arm], "step": step, "time": round(time, 3)}
        for step, time, alarm in reversed(view.alarms)
    ]
    return {"drift": view.alarm.drift, "tests": sum(view.alarm.tests), "count": view.alarm_count, "last": last}


def _column(name: str, values: Any) -> list[Any]:
    if name == "time":
        return [round(value, 3) for value in values.tolist()]
    if name in ("step", "pending", *SUMS):
        return values.astype(int).tolist()  # type: ignore[no-any-return]
    return [number_or_none(value) for value in values.tolist()]
