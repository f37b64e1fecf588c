"""A View as bytes and back, so that a restart loses nothing that the page shows."""

from __future__ import annotations

from typing import NamedTuple

from driftbandits._common.packing import pack, unpack
from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked
from driftbandits.live.session import Session
from driftbandits.policies._parts.belief import Snooze
from driftbandits.service.dashboard.drift_alarm import Alarm
from driftbandits.service.dashboard.tracks import Rows
from driftbandits.service.dashboard.views import Seen, SnoozeSpan, View

PLAIN = ("since", "step", "newest", "time", "looked", "origin", "alarm_count", "decisions", "snoozed")
LISTS = ("delays", "snoozes", "alarms")


class _Nothing(NamedTuple):
    """A View has no State."""


def pack_view(view: View) -> bytes:
    """Everything that was seen, whether added up or not."""
    view.take_in()
    header = {name: getattr(view, name) for name in PLAIN} | {name: list(getattr(view, name)) for name in LISTS}
    header["changes"], header["rewarded"], header["late"] = view.changes, view.rewarded, view.late
    header["alarm"] = view.alarm and view.alarm.as_dict()
    header["open"] = list(view.open.values())
    header["tracks"] = [(track.width, track.filled, track.generation) for track in (view.whole, view.recent)]
    arrays = {f"{name}.{part}": array for name, rows in _rows(view).items() for part, array in rows._asdict().items()}
    return pack(header, _Nothing(), **arrays)


def unpack_view(data: bytes, session: Session, drift: float | None = None) -> View:
    """The View that was packed: it must still be given the events that ``session`` has seen since."""
    header, arrays = unpack(data, "a View")
    view = View(session, drift, len(arrays["unfinished.arms"][0]) if "unfinished.arms" in arrays else None)
    try:
        for name in PLAIN:
            setattr(view, name, header[name])
        view.changes, view.rewarded = header["changes"], header["rewarded"]
        view.late = header["late"]
        view.decisions = [None if each is None else Seen(*each) for each in header["decisions"]]
        view.snoozed = tuple(Snooze(*snooze) for snooze in header["snoozed"])
        view.open = {each[0]: Asked(*each) for each in header["open"]}
        view.delays.extend(header["delays"])
        view.snoozes.extend(SnoozeSpan(Snooze(*snooze), start, end) for snooze, start, end in header["snoozes"])
        view.alarms.extend((step, time, Alarm(*alarm)) for step, time, alarm in header["alarms"])
        if view.alarm and header["alarm"]:
            view.alarm.resume(header["alarm"])
        found = {name: Rows(*(arrays[f"{name}.{part}"] for part in Rows._fields)) for name in _rows(view)}
        for name, counts in zip(("whole", "recent"), header["tracks"], strict=True):
            track = getattr(view, name)
            track.rows, track.rest = found[name], found[f"{name}_rest"]
            track.width, track.filled, track.generation = counts
        view.unfinished = found["unfinished"]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is not a snapshot of a View: {error}") from error
    view.begin_bundle()
    return view


def _rows(view: View) -> dict[str, Rows]:
    return {
        "whole": view.whole.rows,
        "whole_rest": view.whole.rest,
        "recent": view.recent.rows,
        "recent_rest": view.recent.rest,
        "unfinished": view.unfinished,
    }
