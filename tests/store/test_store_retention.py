"""Erasing old events, cut short anywhere, is finished by the next try."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from driftbandits.cli.main import app
from driftbandits.store import StoreUnavailableError, retention
from driftbandits.store.sessions import Snapshot
from stores import journal

DAY = 86_400.0


def filled(path: Path) -> tuple[db.Store, bytes]:
    """A Store with ten days of Decisions, kept for five, and the Session that they make."""
    store = db.Store(f"sqlite:///{path}")
    start = store.database.clock() - 9.9 * DAY
    store.database.clock = lambda: start
    store.create("button", arms=["red", "blue"], policy=db.RoundRobin(), keep=5 * DAY)
    writer = store.writers.acquire("button")
    for day in range(10):
        writer.session.clock = lambda day=day: start + day * DAY  # type: ignore[misc]
        for decision in writer.session.ask_many(40):
            if decision.step != 7:
                writer.session.tell(decision.id, 1)
        store.writers.append([(writer, journal(writer))])
    store.writers.release(writer)
    store.database.clock = time.time
    return store, writer.session.snapshot()


def test_erasing_that_was_cut_short_is_finished_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ROWS", 250)
    first, before = filled(tmp_path / "first.db")
    first.close()
    cut = 0
    while True:
        shutil.copy(tmp_path / "first.db", tmp_path / f"{cut}.db")
        store = db.Store(f"sqlite:///{tmp_path / f'{cut}.db'}")
        left, writing = cut, store.database.writing

        @contextmanager
        def some_writes(writing: Any = writing) -> Iterator[Any]:
            nonlocal left
            if not left:
                raise StoreUnavailableError("killed here")
            left -= 1
            with writing() as connection:
                yield connection

        with monkeypatch.context() as patch:
            patch.setattr(store.database, "writing", some_writes)
            try:
                store.retention.prune("button")
                finished = True
            except StoreUnavailableError:
                finished = False
        assert store.writers.acquire("button").session.snapshot() == before
        store.retention.prune("button")
        assert store.experiments.get("button").folded == 399
        assert len(list(store.history.events("button"))) == 400
        with store.database.reading() as connection:
            rows = connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one()
        assert rows == 401  # with the ask of the one that is open
        assert store.maintenance.check() == []
        if finished:
            break
        cut += 1
    assert cut == 6  # the fold, two parts of asks, two of rewards, and the rare events


@pytest.mark.parametrize("rows", [1, 7, 250])
def test_no_note_outlives_its_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Units and metadata are erased with the asks that they came with, however many are erased at once."""
    monkeypatch.setattr(retention, "ROWS", rows)
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    store.create("button", arms=["red", "blue"], policy=db.RoundRobin(), keep=DAY)
    writer = store.writers.acquire("button")
    writer.session.clock = lambda: time.time() - 2 * DAY
    for _ in range(6):
        made = writer.session.ask_many(10, [f"user {place}" for place in range(10)], [{"page": "home"}] * 10)
        writer.session.tell_many([(each.id, 1.0) for each in made if each.step != 33])
    writer.session.clock = time.time
    writer.session.ask(unit="young")
    store.writers.append([(writer, journal(writer))])
    assert store.retention.prune("button").decisions == 59
    with store.database.reading() as connection:
        left = connection.exec_driver_sql("SELECT step FROM notes ORDER BY step").scalars().all()
    assert left == [33, 61], "that of the one that is open, and the young one"
    store.close()


def test_a_log_that_is_erased_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, before = filled(tmp_path / "store.db")
    other, read = db.Store(f"sqlite:///{tmp_path / 'store.db'}"), store.log.events
    pruned: list[Any] = []

    def prune_first(*where: Any) -> Any:
        if not pruned:
            pruned.append(other.retention.prune("button"))
        return read(*where)

    monkeypatch.setattr(store.log, "events", prune_first)
    assert store.writers.acquire("button").session.snapshot() == before
    assert pruned[0].decisions == 199


def test_a_snapshot_that_comes_late_is_not_gone_on_from(tmp_path: Path) -> None:
    store, before = filled(tmp_path / "store.db")
    early = store.sessions.start(store.experiments.get("button"))
    for event in store.history.events("button", until=160):
        early.apply(event)
    store.retention.prune("button")
    writer = store.writers.acquire("button")
    store.writers.save_snapshot(writer, Snapshot.of(early))
    assert store.writers.reload(writer).session.snapshot() == before
    assert store.maintenance.check() == []


def test_at_most_so_much_of_the_log_is_erased_at_once(tmp_path: Path) -> None:
    store, before = filled(tmp_path / "store.db")
    store.database.clock = lambda: time.time() + 365 * DAY  # everything is old
    sizes, left = [], []
    while (pruned := store.retention.prune("button", most=2.5 * DAY)).events:
        sizes.append(pruned.decisions)
        left.append(pruned.left)
    assert sizes == [119, 120, 120, 40]  # one is open
    assert left == sorted(left, reverse=True)
    assert abs(left[0] - (365 + 9.9 - 5 - 2.5) * DAY) < 3600
    assert store.writers.acquire("button").session.snapshot() == before


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, _ = filled(tmp_path / "store.db")
    store.maintenance.compact()
    size = (tmp_path / "store.db").stat().st_size
    url = ["--store", f"sqlite:///{tmp_path / 'store.db'}"]
    for words in ("keep button forever", "prune", "keep button 5d", f"prune --archive {tmp_path}/old", "compact"):
        app(["store", *words.split(), *url], result_action="return_value")
    said = capsys.readouterr().out
    assert "button: events are kept for ever" in said
    assert "every experiment keeps its events for ever" in said
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 5 * DAY))
    assert f"button: erased 199 Decisions of before {day}" in said
    assert " UTC, written to" in said
    assert [each.name for each in (tmp_path / "old").iterdir()] == ["button-events-1-399.parquet"]
    assert (tmp_path / "store.db").stat().st_size < size
    assert [deed.details for deed in store.audit.entries()] == [{"keep": None}, {"keep": 5 * DAY}]


def test_room_of_what_was_erased_is_given_back(url: str) -> None:
    store = db.Store(url)
    store.create("button", arms=["red", "blue"], policy=db.RoundRobin(), keep=DAY)
    writer = store.writers.acquire("button")
    writer.session.clock = lambda: time.time() - 2 * DAY
    writer.session.tell_many([(each.id, 1.0) for each in writer.session.ask_many(10_000)])
    store.writers.append([(writer, journal(writer))])

    def size() -> int:
        with store.database.reading() as connection:
            postgres = "SELECT pg_total_relation_size('events')"
            sqlite = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
            return int(connection.exec_driver_sql(postgres if "postgres" in url else sqlite).scalar_one())

    before = size()
    assert store.retention.prune("button").decisions == 10_000
    store.maintenance.compact()
    assert size() < before / 4
    store.close()
