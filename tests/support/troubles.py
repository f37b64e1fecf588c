"""What happens to real services: full disks, frozen, restarted and deleted databases, clocks that jump."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import polars as pl
import psycopg

from driftbandits.store import Store
from postgres import Server, server
from serving import Process
from traffic import ID, PATH, Traffic
from waiting import wait_until

YEAR = 365 * 86_400.0


@contextmanager
def service(store: str, **settings: object) -> Iterator[Process]:
    """A service that is stopped at the end, and killed if that fails."""
    process = Process(store, **{"lease": 2.0, **settings})
    try:
        process.wait()
        yield process
        process.stop()
    finally:
        process.kill()


def disk_full(times: int) -> Counter[str]:
    """The file system of the Store fills up, and is given room again."""
    with _small_disk() as folder:
        store, ballast = f"sqlite:///{folder}/store.db", Path(folder, "ballast")
        with service(store) as running, Traffic(running.url).flowing() as traffic:
            for _ in range(times):
                traffic.wait_for("told")
                _fill(ballast)
                traffic.wait_for("refused")
                wait_until(lambda: not running.ready, "readiness to notice")
                ballast.unlink()
                traffic.wait_for("told")
                wait_until(lambda: running.ready, "readiness to notice")
        return traffic.check(store)


def frozen(times: int) -> Counter[str]:
    """PostgreSQL stops responding, and goes on."""

    def freeze(database: Server, running: Process) -> None:
        database.freeze()
        wait_until(lambda: not running.ready, "readiness to notice")
        database.thaw()

    return _troubled(Server(), freeze, times)


class Freezes(NamedTuple):
    """What was seen, and in seconds the longest that an ask waited for an answer, and that nobody had taken over."""

    seen: Counter[str]
    answer: float
    takeover: float


def frozen_holders(times: int) -> Freezes:
    """The service that holds an experiment is frozen in the middle of a commit; another one takes over."""
    database, answer, takeover = Server(), 0.0, 0.0
    try:
        with database.database() as store, ExitStack() as stack:
            names = ["one", "two"]
            services = {
                name: stack.enter_context(service(f"{store}?application_name={name}", lease=15.0)) for name in names
            }
            traffic = Traffic(services["one"].url)
            opened = stack.enter_context(Store(store))
            for turn in range(times):
                holder, other = services[names[turn % 2]], services[names[1 - turn % 2]]
                traffic.url = holder.url
                with traffic.flowing():
                    traffic.wait_for("told")
                    traffic.seen[f"frozen {_freeze_in_commit(holder, names[turn % 2], store)}"] += 1
                    began = time.monotonic()
                    while True:
                        cold = opened.create(f"cold-{turn}-{time.monotonic_ns()}", arms=["red", "blue"]).id
                        for path in (f"/v1/experiments/{cold}", PATH):
                            asked = time.monotonic()
                            found = httpx.post(f"{other.url}{path}/ask", timeout=60)
                            answer = max(answer, time.monotonic() - asked)
                            assert found.status_code == 200 or path == PATH, found.text
                        if found.status_code == 200:
                            break
                        assert found.status_code == 503, found.text
                        assert other.ready
                        time.sleep(0.1)
                    takeover = max(takeover, time.monotonic() - began)
                    traffic.asked[found.json()["id"]] = found.json()["arm"]
                    holder.signal(signal.SIGCONT)
                holder.wait()
            for running in services.values():
                running.stop()
            return Freezes(traffic.check(store), answer, takeover)
    finally:
        database.stop()


OPEN_COMMIT = """
SELECT CASE WHEN state = 'active' THEN 'among the rows' ELSE 'between statements' END
FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE application_name = %s AND wait_event = 'ClientRead'
AND locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted
"""


def _freeze_in_commit(victim: Process, name: str, store: str) -> str:
    """Stop it again and again, until a transaction that has written something waits for it; where it was then."""
    luck = random.Random(name)
    with psycopg.connect(store, autocommit=True) as connection:
        while True:
            victim.signal(signal.SIGSTOP)
            time.sleep(0.05)
            found = connection.execute(OPEN_COMMIT, (name,)).fetchone()
            if found:
                return str(found[0])
            victim.signal(signal.SIGCONT)
            time.sleep(luck.uniform(0.0, 0.05))


def restarted(times: int) -> Counter[str]:
    """PostgreSQL crashes, and is started again."""
    return _troubled(Server(fsync=True), lambda database, running: database.restart(), times)


def _troubled(database: Server, trouble: Callable[[Server, Process], None], times: int) -> Counter[str]:
    """Traffic before and after each trouble, and what came of it."""
    try:
        with database.database() as store, service(store) as running, Traffic(running.url).flowing() as traffic:
            for _ in range(times):
                traffic.wait_for("told")
                trouble(database, running)
                traffic.wait_for("told")
            running.stop()
            return traffic.check(store)
    finally:
        database.stop()


def deleted(times: int) -> Counter[str]:
    """The file is deleted under the service, and put back; or the one that ends in -wal, which nobody puts back."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        file, store = Path(folder, "store.db"), f"sqlite:///{folder}/store.db"
        traffic = None
        for turn in range(2 * times):
            with service(store) as running:
                traffic = traffic or Traffic(running.url)
                traffic.url = running.url
                with traffic.flowing():
                    traffic.wait_for("told")
                    rescued = _renamed(file) if turn % 2 == 0 else {}
                    if not rescued:
                        file.with_name(f"{file.name}-wal").unlink()
                    traffic.wait_for("refused")
                    wait_until(lambda: not running.ready, "readiness to notice")
                    asked = traffic.seen["asked"]
                    traffic.wait_for("refused")
                    assert traffic.seen["asked"] == asked, "an ask was acknowledged that is on no disk"
                running.kill()
            for name in os.listdir(folder) if rescued else ():
                if not name.startswith("rescued"):
                    Path(folder, name).unlink()
            for there, was in rescued.items():
                there.rename(was)
            traffic.check(store)
        assert traffic is not None
        return traffic.check(store)


def clock_jumps(times: int) -> Counter[str]:
    """The machine's clock is days ahead, or years behind, while it runs and when it starts."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as folder:
        store, skew = f"sqlite:///{folder}/store.db", Path(folder, "skew")
        traffic = None
        for ahead in [0.0, 3 * 86_400.0, -YEAR, 0.0] * times:
            skew.write_text(str(ahead))
            with service(store, skew=str(skew)) as running:
                traffic = traffic or Traffic(running.url, timeout=600)
                traffic.url = running.url
                with traffic.flowing():
                    traffic.wait_for("told")
                    skew.write_text(str(ahead + YEAR))
                    traffic.wait_for("told")
                    skew.write_text(str(ahead))
                    traffic.wait_for("told")
        assert traffic is not None
        with service(store) as running:
            due = httpx.post(f"{running.url}{PATH}/ask", timeout=60).json()["due"]
            assert abs(due - time.time() - 600) < 120, f"time did not recover: due in {due - time.time():.0f} seconds"
        return traffic.check(store)


def backed_up(store: str, folder: Path) -> Counter[str]:
    """A backup is made under load and restored; what was acknowledged before is there, and it goes on."""
    with service(store) as running, Traffic(running.url).flowing() as traffic:
        traffic.wait_for("told", 100)
        before = traffic.copy()
        copy = _backup(store, folder) if store.startswith("sqlite") else _dump(store, folder)
        traffic.wait_for("told")
    traffic.check(store)
    traffic.check(copy, before)
    with service(copy) as running, Traffic(running.url, declare=False).flowing() as after:
        after.wait_for("told")
    return traffic.seen + after.check(copy)


def pruned(store: str, times: int) -> Counter[str]:
    """Old events are archived and erased under load: all that was acknowledged is in the archive or in the log."""
    with tempfile.TemporaryDirectory(prefix="driftbandits-soak-") as archive:
        # The service looks by itself too, a minute after its start: it must know of the archive.
        with service(store, archive=archive) as running, Traffic(running.url, keep=3_600.0).flowing() as traffic:
            for _ in range(times):
                traffic.wait_for("told", 200)
                opened = Store(store)
                opened.database.clock = lambda: time.time() + 3_599.0  # all but the last second is past retention
                opened.retention.prune(ID, archive)
        opened = Store(store)
        assert opened.experiments.get(ID).folded > 0
        assert opened.maintenance.check() == []
        opened.history.export(ID, f"{archive}/kept.parquet")
        rows = pl.concat([pl.read_parquet(file) for file in Path(archive).iterdir()]).unique("id")
        found = dict(zip(rows["id"], rows["reward"], strict=True))
        assert set(traffic.asked) <= set(found)
        assert {id: found[id] for id in traffic.told} == traffic.told
        opened.close()
        return +traffic.seen


def _backup(url: str, folder: Path) -> str:
    """``driftbandits store backup``; the URL of the copy."""
    store = Store(url)
    store.maintenance.backup(folder / "monday.db")
    store.close()
    return f"sqlite:///{folder / 'monday.db'}"


def _dump(url: str, folder: Path) -> str:
    """``pg_dump`` and ``pg_restore``, as the documentation says; the URL of the copy."""
    base, _, name = url.rpartition("/")
    copy = f"{base}/{name}_copy"
    for words in (
        ["pg_dump", "--format=custom", f"--file={folder}/monday.dump", url],
        ["createdb", f"--maintenance-db={base}/postgres", f"{name}_copy"],
        ["pg_restore", f"--dbname={copy}", f"{folder}/monday.dump"],
    ):
        subprocess.run([f"{server().binaries}/{words[0]}", *words[1:]], check=True)
    return copy


def _fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2


def _renamed(file: Path) -> dict[Path, Path]:
    """Other names for the file and its log, and none under which the service knows them."""
    found = {}
    for each in (file, file.with_name(f"{file.name}-wal")):
        rescued = each.with_name(f"rescued-{each.name}")
        os.link(each, rescued)
        found[rescued] = each
    for each in found.values():
        each.unlink()
    file.with_name(f"{file.name}-shm").unlink(missing_ok=True)
    return found


@contextmanager
def _small_disk() -> Iterator[str]:
    """A file system of 8 MB in memory, which only root can make."""
    folder = tempfile.mkdtemp(prefix="driftbandits-soak-")
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
