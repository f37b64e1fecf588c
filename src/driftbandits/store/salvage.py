"""What is left of a damaged SQLite file, in a new one.

Rows are read one by one where a page of them cannot be read at once. A log is kept as far as it has no gap. If it has
one, but a snapshot from behind the gap can be read, the log begins with that: then nothing that was learnt is lost.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, delete, func, insert, select, text, update

from driftbandits._common.expansion import inflated
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.live.session import Session
from driftbandits.store.experiments import Experiment
from driftbandits.store.schema import REVISION, changes, events, folded, metadata, notes, snapshots, writers
from driftbandits.store.sessions import is_stale
from driftbandits.store.store import Store

PART = 512
"""Rows that are read at once, while that works."""


def salvage(path: Path, to: Path) -> list[str]:
    """Write all that can be read to a new file; returns what was lost, a sentence each. The old file stays as it is."""
    if not path.exists():
        raise InputError(f"there is no file {path}: name the one that is damaged")
    if to.exists():
        raise InputError(f"{to} exists already: name a new file")
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".salvage-") as folder, written_whole(to) as temporary:
        source = Path(folder, "damaged.db")
        for end in ("", "-wal"):  # what is open here may be written to, by SQLite itself
            with suppress(FileNotFoundError):
                shutil.copy(f"{path}{end}", f"{source}{end}")
        new = Path(folder, "new.db")
        store = Store(f"sqlite:///{new}")
        with closing(sqlite3.connect(source)) as old:
            _check_version(old, path)
            with store.database.writing() as connection:
                lost = _copied(old, connection)
        for experiment in store.experiments.all():
            lost += _joined(store, experiment)
        lost += store.maintenance.check()
        store.maintenance.backup(Path(folder, "whole.db"))
        store.close()
        os.replace(Path(folder, "whole.db"), temporary)
    return lost


def _check_version(old: sqlite3.Connection, path: Path) -> None:
    try:
        found = old.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: nothing can be read ({error}): restore a backup") from None
    if found != (REVISION,):
        raise InputError(f"{path} is of another version (schema {found and found[0]}, not {REVISION}): use that one")


def _copied(old: sqlite3.Connection, new: Connection) -> list[str]:
    """Copy all tables; returns what could not be read of the small ones."""
    lost = []
    known: list[tuple[int, int]] = []
    for table in metadata.sorted_tables:
        if table in (events, changes, notes):
            continue
        rows, whole = _all_rows(old, table)
        if table is writers:
            known = [(row["experiment"], row["last_seq"]) for row in rows]
        if rows:
            new.execute(insert(table), rows)
        if not whole:
            lost.append(f"{table.name}: not all of it could be read")
    for key, last in known:
        for table in (events, changes, notes):
            for first in range(0, last, PART):
                rows = list(_rows(old, table, key, first + 1, min(first + PART, last)))
                if rows:
                    new.execute(insert(table).prefix_with("OR IGNORE"), rows)
    return lost


def _all_rows(old: sqlite3.Connection, table: Table) -> tuple[list[dict[str, Any]], bool]:
    rows, names = [], [column.name for column in table.columns]
    try:
        for row in old.execute(f"SELECT {', '.join(names)} FROM {table.name}"):
            rows.append(dict(zip(names, row, strict=True)))
    except sqlite3.DatabaseError:
        return rows, False
    return rows, True


def _rows(old: sqlite3.Connection, table: Table, key: int, first: int, last: int) -> Iterable[dict[str, Any]]:
    """Those of these numbers that can be read."""
    names = [column.name for column in table.columns]
    number = "step" if table is notes else "seq"
    words = f"SELECT {', '.join(names)} FROM {table.name} WHERE experiment = ? AND {number} BETWEEN ? AND ?"
    try:
        found = old.execute(words, (key, first, last)).fetchall()
    except sqlite3.DatabaseError:
        if first == last:
            return
        middle = (first + last) // 2
        yield from _rows(old, table, key, first, middle)
        yield from _rows(old, table, key, middle + 1, last)
        return
    yield from (dict(zip(names, row, strict=True)) for row in found if _makes_sense(table, row))


def _makes_sense(table: Table, row: tuple[Any, ...]) -> bool:
    """Whether all values are of the kind that their columns hold: a damaged page may hold anything."""
    fits = (
        bool(column.nullable) if value is None else isinstance(value, _types(column))
        for value, column in zip(row, table.columns, strict=True)
    )
    return all(fits)


def _types(column: Any) -> tuple[type, ...]:
    python: type = column.type.python_type
    return (int, float) if python is float else (python,)


def _joined(store: Store, experiment: Experiment) -> list[str]:
    """Let the log begin or end where it has a gap; says what that loses."""
    id, key, last = experiment.id, experiment.key, experiment.last_seq
    gap = _gap(store, key, experiment.folded, last)
    if gap is None:
        return []
    with store.database.reading() as connection:
        mine = select(snapshots).where(snapshots.c.experiment == key, snapshots.c.whole)
        taken = connection.execute(mine.order_by(snapshots.c.seq.desc())).all()
    corrections = store.log.corrections(key)
    for row in taken:
        session = _restored(row.data)
        if session is None or is_stale(row.seq, corrections) or _gap(store, key, row.seq, last) is not None:
            continue
        base = {"experiment": key, "seq": row.seq, "step": session.step, "corrected": 0, "data": row.data}
        waiting = {event.step for event in session.waiting()}
        with store.database.writing() as connection:
            connection.execute(delete(folded).where(folded.c.experiment == key))
            connection.execute(insert(folded), base)
            connection.execute(delete(snapshots).where(snapshots.c.experiment == key, snapshots.c.seq < row.seq))
            connection.execute(delete(changes).where(changes.c.experiment == key, changes.c.seq <= row.seq))
            asks = select(events.c.seq, events.c.step).where(
                events.c.experiment == key, events.c.seq <= row.seq, text("kind = 'a'")
            )
            kept = [seq for seq, step in connection.execute(asks) if step in waiting]
            old = events.c.experiment == key, events.c.seq <= row.seq
            last_kept = 0
            for seq in [*kept, row.seq + 1]:
                connection.execute(delete(events).where(*old, events.c.seq > last_kept, events.c.seq < seq))
                last_kept = seq
            store.log.drop_notes(connection, key, 1, last)
        return [
            f"{id}: events before number {row.seq + 1:,} are lost or can't be used, from number {gap:,} on; a snapshot "
            "has all that was learnt from them, and it goes on from there"
        ]
    with store.database.writing() as connection:
        for table in (events, changes, snapshots):
            connection.execute(delete(table).where(table.c.experiment == key, table.c.seq >= gap))
        store.log.drop_notes(connection, key, 1, last)
        connection.execute(update(writers).where(writers.c.experiment == key).values(last_seq=gap - 1))
    return [
        f"{id}: the log ends at event {gap - 1:,} of {last:,}: what came after is lost, and ids of its Decisions will "
        "be given out again"
    ]


def _gap(store: Store, key: int, after: int, last: int) -> int | None:
    """The first event that is missing."""
    low, high = after, last + 1  # all up to low are there, high is not the first that is there
    with store.database.reading() as connection:

        def whole(until: int) -> bool:
            found = 0
            for table in (events, changes):
                count = select(func.count()).select_from(table)
                mine = table.c.experiment == key, table.c.seq.between(after + 1, until)
                found += connection.execute(count.where(*mine)).scalar_one()
            return bool(found == until - after)

        if whole(last):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if whole(middle) else (low, middle)
    return high


def _restored(data: bytes) -> Session | None:
    try:
        return Session.restore(inflated(data))
    except InputError:
        return None
