"""How far the reproduction is: one bar for the whole, one for the group under way, each with the time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from driftbandits.paper.parts import Part


class Progress:
    """Counts the seconds of work that parts are expected to take; silent where nobody watches."""

    def __init__(self, bars: Any, parts: Sequence[Part]) -> None:
        self._bars = bars
        self._groups: dict[str, Any] = {}
        self._weights = {group: sum(part.weight for part in parts if part.group == group) for group in _groups(parts)}
        if bars is not None:
            self._all = bars.add_task("everything", total=sum(self._weights.values()))

    @contextmanager
    def part(self, part: Part) -> Iterator[None]:
        """Show the part's group while the part is run."""
        if self._bars is None:
            yield
            return
        if part.group not in self._groups:
            self._groups[part.group] = self._bars.add_task(part.group, total=self._weights[part.group])
        yield
        task = self._groups[part.group]
        self._bars.advance(task, part.weight)
        self._bars.advance(self._all, part.weight)
        if self._bars.tasks[self._bars.task_ids.index(task)].finished:
            self._bars.update(task, visible=False)

    def say(self, line: str) -> None:
        """One line on standard error, above the bars."""
        if self._bars is None:
            print(line, file=sys.stderr)
        else:
            self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _groups(parts: Sequence[Part]) -> list[str]:
    return list(dict.fromkeys(part.group for part in parts))


@contextmanager
def progress(parts: Sequence[Part]) -> Iterator[Progress]:
    """Bars on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield Progress(None, parts)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = TextColumn("{task.description:<22}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    left = TextColumn("left:"), TimeRemainingColumn()
    with Bars(*columns, *left, console=Console(stderr=True), transient=True) as bars:
        yield Progress(bars, parts)
