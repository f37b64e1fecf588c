"""Events that are older than their experiments keep are erased, by a thread of its own.

Nothing tells a clock that is a year ahead from a service that was off for a year. So each look erases no more than a
day of a log: who was off catches up, 24 times as fast as time goes by, and a clock can be put right before much is
lost.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import structlog

from driftbandits.errors import DriftbanditsError
from driftbandits.service.core.logs import rarely
from driftbandits.store import Store

log = structlog.get_logger("driftbandits.service")
FIRST, EVERY = 60.0, 3600.0
"""Seconds after the start, and between two looks."""
MOST = 86_400.0
"""Seconds of an experiment's log that one look erases."""


class Retention:
    """Looks at all experiments once in an hour; several services on one database may do so at once."""

    def __init__(self, store: Store, archive: Path | None) -> None:
        self._store, self._archive = store, archive
        self.left = 0.0
        """Of how many seconds of a log, the most of any, the last look left events that are older than is kept."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._prune_for_ever, daemon=True, name="retention")
        self._thread.start()

    def close(self) -> None:
        """Erase no more; what was begun is finished by whoever looks next."""
        self._ended.set()
        self._thread.join(1.0)

    def prune(self) -> None:
        """Look at all, in this thread."""
        try:
            kept = [each.id for each in self._store.experiments.all() if each.keep is not None]
        except DriftbanditsError as error:
            rarely("nothing erased", error=str(error))
            return
        left = 0.0
        for id in kept:
            if self._ended.is_set():
                return
            try:
                pruned = self._store.retention.prune(id, self._archive, most=MOST)
            except (DriftbanditsError, OSError) as error:  # the archive may be full; then nothing is erased
                rarely("nothing erased", experiment=id, error=str(error))
                continue
            if pruned.events:
                log.info("past retention", experiment=id, events=pruned.events, decisions=pruned.decisions)
            left = max(left, pruned.left)
        self.left = left
        if left:
            date = time.strftime("%Y-%m-%d", time.gmtime(self._store.database.clock()))
            behind = f"{left / MOST:.1f} days of events are older than is kept, and one day is erased in an hour"
            way_out = "driftbandits store prune erases all at once; if the date is wrong, stop and set the clock"
            log.warning("erasing is behind", left=behind, date=date, way_out=way_out)

    def _prune_for_ever(self) -> None:
        wait = FIRST
        while not self._ended.wait(wait):
            self.prune()
            wait = EVERY
