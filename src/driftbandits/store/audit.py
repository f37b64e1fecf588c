"""Who created, changed, corrected, paused, archived, erased or deleted what, and when. Asks are in the log."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Select, insert, literal, select

from driftbandits._common.checks import check_whole
from driftbandits.store.database import Database
from driftbandits.store.schema import LARGEST_NUMBER, audit


class AuditEntry(NamedTuple):
    """What someone does: ``who`` is a token's name, ``details`` what was given.

    It is written in one transaction with what it tells of: one is never without the other, whenever a process dies.
    """

    who: str
    did: str
    experiment: str | None = None
    details: Any = None


class AuditRecord(NamedTuple):
    """An entry as it was written: with its number and its time."""

    number: int
    time: float
    who: str
    did: str
    experiment: str | None
    details: Any


class Audit:
    """The entries, in order; they are added, never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, after: int = 0, limit: int = 1000) -> list[AuditRecord]:
        """Return up to ``limit`` entries after number ``after``."""
        after, limit = check_whole("after", after, 0, LARGEST_NUMBER), check_whole("limit", limit, 1, LARGEST_NUMBER)
        behind = audit.c.number > literal(after, BigInteger)
        return self._read(select(audit).where(behind).order_by(audit.c.number).limit(limit))

    def of(self, experiment: str, did: Collection[str], since: float, limit: int) -> list[AuditRecord]:
        """Return the last ``limit`` entries of these kinds about an experiment since a time, oldest first.

        Since its creation, for instance: its id may have belonged to another one before.
        """
        mine = audit.c.experiment == experiment, audit.c.did.in_(did), audit.c.time >= since
        return self._read(select(audit).where(*mine).order_by(audit.c.number.desc()).limit(limit))[::-1]

    def _read(self, statement: Select[Any]) -> list[AuditRecord]:
        with self._database.reading() as connection:
            rows = connection.execute(statement).all()
        return [
            AuditRecord(row.number, row.time, row.who, row.did, row.experiment, row.details and json.loads(row.details))
            for row in rows
        ]


def record(connection: Connection, time: float, entry: AuditEntry | None) -> None:
    """Add one, if there is one, to a transaction."""
    if entry is not None:
        details = None if entry.details is None else json.dumps(entry.details)
        connection.execute(insert(audit), entry._asdict() | {"time": time, "details": details})
