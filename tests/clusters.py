"""A Dask cluster of separate processes on loopback, for tests."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 120
"""Seconds after which a test gives up waiting; a busy machine needs some."""


def wait_until(condition: object, what: str) -> None:
    """Wait for something that another process does."""
    begun = time.monotonic()
    while not condition():  # type: ignore[operator]
        assert time.monotonic() - begun < PATIENCE, f"waited in vain for {what}"
        time.sleep(0.05)


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
    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
    made = Cluster("", scheduler)
    try:
        wait_until(file.exists, "the scheduler")
        import json

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
