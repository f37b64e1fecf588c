"""Blocks: which runs make a row of the results. It depends on the cell alone, so results do not depend on speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

STEPS = 2_000_000
"""Steps of a block, unless one run is longer: a twentieth of a second to two seconds, by policy. Blocks are joined to
tasks of about a second by the speed that is measured, which no result depends on."""

GROWTH = 1.5
"""A cell that needs more runs gets half as many again."""


class Block(NamedTuple):
    """Runs ``first`` .. ``first + runs - 1`` of a cell: one row of the results."""

    cell: int
    first: int
    runs: int


def cut(cell: int, horizon: int, start: int, stop: int) -> Iterator[Block]:
    """Runs start .. stop - 1 of a cell in blocks. A run is never cut, however long its horizon.

    >>> [block.runs for block in cut(0, 1_000, 0, 4_500)], [block.runs for block in cut(0, 10**8, 0, 3)]
    ([2000, 2000, 500], [1, 1, 1])
    """
    size = max(1, STEPS // horizon)
    for first in range(start, stop, size):
        yield Block(cell, first, min(size, stop - first))


def more(runs: int, most: int) -> int:
    """How many runs a cell has after the next round; the ladder does not depend on what is being waited for."""
    return min(most, max(runs + 1, int(runs * GROWTH)))
