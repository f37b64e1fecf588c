"""Work of many steps on threads, with a progress bar, and stopped by Ctrl-C within milliseconds."""

from __future__ import annotations

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
    todo, found = deque(enumerate(numbers)), dict[int, Done]()
    errors: dict[int, BaseException] = {}

    def go_on(more: int) -> bool:
        nonlocal steps_done
        with lock:
            steps_done += more
        return not stopped.is_set()

    def take() -> None:
        while todo and not stopped.is_set():
            try:
                index, number = todo.popleft()
            except IndexError:  # another was faster
                return
            try:
                found[index] = work(number, go_on)
            except BaseException as error:
                errors[index] = error
                return

    # Daemons, because the interpreter waits for all others when it ends, and one of them may not end.
    threads = [threading.Thread(target=take, daemon=True) for _ in range(min(workers, len(todo)))]
    with step_bar(doing, lambda: (steps_done, steps), progress):
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive() and not errors:
                    thread.join(0.1)
        except BaseException as error:
            stopped.set()
            left = _wait(threads)
            if left and isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt(LEFT.format(left, PATIENCE)) from None
            raise
        if errors:
            stopped.set()
            _wait(threads)
            raise errors[min(errors)]  # of several the same one every time
    return [found[index] for index in sorted(found)]


def _wait(threads: list[threading.Thread]) -> int:
    """How many of these have not ended after ``PATIENCE``."""
    until = time.monotonic() + PATIENCE
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, until - time.monotonic()))
    return sum(thread.is_alive() for thread in threads)
