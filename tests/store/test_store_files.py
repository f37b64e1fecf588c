"""SQLite's files deleted, moved, replaced or emptied while they are open: nothing more is acknowledged."""

from __future__ import annotations

import inspect
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import driftbandits as db
from driftbandits.live.decisions import Asked
from driftbandits.store import StoreUnavailableError, files
from waiting import INTERPRETED

LOG = "-wal"


def delete(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes()[:-1])
    other.replace(path)


def empty(path: Path) -> None:
    path.write_bytes(b"")


HARMS = [
    *((ending, harm) for ending in ("", LOG, "-shm") for harm in (delete, move, replace)),
    (LOG, empty),
]

# Asks, does harm, asks again, and is killed. Prints what it was given, and what it was told when it was refused.
KILLED = """
import os, signal, sys
from pathlib import Path
import driftbandits as db
exec(sys.argv[4])
store = db.Store(f"sqlite:///{sys.argv[1]}")
session = store.open("x", arms=["a", "b"])
def ask(count):
    for _ in range(count):
        try:
            print("asked", session.ask().step)
        except db.store.StoreUnavailableError as error:
            print("refused", error)
ask(20)
print("harm")
globals()[sys.argv[3]](Path(sys.argv[1] + sys.argv[2]))
ask(5)
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("ending", "harm"), HARMS)
def test_nothing_more_is_acknowledged(ending: str, harm: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with db.Store(f"sqlite:///{path}") as store, store.open("x", arms=["a", "b"]) as session:
        assert session.ask().step == 1
        harm(Path(f"{path}{ending}"))
        for work in (session.ask, session.ask, session.ask, store.database.try_to_write):
            with pytest.raises(StoreUnavailableError, match=f"ends in {ending}" if ending else "the file was deleted"):
                work()
        if harm is not empty:
            with pytest.raises(StoreUnavailableError), store.database.reading(), store.database.reading():
                pass  # the second of two connections is a new one, and would make new files


@pytest.mark.parametrize(("ending", "harm"), [each for each in HARMS if each[0] == LOG])
def test_killed_after_the_log_has_gone(ending: str, harm: Callable[[Path], None], tmp_path: Path) -> None:
    """What was acknowledged after it is there; also what was before, if it was not overwritten."""
    path = tmp_path / "store.db"
    words = [sys.executable, "-c", KILLED, str(path), ending, harm.__name__, inspect.getsource(harm)]
    done = subprocess.run(words, capture_output=True, text=True, env=INTERPRETED)
    assert done.returncode == -9, done.stderr
    before, _, after = done.stdout.partition("harm")
    assert before.count("asked") == 20
    assert after.count("refused") == 5
    with db.Store(f"sqlite:///{path}") as store:
        assert store.maintenance.check() == []
        if harm in (delete, move):
            asked = [event.step for event in store.history.events("x") if isinstance(event, Asked)]
            assert asked[:20] == list(range(1, 21))


def test_a_graceful_end_puts_the_log_into_the_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with db.Store(f"sqlite:///{path}") as store, store.open("x", arms=["a", "b"]) as session:
        session.ask_many(10)
        delete(Path(f"{path}{LOG}"))
        with pytest.raises(StoreUnavailableError):
            session.ask()
    with db.Store(f"sqlite:///{path}") as store:
        assert store.maintenance.check() == []
        assert store.experiments.get("x").last_seq >= 10


def test_what_sqlite_does_to_its_files_is_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    with db.Store(f"sqlite:///{path}") as store, store.open("x", arms=["a", "b"]) as session:
        for step in range(1, 4):
            assert session.ask().step == step
            with db.Store(store.url) as other:
                assert other.experiments.get("x").last_seq == step
            other.maintenance.compact()
            store.close()  # the last connection: SQLite removes what is beside the file, and makes it again
            assert not Path(f"{path}{LOG}").exists()
        plain, emptied = files.Files._look, sqlite3.connect(path)

        def truncated_meanwhile(watched: files.Files) -> Any:
            emptied.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            assert Path(f"{path}{LOG}").stat().st_size == 0
            return plain(watched)

        session.ask()
        monkeypatch.setattr(files.Files, "_look", truncated_meanwhile)
        assert session.ask().step == 5
        monkeypatch.setattr(files.Files, "_look", plain)
        emptied.close()
        assert session.ask().step == 6


def test_threads_open_and_close_connections_at_will(tmp_path: Path) -> None:
    """No one takes what SQLite removes with the last connection for harm."""
    with db.Store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        store.create("x", arms=["a", "b"])

        def use(_: int) -> None:
            for _ in range(30):
                store.database.try_to_write()
                store.close()

        with ThreadPoolExecutor(8) as threads:
            assert len(list(threads.map(use, range(8)))) == 8
