"""A unit is erased while another process erases what is past retention: neither brings back what the other took."""

from __future__ import annotations

import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

import driftbandits as db
from driftbandits.live.units import hash_of
from driftbandits.store import DamagedStoreError, StoreUnavailableError, Writer, retention
from driftbandits.store.retention import Pruned
from driftbandits.store.schema import experiments, folded, notes, snapshots
from driftbandits.store.writers import Erased
from stores import journal
from waiting import INTERPRETED, PATIENCE, wait_until

DAY = 86_400.0
DAYS = 16
USERS = [f"user-{number}" for number in range(8)]
PRUNING = """
import sys
import threading

import driftbandits as db

store, go_on = db.Store(sys.argv[1], existing=True), threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), go_on.set()), daemon=True).start()
times = folds = 0
while not go_on.wait(0.01):
    folds += store.retention.prune("button").events > 0
    times += 1
    print(times, folds, flush=True)
"""


def begun(url: str) -> tuple[db.Store, Writer]:
    """An experiment that keeps nothing longer than half of its days, and its writer."""
    store = db.Store(url)
    start = store.database.clock() - DAYS * DAY
    store.database.clock = lambda: start
    store.create("button", arms=["red", "blue"], policy=db.RoundRobin(), sticky=1e9, keep=DAYS / 2 * DAY)
    store.database.clock = time.time
    return store, store.writers.acquire("button")


def visited(store: db.Store, writer: Writer, day: int) -> None:
    """Everyone comes on that day; all but one are answered."""
    start = writer.experiment.created
    writer.session.clock = lambda: start + day * DAY
    decisions = writer.session.ask_many(len(USERS), USERS, [{"day": day}] * len(USERS))
    writer.session.tell_many(dict.fromkeys(decisions[1:], 0.5))
    store.writers.append([(writer, journal(writer))])


def seen(store: db.Store, unit: str) -> int:
    """How many places of the database know that unit."""
    experiment = store.experiments.get("button")
    hashed = hash_of(unit, experiment.unit_key)
    with store.database.reading() as connection:
        saved = [
            zlib.decompress(data)
            for table in (snapshots, folded)
            for data in connection.execute(select(table.c.data).where(table.c.experiment == experiment.key)).scalars()
        ]
        noted = connection.execute(select(notes.c.unit).where(notes.c.experiment == experiment.key)).scalars().all()
    return sum(hashed in each for each in saved) + noted.count(hashed)


def agrees(store: db.Store, writer: Writer) -> None:
    """The log is whole, and folds to what the writer has in memory."""
    session = store.sessions.start(writer.experiment)
    for event in store.history.amended("button", 0, writer.seq):
        session.apply(event)
    assert session.snapshot() == writer.session.snapshot()
    assert store.maintenance.check() == []


def test_one_process_erases_units_while_another_prunes(url: str) -> None:
    store, writer = begun(url)
    visited(store, writer, 0)
    command = [sys.executable, "-c", PRUNING, url]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=INTERPRETED) as other:
        assert other.stdin
        assert other.stdout
        try:
            assert other.stdout.readline()  # it has begun
            for day in range(1, DAYS):
                visited(store, writer, day)
                if day % 3 == 0:
                    store.writers.save_snapshot(writer)
                gone = USERS[day % len(USERS)]
                writer, _, _ = store.writers.erase(writer, gone)
                assert seen(store, gone) == 0, f"after day {day}"
            wait_until(lambda: store.experiments.get("button").folded > 0, "the other process to have pruned")
        finally:
            other.stdin.close()
        *_, last = other.stdout.read().split("\n")[:-1]
        assert other.wait(PATIENCE) == 0
    assert int(last.split()[1]) > 1, "it folded while units were erased"
    store.retention.prune("button")
    gone = USERS[(DAYS - 1) % len(USERS)]
    assert seen(store, gone) == 0
    assert seen(store, USERS[(DAYS - 2) % len(USERS)]) > 0  # it came again on the last day
    agrees(store, writer)
    store.close()


@pytest.mark.parametrize("moment", ["is archived", "is read", "is folded", "is deleted"])
def test_a_unit_that_is_erased_while_the_log_is_pruned(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """At each of the moments: what was made before still knows it."""
    store, writer = begun(url)
    for day in range(DAYS):
        visited(store, writer, day)
    other, erased = db.Store(url), list[Erased]()
    where, name, after = {
        "is archived": (retention, "export_log", True),
        "is read": (other.sessions, "at", False),
        "is folded": (other.sessions, "at", True),
        "is deleted": (other.retention, "_erase", False),
    }[moment]
    real: Any = getattr(where, name)

    def erased_meanwhile(*given: Any, **named: Any) -> Any:
        found = real(*given, **named) if after else None
        if not erased:
            erased.append(store.writers.erase(writer, USERS[2]))
        return found if after else real(*given, **named)

    monkeypatch.setattr(where, name, erased_meanwhile)
    first = other.retention.prune("button", tmp_path / "old")
    assert seen(store, USERS[2]) == 0
    assert seen(store, USERS[3]) > 0
    if moment != "is deleted":  # then it was all done before
        assert first == (0, 0, None, 0.0)
        assert list((tmp_path / "old").iterdir()) == [], "an archive of what is still there, and it names the unit"
        first = other.retention.prune("button", tmp_path / "old")
        assert first.archive
        assert erased[0].unit.encode() not in first.archive.read_bytes()
    assert (first.decisions, first.archive and first.archive.exists()) == ((DAYS // 2 + 1) * (len(USERS) - 1), True)
    agrees(store, erased[0].writer)
    store.close()
    other.close()


def test_what_is_pruned_while_a_unit_is_erased(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was saved when erasing began is not what is there when it is written."""
    store, writer = begun(url)
    for day in range(DAYS):
        visited(store, writer, day)
        if day == DAYS // 4:
            store.writers.save_snapshot(writer)
    other, real, pruned = db.Store(url), store.sessions.without, list[Pruned]()

    def pruned_meanwhile(*given: Any) -> Any:
        found = real(*given)
        if not pruned:
            pruned.append(other.retention.prune("button"))
        return found

    monkeypatch.setattr(store.sessions, "without", pruned_meanwhile)
    writer, _, decisions = store.writers.erase(writer, USERS[2])
    assert pruned[0].decisions > 0
    assert 0 < decisions < DAYS
    assert seen(store, USERS[2]) == 0
    agrees(store, writer)
    store.close()
    other.close()


def test_erasing_does_not_begin_again_for_ever(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store, writer = begun(url)
    visited(store, writer, 0)
    with monkeypatch.context() as patched:
        patched.setattr(store.sessions, "replace", lambda *given: False)
        with pytest.raises(StoreUnavailableError, match="nothing was erased; try again"):
            store.writers.erase(writer, USERS[2])
    assert seen(store, USERS[2]) == 1
    writer, _, decisions = store.writers.erase(writer, USERS[2])
    assert (seen(store, USERS[2]), decisions) == (0, 1)
    agrees(store, writer)
    store.close()


def test_a_secret_that_is_lost_is_not_replaced_by_another() -> None:
    with db.Store("sqlite://") as store:
        store.create("button", arms=["a", "b"], sticky=60)
        assert len(store.experiments.get("button").unit_key) == 32
        with store.database.writing() as connection:
            connection.execute(update(experiments).values(unit_key=None))
        with pytest.raises(DamagedStoreError, match="'button' has lost unit_key"):
            store.open("button")
