"""Connections that send half a request and then nothing are closed: else some hundred of them would fill a service."""

from __future__ import annotations

import asyncio
from typing import Any

from driftbandits._common.extras import needs

with needs("serve", "the service"):
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


def with_deadline(seconds: float) -> type[HttpToolsProtocol]:
    """uvicorn's protocol, in which a request must have come whole after so many seconds."""

    class Protocol(HttpToolsProtocol):
        # One timer a connection, which looks again when the request of now would be too old, or nothing came for so
        # long that the connection is closed: to set one for each request and each pause costs more than to read it.
        _timer: asyncio.TimerHandle
        _began: float | None
        """When the request began that has not come whole."""
        _answered: float | None = None
        """Since when nothing is asked."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._began = self.loop.time()
            self._timer = self.loop.call_later(self._pause, self._look)

        def data_received(self, data: bytes) -> None:
            if self._began is None:
                self._began = self.loop.time()
            super().data_received(data)

        def on_message_complete(self) -> None:
            self._began = self._answered = None
            super().on_message_complete()

        def on_response_complete(self) -> None:
            if self.pipeline or self.transport.is_closing():
                super().on_response_complete()
                return
            self.server_state.total_requests += 1
            self.flow.resume_reading()
            self._answered = self.loop.time()

        def connection_lost(self, error: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(error)

        @property
        def _pause(self) -> float:
            return min(seconds, self.timeout_keep_alive)

        def _look(self) -> None:
            now, left = self.loop.time(), self._pause
            if self._began is not None:
                left = min(left, self._began + seconds - now)
            elif self._answered is not None:
                left = min(left, self._answered + self.timeout_keep_alive - now)
            if left > 0:
                self._timer = self.loop.call_later(left, self._look)
            elif not self.transport.is_closing():
                self.transport.close()

    return Protocol
