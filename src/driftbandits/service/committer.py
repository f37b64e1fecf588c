"""Group commit: everything that waits goes to disk in one transaction, and is answered after it.

Handlers change Sessions in memory, on the event loop, and wait here. One thread writes; while it does, the next group
gathers. When an append fails, all who wait for that experiment are told so, and its Session, now ahead of the log, is
thrown away: the log alone is true.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from driftbandits.decisions import Event
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.service.held import Held
from driftbandits.service.metrics import Metrics
from driftbandits.store import Answer, FencedError, Store, StoreError

if TYPE_CHECKING:
    from driftbandits.store.history import Snapshot


@dataclass
class Batch:
    """What one experiment gives to a commit."""

    held: Held
    events: list[Event]
    answers: list[Answer]
    snapshot: Snapshot | None = None
    view: tuple[int, bytes] | None = None
    error: Exception | None = None


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
        self._next: list[Held] = []
        self._busy = False

    async def durable(self, held: Held, answer: Answer | None = None) -> None:
        """Return when all that the Session did until now, and this answer, is on disk."""
        future = self.schedule(held, answer)
        if future is not None:
            await asyncio.shield(future)  # shared: one who goes away must not cancel it for the others

    def schedule(self, held: Held, answer: Answer | None = None) -> asyncio.Future[None] | None:
        """The future of what ``durable`` waits for; None when nothing is on its way."""
        if answer is not None:
            held.answers.append(answer)
        elif not held.session.journal:
            # Nothing new; but what was answered just now may rest on events that are not on disk yet.
            return held.waiting or held.writing
        if held.waiting is None:
            held.waiting = self._loop.create_future()
            self._next.append(held)
            if not self._busy and len(self._next) == 1:
                self._loop.call_soon(self._begin)  # after all handlers that are ready now
        return held.waiting

    async def close(self) -> None:
        """Wait for what is on its way."""
        while self._busy or self._next:
            await asyncio.sleep(0.002)
        self._thread.shutdown()

    def _begin(self) -> None:
        if self._busy or not self._next:
            return
        group = []
        for held in self._next:
            events, answers = held.take_events(), held.answers
            held.answers = []
            held.writing, held.waiting = held.waiting, None
            batch = Batch(held, events, answers)
            if held.writer.snapshot_due:
                # Taken now, the snapshot holds the events up to this commit and none after it.
                batch.snapshot, batch.view = held.writer.snapshot(), (held.view.seq, pack_view(held.view))
            group.append(batch)
        self._next, self._busy = [], True
        self._thread.submit(self._write, group)

    def _write(self, group: list[Batch]) -> None:
        began = time.perf_counter()
        self._append(group)
        self._metrics.commit_seconds.observe(time.perf_counter() - began)
        self._loop.call_soon_threadsafe(self._end, group)
        for batch in group:
            if batch.snapshot is not None and batch.error is None:
                batch.held.writer.saved = batch.snapshot.seq  # when it fails: again later, the log alone is enough
                with suppress(StoreError):
                    self._store.snapshot(batch.held.writer, batch.snapshot)
                    if batch.view is not None:
                        self._store.save_view(batch.held.writer, *batch.view)

    def _append(self, group: list[Batch]) -> None:
        left = group
        while left:
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
                batch.error = failure
            left = [batch for batch in left if batch.error is None]

    def _end(self, group: list[Batch]) -> None:
        self._busy = False
        for batch in group:
            held = batch.held
            future, held.writing = held.writing, None
            if batch.error is None:
                if future is not None:
                    future.set_result(None)
                self._metrics.commit_events.observe(len(batch.events))
                self._committed(held, batch.events)
            else:
                _refuse(future, batch.error)
                self.throw_away(held, batch.error)
        self._begin()

    def throw_away(self, held: Held, error: BaseException) -> None:
        """Memory is not what the log holds: whoever waits for this Session is told so, and it is used no more."""
        future, held.waiting, held.lost = held.waiting, None, True
        if future is not None:
            self._next.remove(held)
            _refuse(future, error)
        self._failed(held, error)


def _refuse(future: asyncio.Future[None] | None, error: BaseException) -> None:
    if future is not None:
        future.set_exception(error if isinstance(error, Exception) else StoreError("stopped"))
        future.exception()  # seen: there may be nobody left who waits
