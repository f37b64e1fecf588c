"""Which experiments this service holds: loaded at first use, let go when idle, settled in time, leases renewed."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import structlog

from driftbandits.errors import InputError
from driftbandits.live.decisions import Event, Settled
from driftbandits.live.session import MOST_SETTLED
from driftbandits.service.core.committer import Committer
from driftbandits.service.core.held import Held
from driftbandits.service.core.leases import Leases
from driftbandits.service.core.logs import rarely
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.retention import Retention
from driftbandits.service.core.settings import Settings
from driftbandits.service.dashboard.loading import open_view
from driftbandits.service.dashboard.summaries import summary_of
from driftbandits.service.dashboard.view_snapshots import pack_view
from driftbandits.service.dashboard.views import View
from driftbandits.store import (
    Answer,
    AuditEntry,
    FencedError,
    LockedError,
    Store,
    StoreError,
    UnknownExperimentError,
    Writer,
)
from driftbandits.store.database import PATIENCE
from driftbandits.store.experiments import check_id
from driftbandits.store.views import SavedView
from driftbandits.store.writers import Left

TOGETHER = 250
"""Experiments that are let go in one transaction; whoever asks for one of them again waits for that."""
SAVING = 2.5
"""Seconds at the end in which snapshots and views are taken; the rest is in the log."""
TICK = 0.5
"""Seconds between checks for what is due."""
FIRST_PAUSE = 0.02
"""Seconds after which loading what another transaction has locked is tried again; then twice as many, and so on."""

Found = TypeVar("Found")
log = structlog.get_logger("driftbandits.service")


class Holdings:
    """The experiments that this service holds, and writes. All but ``in_thread`` work runs on the event loop."""

    def __init__(self, store: Store, settings: Settings, metrics: Metrics) -> None:
        self.store, self.settings, self._metrics = store, settings, metrics
        self.committer = Committer(store, metrics, self._committed, self._failed)
        self.held: dict[str, Held] = {}
        self._loading: dict[str, asyncio.Future[Any]] = {}
        self._unclear: dict[str, Writer] = {}
        self._letting_go: dict[str, asyncio.Task[None]] = {}
        self._alone: dict[str, Held] = {}
        self._threads = ThreadPoolExecutor(4, "store")
        self._slow_threads = ThreadPoolExecutor(4, "slow")
        self._loading_threads = ThreadPoolExecutor(4, "load")
        self.retention = Retention(store, settings.archive)
        self.leases = Leases(store, lambda: [*self.held.values(), *self._alone.values()], self._lost)
        self._pruned = -settings.keep_answers
        self._ticking = asyncio.create_task(self._tick_for_ever())
        self._add_gauges()

    def _add_gauges(self) -> None:
        gauge = self._metrics.gauge
        gauge("lease_seconds", "How long a lease lasts.", lambda: self.store.writers.lease)
        gauge("lease_age_seconds", "Since leases were renewed.", lambda: time.monotonic() - self.leases.renewed)
        gauge("staged_experiments", "Experiments with events for the next commit.", self.committer.count_staged)
        gauge("waiting_requests", "Requests that wait for a commit.", self.committer.count_waiting)
        gauge("writing_seconds", "Since when the present commit runs.", self.committer.seconds_writing)
        gauge("loading_experiments", "Experiments that are being loaded or corrected.", lambda: len(self._loading))
        gauge("loaded_experiments", "Experiments in memory.", lambda: len(self.held))
        gauge("retention_left_seconds", "Of a log, older than is kept.", lambda: self.retention.left)
        gauge("open_decisions", "Decisions in memory that wait for their reward.", self._count_open)

    def _count_open(self) -> int:
        return sum(held.session.open for held in list(self.held.values()))

    async def in_thread(self, work: Callable[..., Found], *arguments: object) -> Found:
        """Look something up in the Store, or write a row: short work that requests wait for."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def slowly(self, work: Callable[..., Found], *arguments: object) -> Found:
        """Do what may take seconds, such as folding a log, where it holds up nothing but its like."""
        return await asyncio.get_running_loop().run_in_executor(self._slow_threads, work, *arguments)

    def what_hangs(self, seconds: float) -> str:
        """What keeps asks waiting for longer than that, if anything does; in a thread that may wait as long."""
        if self.committer.seconds_writing() > seconds:
            return f"a commit has not ended for {seconds:.0f} seconds"
        turn = self._loading_threads.submit(int)
        try:
            turn.result(seconds / 2)
        except TimeoutError:
            turn.cancel()
            return f"nothing could be loaded for {seconds / 2:.1f} seconds"
        return ""

    def here(self, id: str) -> Held | None:
        """The experiment, if it is in memory."""
        held = self.held.get(id)
        if held is not None:
            held.used = time.monotonic()
        return held

    async def get(self, id: str) -> Held:
        """The experiment, loaded if need be; BusyError when another service writes it."""
        while (held := self.here(id)) is None:
            if id in self._letting_go:
                await asyncio.wait([self._letting_go[id]])
            if id not in self._loading:
                self._loading[id] = asyncio.create_task(self._load(id))
                self._loading[id].add_done_callback(lambda task: (self._loading.pop(id, None), task.exception()))
            await asyncio.shield(self._loading[id])
        return held

    async def durably(
        self,
        held: Held,
        work: Callable[[Held], str],
        keep: Callable[[str], Answer | AuditEntry] | None = None,
        heavy: bool = False,
    ) -> str:
        """Let ``work`` change the Session; returns its result once that and what ``keep`` makes are on disk.

        ``heavy`` work is done in a thread; other requests to this experiment wait for it, those to others do not.
        """
        try:
            response = await self._by_itself(held, partial(work, held)) if heavy else work(held)
        except InputError:
            await self.committer.durable(held)  # what was due has been settled, and the refusal rests on it
            raise
        except BaseException as error:
            self.committer.throw_away(held, error)  # half done, perhaps: the log alone is true
            raise
        await self.committer.durable(held, keep and keep(response))
        return response

    async def correct(self, id: str, corrections: list[tuple[int, float | None]], audit: AuditEntry) -> None:
        """Correct rewards; requests to this experiment wait until all is learnt anew."""
        held = await self._at_rest(id)
        held.check_tells()
        await self._fold_anew(held, lambda: self.store.writers.correct(held.writer, corrections, audit))

    async def erase(self, id: str, unit: str, audit: AuditEntry) -> tuple[str, int]:
        """Erase a unit; returns what exports of before call it, and how many Decisions it had."""
        held, found = await self._at_rest(id), ("", 0)

        def erase() -> Writer:
            nonlocal found
            writer, name, decisions = self.store.writers.erase(held.writer, unit, audit)
            found = name, decisions
            return writer

        await self._fold_anew(held, erase)
        return found

    async def _fold_anew(self, held: Held, work: Callable[[], Writer]) -> None:
        """Do what changes the log of before, in a thread, and go on with the writer that it returns."""

        def fold_anew() -> tuple[Writer, View]:
            writer = work()
            return writer, open_view(self.store, writer)

        try:
            held.take_over(*await self._by_itself(held, fold_anew))
        except InputError:
            raise
        except BaseException as error:
            self.committer.throw_away(held, error)
            raise

    async def delete(self, id: str, audit: AuditEntry) -> None:
        """Delete an experiment and its data; requests that wait for it are told that there is none."""
        held = await self._at_rest(id)

        def erase() -> None:
            self.store.writers.delete(held.writer, audit)
            held.lost = True

        await self._by_itself(held, erase)
        log.warning("deleted", experiment=id)

    async def _at_rest(self, id: str) -> Held:
        """The experiment, once all that it did is on disk."""
        while not (held := await self.get(id)).at_rest:
            await self.committer.durable(held)
        return held

    async def _by_itself(self, held: Held, work: Callable[[], Found]) -> Found:
        """Do something to a Session in a thread. Until it is done nobody else has it."""
        self._loading[held.id] = done = asyncio.get_running_loop().create_future()
        self._alone[held.id] = held
        self.held.pop(held.id, None)
        try:
            return await self.slowly(work)
        finally:
            del self._alone[held.id], self._loading[held.id]
            if not held.lost:
                self.held[held.id] = held
            done.set_result(None)

    async def _load(self, id: str) -> Held:
        held = self.held[id] = await self._opened(id)
        most = self.settings.most_loaded
        if len(self.held) > most:  # some more than need be, so that this is not done at every load
            by_use = sorted(self.held.values(), key=lambda each: each.used)
            self._let_go(by_use[: len(self.held) - most + most // 10])
        return held

    async def _opened(self, id: str) -> Held:
        """Try to load it for as long as others wait for locks. No thread waits with it: they load others meanwhile."""
        began, pause = time.monotonic(), FIRST_PAUSE
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._loading_threads, self._open, id)
            except LockedError:
                if time.monotonic() - began >= PATIENCE:
                    raise
            await asyncio.sleep(pause)
            pause *= 2

    def _open(self, id: str) -> Held:
        writer = self._acquire(id)
        try:
            return Held(writer, open_view(self.store, writer))
        except BaseException:
            self._unclear[id] = writer  # it is ours, whoever asks next
            raise

    def _acquire(self, id: str) -> Writer:
        try:
            check_id(id)
        except InputError:
            raise UnknownExperimentError(f"there is no experiment {id!r}") from None
        unclear = self._unclear.pop(id, None)
        if unclear is not None:
            try:
                return self.store.writers.reload(unclear, wait=0.0)
            except FencedError:
                pass  # another took over: it may be free again by now
            except BaseException:
                self._unclear[id] = unclear
                raise
        return self.store.writers.acquire(id, self.settings.url, wait=0.0)

    # After commits

    def _committed(self, held: Held, events: list[Event]) -> None:
        if held.session.timeout is not None:
            self._metrics.count_settled(list(map(type, events)).count(Settled))
        held.view.apply(events, held.session)

    def _failed(self, held: Held, error: BaseException) -> None:
        rarely("commit failed", experiment=held.id, error=str(error))
        self._metrics.failed_commits.inc()
        held.lost = True
        if self.held.get(held.id) is held:
            del self.held[held.id]
        if not isinstance(error, FencedError):
            self._unclear[held.id] = held.writer

    # In the background

    async def _tick_for_ever(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            try:
                await self._tick()
            except StoreError as error:
                rarely("store", error=str(error))
            except Exception:
                log.exception("background work failed")

    async def _tick(self) -> None:
        now, idle = time.monotonic(), list[Held]()
        for held in list(self.held.values()):
            if held.session.timeout is not None:
                held.session.settle(MOST_SETTLED)
            for warning in held.new_warnings():
                log.warning("soon full", experiment=held.id, warning=warning)
            self.committer.schedule(held)
            due = held.session.next_due
            soon = due is not None and due - held.session.clock() < self.settings.idle
            if now - held.used > self.settings.idle and not soon:
                idle.append(held)
        self._let_go(idle)
        if now - self._pruned > self.settings.keep_answers / 100:
            self._pruned = now
            await self.in_thread(self.store.answers.prune, self.settings.keep_answers)

    def _lost(self, held: Held, writer: Writer) -> None:
        if held.writer is not writer or held.id in self._alone:
            return  # it was this service itself that took over, to fold a log anew
        log.warning("another service took over", experiment=held.id)
        self._metrics.lost_leases.inc()
        held.lost = True
        if self.held.get(held.id) is held:
            del self.held[held.id]  # what it has on the way to disk is fenced there

    def _let_go(self, leaving: Iterable[Held], until: float = math.inf) -> None:
        """Save them and release them, many in one transaction; what is not saved by then, is released as it is."""
        found = [held for held in leaving if self.held.get(held.id) is held and held.at_rest]
        for first in range(0, len(found), TOGETHER):
            group = found[first : first + TOGETHER]
            task = asyncio.create_task(self.slowly(self._release, group, until))
            for held in group:
                del self.held[held.id]
                self._letting_go[held.id] = task
            task.add_done_callback(partial(self._let_gone, group))

    def _let_gone(self, group: list[Held], done: asyncio.Task[None]) -> None:
        for held in group:
            del self._letting_go[held.id]
        done.exception()

    def _release(self, group: list[Held], until: float) -> None:
        left = [_left(held) if time.monotonic() < until else Left(held.writer) for held in group]
        try:
            self.store.writers.release(left)
        except StoreError as error:  # the logs are whole; the leases run out by themselves
            log.warning("not released", experiments=len(group), error=str(error))

    async def close(self) -> None:
        """Put everything on disk, snapshot, and let others write."""
        self._ticking.cancel()
        while self._alone:
            await asyncio.wait([self._loading[id] for id in self._alone])
        for held in self.held.values():
            self.committer.schedule(held)
        await self.committer.close()
        # First those of which most would have to be read from the log at the next start.
        by_length = sorted(self.held.values(), key=lambda held: held.writer.saved - held.writer.seq)
        self._let_go(by_length, time.monotonic() + SAVING)
        if self._letting_go:
            await asyncio.wait(set(self._letting_go.values()))
        self.leases.close()
        self.retention.close()
        self._threads.shutdown()
        self._slow_threads.shutdown()
        self._loading_threads.shutdown()


def _left(held: Held) -> Left:
    """What it leaves behind; nothing but its right to write, if that was saved already or cannot be."""
    writer, view = held.writer, held.view
    if writer.seq <= writer.saved:
        return Left(writer)
    try:
        summary = summary_of(view, writer.session)
        packed = SavedView(view.seq, pack_view(view), summary).compressed()
        return Left(writer, writer.snapshot().compressed(), packed)
    except Exception:  # a bug; it must not keep others from being released
        log.exception("not saved", experiment=held.id)
        return Left(writer)
