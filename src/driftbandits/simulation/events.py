"""What policies note while they play, such as SnoozeIt's episodes, under the numbers of steps and arms of the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftbandits._common.arrays import Array

FIRST_LOG = 64
TIMES = ("step", "start", "passed", "until")
ARMS = ("arm", "behind")
"""Columns of events that are times, and those that are arms."""


class EventLog:
    """The events of one run: ``rows`` has room for more, and no rows at all if nobody wants them."""

    def __init__(self, state: Any, wanted: bool) -> None:
        self._noted = hasattr(state, "event")
        kind = state.event.dtype if self._noted else np.int64
        self.rows: Any = np.zeros(FIRST_LOG if wanted and self._noted else 0, kind)

    def came(self, first: int, count: int, begun: int, places: Sequence[int] | None = None) -> None:
        """Rows ``first .. count-1`` are new, of a policy that began after ``begun`` steps, with those arms."""
        names = set(self.rows.dtype.names or ())
        if begun > 0:  # its own clock started at 0
            for name in names & set(TIMES):
                self.rows[name][first:count] += begun
        if places is not None:
            for name in names & set(ARMS):
                arms = self.rows[name][first:count]
                arms[arms >= 0] = np.array(places)[arms[arms >= 0]]
        if len(self.rows) and count == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])

    def kept(self, count: int) -> Array | None:
        """The first ``count`` events; None for a policy that notes none."""
        return self.rows[:count] if self._noted else None
