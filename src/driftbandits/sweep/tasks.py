"""What is sent to a worker: some blocks to play. Any process that has this package can do it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits.errors import InputError
from driftbandits.instances import Instance
from driftbandits.simulation.engine import Job
from driftbandits.sweep.blocks import Block
from driftbandits.sweep.cells import Cell

VERSION = version("driftbandits")
CACHED_BYTES = 256 << 20
"""Before an instance is built, older ones leave the process's memory until what stays is no larger than this."""

stopped: set[str] = set()
"""Sweeps of this process that were stopped: their runs end within milliseconds."""


@dataclass(frozen=True)
class Task:
    """Blocks to play, with the cells they belong to. ``sweep`` says whose they are, ``version`` which package's."""

    sweep: str
    blocks: tuple[Block, ...]
    cells: dict[int, Cell]
    version: str = VERSION


class Played(NamedTuple):
    """A finished block: regret at T of each run, realised regret, and the seconds it took."""

    block: Block
    regret: Array
    realised: Array
    seconds: float


def play(task: Task) -> list[Played]:
    """Play the blocks of a task; none come back for a sweep that was stopped."""
    if task.version != VERSION:
        raise InputError(
            f"a worker has driftbandits {VERSION}, and the sweep was started with {task.version}: install one "
            "version everywhere"
        )
    played: list[Played] = []
    job: Job | None = None
    before = -1
    for block in task.blocks:
        cell = task.cells[block.cell]
        begun = time.perf_counter()
        regret, realised = np.empty(block.runs), np.empty(block.runs)
        for at in range(block.runs):
            if job is None or cell.fresh_instance or block.cell != before:
                job, before = _job(cell, block.first + at, job if block.cell == before else None), block.cell
            result = job.play(block.first + at, lambda steps: task.sweep not in stopped)
            if result is None:
                return []
            regret[at], realised[at] = result.regret[-1], result.realised[-1]
        played.append(Played(block, regret, realised, time.perf_counter() - begun))
    return played


def _job(cell: Cell, run: int, similar: Job | None) -> Job:
    instance = cell.instance(run) if cell.fresh_instance else _cache.get(cell.instance_key, cell.instance)
    if similar is not None and not cell.told_by(instance):
        return similar.elsewhere(instance)
    with _preparing:
        job = Job(cell.make_policy(instance), instance, cell.make_noise(), np.array([instance.horizon]), cell.seed)
        job.prepare()
    return job


class _InstanceCache:
    """The instances last used, shared by the threads of a process, and built by one of them while the others wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._built: OrderedDict[str, Instance] = OrderedDict()

    def get(self, key: str, build: Callable[[], Instance]) -> Instance:
        with self._lock:
            if key not in self._built:
                while sum(instance.means.nbytes for instance in self._built.values()) > CACHED_BYTES:
                    self._built.popitem(last=False)
                self._built[key] = build()
                _ = self._built[key].best_mean  # here, since two threads would compute it twice
            self._built.move_to_end(key)
            return self._built[key]


_cache = _InstanceCache()
_preparing = threading.Lock()
"""Compiling is for one thread at a time."""
