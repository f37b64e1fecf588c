"""Work of many steps on threads, with a progress bar, and stopped by Ctrl-C within milliseconds."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeAlias, TypeVar

from driftbandits._common.progress import step_bar

Done = TypeVar("Done")
GoOn: TypeAlias = Callable[[int], bool]
"""Called with the steps done since the last time; returns whether to continue."""


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

    Ctrl-C, or an error of one, stops all of them at their next ``go_on`` and is raised again.
    """
    lock, stopped = threading.Lock(), threading.Event()
    steps_done = 0

    def go_on(more: int) -> bool:
        nonlocal steps_done
        with lock:
            steps_done += more
        return not stopped.is_set()

    with ThreadPoolExecutor(workers) as pool, step_bar(doing, lambda: (steps_done, steps), progress):
        futures = [pool.submit(work, number, go_on) for number in numbers]
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.1)
                for future in (future for future in futures if future in done):
                    future.result()  # of several errors the same one is raised every time
        except BaseException:
            stopped.set()
            for future in waiting:
                future.cancel()
            raise
        return [future.result() for future in futures]
