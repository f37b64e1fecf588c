"""Events on their way to disk, in the form that each driver writes fastest.

psycopg copies whole rows. SQLite is handed values one by one, and to hand over the nine of a row costs as much as to
insert it: so every kind of event has a statement of its own, which names the columns that it has and leaves the others
null.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection

from driftbandits.live.decisions import Asked, Event, Settled, Told

POSTGRES_INSERT = "COPY events FROM STDIN (FORMAT BINARY)"
POSTGRES_TYPES = ("int4", "int8", "varchar", "int8", "int2", "float8", "float8", "float8", "float8")


class Lines(ABC):
    """Events to be written: asks, rewards and settlements in a form of their own, and others.

    ``rare`` are the others, with experiment and number, and ``noted`` asks that came with something.
    """

    def __init__(self) -> None:
        self.rare: list[tuple[int, int, Event]] = []
        self.noted: list[tuple[int, Asked]] = []

    @abstractmethod
    def add(self, key: int, after: int, fresh: Iterable[Event]) -> None:
        """Events of an experiment that follow the one of that number."""

    @abstractmethod
    def insert(self, connection: Connection) -> None:
        """Write asks, rewards and settlements."""


class PostgresLines(Lines):
    """Whole rows, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Any, ...]] = []

    def add(self, key: int, after: int, fresh: Iterable[Event]) -> None:
        """Events of an experiment that follow the one of that number."""
        add = self.rows.append
        for seq, event in enumerate(fresh, after + 1):  # thousands in a commit: no calls in here but one
            if type(event) is Asked:
                step, arm, time, due, probability, note = event
                add((key, seq, "a", step, arm, None, time, due, probability))
                if note is not None:
                    self.noted.append((key, event))
            elif type(event) is Told or type(event) is Settled:
                step, reward, time = event
                add((key, seq, "t" if type(event) is Told else "s", step, None, reward, time, None, None))
            else:
                self.rare.append((key, seq, event))

    def insert(self, connection: Connection) -> None:
        """Write asks, rewards and settlements."""
        if not self.rows:
            return
        driver: Any = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(POSTGRES_INSERT) as copy:
            copy.set_types(POSTGRES_TYPES)
            for row in self.rows:
                copy.write_row(row)


class Kind(NamedTuple):
    """Events of one kind, as they are handed to SQLite: so many values each."""

    columns: str
    values: str
    width: int


ASKED = Kind("experiment, seq, kind, step, arm, time, due, probability", "(?, ?, 'a', ?, ?, ?, ?, ?)", 7)
TOLD = Kind("experiment, seq, kind, step, reward, time", "(?, ?, 't', ?, ?, ?)", 5)
SETTLED = TOLD._replace(values="(?, ?, 's', ?, ?, ?)")


class SqliteLines(Lines):
    """The values of each kind in one long list."""

    def __init__(self) -> None:
        super().__init__()
        self._asked: list[Any] = []
        self._told: list[Any] = []
        self._settled: list[Any] = []

    def add(self, key: int, after: int, fresh: Iterable[Event]) -> None:
        """Events of an experiment that follow the one of that number."""
        asked, told, settled = self._asked, self._told, self._settled
        for seq, event in enumerate(fresh, after + 1):  # thousands in a commit: no calls in here
            if type(event) is Asked:
                step, arm, time, due, probability, note = event
                asked += (key, seq, step, arm, time, due, probability)
                if note is not None:
                    self.noted.append((key, event))
            elif type(event) is Told:
                step, reward, time = event
                told += (key, seq, step, reward, time)
            elif type(event) is Settled:
                settled += (key, seq, *event)
            else:
                self.rare.append((key, seq, event))

    def insert(self, connection: Connection) -> None:
        """Write asks, rewards and settlements."""
        for kind, values in ((ASKED, self._asked), (TOLD, self._told), (SETTLED, self._settled)):
            done, count = 0, len(values) // kind.width
            while done < count:
                size = _bulk(count - done)
                some = tuple(values[kind.width * done : kind.width * (done + size)])
                connection.exec_driver_sql(_sqlite_insert(kind, size), some)
                done += size


def rows_of(key: int, after: int, fresh: Iterable[Event]) -> list[tuple[Any, ...]]:
    """Asks, rewards and settlements as rows of the log, behind the one of that number.

    >>> rows_of(1, 10, [Told(7, 0.5, 9.0), Asked(8, 1, 9.0, None, None)])
    [(1, 11, 't', 7, None, 0.5, 9.0, None, None), (1, 12, 'a', 8, 1, None, 9.0, None, None)]
    """
    lines = PostgresLines()
    lines.add(key, after, fresh)
    return lines.rows


def _bulk(left: int) -> int:
    """How many rows SQLite is given in one statement, when so many are left.

    The driver lets other threads run at every statement, and then waits its turn, beside a busy thread for longer than
    an insert takes: so statements are large. There are few sizes, and the driver keeps statements that come again.
    """
    return min(left // 64 * 64, 1024) or left


@cache
def _sqlite_insert(kind: Kind, size: int) -> str:
    return f"INSERT INTO events ({kind.columns}) VALUES {', '.join([kind.values] * size)}"
