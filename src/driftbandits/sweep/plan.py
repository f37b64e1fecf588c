"""Which blocks are still to be run, and, when runs are added until an interval is narrow, which come next."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftbandits._common.checks import shown
from driftbandits._common.intervals import mean_interval
from driftbandits.errors import InputError
from driftbandits.sweep.blocks import Block, cut, more
from driftbandits.sweep.cells import Cell
from driftbandits.sweep.pace import Pace
from driftbandits.sweep.tasks import Task

LEAST_RUNS = 10
"""Fewer runs say too little about their own spread for it to decide when to stop."""
MOST_RUNS = 1_000_000
TASK_SECONDS = 1.0
SHORTEST_TASK = 0.05


@dataclass(frozen=True)
class Until:
    """Add runs until the 95 % interval of a cell's mean regret reaches less than ``ci`` times the mean to each side."""

    ci: float
    most_runs: int = MOST_RUNS

    @staticmethod
    def parse(text: str, most_runs: int = MOST_RUNS) -> Until:
        """As it is written on the command line.

        >>> Until.parse("ci < 0.02")
        Until(ci=0.02, most_runs=1000000)
        """
        found = re.fullmatch(r"\s*ci\s*<\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*", text if isinstance(text, str) else "")
        if found is None or not 0 < float(found[1]) < 1:
            raise InputError(f'until must read "ci<0.02", with a number between 0 and 1; got {shown(text)}')
        return Until(float(found[1]), most_runs)

    def reached(self, regrets: Any) -> bool:
        """Whether these runs are enough."""
        if len(regrets) < LEAST_RUNS:
            return False
        mean, _, high = mean_interval(regrets)
        return bool(high - mean < self.ci * abs(mean) or high == mean)


class Plan:
    """The blocks to do. A cell's next round starts when all of this one is there, so speed decides nothing."""

    def __init__(
        self, cells: Sequence[Cell], horizons: Sequence[int], finished: Iterable[tuple[Block, Any]], until: Until | None
    ) -> None:
        self.cells, self.horizons, self._until = cells, horizons, until
        self.todo: deque[Block] = deque()
        self.steps, self.steps_done = 0, 0
        self.short_of_runs: list[Cell] = []
        """Cells that had most_runs before their interval was narrow."""
        self._reached = dict.fromkeys(range(len(cells)), 0)
        self._missing = dict.fromkeys(range(len(cells)), 0)
        self._have: set[Block] = set()
        self._regrets: list[dict[int, Any]] = [{} for _ in cells]
        for block, regrets in finished:
            self._keep(block, regrets)
        order = {key: at for at, key in enumerate(dict.fromkeys(cell.instance_key for cell in cells))}
        for cell in sorted(cells, key=lambda cell: order[cell.instance_key]):  # one instance after another
            self._next_round(cell.number)

    def _keep(self, block: Block, regrets: Any) -> None:
        self._have.add(block)
        if self._until is not None:
            self._regrets[block.cell][block.first] = regrets

    def _next_round(self, cell: int) -> None:
        """Queue the first round of which something is missing."""
        start, stop = self._reached[cell], self.cells[cell].runs
        while True:
            if start:
                if self._settled(cell):
                    self._regrets[cell].clear()
                    return
                assert self._until is not None
                stop = more(start, self._until.most_runs)
            missing = [block for block in cut(cell, self.horizons[cell], start, stop) if block not in self._have]
            self._reached[cell], start = stop, stop
            if missing:
                self.todo.extend(missing)
                self._missing[cell] = len(missing)
                self.steps += sum(block.runs for block in missing) * self.horizons[cell]
                return

    def _settled(self, cell: int) -> bool:
        if self._until is None:
            return True
        runs, kept = self._reached[cell], self._regrets[cell]
        values = np.concatenate([kept[first] for first in sorted(kept) if first < runs])
        if self._until.reached(values):
            return True
        if runs >= self._until.most_runs:
            self.short_of_runs.append(self.cells[cell])
            return True
        return False

    def finish(self, block: Block, regrets: Any) -> None:
        """A block is done."""
        self._keep(block, regrets)
        self.steps_done += block.runs * self.horizons[block.cell]
        self._missing[block.cell] -= 1
        if not self._missing[block.cell]:
            self._next_round(block.cell)

    def seconds(self, pace: Pace) -> float:
        """What is to be done now, on one core."""
        return sum(pace.seconds(self.cells[block.cell], self.horizons[block.cell], block.runs) for block in self.todo)

    def task(self, sweep: str, pace: Pace, slots: int) -> Task:
        """The next blocks, for about a second; towards the end less, so that all workers end together."""
        first = self.todo[0]
        left = pace.seconds(self.cells[first.cell], self.horizons[first.cell], first.runs) * len(self.todo)
        most = min(TASK_SECONDS, max(SHORTEST_TASK, left / (2 * max(1, slots))))
        blocks: list[Block] = []
        seconds = 0.0
        while self.todo and seconds < most:
            block = self.todo[0]
            took = pace.seconds(self.cells[block.cell], self.horizons[block.cell], block.runs)
            if blocks and seconds + took > 1.5 * most:
                break
            blocks.append(self.todo.popleft())
            seconds += took
        return Task(sweep, tuple(blocks), {block.cell: self.cells[block.cell] for block in blocks})
