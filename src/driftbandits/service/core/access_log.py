"""One line of JSON for each request, written by a thread: a log that nobody reads holds nobody up."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections import deque
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import TextIO

WAIT = 0.2
"""Seconds between two writings."""
MOST = 20_000
"""Lines that wait; what comes while as many do is counted, not logged."""
SECRET = re.compile(r"db_[A-Za-z0-9_-]{20,}")
"""What looks like a token, should one have got into a path."""

Line = tuple[float, str, str, int, float, str, str, str]


class AccessLog:
    """Takes lines from the event loop."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._lines: deque[Line] = deque()
        self._skipped = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write_for_ever, daemon=True, name="access log")
        self._thread.start()

    def add(self, method: str, path: str, status: int, seconds: float, id: str, token: str, client: str) -> None:
        """One request, answered."""
        if len(self._lines) >= MOST:
            self._skipped += 1
        else:
            self._lines.append((time.time(), method, path, status, seconds, id, token, client))

    def close(self) -> None:
        """Write what is left."""
        self._ended.set()
        self._thread.join(1.0)  # one who does not read must not hold us up

    def _write_for_ever(self) -> None:
        while not self._ended.wait(WAIT):
            self._write()
        self._write()

    def _write(self) -> None:
        lines = [_json(self._lines.popleft()) for _ in range(len(self._lines))]
        skipped, self._skipped = self._skipped, 0
        if skipped:
            lines.append(f'{{"event":"requests not logged","level":"warning","count":{skipped}}}\n')
        if lines:
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):  # closed, or a full disk: requests go on
                self._skipped += len(lines)


def _json(line: Line) -> str:
    """As structlog writes it.

    >>> _json((0.0, "GET", "/db_" + "x" * 30, 200, 0.00123456, "a-1", "app", "127.0.0.1"))[1:113]
    '"event":"request","level":"info","timestamp":"1970-01-01T00:00:00+00:00","method":"GET","path":"/db_...","status'
    """
    at, method, path, status, seconds, id, token, client = line
    when = datetime.fromtimestamp(at, UTC).isoformat()
    return (
        f'{{"event":"request","level":"info","timestamp":"{when}","method":{_text(method)},"path":{_text(path)},'
        f'"status":{status},"seconds":{seconds:.6f},"id":{_text(id)},"token":{_text(token)},"client":{_text(client)}}}\n'
    )


def _text(value: str) -> str:
    # What json.dumps calls in the end, without what it does before: a line takes little more than half the time.
    return encode_basestring_ascii(SECRET.sub("db_...", value) if "db_" in value else value)
