"""A Dask cluster of separate processes on loopback, for tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from waiting import wait_until


@dataclass
class Cluster:
    """A scheduler and its workers."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start one; whatever is left of it ends with the block."""
    log = (folder / "cluster.log").open("wb")

    def start(module: str, *words: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", f"distributed.cli.{module}", *words, "--no-dashboard"]
        return subprocess.Popen(program, stdout=log, stderr=log, cwd=folder)

    file = folder / "scheduler.json"
    here = ("--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0")
    scheduler = start("dask_scheduler", *here, "--scheduler-file", str(file))
    made = Cluster("", scheduler)
    try:
        wait_until(file.exists, "the scheduler")
        wait_until(lambda: file.read_text().strip().endswith("}"), "the scheduler's file")
        made.address = json.loads(file.read_text())["address"]
        one = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
        made.workers += [start("dask_worker", made.address, *one) for _ in range(workers)]
        yield made
    finally:
        for process in (*made.workers, scheduler):
            process.kill()
            process.wait()
        log.close()
