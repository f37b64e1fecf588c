"""Whether the store can be written: tried by a thread of its own, with a deadline."""

from __future__ import annotations

import asyncio
import threading
import time

from driftbandits.store import Store, StoreError

DEADLINE = 5.0
"""Seconds after which a store that does not respond counts as away."""
FRESH = 2.0
"""Seconds for which a finding holds, so that probes cost next to nothing however often they come."""


class Probe:
    """Writes, at most every few seconds."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._at, self._found = -FRESH, ""
        self._trying: asyncio.Future[str] | None = None

    async def wrong(self) -> str:
        """What keeps the store from being written; empty when nothing does."""
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
            self._store.try_to_write()
            found = ""
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
