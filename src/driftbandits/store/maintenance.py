"""What an operator does with a database: check it, repair it, copy it, give back room.

A log with a gap, or a damaged file, is not repaired in place: ``store/salvage.py`` writes what is left to a new file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from sqlalchemy import delete, func, select, update

from driftbandits._common.checks import check_path
from driftbandits._common.expansion import inflated
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.live.session import Session
from driftbandits.store.database import Database
from driftbandits.store.errors import DamagedStoreError, StoreError
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.schema import changes, events, metadata, snapshots, views, writers
from driftbandits.store.sessions import Sessions

FAR = 86_400.0
"""Seconds that no lease lasts."""


class Maintenance:
    """Upkeep of the database."""

    def __init__(self, database: Database, experiments: Experiments, sessions: Sessions) -> None:
        self._database, self._experiments, self._sessions = database, experiments, sessions

    def check(self) -> list[str]:
        """Return what is wrong, one sentence each: damage, gaps in a log, a log that cannot be folded.

        All logs are read, and folded from their last snapshots.
        """
        found = [f"the file is damaged: {line}" for line in self._damage()[:5]]
        for experiment in self._experiments.all():
            try:
                found += self._wrong(experiment)
            except (StoreError, InputError) as error:
                found.append(f"{experiment.id}: {getattr(error, 'reason', None) or error}")
        return found

    def repair(self) -> list[str]:
        """Repair what can be repaired without losing anything; return what was, one sentence each.

        That is what the log makes again (snapshots, views), SQLite's indexes, and leases that a wrong clock made.
        """
        mended = self._reindexed()
        for experiment in self._experiments.all():
            mended += self._forgotten(experiment)
            if experiment.lease_until > self._database.clock() + FAR:
                mine = writers.c.experiment == experiment.key, writers.c.epoch == experiment.epoch
                with self._database.writing() as connection:
                    connection.execute(update(writers).where(*mine).values(holder=None, url=None, lease_until=0.0))
                mended.append(f"{experiment.id}: a lease that a wrong clock made, to last for ever, was taken back")
        return mended

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy an SQLite file, as it is now, while others write: synced, and there only when it is complete."""
        path = check_path("path", path)
        if self._database.is_postgres:
            raise InputError("PostgreSQL has its own way: pg_dump --format=custom --file=FILE DATABASE")
        if path.exists():
            raise InputError(f"{path} exists already: name a new file")
        with written_whole(path) as temporary, self._database.alone() as source:
            with closing(sqlite3.connect(temporary)) as target:
                source.backup(target)
            os.chmod(temporary, 0o600)

    def compact(self) -> None:
        """Give back the room of what was deleted: write all tables again. Others cannot write at that time."""
        with self._database.alone() as driver:
            if self._database.is_postgres:
                # Without FULL it keeps the room for itself; without names it takes others' tables too.
                driver.execute(f"VACUUM (FULL) {', '.join(metadata.tables)}")
            else:
                driver.execute("VACUUM")
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _damage(self) -> list[str]:
        """What SQLite finds wrong with its file; PostgreSQL has its own checks."""
        if self._database.is_postgres:
            return []
        try:
            with self._database.reading() as connection:
                said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        except DamagedStoreError:
            return ["part of it cannot be read"]
        return [line for line in said if line != "ok"]

    def _wrong(self, experiment: Experiment) -> list[str]:
        count = 0
        with self._database.reading() as connection:
            for table in (events, changes):
                there = table.c.seq.between(experiment.folded + 1, experiment.last_seq)
                mine = select(func.count()).select_from(table).where(table.c.experiment == experiment.key, there)
                count += connection.execute(mine).scalar_one()
        if experiment.lease_until > self._database.clock() + FAR:
            return [f"{experiment.id}: its lease lasts for ever, as a wrong clock makes it"]
        wanted = experiment.last_seq - experiment.folded
        if count != wanted:
            return [f"{experiment.id}: the log should have {wanted:,} events, and has {count:,}"]
        self._sessions.start(experiment)
        self._sessions.at(experiment, experiment.last_seq)
        return []

    def _reindexed(self) -> list[str]:
        """SQLite says which of its indexes do not fit their tables."""
        wrong = self._damage()
        if not wrong or not all(" index " in line for line in wrong):
            return []
        with self._database.alone() as driver:
            driver.execute("REINDEX")
        return ["indexes did not fit their tables, and were made again"]

    def _forgotten(self, experiment: Experiment) -> list[str]:
        """Snapshots and the dashboard's view, where they cannot be read: the log makes them again."""
        mended = []
        for table, what in ((snapshots, "a snapshot"), (views, "the dashboard's view")):
            mine = table.c.experiment == experiment.key
            with self._database.reading() as connection:
                numbers = connection.execute(select(table.c.seq).where(mine)).scalars().all()
            for seq in numbers:
                this = mine, table.c.seq == seq
                with self._database.reading() as connection:
                    data = connection.execute(select(table.c.data).where(*this)).scalar_one_or_none()
                if data is None or _is_readable(data, table is snapshots):
                    continue
                with self._database.writing() as connection:
                    connection.execute(delete(table).where(*this))
                mended.append(f"{experiment.id}: {what} after {seq:,} events could not be read, and was removed")
        return mended


def _is_readable(data: bytes, is_session: bool) -> bool:
    try:
        plain = inflated(data)
        if is_session:
            Session.restore(plain)
    except InputError:
        return False
    return True
