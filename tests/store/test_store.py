"""The Store against everything that happens to it: random histories, take-overs, damaged and foreign files."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import zlib
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, inspect, text, update

import driftbandits as db
import postgres
import systems
from clock import Clock
from driftbandits.live.decisions import Asked, Outcome, Told
from driftbandits.store import FencedError, StoreError, database, history
from driftbandits.store.holder import is_dead, new_holder
from driftbandits.store.schema import REVISION, metadata, snapshots
from driftbandits.testing.store import fold
from lively import lively
from waiting import wait_until


def test_old_rewards_are_dropped_however_they_were_bundled() -> None:
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"], policy=db.RoundRobin())
    writer = store.acquire("x")
    late = writer.session.ask()
    for _ in range(50):
        writer.session.tell(writer.session.ask().id, 0.5)
    last = writer.session.ask()
    assert last.arm == late.arm
    writer.session.tell_many([(last.id, 0.25), (late.id, 0.75)])
    store.append([(writer, writer.session.journal or [])])
    assert fold(store, "x").snapshot() == writer.session.snapshot()


rewards = st.one_of(st.floats(-1e100, 1e100), st.integers(-5, 5), st.booleans(), st.just(-0.0))
act = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 4)),
    st.tuples(st.just("tell"), st.lists(st.tuples(st.integers(1, 30), rewards), max_size=5)),
    st.tuples(st.just("wait"), st.floats(0, 4)),
    st.tuples(st.just("write"), st.none()),
    st.tuples(st.just("snapshot"), st.none()),
    st.tuples(st.just("forget"), st.none()),
    st.tuples(st.just("hand over"), st.none()),
)


@pytest.mark.parametrize("name", ["AutoTS", "SnoozeItTight", "GLRUCB"])
@given(
    acts=st.lists(act, max_size=40),
    timeout=st.sampled_from([None, 3.0]),
    default=st.sampled_from([None, 0, -0.0, 0.25]),
    keep=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_the_log_is_the_session(name: str, acts: list[Any], timeout: Any, default: Any, keep: bool) -> None:
    """At any point the Session from the Store is the Session that wrote, byte for byte; nothing more."""
    one, other, clock = db.Store("sqlite://"), None, Clock()
    other = db.Store(f"sqlite:///{one._database.engine.url.database}")
    one.create("x", arms=["a", "b"], policy=lively(name), timeout=timeout, default_reward=default, explore=0.1 * keep)
    here, there = one, other
    writer = here.acquire("x")
    writer.session.clock = clock
    written = writer.session.snapshot()
    for what, how in acts:
        session = writer.session
        if what == "ask":
            session.ask_many(how)
        elif what == "tell":
            session.tell_many([(f"x-{step}", reward) for step, reward in how])
        elif what == "wait":
            clock.now += how
        elif what == "forget":  # as when the process dies before it wrote
            writer = here.reload(writer)
            assert writer.session.snapshot() == written
        else:
            events, session.journal = session.journal or [], []
            here.append([(writer, events)])
            written = session.snapshot()
            assert fold(there, "x").snapshot() == written
            if what == "snapshot":
                here.snapshot(writer)
            elif what == "hand over":
                here.release(writer)
                here, there = there, here
                writer = here.acquire("x")
                assert writer.session.snapshot() == written
        writer.session.clock = clock
    log = list(one.events("x"))
    assert [event.step for event in log if isinstance(event, Asked)] == list(range(1, len({e.step for e in log}) + 1))
    answered = [event.step for event in log if not isinstance(event, Asked)]
    assert len(answered) == len(set(answered))


def test_two_writers_fight_and_the_log_stays_whole(tmp_path: Path) -> None:
    """Each thinks that the other's lease has run out, again and again: clocks that jump as they like."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    db.Store(url).create("x", arms=["a", "b"])
    acknowledged: list[tuple[str, str]] = []
    jumps = count()

    def write() -> None:
        store = db.Store(url)
        store.clock = lambda: next(jumps) * 1e6  # whoever looks finds the lease run out
        done = 0
        while done < 60:
            writer = store.acquire("x")
            try:
                for _ in range(5):
                    decision = writer.session.ask()
                    writer.session.tell(decision.id, 0.5)
                    events, writer.session.journal = writer.session.journal or [], []
                    store.append([(writer, events)])
                    acknowledged.append((decision.id, decision.arm))
                    done += 1
            except FencedError:
                continue

    threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: not any(thread.is_alive() for thread in threads), "the end of the fight")
    store = db.Store(url)
    log = list(store.events("x"))
    there = [(f"x-{event.step}", "ab"[event.arm]) for event in log if isinstance(event, Asked)]
    assert sorted(acknowledged) == sorted(there)
    assert len(log) == 2 * len(there) == 2 * len(set(there))
    assert fold(store, "x").step == len(there)
    assert store.experiment("x").epoch > 2


# Snapshots and explanations


def test_any_decision_is_explained_by_few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.store.writers.SNAPSHOT_EVERY", 100)
    monkeypatch.setattr(history, "LEAD", 50)
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"])
    live = {}
    with store.open("x") as session:
        for _ in range(200):
            decision = session.ask()
            live[decision.step] = session.explain(decision)
            session.ask_many(3)
            session.tell_many([(f"x-{step}", step % 5 / 5) for step in range(decision.step, decision.step + 4)])
    with store._database.reading() as connection:
        rows = connection.execute(snapshots.select().order_by(snapshots.c.seq)).all()
    assert len(rows) == 16
    assert [row.whole for row in rows] == [False] * 14 + [True] * 2
    assert max(len(row.data) for row in rows[:-2]) < min(len(row.data) for row in rows[-2:])
    applied: list[int] = []
    plain = db.Session.apply

    def noted(session: db.Session, event: Any) -> None:
        applied.append(event.step)
        plain(session, event)

    monkeypatch.setattr(db.Session, "apply", noted)
    for step in (1, 401, 797):
        applied.clear()
        assert store.explain("x", step) == live[step]
        assert len(applied) <= 160


def test_snapshots_never_outweigh_the_log() -> None:
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"])
    writer = store.acquire("x")
    writer.seq = history.SNAPSHOT_EVERY
    assert writer.snapshot_due
    writer.session.ask_many(history.SNAPSHOT_EVERY + 1)
    assert not writer.snapshot_due


@pytest.mark.parametrize("damage", [b"", b"no zip", zlib.compress(b"no snapshot")])
def test_a_damaged_snapshot_costs_time_only(damage: bytes) -> None:
    store = db.Store("sqlite://")
    with store.open("x", arms=["a", "b"]) as session:
        for _ in range(3):
            session.ask_many(2)
            store.snapshot(session._writer)
        written = session._writer.session.snapshot()
        with store._database.writing() as connection:
            connection.execute(update(snapshots).where(snapshots.c.seq == 6).values(data=damage))
    writer = store.acquire("x")
    assert (writer.saved, writer.session.snapshot() == written) == (4, True)
    with store._database.writing() as connection:
        connection.execute(update(snapshots).values(data=damage))
    again = store.reload(writer)
    assert (again.saved, again.session.snapshot() == written) == (0, True)


# Export


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_export(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.store.export.ROWS", 2)
    store, clock = db.Store("sqlite://"), Clock()
    store.create("x", arms=["a", 'größer, "als" b'], timeout=10, default_reward=0.25, policy=db.RoundRobin())
    path = tmp_path / f"x.{ending}"
    read: Any = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    assert store.export("x", path) == 0
    writer = store.acquire("x")
    writer.session.clock = clock
    first, second, third = writer.session.ask_many(3)
    writer.session.tell(second.id, 1 / 3)
    clock.now += 11
    writer.session.ask()
    events = writer.session.journal or []
    store.append([(writer, events)])
    shown: list[int] = []
    assert store.export("x", path, shown.append) == 4
    assert shown == [2, 4]
    asked = [event for event in events if isinstance(event, Asked)]
    table = read(path)
    assert table.columns == ["id", "step", "arm", "time", "due", "probability", "reward", "settled", "told_at"]
    assert table["id"].to_list() == [first.id, second.id, third.id, "x-4"]
    assert table["arm"].to_list() == [writer.session.arms[event.arm] for event in asked]
    assert table["time"].to_list() == [1000.0] * 3 + [1011.0]
    assert table["due"].to_list() == [1010.0] * 3 + [1021.0]
    assert table["probability"].to_list() == [event.probability for event in asked]
    assert table["reward"].to_list() == [0.25, 1 / 3, 0.25, None]
    assert table["settled"].to_list() == ["default", "told", "default", None]
    assert table["told_at"].to_list() == [1011.0, 1000.0, 1011.0, None]


def test_an_export_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.store.export.ROWS", 2)
    store = db.Store("sqlite://")
    with store.open("x", arms=["a", "b"]) as session:
        session.ask_many(5)

    def fail(rows: int) -> None:
        raise StoreError("the server went away")

    with pytest.raises(StoreError, match="went away"):
        store.export("x", tmp_path / "x.parquet", fail)
    with pytest.raises(db.InputError, match=r"must end in .parquet, .csv or .jsonl"):
        store.export("x", tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


# Schema


def test_migrations_make_the_tables_that_the_code_knows(tmp_path: Path) -> None:
    from alembic.script import ScriptDirectory

    from driftbandits.store.migrate import MIGRATIONS

    assert ScriptDirectory(MIGRATIONS, version_locations=[MIGRATIONS]).get_current_head() == REVISION
    db.Store(f"sqlite:///{tmp_path / 'migrated.db'}").close()
    made = create_engine(f"sqlite:///{tmp_path / 'made.db'}")
    metadata.create_all(made)
    made.dispose()
    migrated, created = (_tables(tmp_path / name) for name in ("migrated.db", "made.db"))
    assert migrated.pop("alembic_version")
    assert migrated == created


def _tables(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    connection.close()
    return {name: " ".join(sql.split()) for name, sql in rows}


def test_migrations_make_the_tables_that_the_code_knows_on_postgres() -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    found = []
    with postgres.database() as url, postgres.database() as other:
        db.Store(url).close()
        made = create_engine(other.replace("postgresql", "postgresql+psycopg"))
        metadata.create_all(made)
        for engine in (made, create_engine(url.replace("postgresql", "postgresql+psycopg"))):
            with engine.connect() as connection:
                assert compare_metadata(MigrationContext.configure(connection), metadata) == []
                rows = connection.execute(text("SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'")).scalars()
                found.append({row for row in rows if "alembic" not in row})
            engine.dispose()
    assert found[0] == found[1]
    assert len(found[0]) >= 8


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_may_open_a_new_database_at_once(tmp_path: Path, kind: str) -> None:
    def check(url: str) -> None:
        program = "import sys, driftbandits as db; sys.stdin.read(1); print(len(db.Store(sys.argv[1]).experiments()))"
        opening = [
            subprocess.Popen(
                [sys.executable, "-c", program, url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            for _ in range(4)
        ]
        for process in opening:
            assert process.stdin
            process.stdin.write(b"!")
            process.stdin.flush()
        for process in opening:
            said, error = process.communicate()
            assert said == b"0\n", error.decode()

    if kind == "sqlite":
        check(f"sqlite:///{tmp_path / 'store.db'}")
    else:
        with postgres.database() as url:
            check(url)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = db.Store(url)
    with store._database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(db.InputError, match=r"newer version \(schema 9999.*pip install --upgrade"):
        db.Store(url)


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
        db.Store(f"sqlite:///file:{tmp_path / 'good.db'}?mode=ro&uri=true").acquire("x")
    monkeypatch.setattr("driftbandits.store.database.PATIENCE", 0.1)
    holder = sqlite3.connect(tmp_path / "good.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    store = db.Store(f"sqlite:///{tmp_path / 'good.db'}")  # who only reads need not wait
    assert store.experiment("x").last_seq == 0
    with pytest.raises(StoreError, match="locked by another program"):
        store.acquire("x")
    holder.close()
    assert store.acquire("x").seq == 0


def test_servers_that_do_not_answer_keep_the_password_secret() -> None:
    with pytest.raises(StoreError, match="refused") as caught:
        db.Store(f"postgresql://me:secret@127.0.0.1:{postgres._free_port()}/x")
    assert "secret" not in str(caught.value)
    with postgres.database() as url, pytest.raises(StoreError, match="does not exist"):
        db.Store(url + "0")


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}")
    with store.open("x", arms=["a", "b"]) as session:
        session.ask_many(10)
        with store._database.reading() as connection:
            pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        store.close()  # so that the limit is set in a new connection
        from sqlalchemy import event

        def full(connection: Any, _: Any) -> None:
            connection.execute(f"PRAGMA max_page_count = {pages}")

        event.listen(store._database.engine, "connect", full)
        with pytest.raises(StoreError, match="disk is full"):
            session.ask_many(10_000)
        event.remove(store._database.engine, "connect", full)
        store.close()
        assert session.ask().step == 11
    assert store.experiment("x").last_seq == 11


TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def test_a_lost_connection_loses_nothing() -> None:
    with postgres.database() as url:
        store = db.Store(url)
        with store.open("x", arms=["a", "b"]) as session:
            first = session.ask()
            good = store._log.insert

            def cut(connection: Any, rows: Any) -> None:
                good(connection, rows)
                with store._database.reading() as another:
                    another.execute(text(TERMINATE))

            store._log.insert = cut  # type: ignore[method-assign]
            with pytest.raises(StoreError):
                session.tell(first.id, 0.5)
            store._log.insert = good  # type: ignore[method-assign]
            assert session.tell(first.id, 0.75) is Outcome.NEW
            assert session.ask().step == 2
        assert isinstance(told := store.reward("x", 1), Told)
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
    with db.Store(f"sqlite:///{tmp_path / 'store.db'}")._database.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    with postgres.database() as url:
        admin = create_engine(url.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
        with admin.connect() as connection:
            connection.execute(text(f"ALTER DATABASE {admin.url.database} SET synchronous_commit = off"))
        admin.dispose()
        store = db.Store(url)
        with store._database.writing() as connection:
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


# Holders


@systems.process_table
def test_a_dead_holder_on_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    program = """
import sys, os, signal, driftbandits as db
session = db.Store(sys.argv[1], lease=1e6).open("x", arms=["a", "b"])
print(session.ask().id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    answer = subprocess.run([sys.executable, "-c", program, url], capture_output=True, text=True)
    assert answer.stdout == "x-1\n", answer.stderr
    store = db.Store(url)
    with store.open("x") as session:
        assert session.ask().step == 2


@systems.process_table
def test_who_is_dead() -> None:
    me = new_holder()
    host, pid, start, kernel, _ = me.split(":")
    assert not is_dead(me)
    assert is_dead(f"{host}:{pid}:{int(start) + 1}:{kernel}:x")
    assert not is_dead(f"{host}:{pid}:{int(start) + 1}:elsewhere:x")
    assert not is_dead(f"{host}:{pid}:::x")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    waits_for_us = subprocess.Popen(["sleep", "0"])
    gone.wait()
    assert is_dead(f"{host}:{gone.pid}:1:{kernel}:x")
    os.waitid(os.P_PID, waits_for_us.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(f"{host}:{waits_for_us.pid}:{start}:{kernel}:x")
    waits_for_us.wait()


def test_a_lease_is_renewed_in_the_background(tmp_path: Path) -> None:
    store = db.Store(f"sqlite:///{tmp_path / 'store.db'}", lease=0.03)
    with store.open("x", arms=["a", "b"]) as session:
        before = store.experiment("x").lease_until
        wait_until(lambda: store.experiment("x").lease_until > before, "the lease to be renewed")
        store.set_status("x", "paused")
        wait_until(lambda: session._status == "paused", "the pause to be noticed")
        with pytest.raises(db.InputError, match="'x' is paused"):
            session.ask()
    assert store.experiment("x").holder is None


# Commands


def test_commands(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = db.Store(url)
    store.create("button", arms=["a", "b"])
    with store.open("button") as session:
        session.tell(session.ask().id, 1.0)

    def driftbandits(*words: str) -> Any:
        command = [sys.executable, "-m", "driftbandits", *words, "--store", url]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    listed = driftbandits("experiments")
    assert listed.returncode == 0, listed.stderr
    assert all(word in listed.stdout for word in ("button", "running", "AutoTS"))
    assert driftbandits("export", "button", "out.jsonl").stdout == "wrote 1 Decisions to out.jsonl\n"
    assert json.loads((tmp_path / "out.jsonl").read_text())["reward"] == 1.0
    missing = driftbandits("export", "knob", "knob.csv")
    assert (missing.returncode, "Traceback" in missing.stderr) == (2, False)
    assert "there is no experiment 'knob'" in missing.stderr


def test_queries_use_the_indexes(tmp_path: Path) -> None:
    """A log of millions is no place for a scan."""
    store = db.Store("sqlite://")
    with store.open("x", arms=["a", "b"]) as session:
        session.tell_many([(decision.id, 0.5) for decision in session.ask_many(5)])
    seen: list[str] = []
    from sqlalchemy import event

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "events" in statement and statement.startswith("SELECT"):
            explained = cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
            seen.extend(row[3] for row in explained)

    event.listen(store._database.engine, "before_cursor_execute", note)
    store.reward("x", 3)
    store.explain("x", 3)
    store.export("x", tmp_path / "x.csv")
    assert any("asked_once" in line for line in seen)
    assert any("answered_once" in line for line in seen)
    assert not [line for line in seen if "SCAN" in line or "TEMP B-TREE" in line]
    assert inspect(store._database.engine).get_indexes("events")
