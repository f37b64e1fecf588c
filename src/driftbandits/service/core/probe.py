"""Whether asks can be answered: the store can be written, and nothing that they need hangs; with a deadline."""

from __future__ import annotations

import asyncio
import threading
import time

from driftbandits.service.core.holdings import Holdings
from driftbandits.store import Store, StoreError

DEADLINE = 5.0
"""Seconds after which a store that does not respond counts as away."""
FRESH = 2.0
"""Seconds for which a finding holds, so that probes cost next to nothing however often they come."""


class Probe:
    """Tries, at most every few seconds, in a thread of its own."""

    def __init__(self, store: Store, holdings: Holdings) -> None:
        self._store, self._holdings = store, holdings
        self._at, self._found = -FRESH, ""
        self._trying: asyncio.Future[str] | None = None

    async def wrong(self) -> str:
        """What keeps asks from being answered; empty when nothing does."""
        if self._trying is None and time.monotonic() - self._at >= FRESH:
            self._trying = asyncio.get_running_loop().create_future()
            threading.Thread(target=self._try, args=(asyncio.get_running_loop(),), daemon=True, name="probe").start()
        if self._trying is not None:
            await asyncio.wait([self._trying], timeout=DEADLINE)
            if self._trying is not None:
                return f"the store has not responded for {DEADLINE:.0f} seconds"
        return self._found

    def _try(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self._store.database.try_to_write()
            found = self._holdings.what_hangs(DEADLINE)
        except StoreError as error:
            found = f"the store: {error.reason or 'it cannot be written now'}"
        except Exception:
            found = "the store cannot be written now"
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._end, found)

    def _end(self, found: str) -> None:
        self._found, self._at = found, time.monotonic()
        trying, self._trying = self._trying, None
        if trying is not None:
            trying.set_result(found)
