"""The loop that hands tasks to an executor, and puts what comes back on disk before it counts as finished."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait

from driftbandits.errors import Unfinished
from driftbandits.sweep.directory import Directory
from driftbandits.sweep.executors import Pool
from driftbandits.sweep.pace import Pace
from driftbandits.sweep.plan import Plan
from driftbandits.sweep.tasks import Played, play, stopped

AHEAD = 2
"""Tasks handed out for every one that can run: one runs, one waits."""
LOOK_SECONDS = 0.2
COUNT_SECONDS = 2.0
WRITE_SECONDS = (1.0, 10.0)
"""Results are written at least so often: every second at first, less often in a long sweep, which would have too many
files."""


def drive(plan: Plan, directory: Directory, pool: Pool, pace: Pace, say: Callable[[str], None]) -> None:
    """Run everything in ``plan``. Whatever ends it, what came back in time is written first."""
    sweep = uuid.uuid4().hex
    waiting: set[Future[list[Played]]] = set()
    unwritten: list[Played] = []
    workers = _Workers(pool, say)
    begun = written = time.monotonic()
    try:
        while waiting or plan.todo:
            slots = workers.count()
            while plan.todo and len(waiting) < AHEAD * max(1, slots):
                waiting.add(pool.executor.submit(play, plan.task(sweep, pace, slots)))
            for future in wait(waiting, LOOK_SECONDS, FIRST_COMPLETED).done:
                unwritten += _received(future, plan, pace)
                waiting.remove(future)
            now = time.monotonic()
            if unwritten and now - written > min(WRITE_SECONDS[1], max(WRITE_SECONDS[0], (now - begun) / 60)):
                directory.write(unwritten)
                unwritten, written = [], now
    except BaseException as error:
        stopped.add(sweep)
        for future in waiting:
            future.cancel()
        unwritten += [one for future in waiting if _succeeded(future) for one in future.result()]
        if isinstance(error, (CancelledError, *pool.lost)):
            raise Unfinished(
                f"the cluster was lost ({error or type(error).__name__}); what was finished is kept in "
                f"{directory.path}: start the same sweep again to go on"
            ) from error
        raise
    finally:
        if unwritten:
            directory.write(unwritten)


def _received(future: Future[list[Played]], plan: Plan, pace: Pace) -> list[Played]:
    played = future.result()
    for one in played:
        cell = one.block.cell
        pace.learn(plan.cells[cell], plan.horizons[cell], one.block, one.seconds)
        plan.finish(one.block, one.regret)
    return played


def _succeeded(future: Future[list[Played]]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


class _Workers:
    """How many tasks can run at once; clusters grow and shrink."""

    def __init__(self, pool: Pool, say: Callable[[str], None]) -> None:
        self._pool, self._say = pool, say
        self._count, self._looked = -1, float("-inf")

    def count(self) -> int:
        now = time.monotonic()
        if now - self._looked > COUNT_SECONDS:
            self._looked, before = now, self._count
            try:
                self._count = self._pool.slots()
            except (OSError, RuntimeError) as error:  # the scheduler does not answer
                raise CancelledError(str(error)) from error
            if self._count == 0 and before != 0:
                self._say("no workers are connected: waiting for some")
        return self._count
