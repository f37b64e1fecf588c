"""What a sweep costs beyond the bare simulation, on threads and on Dask; with --memory, what the largest ones need."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

import driftbandits as db
from driftbandits._common.threads import cores
from driftbandits.sweep import executors
from driftbandits.sweep.tasks import Task, play

T, RUNS = 162_755, 1_000
EMPTY_TASKS = 500
ROUNDS = 3

MEMORY = {
    "10^4 runs of T = 1,000": ("UCB1", 1_000, 10_000),
    "10^6 runs of T = 1,000": ("UCB1", 1_000, 1_000_000),
    "2 runs of T = 10^8": ("SnoozeIt", 100_000_000, 2),
    "10 runs of T = 10^8": ("SnoozeIt", 100_000_000, 10),
}
PROGRAM = """
import sys, tempfile, warnings
import driftbandits as db
from driftbandits._common.memory import peak_megabytes
warnings.simplefilter("ignore")
policy, horizon, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sweep = db.Sweep({"policy": policy, "instance": "toggling", "horizon": horizon}, runs=runs)
with tempfile.TemporaryDirectory() as folder:
    done = sweep.run(folder)["runs"].sum()
print(done, peak_megabytes())
"""


def sweep(runs: int) -> db.Sweep:
    """Two policies of the paper in its second experiment."""
    policies: dict[str, dict[str, Any]] = {"SnoozeIt": {"policy": "SnoozeIt", "confidence": 0.1}}
    policies["SW-UCB#"] = {"policy": "SWUCBSharp"}
    return db.Sweep({"instance": "toggling", "horizon": T}, policies=policies, runs=runs)


def bare(runs: int) -> None:
    """The same by ``simulate``."""
    drift = 1 / 4_800
    policies = {"SnoozeIt": db.SnoozeIt(T, drift, confidence=0.1), "SW-UCB#": db.SWUCBSharp(T, drift)}
    db.simulate(policies, db.instances.toggling(T), runs=runs, checkpoints=1, progress=False)


def throughput(table: Table) -> None:
    """Steps a second of all, in turns, so that a busy moment harms all alike; the best of some rounds."""
    count = cores()
    pools: dict[str, AbstractContextManager[executors.Pool]] = {
        f"sweep, {count} threads": executors.threads(count),
        f"sweep, Dask, {count} processes": executors.local_cluster(count),
    }
    with pools[f"sweep, {count} threads"] as threads, pools[f"sweep, Dask, {count} processes"] as dask:

        def on(pool: executors.Pool) -> Callable[[int], None]:
            def run(runs: int) -> None:
                with tempfile.TemporaryDirectory() as folder:
                    sweep(runs).run_on(pool, folder, None, False, lambda line: None)

            return run

        ways = {f"simulate, {count} threads": bare, **dict(zip(pools, map(on, (threads, dask)), strict=True))}
        for way in ways.values():
            way(20)  # what has to be compiled
        best = dict.fromkeys(ways, 0.0)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                begun = time.perf_counter()
                way(RUNS)
                best[name] = max(best[name], 2 * RUNS * T / (time.perf_counter() - begun))
        overheads = ["", *(f"{overhead(pool):.2f}" for pool in (threads, dask))]
    first = next(iter(best.values()))
    for (name, speed), cost in zip(best.items(), overheads, strict=True):
        table.add_row(name, f"{speed / 1e6:.1f}", f"{speed / first:.0%}", cost)


def overhead(pool: executors.Pool) -> float:
    """Milliseconds that a task costs when it holds no work at all."""
    begun = time.perf_counter()
    wait([pool.executor.submit(play, Task("", (), {})) for _ in range(EMPTY_TASKS)])
    return (time.perf_counter() - begun) / EMPTY_TASKS * 1e3


def memory(table: Table) -> None:
    """Peak memory and time of large sweeps, each in a process of its own."""
    for name, (policy, horizon, runs) in MEMORY.items():
        begun = time.perf_counter()
        program = [sys.executable, "-c", PROGRAM, policy, str(horizon), str(runs)]
        answer = subprocess.run(program, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
        done, peak = answer.stdout.split()
        assert int(done) == runs
        table.add_row(name, policy, f"{float(peak):,.0f}", f"{time.perf_counter() - begun:,.0f}")


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", action="store_true", help="peak memory of the largest sweeps; takes minutes")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", db.FeasibilityWarning)
    title = f"A sweep beside the bare simulation: 2 policies, toggling, T = {T:,}, {RUNS:,} runs, best of {ROUNDS}"
    headings = ("", "M steps/s", "of the first", "ms a task")
    if chosen.memory:
        title, headings = "Memory of large sweeps on threads, toggling", ("", "policy", "peak MB", "s")
    table = Table(box=box.SIMPLE_HEAD, title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("", "policy") else "right", no_wrap=True)
    memory(table) if chosen.memory else throughput(table)
    Console(width=None if Console().is_terminal else 110).print(table)


if __name__ == "__main__":
    main()
