"""What a Store costs: rows a second beside the same insert without us, and a log of millions of Decisions.

python benchmarks/store.py                        # both parts, SQLite and (where it is installed) PostgreSQL
python benchmarks/store.py --decisions 10_000_000 # the log of a day; SQLite, takes a while and 3 GB
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import driftbandits as db
from driftbandits.live.decisions import Asked, Event, Told
from driftbandits.store.lines import POSTGRES_INSERT, POSTGRES_TYPES, rows_of

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
SQLITE_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
SIZES = (1, 100, 10_000)
SECONDS = 3.0

RESTART = """
import sys, time
import driftbandits as db
begun = time.perf_counter()
store = db.Store(sys.argv[1])
writer = store.writers.acquire("day")
print(time.perf_counter() - begun, writer.seq, writer.seq - writer.saved)
"""
EXPLAIN = """
import sys, time
import driftbandits as db
store = db.Store(sys.argv[1])
store.history.explain("day", 1)  # compiles
for step in map(int, sys.argv[2:]):
    begun = time.perf_counter()
    store.history.explain("day", step)
    print(time.perf_counter() - begun)
"""
EXPORT = """
import sys, time
import driftbandits as db
from driftbandits._common.memory import peak_megabytes
store = db.Store(sys.argv[1])
begun = time.perf_counter()
store.history.export("day", sys.argv[2])
print(time.perf_counter() - begun, peak_megabytes())
"""


def pairs(first: int, count: int) -> list[Event]:
    """Events as a Session makes them: asks, then their rewards."""
    steps = range(first, first + count)
    return [*(Asked(s, s % 2, 1.8e9, 1.8e9 + 60, 0.5) for s in steps), *(Told(s, 0.5, 1.8e9) for s in steps)]


def rows_a_second(write: Callable[[list[Event]], None], size: int) -> float:
    """Rows a second in transactions of ``size`` pairs, each on disk before the next begins."""
    step, begun = 1, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        write(pairs(step, size))
        step += size
    return 2 * (step - 1) / (time.perf_counter() - begun)


def through_us(url: str, size: int) -> float:
    store = db.Store(url)
    writer = store.writers.acquire(store.create(f"us-{size}", arms=["a", "b"]).id)
    rate = rows_a_second(lambda events: store.writers.append([(writer, events)]), size)
    store.close()
    return rate


def bare_driver(url: str) -> Callable[[list[tuple[Any, ...]]], None]:
    """Writes rows by the driver alone: one executemany (SQLite) or binary COPY (PostgreSQL), and a commit."""
    if url.startswith("sqlite"):
        import sqlite3

        file: Any = sqlite3.connect(url.removeprefix("sqlite:///"), check_same_thread=False)
        file.execute("PRAGMA synchronous = FULL")

        def write(rows: list[tuple[Any, ...]]) -> None:
            file.executemany(SQLITE_INSERT, rows)
            file.commit()

        return write
    import psycopg

    connection = psycopg.connect(url)

    def copy_in(rows: list[tuple[Any, ...]]) -> None:
        with connection.cursor() as cursor, cursor.copy(POSTGRES_INSERT) as copy:
            copy.set_types(POSTGRES_TYPES)
            for row in rows:
                copy.write_row(row)
        connection.commit()

    return copy_in


def _first(events: Sequence[Event]) -> int:
    """Where in the log they begin."""
    asked = events[0]
    assert isinstance(asked, Asked)
    return 2 * asked.step


def plainly(url: str, size: int) -> float:
    """Rows a second of the bare driver, in transactions of ``size`` pairs."""
    write = bare_driver(url)
    return rows_a_second(lambda events: write(rows_of(-size, _first(events) - 1, events)), size)


@contextmanager
def places(folder: str) -> Iterator[dict[str, str]]:
    """URLs of an SQLite file and of a PostgreSQL that syncs to disk, if there is one."""
    found = {"SQLite": f"sqlite:///{folder}/store.db"}
    try:
        import postgres

        server = postgres.Server(fsync=True)
    except BaseException as error:
        print(f"without PostgreSQL: {error}")
        yield found
        return
    with server.database() as url:
        yield found | {"PostgreSQL": url}
    server.stop()


def appends() -> None:
    """Print rows a second."""
    table = Table(box=box.SIMPLE)
    for column in ("database", "pairs a commit", "rows/s", "driver alone", "share"):
        table.add_column(column, justify="left" if column == "database" else "right")
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder, places(folder) as urls:
        for name, url in urls.items():
            for size in SIZES:
                ours, floor = through_us(url, size), plainly(url, size)
                table.add_row(name, f"{size:,}", f"{ours:,.0f}", f"{floor:,.0f}", f"{ours / floor:.0%}")
    Console().print("\nAppending, on disk before the next begins", style="bold")
    Console().print(table)


def day(decisions: int) -> None:
    """Print what a long log costs to write, to restart from, to explain and to export."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=".") as folder:
        url, path = f"sqlite:///{folder}/store.db", Path(folder, "store.db")
        store = db.Store(url)
        store.create("day", arms=["a", "b"], timeout=60.0, default_reward=0.0)
        writer = store.writers.acquire("day")
        session = writer.session
        begun = time.perf_counter()
        for _ in track(range(0, decisions, 1_000), "filling", console=Console(stderr=True), transient=True):
            asked = session.ask_many(1_000)
            session.tell_many([(decision.id, 0.5) for decision in asked])
            events, session.journal = session.journal or [], []
            store.writers.append([(writer, events)])
            if writer.snapshot_due and session.step < decisions - 4_000:  # leaves as much to fold as a restart may find
                store.writers.save_snapshot(writer)
        filled = time.perf_counter() - begun
        store.writers.release(writer)
        with store.database.reading() as connection:
            count, weight = connection.exec_driver_sql("SELECT count(*), sum(length(data)) FROM snapshots").one()
        store.close()
        print(f"\n{decisions:,} Decisions in SQLite, 1,000 a commit:")
        print(f"  filled in {filled:.0f} s, {decisions / filled:,.0f} pairs/s")
        print(f"  file {path.stat().st_size / 1e9:.2f} GB; {count:,} snapshots in it, {weight / 1e6:.1f} MB")
        took, seq, folded = _run(RESTART, url)[0].split()
        print(
            f"  a new process has its Session after {float(took):.2f} s: {int(seq):,} events, {folded} of them folded"
        )
        explained = _run(EXPLAIN, url, "5", str(decisions // 3), str(decisions - 5))
        print(
            f"  explaining the first, a middle, the last Decision: {', '.join(f'{float(t):.2f} s' for t in explained)}"
        )
        for ending in ("parquet", "csv"):
            out = f"{folder}/day.{ending}"
            took, memory = _run(EXPORT, url, out)[0].split()
            size = Path(out).stat().st_size / 1e6
            print(f"  export to {ending}: {float(took):.0f} s, {size:.0f} MB; peak memory {float(memory):.0f} MB")


def _run(program: str, *words: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *words], check=True, capture_output=True, text=True
    ).stdout.splitlines()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=300_000)
    appends()
    day(parser.parse_args().decisions)


if __name__ == "__main__":
    main()
