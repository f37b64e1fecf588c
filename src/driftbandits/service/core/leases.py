"""Leases are renewed by a thread of their own, which waits for nothing else: neither for reads nor the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from driftbandits.service.core.held import Held
from driftbandits.service.core.logs import rarely
from driftbandits.store import Store, StoreError, Writer


class Leases:
    """Renews, three times in a lease. ``lost`` is called on the event loop for each that another service took."""

    def __init__(self, store: Store, held: Callable[[], list[Held]], lost: Callable[[Held, Writer], None]) -> None:
        self._store, self._held, self._lost = store, held, lost
        self._loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        self.renewed = time.monotonic()
        self._thread = threading.Thread(target=self._renew_for_ever, daemon=True, name="leases")
        self._thread.start()

    def close(self) -> None:
        """Renew no more."""
        self._ended.set()
        self._thread.join(1.0)  # a database that does not respond may take longer, and must not hold us up

    def _renew_for_ever(self) -> None:
        while not self._ended.wait(self._store.writers.lease / 3):
            self.renew()

    def renew(self) -> None:
        """Renew all, in this thread."""
        by_writer = {held.writer: held for held in self._held()}
        try:
            taken = self._store.writers.renew(by_writer)
            self.renewed = time.monotonic()
        except StoreError as error:
            rarely("leases not renewed", error=str(error))
            return
        for writer in taken:
            if not self._ended.is_set():
                self._loop.call_soon_threadsafe(self._lost, by_writer[writer], writer)
