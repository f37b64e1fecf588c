"""One commit holds events of all kinds, of several experiments; the log has them in the order of their numbers."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import driftbandits as db
from driftbandits.live.decisions import Asked, Counted, Event, Note, Settled, Told
from driftbandits.store.lines import SqliteLines, rows_of


def history(asks: int) -> list[Event]:
    """Asks, half of them told and half of them settled, in turns, and a rare event in between."""
    found: list[Event] = []
    for step in range(1, asks + 1):
        note = Note(b"u" * 16, 4, '{"page":"home"}') if step % 500 == 0 else None
        found.append(Asked(step, step % 2, float(step), step + 60.0, 0.25 if step % 3 else None, note))
        if step % 2:
            found.append(Told(step, step / 7, float(step)))
        else:
            found.append(Settled(step, None if step % 4 else 0.0, float(step)))
        if step == asks // 2:
            found.append(Counted(((1, 3),), 0.0, float(step)))
    return found


def test_a_commit_of_all_kinds_is_read_as_it_was_written(url: str) -> None:
    store = db.Store(url)
    events = {"long": history(1500), "short": history(3)}  # more rows of a kind than one statement takes, and fewer
    for id in events:
        store.create(id, arms=["red", "blue"])
    writers = {id: store.writers.acquire(id) for id in events}
    store.writers.append([(writers[id], events[id]) for id in events])
    store.writers.append(
        [(writers["long"], [Told(9001, 1.0, 9.0)]), (writers["short"], [Asked(4, 0, 9.0, None, None)])]
    )
    assert list(store.history.events("long")) == [*events["long"], Told(9001, 1.0, 9.0)]
    assert list(store.history.events("short")) == [*events["short"], Asked(4, 0, 9.0, None, None)]
    store.close()


def test_every_kind_is_handed_over_with_all_that_it_has(tmp_path: Path) -> None:
    """The statement of each kind writes the same row as one that names every column."""
    store, events, lines = db.Store(f"sqlite:///{tmp_path / 'ours.db'}"), history(70), SqliteLines()
    lines.add(1, 10, events)
    with store.database.writing() as connection:
        lines.insert(connection)
    store.close()
    with sqlite3.connect(tmp_path / "ours.db") as file:
        assert file.execute("SELECT * FROM events ORDER BY seq").fetchall() == rows_of(1, 10, events)


def test_nothing_to_write_is_no_statement(url: str) -> None:
    store = db.Store(url)
    with store.database.writing() as connection:
        store.log.lines().insert(connection)
    store.close()
