"""Databases that make no sense, can not be used, or fail: nothing is lost, and the message says what is wrong."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

import driftbandits as db
import postgres
from driftbandits.live.decisions import Outcome, Told
from driftbandits.store import StoreError, database
from ports import free_port

# Refusals


@pytest.mark.parametrize(
    "url", ["", "file.db", "mysql://here/x", "sqlite+other:///x", "postgresql://h:port/x", 3, None]
)
def test_urls_that_make_no_sense(url: Any) -> None:
    with pytest.raises(db.InputError, match="a Store's URL looks like"):
        db.Store(url)


def test_files_that_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreError, match="does the folder exist"):
        db.Store(f"sqlite:///{tmp_path / 'nowhere' / 'x.db'}")
    with pytest.raises(db.InputError, match="there is no file"):
        db.Store(f"sqlite:///{tmp_path / 'x.db'}", existing=True)
    (tmp_path / "text.db").write_text("this is no database, whatever its name says " * 100)
    with pytest.raises(StoreError, match="is not an SQLite database"):
        db.Store(f"sqlite:///{tmp_path / 'text.db'}")
    db.Store(f"sqlite:///{tmp_path / 'good.db'}").create("x", arms=["a", "b"])
    with pytest.raises(StoreError, match="is read-only"):
        db.Store(f"sqlite:///file:{tmp_path / 'good.db'}?mode=ro&uri=true").writers.acquire("x")
    monkeypatch.setattr("driftbandits.store.database.PATIENCE", 0.1)
    holder = sqlite3.connect(tmp_path / "good.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store = db.Store(f"sqlite:///{tmp_path / 'good.db'}")  # who only reads need not wait
    assert store.experiments.get("x").last_seq == 0
    with pytest.raises(StoreError, match="locked by another program"):
        store.writers.acquire("x")
    holder.close()
    assert store.writers.acquire("x").seq == 0


def test_servers_that_do_not_answer_keep_the_password_secret() -> None:
    with pytest.raises(StoreError, match="refused") as caught:
        db.Store(f"postgresql://me:secret@127.0.0.1:{free_port()}/x")
    assert "secret" not in str(caught.value)
    with postgres.database() as url, pytest.raises(StoreError, match="does not exist"):
        db.Store(url + "0")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    with store.open("x", arms=["a", "b"]) as session:
        session.ask_many(10)
        with store.database.reading() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        store.close()  # so that the limit is set in a new connection
        from sqlalchemy import event

        def full(connection: Any, _: Any) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        event.listen(store.database.engine, "connect", full)
        with pytest.raises(StoreError, match="disk is full"):
            session.ask_many(10_000)
        event.remove(store.database.engine, "connect", full)
        store.close()
        assert session.ask().step == 11
    assert store.experiments.get("x").last_seq == 11


TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_a_lost_connection_loses_nothing() -> None:
    with postgres.database() as url:
        store = db.Store(url)
        with store.open("x", arms=["a", "b"]) as session:
            first = session.ask()
            good = store.log.insert

            def cut(connection: Any, lines: Any) -> None:
                good(connection, lines)
                with store.database.reading() as another:
                    another.execute(text(TERMINATE))

            store.log.insert = cut  # type: ignore[method-assign]
            with pytest.raises(StoreError):
                session.tell(first.id, 0.5)
            store.log.insert = good  # type: ignore[method-assign]
            assert session.tell(first.id, 0.75) is Outcome.NEW
            assert session.ask().step == 2
        assert isinstance(told := store.history.reward("x", 1), Told)
        assert told.reward == 0.75
        store.close()


def test_a_connection_that_died_while_idle_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "IDLE", 0.0)
    with postgres.database() as url:
        store = db.Store(url)
        with store.open("x", arms=["a", "b"]) as session:
            session.ask()
            admin = create_engine(url.replace("postgresql", "postgresql+psycopg"))
            with admin.connect() as connection:
                connection.execute(text(TERMINATE))
            admin.dispose()
            assert session.ask().step == 2
        store.close()


def test_commits_are_on_disk(tmp_path: Path) -> None:
    """A database may be set up to acknowledge before that; ours may not."""
    with db.Store(f"sqlite:///{tmp_path / 'store.db'}").database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    with postgres.database() as url:
        admin = create_engine(url.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {admin.url.database} SET synchronous_commit = off"))
        admin.dispose()
        store = db.Store(url)
        with store.database.writing() as connection:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
        store.close()


def test_without_what_it_needs_a_store_says_so() -> None:
    program = """
import sys
sys.meta_path.insert(0, type("Without", (), {"find_spec": staticmethod(lambda name, *_: (_ for _ in ()).throw(
    ModuleNotFoundError(name)) if name.split(".")[0] in ("sqlalchemy", "alembic") else None)})())
import importlib.util
plain = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name in ("sqlalchemy", "alembic") else plain(name)
import driftbandits as db
from driftbandits import *
db.testing.check_instance
try:
    db.Store("sqlite://")
except db.InputError as error:
    print(error)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'driftbandits[serve]'" in answer.stdout, answer.stderr
