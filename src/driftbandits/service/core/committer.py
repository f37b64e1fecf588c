"""Group commit: everything that waits goes to disk in one transaction, and is answered after it.

Handlers change Sessions in memory, on the event loop, and stage here what these did. One thread writes; while it does,
the next group gathers. That begins when all handlers that are ready have had their turn: large groups are worth more
than a thread that is never idle. When an append fails, all who wait for that experiment are told so, and its Session,
now ahead of the log, is thrown away: the log alone is true.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from driftbandits.live.decisions import Event
from driftbandits.service.core.held import Batch, Held
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.dashboard.summaries import summary_of
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.store import Answer, AuditEntry, FencedError, LockedError, Store, StoreError
from driftbandits.store.views import SavedView


class Committer:
    """Writes for all experiments. ``committed`` and ``failed`` are called, on the event loop, for each batch."""

    def __init__(
        self,
        store: Store,
        metrics: Metrics,
        committed: Callable[[Held, list[Event]], None],
        failed: Callable[[Held, BaseException], None],
    ) -> None:
        self._store, self._metrics = store, metrics
        self._committed, self._failed = committed, failed
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "committer")
        self._staged: list[Batch] = []
        self._busy = False
        self._group: list[Batch] = []
        self._began = 0.0

    async def durable(self, held: Held, kept: Answer | AuditEntry | None = None) -> None:
        """Return when all that the Session did until now, and what is kept of the request, is on disk."""
        batch = self.schedule(held, kept)
        if batch is not None:
            future = self._loop.create_future()
            batch.waiting.append(future)
            await future

    def schedule(self, held: Held, kept: Answer | AuditEntry | None = None) -> Batch | None:
        """Stage what is new. The last batch that is on its way, for ``durable`` to wait for; None when none is."""
        events, batch = held.take_events(), held.staged
        if not events and kept is None:
            # Nothing new; but what was answered just now may rest on events that are not on disk yet.
            return batch or held.writing
        if batch is None:
            batch = held.staged = Batch(held)
            self._staged.append(batch)
        batch.events += events
        if kept is not None:
            batch.kept.append(kept)
        if not self._busy:
            self._busy = True
            self._loop.call_soon(self._begin)
        return batch

    def count_staged(self) -> int:
        """How many experiments have events that wait for the next commit."""
        return len(self._staged)

    def count_waiting(self) -> int:
        """How many requests wait for a commit."""
        return sum(len(batch.waiting) for batch in [*self._staged, *self._group])

    def seconds_writing(self) -> float:
        """Since when the present commit runs; 0 when none does."""
        return time.perf_counter() - self._began if self._group else 0.0

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._busy:
            await asyncio.sleep(0.002)
        self._thread.shutdown()

    def _begin(self) -> None:
        """Write the next group, if there is one."""
        group, self._staged = self._staged, []
        self._group, self._began = group, time.perf_counter()
        self._busy = bool(group)
        for batch in group:
            held = batch.held
            held.staged, held.writing = None, batch
            if held.writer.snapshot_due:
                # Taken now, the snapshot holds the events up to this commit and none after it.
                packed, summary = pack_view(held.view), summary_of(held.view, held.session)
                batch.snapshot = held.writer.snapshot()
                batch.view = SavedView(held.view.seq, packed, summary)
        if group:
            self._thread.submit(self._write, group)

    # In the thread that writes

    def _write(self, group: list[Batch]) -> None:
        began = time.perf_counter()
        self._append(group)
        self._metrics.commit_seconds.observe(time.perf_counter() - began)
        self._loop.call_soon_threadsafe(self._end, group)
        for batch in group:
            if batch.snapshot is not None and batch.view is not None and batch.error is None:
                batch.held.writer.saved = batch.snapshot.seq  # when it fails: again later, the log alone is enough
                with suppress(StoreError):
                    self._store.writers.save_snapshot(batch.held.writer, batch.snapshot)
                    self._store.writers.save_view(batch.held.writer, batch.view)

    def _append(self, group: list[Batch]) -> None:
        while left := [batch for batch in group if batch.error is None]:
            try:
                self._store.writers.append(
                    [(batch.held.writer, batch.events) for batch in left],
                    [(batch.held.writer, each) for batch in left for each in batch.kept],
                )
                return
            except (FencedError, LockedError) as error:
                # Nothing was written. Those taken over, or locked by another, are out; the others can try again.
                fenced = [batch for batch in left if batch.held.id in error.ids] or left
                failure: Exception = error
            except Exception as error:  # whatever it was, nobody may be told that it went well
                fenced, failure = left, error
            for batch in fenced:
                batch.error = failure

    # On the event loop

    def _end(self, group: list[Batch]) -> None:
        self._metrics.group_events.observe(sum(len(batch.events) for batch in group))
        for batch in group:
            batch.held.writing = None
            if batch.error is None:
                for future in batch.waiting:
                    if not future.done():  # one who went away cancelled it
                        future.set_result(None)
                self._metrics.commit_events.observe(len(batch.events))
                self._loop.call_soon(self._committed, batch.held, batch.events)  # after the answers
            else:
                _refuse(batch, batch.error)
                self.throw_away(batch.held, batch.error)
        self._loop.call_soon(self._begin)

    def throw_away(self, held: Held, error: BaseException) -> None:
        """Memory is not what the log holds: all who wait for this Session are told so, and it is no longer used."""
        batch, held.staged = held.staged, None
        if batch is not None:
            self._staged.remove(batch)
            _refuse(batch, error)
        self._failed(held, error)


def _refuse(batch: Batch, error: BaseException) -> None:
    for future in batch.waiting:
        if not future.done():
            future.set_exception(error if isinstance(error, Exception) else StoreError("stopped"))
