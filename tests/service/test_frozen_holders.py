"""Whoever freezes in the middle of a commit keeps nobody else waiting: asks are answered, others take over.

PostgreSQL keeps a frozen client's locks. On SQLite there is one lock, and nobody can take it away.
"""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

import postgres
import systems
from driftbandits.live.decisions import Asked
from driftbandits.service.core import probe as core_probe
from driftbandits.store import BusyError, LockedError, Store, StoreUnavailableError, database
from driftbandits.store.writers import Writers
from in_process import ARMS, Running, ask, serving
from waiting import INTERPRETED, started, wait_until

SOON = 20.0
"""Seconds within which every request here is answered: far more than the limits, and less than waiting was before."""

# Freezes in the middle of a commit, at the place that it is told; then says what became of it.
FREEZES = """
import os, signal, sys
import driftbandits as db
from driftbandits.store import lines
store = db.Store(sys.argv[1], lease=0.5)
first, second = (store.writers.acquire(name) for name in ("first", "second"))
def freeze():
    os.kill(os.getpid(), signal.SIGSTOP)
plain = lines.PostgresLines.insert
if sys.argv[2] == "before the rows":
    def insert(self, connection):
        freeze()
        plain(self, connection)
else:
    def insert(self, connection):
        driver = connection.connection.driver_connection
        with driver.cursor() as cursor, cursor.copy(lines.POSTGRES_INSERT) as copy:
            copy.set_types(lines.POSTGRES_TYPES)
            freeze()
            for row in self.rows:
                copy.write_row(row)
lines.PostgresLines.insert = insert
for writer in (first, second):
    writer.session.ask_many(3)
print("freezing", flush=True)
try:
    store.writers.append([(writer, writer.session.journal) for writer in (first, second)])
    print("acknowledged")
except db.store.StoreError as error:
    print(type(error).__name__)
lines.PostgresLines.insert = plain
try:
    store.writers.reload(first)
    print("the writer")
except db.store.StoreError as error:
    print(type(error).__name__)
"""


@contextmanager
def locked(url: str, statement: str = "SELECT 1") -> Iterator[psycopg.Connection[Any]]:
    """A transaction that has locked the ends of all logs but one, and is now busy with a statement, or silent."""
    with psycopg.connect(url) as other:
        other.execute("SELECT * FROM writers JOIN experiments ON key = experiment WHERE id LIKE 'stuck%' FOR UPDATE")
        busy = threading.Thread(target=_run, args=(other, statement))
        busy.start()
        try:
            yield other
        finally:
            other.cancel_safe()
            busy.join()
            if not other.closed:
                other.rollback()


def _run(connection: psycopg.Connection[Any], statement: str) -> None:
    with suppress(psycopg.Error):  # cancelled, or ended
        connection.execute(statement.encode())


def status_of(running: Running, path: str) -> int:
    return httpx.post(f"{running.url}{path}/ask", timeout=SOON).status_code


def is_answered(running: Running, path: str) -> bool:
    return status_of(running, path) == 200


def test_a_lock_holds_up_its_own_experiments_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """More of them than there are threads; no thread waits. The transaction works, so nobody ends it."""
    monkeypatch.setattr(database, "SERVER", (["lock_timeout"], ["60s"]))
    with postgres.database() as url, serving(url) as running:
        stuck = [f"/v1/experiments/stuck-{number}" for number in range(12)]
        for path in [*stuck, "/v1/experiments/other"]:
            running.service.store.create(path.rpartition("/")[2], arms=ARMS)
        with locked(url, "SELECT pg_sleep(600)") as other, ThreadPoolExecutor(len(stuck)) as clients:
            asked = [clients.submit(httpx.post, f"{running.url}{path}/ask", timeout=SOON) for path in stuck]
            wait_until(lambda: len(running.service.holdings._loading) > 4, "all threads to have some", every=0.001)
            assert status_of(running, "/v1/experiments/other") == 200
            assert running.create("new") == "/v1/experiments/new"
            for each in asked:
                refused = each.result()
                assert (refused.status_code, refused.json()["error"]) == (503, "store")
                assert "locked" in refused.json()["message"]
                assert refused.headers["Retry-After"] == "1"
            assert httpx.get(f"{running.url}/readyz", timeout=SOON).status_code == 200
            assert not other.closed
            assert other.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE
        assert status_of(running, stuck[0]) == 200


def test_a_lock_holds_up_no_other_experiment_of_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own experiments are refused; others that are written in the same transaction are not."""
    with postgres.database() as url, serving(url) as running:
        paths = [running.create("stuck"), running.create("other")]
        for path in paths:
            ask(running, path)
        appended, plain = list[int](), Writers.append

        def counted(part: Writers, batches: Any, kept: Any = ()) -> None:
            batches = list(batches)
            appended.append(len(batches))
            plain(part, batches, kept)

        monkeypatch.setattr(Writers, "append", counted)
        with locked(url, "SELECT pg_sleep(600)"), ThreadPoolExecutor(2) as clients:

            async def both() -> None:  # on the event loop, so that they are in one group
                for path in paths:
                    held = running.held(path.rpartition("/")[2])
                    held.session.ask()
                    running.service.holdings.committer.schedule(held)

            running.on_loop(both())
            assert list(clients.map(lambda path: status_of(running, path), paths)) == [503, 200]
        assert appended[:2] == [2, 1]
        assert running.held("other").session.step == 3
        assert status_of(running, paths[0]) == 200


@systems.process_table
@pytest.mark.parametrize("where", ["before the rows", "among the rows"])
def test_a_holder_frozen_in_a_commit_is_taken_over(where: str, tmp_path: Path) -> None:
    """It holds the lock on both ends; when it wakes up, its commit fails, and it is no longer the writer."""
    with postgres.database() as url, serving(url) as running:
        for name in ("first", "second", "other"):
            running.service.store.create(name, arms=ARMS)
        pipes: Any = {"stdout": subprocess.PIPE, "env": INTERPRETED}
        with started("-c", FREEZES, url, where, **pipes) as process:
            assert process.stdout
            assert process.stdout.readline() == "freezing\n"
            wait_until(lambda: _state(process.pid) == "T", "it to freeze")
            assert status_of(running, "/v1/experiments/other") == 200
            for name in ("first", "second"):
                wait_until(partial(is_answered, running, f"/v1/experiments/{name}"), "the takeover")
            process.send_signal(signal.SIGCONT)
            said = process.stdout.read().split()
        assert said[0] in ("StoreUnavailableError", "FencedError")
        assert said[1] in ("BusyError", "FencedError")
        for name in ("first", "second"):
            assert [event.step for event in running.service.store.history.events(name) if isinstance(event, Asked)] == [
                1
            ]


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_silent_client_loses_its_lock_and_learns_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody wants to take over: the server ends its transaction."""
    with postgres.database() as url, Store(url) as store, Store(url) as other:
        other.create("first", arms=ARMS)
        monkeypatch.setattr(database, "SERVER", (["idle_in_transaction_session_timeout"], ["100ms"]))
        store.close()  # what it opens from now on has this limit
        ended = threading.Event()

        def be_silent() -> None:
            with store.database.writing() as connection:
                connection.exec_driver_sql("UPDATE writers SET epoch = epoch")
                wait_until(lambda: other.writers.acquire("first"), "the lock to go")
                ended.set()

        with pytest.raises(StoreUnavailableError, match=r"silent|ended this connection"):
            be_silent()
        assert ended.is_set()


def test_connections_to_a_server_have_limits() -> None:
    with postgres.database() as url, Store(url) as store:
        with store.database.writing() as connection:
            statement = "SELECT current_setting(%s)::interval = %s::interval"
            for name, value in zip(*database.SERVER, strict=True):
                assert connection.exec_driver_sql(statement, (name, value)).scalar_one()
            limited = "SELECT current_setting(%s)::interval BETWEEN '1 ms' AND %s::interval"
            for name, most in (("lock_timeout", "2 s"), ("idle_in_transaction_session_timeout", "10 s")):
                assert connection.exec_driver_sql(limited, (name, most)).scalar_one(), name
            driver: Any = connection.connection.driver_connection
            told = driver.info.get_parameters()
            assert {name: told.get(name) for name in database.CLIENT} == {
                name: str(value) for name, value in database.CLIENT.items()
            }
        with store.database.alone() as driver:
            assert driver.execute("SHOW lock_timeout").fetchone() == ("0",)
    with postgres.database() as url, Store(f"{url}?connect_timeout=7") as store, store.database.alone() as driver:
        assert driver.info.get_parameters()["connect_timeout"] == "7"


def test_leases_are_renewed_around_a_lock() -> None:
    """What is locked waits for the next time, and a commit prolongs the lease too."""
    with postgres.database() as url, Store(url) as store:
        for name in ("stuck", "other"):
            store.create(name, arms=ARMS)
        writers = [store.writers.acquire(name) for name in ("stuck", "other")]
        store.database.clock = lambda: 1e10
        with locked(url, "SELECT pg_sleep(600)"):
            assert store.writers.renew(writers) == []
            assert store.experiments.get("stuck").lease_until < 1e10 < store.experiments.get("other").lease_until
        writers[0].session.ask()
        store.writers.append([(writers[0], writers[0].session.journal or [])])
        assert store.experiments.get("stuck").lease_until > 1e10


def test_who_waits_for_a_lock_says_so(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the experiments that are locked, where the database tells; a lease is not asked for its lock."""
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    monkeypatch.setattr(database, "SERVER", (["lock_timeout"], ["100ms"]))
    with Store(url) as store, Store(url) as other:
        for name in ("stuck", "other"):
            store.create(name, arms=ARMS)
        writers = [store.writers.acquire(name) for name in ("stuck", "other")]
        for writer in writers:
            writer.session.ask()
        with _busy(url, tmp_path):
            with pytest.raises(LockedError) as caught:
                store.writers.append([(writer, writer.session.journal or []) for writer in writers])
            assert caught.value.ids == (["stuck"] if url.startswith("postgres") else [])
            with pytest.raises(BusyError):
                other.writers.acquire("stuck")
            with pytest.raises(LockedError):
                store.writers.reload(writers[0], wait=0.2)
        store.writers.append([(writer, writer.session.journal or []) for writer in writers])


@contextmanager
def _busy(url: str, folder: Path) -> Iterator[None]:
    if url.startswith("postgres"):
        with locked(url, "SELECT pg_sleep(600)"):
            yield
    else:
        with write_locked(folder / "store.db"):
            yield


@contextmanager
def write_locked(file: Path) -> Iterator[None]:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


def test_a_frozen_process_with_sqlites_lock_is_told_to_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asks of many experiments wait together, not one after the other; readiness knows."""
    monkeypatch.setattr(core_probe, "FRESH", 0.0)
    with serving(f"sqlite:///{tmp_path / 'store.db'}") as running:
        loaded = running.create()
        ask(running, loaded)
        cold = [f"/v1/experiments/cold-{number}" for number in range(40)]
        for path in cold:
            running.service.store.create(path.rpartition("/")[2], arms=ARMS)
        with write_locked(tmp_path / "store.db"), ThreadPoolExecutor(len(cold)) as clients:
            statuses = list(clients.map(lambda path: status_of(running, path), [loaded, *cold]))
            assert statuses == [503] * (1 + len(cold))
            refused = httpx.get(f"{running.url}/readyz", timeout=SOON)
            assert (refused.status_code, "locked" in refused.json()["message"]) == (503, True)
        assert [status_of(running, path) for path in (loaded, cold[0])] == [200, 200]
        assert running.http.get("/readyz").status_code == 200


def test_readiness_sees_what_hangs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit, or all threads that load."""
    monkeypatch.setattr(core_probe, "FRESH", 0.0)
    monkeypatch.setattr(core_probe, "DEADLINE", 1.0)
    with serving(url) as running:
        path, holdings, go_on = running.create(), running.service.holdings, threading.Event()
        ask(running, path)
        for _ in range(4):
            holdings._loading_threads.submit(go_on.wait, 60)
        refused = running.http.get("/readyz")
        assert (refused.status_code, "loaded" in refused.json()["message"]) == (503, True)
        go_on.set()
        wait_until(lambda: running.http.get("/readyz").status_code == 200, "threads to be free")
        monkeypatch.setattr(holdings.committer, "seconds_writing", lambda: 60.0)
        refused = running.http.get("/readyz")
        assert (refused.status_code, "commit" in refused.json()["message"]) == (503, True)
