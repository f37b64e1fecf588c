"""What is damaged is mended, or saved as far as it can be read, and what is lost is said."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

import driftbandits as db
from driftbandits.cli.main import app
from driftbandits.store.salvage import salvage
from stores import journal


def filled(path: Path, days: int = 6) -> bytes:
    """A Store with 6 times 500 Decisions and a snapshot after each; the Session that they make."""
    store = db.Store(f"sqlite:///{path}")
    store.create("button", arms=["red", "blue"], policy=db.RoundRobin())
    writer = store.writers.acquire("button")
    for _ in range(days):
        for decision in writer.session.ask_many(500):
            if decision.step != 7:
                writer.session.tell(decision.id, 1)
        store.writers.append([(writer, journal(writer))])
        store.writers.save_snapshot(writer)
    store.writers.release(writer)
    store.maintenance.compact()
    store.close()
    return writer.session.snapshot()


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def reopened(path: Path) -> bytes:
    return db.Store(f"sqlite:///{path}").writers.acquire("button").session.snapshot()


def pages_of(path: Path, table: str) -> list[int]:
    """The numbers of all leaf pages of a table, in their order."""
    with closing(sqlite3.connect(path)) as connection:
        words = "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path"
        return [row[0] for row in connection.execute(words, (table,))]


def spoil(path: Path, page: int) -> None:
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)


def test_what_the_log_makes_again_is_mended_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.db"
    before = filled(path)
    run(
        path,
        "UPDATE snapshots SET data = x'00' WHERE seq = (SELECT max(seq) FROM snapshots)",
        "UPDATE writers SET holder = 'elsewhere:1:x', lease_until = 1e12",
    )
    for was, now in (("a", "b"), ("b", "a")):  # the index has no entry for any ask
        words = f"UPDATE sqlite_master SET sql = replace(sql, 'kind = ''{was}''', 'kind = ''{now}''')"
        run(path, "PRAGMA writable_schema = ON", f"{words} WHERE name = 'asked_once'")
        if now == "b":
            run(path, "REINDEX asked_once")
    store = ["store", "repair", "--store", f"sqlite:///{path}"]
    with pytest.raises(SystemExit):
        app([store[0], "check", *store[2:]])
    assert "lasts for ever" in capsys.readouterr().out
    app(store, result_action="return_value")
    said = capsys.readouterr().out
    assert "button: a snapshot after 5,999 events could not be read, and was removed" in said
    assert "indexes did not fit their tables, and were made again" in said
    assert "button: a lease that a wrong clock made" in said
    assert "nothing wrong" in said
    assert reopened(path) == before


@pytest.mark.parametrize("junk", [b"", b"junk", b"PK", b"\0" * 5_000])
def test_a_snapshot_of_something_else_is_removed(tmp_path: Path, junk: bytes) -> None:
    """Its bytes decompress, and no Session comes of them."""
    path = tmp_path / "store.db"
    before = filled(path)
    last = "seq = (SELECT max(seq) FROM snapshots)"
    run(path, f"UPDATE snapshots SET data = x'{zlib.compress(junk).hex()}' WHERE {last}")
    store = db.Store(f"sqlite:///{path}")
    assert store.maintenance.repair() == ["button: a snapshot after 5,999 events could not be read, and was removed"]
    assert store.maintenance.repair() == []
    assert store.writers.acquire("button").session.snapshot() == before
    store.close()


def test_a_gap_behind_a_snapshot_costs_nothing_that_was_learnt(tmp_path: Path) -> None:
    path, new = tmp_path / "store.db", tmp_path / "new.db"
    before = filled(path)
    pages = pages_of(path, "events")
    spoil(path, pages[len(pages) // 2])
    assert db.Store(f"sqlite:///{path}").maintenance.check() != []
    spoilt = path.read_bytes()
    said = salvage(path, new)
    assert len(said) == 1
    assert "a snapshot has all that was learnt" in said[0]
    assert path.read_bytes() == spoilt
    assert reopened(new) == before
    store = db.Store(f"sqlite:///{new}")
    assert store.experiments.get("button").folded == 5999
    assert store.history.export("button", tmp_path / "open.csv") == 1  # the one that still waits
    with pytest.raises(db.errors.InputError, match="exists already"):
        salvage(path, new)


def test_a_log_without_snapshots_is_kept_up_to_its_gap(tmp_path: Path) -> None:
    path, new = tmp_path / "store.db", tmp_path / "new.db"
    filled(path, 1)
    run(path, "DELETE FROM snapshots", "DELETE FROM events WHERE seq = 700")
    said = salvage(path, new)
    assert said == [
        "button: the log ends at event 699 of 999: what came after is lost, and ids of its Decisions will be given out "
        "again"
    ]
    store = db.Store(f"sqlite:///{new}")
    assert (store.experiments.get("button").last_seq, store.maintenance.check()) == (699, [])
    assert store.writers.acquire("button").session.step == 500


def test_a_file_of_which_nothing_is_left_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"\0" * 100_000)
    with pytest.raises(db.errors.InputError, match="nothing can be read"):
        salvage(path, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()
