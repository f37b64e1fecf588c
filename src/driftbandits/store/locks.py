"""The row of ``writers`` that whoever appends must lock, and what is done about others who have locked it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, select, text

from driftbandits.store.database import SILENT, Database
from driftbandits.store.errors import LockedError, StoreError
from driftbandits.store.schema import writers

PAUSE = 0.02
"""Seconds between two attempts to get a lock."""
# Of the transaction that has locked a row, or changed it and not committed; while its client keeps the server waiting.
END_FROZEN = text("""
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted
    AND transactionid IN (SELECT xmax FROM writers WHERE experiment = ANY(:keys))
    AND wait_event = 'ClientRead' AND state_change < clock_timestamp() - make_interval(secs => :silent)""")
Found = TypeVar("Found")


def until_unlocked(seconds: float, take: Callable[[], Found]) -> Found:
    """Try again while another transaction has it locked, for that long."""
    began = time.monotonic()
    while True:
        try:
            return take()
        except LockedError:
            if time.monotonic() - began >= seconds:
                raise
            time.sleep(PAUSE)


def locked_head(connection: Connection, key: int, nowait: bool = False) -> Row[Any]:
    """Where the log and its writer stand; no one else can change it before this transaction ends."""
    mine = select(writers).where(writers.c.experiment == key)
    return connection.execute(mine.with_for_update(nowait=nowait)).one()


@contextmanager
def locking_at_once(database: Database, key: int) -> Iterator[tuple[Connection, Row[Any]]]:
    """A transaction that may become the writer, and where the log stands.

    Whoever has locked that has no right to it any more. If it is frozen, the lock would last until it wakes up:
    PostgreSQL ends its transaction, so that it can not commit when it does.
    """
    try:
        with database.writing() as connection:
            yield connection, locked_head(connection, key, nowait=True)
    except LockedError:
        _end_frozen(database, [key])
        raise


def locked(database: Database, keys: Sequence[int]) -> set[int]:
    """Of which of these another transaction has locked the end of the log; on SQLite it is all or nothing."""
    if not database.is_postgres:
        return set()
    _end_frozen(database, keys)
    free = select(writers.c.experiment).where(writers.c.experiment.in_(keys)).with_for_update(skip_locked=True)
    with database.writing() as connection:
        return set(keys) - set(connection.execute(free).scalars())


def _end_frozen(database: Database, keys: Sequence[int]) -> None:
    if database.is_postgres:
        with suppress(StoreError), database.reading() as connection:  # those of other users it may not
            connection.execute(END_FROZEN, {"keys": keys, "silent": SILENT})
