"""One line of JSON for each request, written by a thread: a log that nobody reads holds nobody up."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _text
from typing import TextIO

WAIT = 0.2
"""Seconds between two writings."""
MOST = 20_000
"""Lines that wait; what comes while as many do is counted, not logged."""
LONGEST_PATH = 300
"""Characters of a path that are logged: lines that wait must not fill the memory."""
SECRET = re.compile(r"db_[A-Za-z0-9_-]{20,}")
"""What looks like a token, should one have got into a path."""


class AccessLog:
    """Takes lines from the event loop."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._lines: deque[str] = deque()
        self._skipped = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_for_ever, daemon=True, name="access log")
        self._thread.start()

    def add(self, method: str, path: str, status: int, seconds: float, id: str, token: str, client: str) -> None:
        """One request, answered."""
        if len(self._lines) >= MOST:
            self._skipped += 1
        else:
            path = path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}..."
            self._lines.append(_json(time.time(), method, path, status, seconds, id, token, client))

    def close(self) -> None:
        """Write what is left."""
        self._ended.set()
        self._thread.join(1.0)  # one who does not read must not hold us up

    def _write_for_ever(self) -> None:
        while not self._ended.wait(WAIT):
            self._write()
        self._write()

    def _write(self) -> None:
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        skipped, self._skipped = self._skipped, 0
        if skipped:
            lines.append(f'{{"event":"requests not logged","level":"warning","count":{skipped}}}\n')
        if lines:
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):  # closed, or a full disk: requests go on
                self._skipped += len(lines)


def _json(at: float, method: str, path: str, status: int, seconds: float, id: str, token: str, client: str) -> str:
    """As structlog writes it; a chain of processors would take longer than the rest of an ask.

    >>> _json(0.25, "GET", "/db_" + "x" * 30, 200, 0.00123456, "a-1", "app", "127.0.0.1")[1:120]
    '"event":"request","level":"info","timestamp":"1970-01-01T00:00:00.250000+00:00","method":"GET","path":"/db_...","status'
    """
    second = int(at)
    line = (
        f'{{"event":"request","level":"info","timestamp":"{_second(second)}.{int(1e6 * (at - second)):06d}+00:00",'
        f'"method":{_text(method)},"path":{_text(path)},"status":{status},"seconds":{seconds:.6f},'
        f'"id":{_text(id)},"token":{_text(token)},"client":{_text(client)}}}\n'
    )
    return SECRET.sub("db_...", line) if "db_" in line else line


@lru_cache(2)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
