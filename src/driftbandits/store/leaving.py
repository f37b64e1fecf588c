"""Writers let go, many in one transaction: their last snapshots and views are saved, and others may write at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from driftbandits.store.answers import CHUNK
from driftbandits.store.database import Database
from driftbandits.store.errors import LockedError
from driftbandits.store.schema import writers
from driftbandits.store.sessions import Sessions, Snapshot
from driftbandits.store.views import SavedView, Views
from driftbandits.store.writers import Writer


class Left(NamedTuple):
    """A writer that lets go, and what is to be saved of its Session and of its view, compressed, if anything is."""

    writer: Writer
    snapshot: Snapshot | None = None
    view: SavedView | None = None


class Leaving:
    """The letting go."""

    def __init__(self, database: Database, sessions: Sessions, views: Views) -> None:
        self._database, self._sessions, self._views = database, sessions, views

    def release(self, left: Sequence[Left]) -> None:
        """All in one transaction. Those that were taken over have nothing to release, and nothing of them is saved.

        If another transaction has locked some and does not end, these are left to their leases.
        """
        taken = {each.writer: each.snapshot for each in left if each.snapshot is not None}
        views = {each.writer: each.view for each in left if each.view is not None}
        ordered = sorted(left, key=lambda each: each.writer.experiment.key)
        for skip_locked in (False, True):
            try:
                with self._database.writing() as connection:
                    for first in range(0, len(ordered), CHUNK):
                        here = [each.writer for each in ordered[first : first + CHUNK]]
                        mine = _mine(connection, here, skip_locked)
                        keys = [writer.experiment.key for writer in mine]
                        self._sessions.save(connection, {w.experiment.key: taken[w] for w in mine if w in taken})
                        self._views.write(connection, {w.experiment.key: views[w] for w in mine if w in views})
                        free = {"holder": None, "url": None, "lease_until": 0.0}
                        connection.execute(update(writers).where(writers.c.experiment.in_(keys)).values(free))
                return
            except LockedError:
                if skip_locked:
                    raise


def _mine(connection: Connection, asked: Sequence[Writer], skip_locked: bool) -> list[Writer]:
    """Those that are still the writers, locked."""
    keys = [writer.experiment.key for writer in asked]
    heads = select(writers.c.experiment, writers.c.epoch).where(writers.c.experiment.in_(keys))
    found = connection.execute(heads.order_by(writers.c.experiment).with_for_update(skip_locked=skip_locked))
    there = {tuple(row) for row in found}
    return [writer for writer in asked if (writer.experiment.key, writer.epoch) in there]
