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
        # One timer a connection, which looks again when the request of now would be too old: to set one for each
        # request costs more than to read it.
        _timer: asyncio.TimerHandle
        _began: float | None
        """When the request began that has not come whole."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._began = self.loop.time()
            self._timer = self.loop.call_later(seconds, self._look)

        def data_received(self, data: bytes) -> None:
            if self._began is None:
                self._began = self.loop.time()
            super().data_received(data)

        def on_message_complete(self) -> None:
            self._began = None
            super().on_message_complete()

        def connection_lost(self, error: Exception | None) -> None:
            self._timer.cancel()
            super().connection_lost(error)

        def _look(self) -> None:
            left = seconds if self._began is None else self._began + seconds - self.loop.time()
            if left > 0:
                self._timer = self.loop.call_later(left, self._look)
            elif not self.transport.is_closing():
                self.transport.close()

    return Protocol
