"""How far the work is: bars on a terminal or in a notebook, drawn by their own thread; elsewhere nothing."""

from __future__ import annotations

import contextvars
import html
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from driftbandits._common.notebook import in_notebook

PATIENCE = 1.0
"""Seconds of work before a bar of steps appears."""
REFRESH = 0.25
"""Seconds between two pictures of it in a notebook."""


class Bar(NamedTuple):
    """A line: what is done, how much of how much, the seconds left, and what else is to be said."""

    doing: str
    done: float
    total: float
    left: float
    note: str = ""


@contextmanager
def bars(now: Callable[[], Iterable[Bar]], wanted: bool | None = None) -> Iterator[None]:
    """Draw what ``now`` tells until the block ends: on a terminal and in a notebook, or as ``wanted`` says."""
    if not (sys.stderr.isatty() or in_notebook() if wanted is None else wanted):
        yield
        return
    if in_notebook():
        with _displayed(now):
            yield
        return
    from rich.console import Console
    from rich.live import Live

    # Lines printed meanwhile appear above the bars.
    with Live(get_renderable=lambda: _drawn(now()), console=Console(stderr=True), refresh_per_second=5, transient=True):
        yield


@contextmanager
def _displayed(now: Callable[[], Iterable[Bar]]) -> Iterator[None]:
    """Bars as HTML below a notebook's cell, without ipywidgets; nothing is left of them in the end."""
    from IPython.display import HTML, display

    ended = threading.Event()
    handle: Any = None

    def draw() -> None:
        nonlocal handle
        while not ended.wait(REFRESH):
            if drawn := "".join(_as_html(line) for line in now()):
                if handle is None:
                    handle = display(HTML(drawn), display_id=True)
                else:
                    handle.update(HTML(drawn))

    # What a thread displays goes to the cell of the context that it runs in.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(draw,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if handle is not None:
            handle.update(HTML(""))


def step_bar(doing: str, reached: Callable[[], tuple[int, int]], wanted: bool | None) -> AbstractContextManager[None]:
    """A bar for work in steps: ``reached`` tells how many are done, and how many are expected in all."""
    begun = time.monotonic()

    def now() -> Iterator[Bar]:
        (done, steps), took = reached(), time.monotonic() - begun
        if took > PATIENCE and done:
            left = max(0, steps - done) * took / done
            yield Bar(doing, min(done, steps), steps, left, f"{done / took / 1e6:.0f} M steps/s")

    return bars(now, wanted)


def _left(line: Bar) -> str:
    minutes, seconds = divmod(round(line.left), 60)
    return f"{minutes}:{seconds:02d} left"


def _as_html(line: Bar) -> str:
    """A bar that every browser draws.

    >>> _as_html(Bar("simulating", 1, 4, 75.4))
    '<div>simulating <progress value="1" max="4"></progress> 25% 1:15 left </div>'
    """
    bar = f'<progress value="{line.done:g}" max="{line.total:g}"></progress>'
    said = f"{line.done / line.total:.0%} {_left(line)} {line.note}"
    return f"<div>{html.escape(line.doing)} {bar} {html.escape(said)}</div>"


def _drawn(lines: Iterable[Bar]) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 1))
    for line in lines:
        bar = ProgressBar(total=line.total, completed=line.done, width=40)
        table.add_row(line.doing, bar, f"{line.done / line.total:4.0%}", _left(line), line.note)
    return table
