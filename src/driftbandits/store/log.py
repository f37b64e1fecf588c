"""The log: events in rows, read in chunks, appended for many experiments at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, select

from driftbandits.decisions import Asked, Event, Outcome, Settled, Told
from driftbandits.store.experiments import Experiments
from driftbandits.store.schema import IS_ANSWER, IS_ASKED, events

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

SQLITE_ADVANCE = "UPDATE writers SET last_seq = ? WHERE experiment = ? AND epoch = ? AND last_seq = ?"
SQLITE_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# Arrays make one statement of any number of rows: one round trip, and planned once.
POSTGRES_ADVANCE = """
    UPDATE writers SET last_seq = new FROM unnest(%s::int8[], %s::int4[], %s::int8[], %s::int8[]) AS u(new, k, e, old)
    WHERE experiment = k AND epoch = e AND last_seq = old"""
POSTGRES_INSERT = "COPY events FROM STDIN (FORMAT BINARY)"
POSTGRES_TYPES = ("int4", "int8", "varchar", "int8", "int2", "float8", "float8", "float8", "float8")


class Log(Experiments):
    """Verbs that read the log."""

    def events(self, id: str, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events ``after + 1``, ``after + 2``, ... of an experiment, as far as there are any; in bounded memory."""
        return self._events(self.experiment(id).key, after, until)

    def reward(self, id: str, step: int) -> Told | Settled | None:
        """What a Decision came to; None while it is open, or if there is no such step."""
        statement = select(*COLUMNS).where(
            events.c.experiment == self.experiment(id).key, events.c.step == step, IS_ANSWER
        )
        with self.reading() as connection:
            row = connection.execute(statement).one_or_none()
        found = None if row is None else _event(row)
        return None if isinstance(found, Asked) else found

    def outcome(self, id: str, step: int, reward: float) -> Outcome:
        """What becomes of a reward told for a Decision that the Session no longer remembers."""
        answer = self.reward(id, step)
        if isinstance(answer, Told):
            return Outcome.AGAIN if answer.reward == reward else Outcome.CONFLICT
        return Outcome.UNKNOWN if answer is None else Outcome.EXPIRED

    def _events(self, key: int, after: int, until: int | None = None) -> Iterator[Event]:
        statement = select(*COLUMNS).order_by(events.c.seq).limit(CHUNK)
        while True:
            end = after + CHUNK if until is None else min(after + CHUNK, until)
            with self.reading() as connection:
                rows = connection.execute(
                    statement.where(events.c.experiment == key, events.c.seq > after, events.c.seq <= end)
                ).all()
            yield from map(_event, rows)
            after += len(rows)
            if len(rows) < CHUNK:
                return

    def _seq_of_ask(self, key: int, step: int) -> int | None:
        statement = select(events.c.seq).where(events.c.experiment == key, events.c.step == step, IS_ASKED)
        with self.reading() as connection:
            return connection.execute(statement).scalar_one_or_none()

    def _advance(self, connection: Connection, heads: Rows) -> int:
        """Move heads of logs, each (new, experiment, epoch, old), if they are where they should be; how many were."""
        if self.is_postgres:
            columns = tuple(map(list, zip(*heads, strict=True)))
            return connection.exec_driver_sql(POSTGRES_ADVANCE, columns).rowcount
        return connection.exec_driver_sql(SQLITE_ADVANCE, list(heads)).rowcount

    def _insert(self, connection: Connection, rows: Rows) -> None:
        if not self.is_postgres:
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
