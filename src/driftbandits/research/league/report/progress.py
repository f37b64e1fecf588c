"""How far the reproduction is: one bar for the whole, one for the group under way, each with the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from driftbandits._common.progress import Bar, bars
from driftbandits.research.league.report.parts import Part

TRUST = 5.0
"""Seconds of work after which the machine's own pace counts as much as the expected one."""
SURPRISE = 0.95
"""A part that takes longer than expected waits at this share of its bar."""


class Progress:
    """Counts the seconds of work that parts are expected to take, and learns how fast this machine is at them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        groups = dict.fromkeys(part.group for part in parts)
        self.total = {group: sum(part.weight for part in parts if part.group == group) for group in groups}
        self.done = dict.fromkeys(groups, 0.0)
        self.group: str | None = None
        self._part: Part | None = None
        self._begun = 0.0
        self._took, self._expected = TRUST, TRUST

    @contextmanager
    def part(self, part: Part) -> Iterator[None]:
        """While a part is run."""
        self._part, self.group, self._begun = part, part.group, time.monotonic()
        yield
        took = time.monotonic() - self._begun
        if took > part.weight / 10:  # otherwise it was only read
            self._took, self._expected = self._took + took, self._expected + part.weight
        self.done[part.group] += part.weight
        self._part = None

    def reached(self, group: str | None = None) -> tuple[float, float, float]:
        """Work done and work in all, of a group or of everything, and the seconds left."""
        done = self.done[group] if group else sum(self.done.values())
        total = self.total[group] if group else sum(self.total.values())
        pace = self._took / self._expected
        part = self._part  # another thread draws the bars
        if part and group in (None, part.group):
            done += min((time.monotonic() - self._begun) / pace, SURPRISE * part.weight)
        return done, total, (total - done) * pace

    def bars(self) -> Iterator[Bar]:
        """One for everything, one for the group under way."""
        yield Bar("everything", *self.reached())
        if self.group:
            yield Bar(self.group, *self.reached(self.group))

    def say(self, line: str) -> None:
        """One line on standard error."""
        print(line, file=sys.stderr)


@contextmanager
def progress(parts: Sequence[Part]) -> Iterator[Progress]:
    """Bars on a terminal, nothing elsewhere."""
    shown = Progress(parts)
    with bars(shown.bars):
        yield shown
