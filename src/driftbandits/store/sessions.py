"""Sessions from the log: the nearest snapshot, and the fold of what came after it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Table, bindparam, delete, func, insert, select, update

from driftbandits._common.expansion import inflated
from driftbandits._common.packing import emptied
from driftbandits.errors import InputError
from driftbandits.live.decisions import amended
from driftbandits.live.session import Session
from driftbandits.store.database import Database
from driftbandits.store.errors import DamagedStoreError
from driftbandits.store.experiments import REMEMBER, Experiment
from driftbandits.store.log import Correction, Log
from driftbandits.store.schema import folded, snapshots

SNAPSHOT_EVERY = 20_000
"""Events. A snapshot takes as long as several commits; a restart folds at most so many events, in half a second."""
WHOLE = 2
"""The last so many snapshots are kept whole. Older ones are for explaining alone, and forget answered Decisions."""
SMALL = 4_000
"""Bytes of a snapshot of which there is little to forget."""
UNREADABLE = b""
Saved = Mapping[tuple[Table, int], bytes | None]


class Snapshot(NamedTuple):
    """A Session as it was after ``seq`` events."""

    seq: int
    data: bytes

    @classmethod
    def of(cls, session: Session) -> Snapshot:
        """As it is now."""
        return cls(session.seq, session.snapshot())

    def compressed(self) -> Snapshot:
        """As it is saved."""
        return self._replace(data=zlib.compress(self.data, 1))


class Sessions:
    """The snapshots, and Sessions as they were at any time."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database, self._log = database, log

    def start(self, experiment: Experiment) -> Session:
        """The Session before the first event that is kept."""
        base = self.base(experiment.key)
        if base is None:
            return experiment.session()
        try:
            return Session.restore(inflated(base.data))
        except InputError as error:
            raise DamagedStoreError(
                f"{experiment.id!r} can't be continued: its first {base.seq:,} events are past retention, and what "
                f"they came to can't be read ({error}). Restore a backup"
            ) from error

    def base(self, key: int) -> Row[Any] | None:
        """Return the Session that erased events came to, as it is stored, if any were erased."""
        with self._database.reading() as connection:
            return connection.execute(select(folded).where(folded.c.experiment == key)).one_or_none()

    def at(
        self, experiment: Experiment, seq: int, lead: int = 0, known: Sequence[Correction] | None = None
    ) -> tuple[Session, int]:
        """The Session after ``seq`` events, and the seq of the snapshot it began from.

        Rewards are those that were known then, or with all corrections that are ``known``.
        """
        while True:
            base = self.base(experiment.key)
            try:
                return self._at(experiment, seq, lead, known)
            except (InputError, DamagedStoreError):
                now = self.base(experiment.key)
                if (base and base.seq) == (now and now.seq):
                    raise
                # What was being read was erased meanwhile.

    def _at(
        self, experiment: Experiment, seq: int, lead: int, known: Sequence[Correction] | None
    ) -> tuple[Session, int]:
        corrections = self._log.corrections(experiment.key, seq) if known is None else known
        rewards = {each.step: each.reward for each in corrections}
        for session, saved, whole in self._starts(experiment, seq, lead, corrections):
            for event in amended(self._log.events(experiment.key, saved, seq), rewards):
                session.apply(event)
            if session.seq != seq:
                raise DamagedStoreError(
                    f"the log of {experiment.id!r} should have {seq:,} events, not {session.seq:,}: restore a backup"
                )
            if whole or lead or session.remembers_all:
                return session, saved
        raise AssertionError("a Session before its first event is whole")

    def _starts(
        self, experiment: Experiment, seq: int, lead: int, corrections: Sequence[Correction]
    ) -> Iterator[tuple[Session, int, bool]]:
        """Sessions to fold from, the latest first, each with its seq and whether it is whole; the last is a new one.

        A snapshot between a reward and its correction knows the wrong reward, and is left out.
        """
        mine = snapshots.c.experiment == experiment.key
        base = self.base(experiment.key)
        useful = snapshots.c.seq.between(base.seq if base else 0, seq - lead)  # what came before is erased
        statement = select(snapshots.c.seq, snapshots.c.whole).where(mine, useful)
        with self._database.reading() as connection:
            found = connection.execute(statement.order_by(snapshots.c.seq.desc())).all()
        tried = False
        for saved, whole in found:
            if is_stale(saved, corrections):
                continue
            if not (whole or lead):
                # What it forgot is of no use any more when as many were answered since as are remembered.
                if tried or saved > seq - 4 * REMEMBER:
                    continue
                tried = True
            with self._database.reading() as connection:
                row = select(snapshots.c.data).where(mine, snapshots.c.seq == saved)
                data = connection.execute(row).scalar_one_or_none()
            try:
                yield Session.restore(inflated(data or b"")), saved, whole
            except InputError:
                continue  # of another version, or damaged: the log alone is enough, if slower
        first = self.start(experiment)
        yield first, first.seq, True

    def save(self, connection: Connection, taken: Mapping[int, Snapshot]) -> None:
        """Write compressed snapshots of experiments, by key, and empty those that need no longer be whole."""
        if not taken:
            return
        this = snapshots.c.experiment == bindparam("key"), snapshots.c.seq == bindparam("number")
        same = [{"key": key, "number": each.seq} for key, each in taken.items()]
        connection.execute(delete(snapshots).where(*this), same)
        rows = [{"experiment": key, "seq": each.seq, "whole": True, "data": each.data} for key, each in taken.items()]
        connection.execute(insert(snapshots), rows)
        size = func.length(snapshots.c.data)
        these = snapshots.c.whole, snapshots.c.experiment.in_(taken)
        whole = select(snapshots.c.experiment, snapshots.c.seq, size).where(*these)
        found = connection.execute(whole.order_by(snapshots.c.experiment, snapshots.c.seq.desc())).all()
        for _, several in groupby(found, key=itemgetter(0)):
            for key, seq, weight in islice(several, WHOLE, None):
                if weight > SMALL:
                    mine = snapshots.c.experiment == key, snapshots.c.seq == seq
                    data = connection.execute(select(snapshots.c.data).where(*mine)).scalar_one()
                    try:
                        less = zlib.compress(emptied(inflated(data), "closed"))
                    except InputError:  # damaged: the log alone is enough, if slower
                        connection.execute(delete(snapshots).where(*mine))
                    else:
                        connection.execute(update(snapshots).where(*mine).values(whole=False, data=less))

    def without(self, key: int, unit: bytes) -> Saved:
        """All that was saved of a Session, by table and number, as it is without that unit; None where it is now."""
        found: dict[tuple[Table, int], bytes | None] = {}
        with self._database.reading() as connection:
            numbers = [(table, seq) for table in (snapshots, folded) for seq in _numbers(connection, table, key)]
        for table, seq in numbers:
            with self._database.reading() as connection:
                row = select(table.c.data).where(table.c.experiment == key, table.c.seq == seq)
                data = connection.execute(row).scalar_one_or_none() or b""
            found[table, seq] = None
            try:
                plain = inflated(data)
                if unit in plain:  # arrays are stored as they are
                    session = Session.restore(plain)
                    session._units.forget(unit)
                    found[table, seq] = zlib.compress(session.snapshot(), 1)
            except InputError:
                found[table, seq] = UNREADABLE
        return found

    def replace(self, connection: Connection, key: int, saved: Saved) -> bool:
        """Write these in the place of those that are there; False if there are others by now."""
        there = {(table, seq) for table in (snapshots, folded) for seq in _numbers(connection, table, key)}
        if there != set(saved):
            return False
        for (table, seq), data in saved.items():
            this = table.c.experiment == key, table.c.seq == seq
            if data == UNREADABLE and table is snapshots:  # the log makes it again
                connection.execute(delete(table).where(*this))
            elif data is not None and data != UNREADABLE:
                connection.execute(update(table).where(*this).values(data=data))
        return True


def _numbers(connection: Connection, table: Table, key: int) -> Sequence[int]:
    return connection.execute(select(table.c.seq).where(table.c.experiment == key)).scalars().all()


def is_stale(seq: int, corrections: Sequence[Correction]) -> bool:
    """Whether a snapshot after ``seq`` events knows a reward that was corrected later."""
    return any(each.closed <= seq < each.seq for each in corrections)
