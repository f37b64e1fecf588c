"""What one connection may cost: requests end in time, their heads are small, and clients take what they asked for."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from http import HTTPStatus
from typing import Any

from driftbandits._common.extras import needs
from driftbandits.service.core.logs import rarely

with needs("serve", "the service"):
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_LINE = 8 << 10
"""Bytes of a request's URL, and of each header."""
MOST_HEAD = 32 << 10
"""Bytes of a request's URL and headers together."""
MOST_HEADERS = 100
MOST_WAITING = 100
"""Requests of one connection that wait until those before them are answered."""
SLICE = MOST_LINE
"""Bytes that are parsed at a time: a head that fits into one slice has no line that is too long."""
STALLED = 60.0
"""Seconds after which a connection is given up whose client does not take what is sent to it."""
FAREWELL = 2.0
"""Seconds in which a client may read why its request was rejected; what it sends meanwhile is thrown away."""


def with_limits(seconds: float) -> type[HttpToolsProtocol]:
    """uvicorn's protocol with limits, and a request must have come whole after so many seconds."""

    class Protocol(HttpToolsProtocol):
        # One timer a connection, which looks again when the request of now would be too old, or nothing came for so
        # long that the connection is closed: to set one for each request and each pause costs more than to read it.
        _timer: asyncio.TimerHandle
        _began: float | None
        """When the request began that has not come whole."""
        _answered: float | None = None
        """Since when nothing is asked."""
        _full: float | None = None
        """Since when no more can be sent, because the client takes nothing."""
        url = b""
        _slice = 0
        _seen = 0
        """Bytes of the head, or between two pieces of the body: at most a slice more than there are."""
        _in_head = True
        _rejected = False
        _rejection = b""
        """What is sent once all requests before are answered."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._began = self.loop.time()
            self._timer = self.loop.call_later(self._pause, self._look)

        def data_received(self, data: bytes) -> None:
            if self._began is None:
                self._began = self.loop.time()
            if len(data) <= SLICE:
                self._parse(data)
                return
            for start in range(0, len(data), SLICE):
                self._parse(data[start : start + SLICE])

        def _parse(self, data: bytes) -> None:
            if self._rejected or self.transport.is_closing():
                return
            self._slice = len(data)
            self._seen += self._slice
            super().data_received(data)
            if self._seen > MOST_HEAD + SLICE or (self.headers and len(self.headers) > MOST_HEADERS):
                self._reject()
            elif len(self.pipeline) > MOST_WAITING:
                self._reject(429, f"at most {MOST_WAITING} requests of a connection wait: read some answers first")

        def on_headers_complete(self) -> None:
            if self._rejected:
                return
            if len(self.headers) > MOST_HEADERS or (self._seen > MOST_LINE and self._is_too_large()):
                self._reject()
            else:
                self._seen, self._in_head = 0, False
                super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if not self._rejected:
                self._seen = 0
                super().on_body(body)

        def on_message_complete(self) -> None:
            if not self._rejected:
                self._began = self._answered = None
                self._seen, self._in_head = self._slice, True
                super().on_message_complete()

        def _is_too_large(self) -> bool:
            lines = [len(self.url), *(len(name) + len(value) + 4 for name, value in self.headers)]
            return max(lines) > MOST_LINE or sum(lines) > MOST_HEAD

        def _reject(self, status: int = 431, message: str = "") -> None:
            """Read no more, and close when all before is answered; 431 unless it is the URL that is too long."""
            if self._rejected:
                return
            if not message and len(self.url) > MOST_LINE:
                status, message = 414, f"a URL has at most {MOST_LINE:,} bytes: send less of it, or send it in the body"
            message = message or (
                f"a request has at most {MOST_HEADERS} headers of {MOST_LINE:,} bytes each, and {MOST_HEAD:,} bytes "
                "together with its URL: send fewer, or shorter ones"
            )
            rarely("request rejected", status=str(status), reason=message)
            self._rejected, self._began, self._rejection = True, None, _answer(status, message)
            if not self._in_head:  # what is too large came behind a body that is being waited for
                self.transport.close()
            elif self.cycle is None or self.cycle.response_complete:
                self._say_why()

        def _say_why(self) -> None:
            """To close at once, with what was sent unread, would destroy the answer on its way."""
            self.transport.write(self._rejection)
            if self.transport.can_write_eof():
                self.transport.write_eof()
            self.loop.call_later(FAREWELL, self.transport.close)

        def on_response_complete(self) -> None:
            if self.pipeline or self.transport.is_closing():
                super().on_response_complete()
                return
            self.server_state.total_requests += 1
            if self._rejected:
                self._say_why()
            self.flow.resume_reading()
            self._answered = self.loop.time()

        def pause_writing(self) -> None:
            self._full = self.loop.time()
            super().pause_writing()

        def resume_writing(self) -> None:
            self._full = None
            super().resume_writing()

        def connection_lost(self, error: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(error)

        @property
        def _pause(self) -> float:
            return min(seconds, self.timeout_keep_alive, STALLED)

        def _look(self) -> None:
            now, left = self.loop.time(), self._pause
            if self._began is not None:
                left = min(left, self._began + seconds - now)
            elif self._answered is not None:
                left = min(left, self._answered + self.timeout_keep_alive - now)
            if left <= 0:
                self.transport.close()
            if self._full is None and self.transport.is_closing():
                self._full = now  # what is left to be sent keeps it open
            if self._full is not None and now - self._full >= STALLED:
                if self.cycle is not None:
                    self.cycle.disconnected = True  # so that nothing more is written
                _forget(self.transport)
                self.transport.abort()
            else:
                self._timer = self.loop.call_later(left if left > 0 else self._pause, self._look)

    return Protocol


def _forget(transport: asyncio.Transport) -> None:
    """Let the system throw away what it has taken and not sent: megabytes, which it would try to send for hours."""
    with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _answer(status: int, message: str) -> bytes:
    body = json.dumps({"error": "too_large" if status != 429 else "too_many", "message": message}).encode()
    head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
