"""Mends what can be mended without losing anything: whatever the log makes again, indexes, and leases of a wrong clock.

A log with a gap, or a damaged file, is not mended in place: ``store/salvage.py`` writes what is left to a new file.
"""

from __future__ import annotations

from sqlalchemy import delete, select, update

from driftbandits._common.expansion import inflated
from driftbandits.errors import InputError
from driftbandits.live.session import Session
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiment, Experiments
from driftbandits.store.maintenance import FAR, damage
from driftbandits.store.schema import snapshots, views, writers


def repair(database: Database, experiments: Experiments) -> list[str]:
    """What was mended, a sentence each."""
    mended = _reindexed(database)
    for experiment in experiments.listed("", None):
        mended += _forgotten(database, experiment)
        if experiment.lease_until > database.clock() + FAR:
            mine = writers.c.experiment == experiment.key, writers.c.epoch == experiment.epoch
            with database.writing() as connection:
                connection.execute(update(writers).where(*mine).values(holder=None, url=None, lease_until=0.0))
            mended.append(f"{experiment.id}: a lease that a wrong clock made, to last for ever, was taken back")
    return mended


def _reindexed(database: Database) -> list[str]:
    """SQLite says which of its indexes do not fit their tables."""
    wrong = damage(database)
    if not wrong or not all(" index " in line for line in wrong):
        return []
    with database.alone() as driver:
        driver.execute("REINDEX")
    return ["indexes did not fit their tables, and were made again"]


def _forgotten(database: Database, experiment: Experiment) -> list[str]:
    """Snapshots and the dashboard's view, where they cannot be read: the log makes them again."""
    mended = []
    for table, what in ((snapshots, "a snapshot"), (views, "the dashboard's view")):
        mine = table.c.experiment == experiment.key
        with database.reading() as connection:
            numbers = connection.execute(select(table.c.seq).where(mine)).scalars().all()
        for seq in numbers:
            this = mine, table.c.seq == seq
            with database.reading() as connection:
                data = connection.execute(select(table.c.data).where(*this)).scalar_one_or_none()
            if data is None or _is_readable(data, table is snapshots):
                continue
            with database.writing() as connection:
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
