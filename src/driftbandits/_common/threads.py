"""Work of many steps on threads, with a progress bar, and stopped by Ctrl-C within milliseconds."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar

from driftbandits._common.progress import step_bar

Done = TypeVar("Done")
GoOn: TypeAlias = Callable[[int], bool]
"""Called with the steps done since the last time; returns whether to continue."""

PATIENCE = 10.0
"""Seconds that threads are given to end once they are asked to."""
LEFT = (
    "{} threads have not stopped within {:g} seconds and go on until the process ends: a kernel may loop for ever; "
    "with NUMBA_DISABLE_JIT=1 Ctrl-C tells in which line"
)


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(
    work: Callable[[int, GoOn], Done],
    numbers: Iterable[int],
    workers: int,
    doing: str,
    steps: int,
    progress: bool | None,
) -> list[Done]:
    """``work(number, go_on)`` for each of the numbers; ``steps`` is what all of them together are expected to do.

    Ctrl-C, or an error of one, stops all of them at their next ``go_on`` and is raised again. One that does not come
    to it within ``PATIENCE`` is left behind: it may loop for ever, in compiled code that nothing can stop.
    """
    lock, stopped = threading.Lock(), threading.Event()
    steps_done = 0
    threads: list[threading.Thread] = []
    gone: list[threading.Thread] = []
    todo, found = deque(enumerate(numbers)), dict[int, Done]()
    errors: dict[int, BaseException] = {}

    def go_on(more: int) -> bool:
        nonlocal steps_done
        with lock:
            steps_done += more
        return not stopped.is_set()

    def take() -> None:
        try:
            while not stopped.is_set():
                try:
                    index, number = todo.popleft()
                except IndexError:
                    return
                try:
                    found[index] = work(number, go_on)
                except BaseException as error:
                    errors[index] = error
                    return
        finally:
            gone.append(threading.current_thread())
            ended.release()

    def running() -> int:
        """How many threads are at work: they have an ``ident`` from then on, also if Ctrl-C interrupted ``start``."""
        return sum(thread.ident is not None for thread in threads) - len(gone)

    def wait(seconds: float) -> int:
        """How many threads have not ended after so many seconds, or when one has met an error."""
        until = time.monotonic() + seconds
        # Not by join: once Ctrl-C has interrupted it, Python 3.11 takes a thread that runs for one that has ended. Nor
        # is it counted here which have: Ctrl-C may come after one was heard to end and before it is counted.
        while running() and (left := until - time.monotonic()) > 0:
            ended.acquire(timeout=min(left, 0.1))
            if errors and not stopped.is_set():
                break
        return running()

    # Daemons, because the interpreter waits for all others when it ends, and one of them may not end.
    ended = threading.Semaphore(0)
    with step_bar(doing, lambda: (steps_done, steps), progress):
        try:
            for _ in range(min(workers, len(todo))):
                threads.append(threading.Thread(target=take, daemon=True))
                threads[-1].start()
            wait(math.inf)
        except KeyboardInterrupt:
            stopped.set()
            if left := wait(PATIENCE):
                raise KeyboardInterrupt(LEFT.format(left, PATIENCE)) from None
            raise
        stopped.set()
        wait(PATIENCE)
    if errors:
        raise errors[min(errors)]  # of several the same one every time
    return [found[index] for index in sorted(found)]
