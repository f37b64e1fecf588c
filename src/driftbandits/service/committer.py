"""Group commit: everything that waits goes to disk in one transaction, and is answered after it.

Handlers change Sessions in memory, on the event loop, and stage here what these did. One thread writes; while it does,
the next group gathers, and it takes that as soon as it is done, without waiting for the event loop. When an append
fails, all who wait for that experiment are told so, and its Session, now ahead of the log, is thrown away: the log
alone is true.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from driftbandits.decisions import Event
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.service.held import Batch, Held
from driftbandits.service.metrics import Metrics
from driftbandits.store import Answer, FencedError, Store, StoreError


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
        self._turn = threading.Lock()
        """Whoever has it may look at and change what is staged, and which batch a Held has staged or in writing."""
        self._staged: list[Batch] = []
        self._busy = False

    async def durable(self, held: Held, answer: Answer | None = None) -> None:
        """Return when all that the Session did until now, and this answer, is on disk."""
        batch = self.schedule(held, answer)
        if batch is not None:
            future = self._loop.create_future()
            batch.waiting.append(future)
            await future

    def schedule(self, held: Held, answer: Answer | None = None) -> Batch | None:
        """Stage what is new. The last batch that is on its way, for ``durable`` to wait for; None when none is."""
        events = held.take_events()
        with self._turn:
            batch = held.staged
            if not events and answer is None:
                # Nothing new; but what was answered just now may rest on events that are not on disk yet.
                return batch or held.writing
            if batch is None:
                batch = held.staged = Batch(held)
                self._staged.append(batch)
            batch.events += events
            if answer is not None:
                batch.answers.append(answer)
            if held.writer.snapshot_due:
                # It holds all that is staged; it is saved after that is on disk. If that fails: again later.
                batch.snapshot, batch.view = held.writer.snapshot(), (held.view.seq, pack_view(held.view))
                held.writer.saved = batch.snapshot.seq
            if not self._busy:
                self._busy = True
                self._loop.call_soon(self._thread.submit, self._write)  # after all handlers that are ready now
        return batch

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._busy:
            await asyncio.sleep(0.002)
        self._thread.shutdown()

    # In the thread that writes

    def _write(self) -> None:
        while group := self._take():
            began = time.perf_counter()
            self._append(group)
            self._metrics.commit_seconds.observe(time.perf_counter() - began)
            self._loop.call_soon_threadsafe(self._end, group)
            for batch in group:
                if batch.snapshot is not None and batch.view is not None and batch.error is None:
                    with suppress(StoreError):  # the log alone is enough
                        self._store.snapshot(batch.held.writer, batch.snapshot)
                        self._store.save_view(batch.held.writer, *batch.view)

    def _take(self) -> list[Batch]:
        with self._turn:
            group, self._staged = self._staged, []
            self._busy = bool(group)
            for batch in group:
                batch.held.staged, batch.held.writing = None, batch
            return group

    def _append(self, group: list[Batch]) -> None:
        for batch in group:
            batch.error = batch.held.lost  # staged before the event loop knew that the batch before it had failed
        while left := [batch for batch in group if batch.error is None]:
            try:
                self._store.append(
                    [(batch.held.writer, batch.events) for batch in left],
                    [(batch.held.writer, answer) for batch in left for answer in batch.answers],
                )
                return
            except FencedError as error:
                # Nothing was written. Those taken over are out; the others can try again.
                fenced = [batch for batch in left if batch.held.id in error.ids] or left
                failure: Exception = error
            except Exception as error:  # whatever it was, nobody may be told that it went well
                fenced, failure = left, error
            for batch in fenced:
                batch.error = batch.held.lost = failure

    # On the event loop

    def _end(self, group: list[Batch]) -> None:
        for batch in group:
            with self._turn:
                if batch.held.writing is batch:  # and not the next one already
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

    def throw_away(self, held: Held, error: BaseException) -> None:
        """Memory is not what the log holds: whoever waits for this Session is told so, and it is used no more."""
        held.lost = error if isinstance(error, Exception) else StoreError("stopped")
        with self._turn:
            batch, held.staged = held.staged, None
            if batch is not None:
                self._staged.remove(batch)
        if batch is not None:
            _refuse(batch, held.lost)
        self._failed(held, error)


def _refuse(batch: Batch, error: Exception) -> None:
    for future in batch.waiting:
        if not future.done():
            future.set_exception(error)
