"""The Store against everything that happens to it: random histories, take-overs, damaged and foreign files."""

from __future__ import annotations

import json
import os
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
from sqlalchemy import inspect, update

import commands
import driftbandits as db
import systems
from clock import Clock
from driftbandits.live.decisions import Asked, Settled, Told
from driftbandits.store import FencedError, StoreError, history, sessions
from driftbandits.store.holder import is_dead, new_holder
from driftbandits.store.schema import snapshots
from lively import lively
from stores import fold
from waiting import wait_until


def test_old_rewards_are_dropped_however_they_were_bundled() -> None:
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"], policy=db.RoundRobin())
    writer = store.writers.acquire("x")
    late = writer.session.ask()
    for _ in range(50):
        writer.session.tell(writer.session.ask().id, 0.5)
    last = writer.session.ask()
    assert last.arm == late.arm
    writer.session.tell_many([(last.id, 0.25), (late.id, 0.75)])
    store.writers.append([(writer, writer.session.journal or [])])
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


@pytest.mark.parametrize("name", ["AutoTS", "SnoozeItTight"])
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
    other = db.Store(f"sqlite:///{one.database.engine.url.database}")
    one.create("x", arms=["a", "b"], policy=lively(name), timeout=timeout, default_reward=default, explore=0.1 * keep)
    here, there = one, other
    writer = here.writers.acquire("x")
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
            writer = here.writers.reload(writer)
            assert writer.session.snapshot() == written
        else:
            events, session.journal = session.journal or [], []
            here.writers.append([(writer, events)])
            written = session.snapshot()
            assert fold(there, "x").snapshot() == written
            if what == "snapshot":
                here.writers.save_snapshot(writer)
            elif what == "hand over":
                here.writers.release(writer)
                here, there = there, here
                writer = here.writers.acquire("x")
                assert writer.session.snapshot() == written
        writer.session.clock = clock
    log = list(one.history.events("x"))
    asked = [event.step for event in log if isinstance(event, Asked)]
    assert asked == list(range(1, len(asked) + 1))
    answered = [event.step for event in log if isinstance(event, Told | Settled)]
    assert len(answered) == len(set(answered))


def test_two_writers_fight_and_the_log_stays_whole(tmp_path: Path) -> None:
    """Each thinks that the other's lease has run out, again and again: clocks that jump as they like."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    db.Store(url).create("x", arms=["a", "b"])
    acknowledged: list[tuple[str, str]] = []
    jumps = count()

    def write() -> None:
        store = db.Store(url)
        store.database.clock = lambda: next(jumps) * 1e6  # whoever looks finds the lease run out
        done = 0
        while done < 60:
            writer = store.writers.acquire("x")
            try:
                for _ in range(5):
                    decision = writer.session.ask()
                    writer.session.tell(decision.id, 0.5)
                    events, writer.session.journal = writer.session.journal or [], []
                    store.writers.append([(writer, events)])
                    acknowledged.append((decision.id, decision.arm))
                    done += 1
            except FencedError:
                continue

    threads = [threading.Thread(target=write, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: not any(thread.is_alive() for thread in threads), "the end of the fight")
    store = db.Store(url)
    log = list(store.history.events("x"))
    there = [(f"x-{event.step}", "ab"[event.arm]) for event in log if isinstance(event, Asked)]
    assert sorted(acknowledged) == sorted(there)
    assert len(log) == 2 * len(there) == 2 * len(set(there))
    assert fold(store, "x").step == len(there)
    assert store.experiments.get("x").epoch > 2


# Snapshots and explanations


def test_any_decision_is_explained_by_few_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.store.writers.SNAPSHOT_EVERY", 100)
    monkeypatch.setattr(history, "LEAD", 50)
    monkeypatch.setattr(sessions, "SMALL", 0)
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"])
    live = {}
    with store.open("x") as session:
        for _ in range(200):
            decision = session.ask()
            live[decision.step] = session.explain(decision)
            session.ask_many(3)
            session.tell_many([(f"x-{step}", step % 5 / 5) for step in range(decision.step, decision.step + 4)])
    with store.database.reading() as connection:
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
        assert store.history.explain("x", step) == live[step]
        assert len(applied) <= 160


def test_snapshots_never_outweigh_the_log() -> None:
    store = db.Store("sqlite://")
    store.create("x", arms=["a", "b"])
    writer = store.writers.acquire("x")
    writer.seq = sessions.SNAPSHOT_EVERY
    assert writer.snapshot_due
    writer.session.ask_many(sessions.SNAPSHOT_EVERY + 1)
    assert not writer.snapshot_due


@pytest.mark.parametrize("damage", [b"", b"no zip", zlib.compress(b"no snapshot")])
def test_a_damaged_snapshot_costs_time_only(damage: bytes) -> None:
    store = db.Store("sqlite://")
    with store.open("x", arms=["a", "b"]) as session:
        for _ in range(3):
            session.ask_many(2)
            store.writers.save_snapshot(session.writer)
        written = session.writer.session.snapshot()
        with store.database.writing() as connection:
            connection.execute(update(snapshots).where(snapshots.c.seq == 6).values(data=damage))
    writer = store.writers.acquire("x")
    assert (writer.saved, writer.session.snapshot() == written) == (4, True)
    with store.database.writing() as connection:
        connection.execute(update(snapshots).values(data=damage))
    again = store.writers.reload(writer)
    assert (again.saved, again.session.snapshot() == written) == (0, True)


# Export


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_export(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.store.export.ROWS", 2)
    store, clock = db.Store("sqlite://"), Clock()
    store.create("x", arms=["a", 'größer, "als" b'], timeout=10, default_reward=0.25, policy=db.RoundRobin())
    path = tmp_path / f"x.{ending}"
    read: Any = {"parquet": pl.read_parquet, "csv": pl.read_csv, "jsonl": pl.read_ndjson}[ending]
    assert store.history.export("x", path) == 0
    writer = store.writers.acquire("x")
    writer.session.clock = clock
    first, second, third = writer.session.ask_many(3)
    writer.session.tell(second.id, 1 / 3)
    clock.now += 11
    writer.session.ask()
    events = writer.session.journal or []
    store.writers.append([(writer, events)])
    shown: list[int] = []
    assert store.history.export("x", path, shown.append) == 4
    assert shown == [2, 4]
    asked = [event for event in events if isinstance(event, Asked)]
    table = read(path)
    columns = ["id", "step", "arm", "time", "due", "probability", "reward", "settled", "told_at"]
    assert table.columns == [*columns, "unit", "again", "metadata"]
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
        store.history.export("x", tmp_path / "x.parquet", fail)
    with pytest.raises(db.InputError, match=r"must end in .parquet, .csv or .jsonl"):
        store.history.export("x", tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


# Holders


@systems.process_table
def test_a_dead_holder_on_this_machine_is_taken_over_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    program = """
import sys, os, signal, driftbandits as db
session = db.Store(sys.argv[1], lease=1e6).open("x", arms=["a", "b"], policy=db.RoundRobin())
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
        before = store.experiments.get("x").lease_until
        wait_until(lambda: store.experiments.get("x").lease_until > before, "the lease to be renewed")
        store.experiments.set_status("x", "paused")
        wait_until(lambda: session._status == "paused", "the pause to be noticed")
        with pytest.raises(db.InputError, match="'x' is paused"):
            session.ask()
    assert store.experiments.get("x").holder is None


# Commands


def test_commands(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = db.Store(url)
    store.create("button", arms=["a", "b"])
    with store.open("button") as session:
        session.tell(session.ask().id, 1.0)

    def driftbandits(*words: str) -> Any:
        return commands.driftbandits(*words, "--store", url, cwd=tmp_path)

    listed = driftbandits("experiments")
    assert listed.returncode == 0, listed.stderr
    assert all(word in listed.stdout for word in ("button", "running", "BreakEven"))
    assert driftbandits("export", "button", "out.jsonl").stdout.startswith("wrote 1 Decisions to out.jsonl\n")
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

    event.listen(store.database.engine, "before_cursor_execute", note)
    store.history.reward("x", 3)
    store.history.explain("x", 3)
    store.history.export("x", tmp_path / "x.csv")
    assert any("asked_once" in line for line in seen)
    assert any("answered_once" in line for line in seen)
    assert not [line for line in seen if "SCAN" in line or "TEMP B-TREE" in line]
    assert inspect(store.database.engine).get_indexes("events")
