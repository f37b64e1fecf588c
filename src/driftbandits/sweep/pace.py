"""How long the work takes: measured on a small part before the sweep starts, and on every block that comes back."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from driftbandits.sweep.blocks import Block
from driftbandits.sweep.cells import Cell
from driftbandits.sweep.tasks import Task, play

ENOUGH_SECONDS = 0.03
"""A measurement lasts so long, after what has to be compiled."""
MOST_MEASURED = 24

Key = tuple[str, int]


class Pace:
    """Seconds a step, by policy and by the size of the horizon."""

    def __init__(self) -> None:
        self._seconds: dict[Key, float] = {}

    @staticmethod
    def _key(cell: Cell, horizon: int) -> Key:
        return str(cell.columns["policy"]), round(2 * math.log10(horizon))

    def measure(self, cells: Sequence[Cell], horizons: Sequence[int]) -> None:
        """Play a little of one cell of each kind."""
        kinds: dict[Key, Cell] = {}
        for cell, horizon in zip(cells, horizons, strict=True):
            kinds.setdefault(self._key(cell, horizon), cell)
        every = max(1, math.ceil(len(kinds) / MOST_MEASURED))
        for key in list(kinds)[::every]:
            self._seconds[key] = _seconds_per_step(kinds[key])

    def learn(self, cell: Cell, horizon: int, block: Block, seconds: float) -> None:
        """A block took so long."""
        self._seconds[self._key(cell, horizon)] = seconds / (block.runs * horizon)

    def seconds(self, cell: Cell, horizon: int, runs: int) -> float:
        """What so many runs of a cell should take: by the nearest horizon at which its policy was seen."""
        policy, size = self._key(cell, horizon)
        seen = [key for key in self._seconds if key[0] == policy] or list(self._seconds)
        nearest = min(seen, key=lambda key: abs(key[1] - size))
        return runs * horizon * self._seconds[nearest]


def _seconds_per_step(cell: Cell) -> float:
    short, instance, _ = cell.shortened()
    play(Task("", (Block(0, 0, 1),), {0: short}))  # what has to be compiled
    runs, took = 1, 0.0
    while took < ENOUGH_SECONDS:
        begun = time.perf_counter()
        play(Task("", (Block(0, 0, runs),), {0: short}))
        took = time.perf_counter() - begun
        runs *= 2
    return 2 * took / (runs * instance.horizon)
