"""Sessions from the log: the nearest snapshot, and the fold of what came after it."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from driftbandits._common.packing import emptied
from driftbandits.errors import InputError
from driftbandits.live.decisions import UnknownDecisionError
from driftbandits.live.explanation import Explanation
from driftbandits.live.session import Session
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiment
from driftbandits.store.log import Log
from driftbandits.store.schema import snapshots

SNAPSHOT_EVERY = 20_000
"""Events. A snapshot takes as long as several commits; a restart folds at most so many events, in half a second."""
WHOLE = 2
"""The last so many snapshots are kept whole. Older ones are for explaining alone, and forget answered Decisions."""
LEAD = 5_000
"""An explanation folds at least so many events, so that it knows recent rewards as the live Session did."""


class Snapshot(NamedTuple):
    """A Session as it was after ``seq`` events."""

    seq: int
    data: bytes

    @classmethod
    def of(cls, session: Session) -> Snapshot:
        """Every event of a Session asks a step or closes one, so their number need not be kept."""
        return cls(2 * session.step - session.open, session.snapshot())


class History:
    """The snapshots, and Sessions as they were at any time."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database, self._log = database, log

    def explain(self, experiment: Experiment, step: int) -> Explanation:
        """Why a Decision chose its arm, from the Session at that time."""
        seq, decision = self._log.seq_of_ask(experiment.key, step), f"{experiment.id}-{step}"
        if seq is None:
            raise UnknownDecisionError(f"there is no Decision {decision!r} in the Store")
        session, _ = self.session(experiment, seq, lead=LEAD)
        return session.explain(decision)

    def session(self, experiment: Experiment, seq: int, lead: int = 0) -> tuple[Session, int]:
        """The Session after ``seq`` events, and the seq of the snapshot it began from."""
        session, saved = self._restored(experiment, seq - lead, whole=lead == 0)
        for event in self._log.events(experiment.key, saved, seq):
            session.apply(event)
        return session, saved

    def _restored(self, experiment: Experiment, seq: int, whole: bool) -> tuple[Session, int]:
        statement = (
            select(snapshots.c.seq, snapshots.c.data)
            .where(snapshots.c.experiment == experiment.key, snapshots.c.seq <= seq)
            .order_by(snapshots.c.seq.desc())
            .limit(WHOLE)
        )
        with self._database.reading() as connection:
            rows = connection.execute(statement.where(snapshots.c.whole) if whole else statement).all()
        for row in rows:
            try:
                return Session.restore(zlib.decompress(row.data)), row.seq
            except (InputError, zlib.error):
                continue  # of another version, or damaged: the log alone is enough, if slower
        return experiment.session(), 0

    def save(self, connection: Connection, key: int, taken: Snapshot) -> None:
        """Write a snapshot, and empty those that need no longer be whole."""
        mine = snapshots.c.experiment == key
        connection.execute(delete(snapshots).where(mine, snapshots.c.seq == taken.seq))
        row = {"experiment": key, "seq": taken.seq, "whole": True, "data": zlib.compress(taken.data, 1)}
        connection.execute(insert(snapshots), row)
        old = select(snapshots).where(mine, snapshots.c.whole).order_by(snapshots.c.seq.desc()).offset(WHOLE)
        for found in connection.execute(old).all():
            data = zlib.compress(emptied(zlib.decompress(found.data), "closed"))
            connection.execute(
                update(snapshots).where(mine, snapshots.c.seq == found.seq).values(whole=False, data=data)
            )
