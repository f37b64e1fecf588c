"""How far the work is: bars on a terminal, drawn by their own thread; nothing unless on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

PATIENCE = 1.0
"""Seconds of work before a bar of steps appears."""


class Bar(NamedTuple):
    """A line: what is done, how much of how much, the seconds left, and what else is to be said."""

    doing: str
    done: float
    total: float
    left: float
    note: str = ""


@contextmanager
def bars(now: Callable[[], Iterable[Bar]], wanted: bool | None = None) -> Iterator[None]:
    """Draw what ``now`` tells, until the block ends; on a terminal only, unless ``wanted`` says otherwise."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield
        return
    from rich.console import Console
    from rich.live import Live

    # Lines printed meanwhile appear above the bars.
    with Live(get_renderable=lambda: _drawn(now()), console=Console(stderr=True), refresh_per_second=5, transient=True):
        yield


def step_bar(doing: str, reached: Callable[[], tuple[int, int]], wanted: bool | None) -> AbstractContextManager[None]:
    """A bar for work in steps: ``reached`` tells how many are done, and how many are expected in all."""
    begun = time.monotonic()

    def now() -> Iterator[Bar]:
        (done, steps), took = reached(), time.monotonic() - begun
        if took > PATIENCE and done:
            left = max(0, steps - done) * took / done
            yield Bar(doing, min(done, steps), steps, left, f"{done / took / 1e6:.0f} M steps/s")

    return bars(now, wanted)


def _drawn(lines: Iterable[Bar]) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    for line in lines:
        minutes, seconds = divmod(round(line.left), 60)
        bar = ProgressBar(total=line.total, completed=line.done, width=40)
        table.add_row(line.doing, bar, f"{line.done / line.total:4.0%}", f"{minutes}:{seconds:02d} left", line.note)
    return table
