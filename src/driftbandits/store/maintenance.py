"""What an operator does with a database: check it, copy it, give back room."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import func, select

from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.store.database import Database
from driftbandits.store.errors import DamagedStoreError, StoreError
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.log import Log
from driftbandits.store.schema import changes, events, metadata
from driftbandits.store.sessions import Sessions

FAR = 86_400.0
"""Seconds that no lease lasts."""


def check(database: Database, log: Log, sessions: Sessions, experiments: Experiments) -> list[str]:
    """What is wrong, a sentence each; all logs are read, and folded from their last snapshots."""
    found = [f"the file is damaged: {line}" for line in damage(database)[:5]]
    for experiment in experiments.listed("", None):
        try:
            found += _wrong(database, sessions, experiment)
        except (StoreError, InputError) as error:
            found.append(f"{experiment.id}: {getattr(error, 'reason', None) or error}")
    return found


def damage(database: Database) -> list[str]:
    """What SQLite finds wrong with its file; PostgreSQL has its own checks."""
    if database.is_postgres:
        return []
    try:
        with database.reading() as connection:
            said = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
    except DamagedStoreError:
        return ["part of it cannot be read"]
    return [line for line in said if line != "ok"]


def _wrong(database: Database, sessions: Sessions, experiment: Experiment) -> list[str]:
    count = 0
    with database.reading() as connection:
        for table in (events, changes):
            mine = table.c.experiment == experiment.key, table.c.seq.between(experiment.folded + 1, experiment.last_seq)
            count += connection.execute(select(func.count()).select_from(table).where(*mine)).scalar_one()
    if experiment.lease_until > database.clock() + FAR:
        return [f"{experiment.id}: its lease lasts for ever, as a wrong clock makes it"]
    wanted = experiment.last_seq - experiment.folded
    if count != wanted:
        return [f"{experiment.id}: the log should have {wanted:,} events, and has {count:,}"]
    sessions.start(experiment)
    sessions.session(experiment, experiment.last_seq)
    return []


def backup(database: Database, path: str | os.PathLike[str]) -> None:
    """A copy of an SQLite file that is whole, synced, and there only when it is complete."""
    if database.is_postgres:
        raise InputError("PostgreSQL has its own way: pg_dump --format=custom --file=FILE DATABASE")
    if Path(path).exists():
        raise InputError(f"{os.fspath(path)} exists already: name a new file")
    with written_whole(path) as temporary, database.alone() as source:
        with closing(sqlite3.connect(temporary)) as target:
            source.backup(target)
        os.chmod(temporary, 0o600)


def compact(database: Database) -> None:
    """Write all tables anew; SQLite's log file is emptied too."""
    with database.alone() as driver:
        if database.is_postgres:  # without FULL it keeps the room for itself; without names it takes others' tables too
            driver.execute(f"VACUUM (FULL) {', '.join(metadata.tables)}")
        else:
            driver.execute("VACUUM")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
