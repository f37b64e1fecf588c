"""The log: events in rows, read in chunks, written for many experiments at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, select

from driftbandits.live.decisions import Asked, Event, Outcome, Settled, Told
from driftbandits.store.database import Database
from driftbandits.store.schema import IS_ASKED, IS_CLOSED, events

CHUNK = 10_000

Rows = Sequence[tuple[Any, ...]]

COLUMNS = (
    events.c.kind,
    events.c.step,
    events.c.arm,
    events.c.reward,
    events.c.time,
    events.c.due,
    events.c.probability,
)

SQLITE_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
POSTGRES_INSERT = "COPY events FROM STDIN (FORMAT BINARY)"
POSTGRES_TYPES = ("int4", "int8", "varchar", "int8", "int2", "float8", "float8", "float8", "float8")


class Log:
    """The events of all experiments, each of which is known by its key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reward(self, key: int, step: int) -> Told | Settled | None:
        """The reward with which a Decision was closed, if it was."""
        statement = select(*COLUMNS).where(events.c.experiment == key, events.c.step == step, IS_CLOSED)
        with self._database.reading() as connection:
            row = connection.execute(statement).one_or_none()
        found = None if row is None else _event(row)
        return None if isinstance(found, Asked) else found

    def outcome(self, key: int, step: int, reward: float) -> Outcome:
        """What becomes of a reward told for that Decision."""
        found = self.reward(key, step)
        if isinstance(found, Told):
            return Outcome.AGAIN if found.reward == reward else Outcome.CONFLICT
        return Outcome.UNKNOWN if found is None else Outcome.EXPIRED

    def events(self, key: int, after: int, until: int | None) -> Iterator[Event]:
        """Those behind ``after``, to ``until`` or the end; in bounded memory."""
        statement = select(*COLUMNS).order_by(events.c.seq).limit(CHUNK)
        while True:
            end = after + CHUNK if until is None else min(after + CHUNK, until)
            with self._database.reading() as connection:
                rows = connection.execute(
                    statement.where(events.c.experiment == key, events.c.seq > after, events.c.seq <= end)
                ).all()
            yield from map(_event, rows)
            after += len(rows)
            if len(rows) < CHUNK:
                return

    def seq_of_ask(self, key: int, step: int) -> int | None:
        """Where in the log that Decision was made."""
        statement = select(events.c.seq).where(events.c.experiment == key, events.c.step == step, IS_ASKED)
        with self._database.reading() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def insert(self, connection: Connection, rows: Rows) -> None:
        """Write rows, as ``row_of`` makes them, in the fastest way that the driver has."""
        if not self._database.is_postgres:
            done = 0
            while done < len(rows):
                size = _bulk(len(rows) - done)
                connection.exec_driver_sql(_sqlite_insert(size), tuple(chain.from_iterable(rows[done : done + size])))
                done += size
            return
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(POSTGRES_INSERT) as copy:
            copy.set_types(POSTGRES_TYPES)
            for row in rows:
                copy.write_row(row)


def _bulk(left: int) -> int:
    """How many rows SQLite is given in one statement, when so many are left.

    The driver lets other threads run at every statement, and then waits its turn, beside a busy thread for longer than
    an insert takes: so statements are large. There are few sizes, and the driver keeps statements that come again.
    """
    return min(left // 64 * 64, 1024) or left


@cache
def _sqlite_insert(size: int) -> str:
    return SQLITE_INSERT + ", (?, ?, ?, ?, ?, ?, ?, ?, ?)" * (size - 1)


def row_of(key: int, seq: int, event: Event) -> tuple[Any, ...]:
    """An event as a row of the log."""
    if isinstance(event, Asked):
        return (key, seq, "a", event.step, event.arm, None, event.time, event.due, event.probability)
    kind = "t" if isinstance(event, Told) else "s"
    return (key, seq, kind, event.step, None, event.reward, event.time, None, None)


def _event(row: Any) -> Event:
    kind, step, arm, reward, time, due, probability = row
    if kind == "a":
        return Asked(step, arm, time, due, probability)
    return Told(step, reward, time) if kind == "t" else Settled(step, reward, time)
