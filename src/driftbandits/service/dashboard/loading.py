"""The View of an experiment that was just loaded: the one stored last and the events since, or all from the log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from driftbandits.errors import InputError
from driftbandits.live.decisions import Event
from driftbandits.service.dashboard.view_snapshots import unpack_view
from driftbandits.service.dashboard.views import View
from driftbandits.store import Store, Writer

MOST_BEHIND = 200_000
"""Events that are read for a View, at most: a second's work or two. Beyond it a new picture begins now."""
CHUNK = 10_000


def open_view(store: Store, writer: Writer) -> View:
    """A View of all events in the log, unless there are too many to read."""
    view = _stored(store, writer) or View(store.sessions.start(writer.experiment), writer.experiment.drift)
    if not 0 <= writer.seq - view.seq <= MOST_BEHIND:
        return View(writer.session, writer.experiment.drift)
    events = store.history.amended(writer.experiment.id, view.seq, writer.seq)
    for chunk in _chunks(events):
        view.apply(chunk, None)
    view.apply([], writer.session)
    return view


def _stored(store: Store, writer: Writer) -> View | None:
    data = store.views.find(writer.experiment.id)
    try:
        view = None if data is None else unpack_view(data, writer.session, writer.experiment.drift)
    except InputError:
        return None  # of another version
    id = writer.experiment.id
    if view and view.seq < max(store.history.last_correction(id), store.experiments.get(id).folded):
        return None  # it may have counted the wrong reward, or what it has not seen was erased
    return view


def _chunks(events: Iterator[Event]) -> Iterator[list[Event]]:
    while chunk := list(islice(events, CHUNK)):
        yield chunk
