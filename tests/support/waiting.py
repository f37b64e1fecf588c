"""Waiting for what other threads and processes do: until it is so, or until a test has waited in vain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

INTERPRETED = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
"""The environment of a process that compiles nothing: for claims that have nothing to do with machine code."""
PATIENCE = 180.0
"""Seconds after which a test gives up: a limit for machines that others keep busy, not a measurement."""


def wait_until(condition: Callable[[], object], what: str, every: float = 0.02) -> None:
    """Look again and again, until it is so; AssertionError that says what was awaited."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} seconds in vain for {what}"
        time.sleep(every)


@contextmanager
def started(*words: object, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Python with these words; it is killed at the end of the block, so that a failed test leaves nothing running."""
    with subprocess.Popen([sys.executable, *map(str, words)], text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def group(words: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A command; it and all that it started are killed at the end of the block, also when time is up."""
    with subprocess.Popen(words, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # all have ended
                os.killpg(process.pid, signal.SIGKILL)
