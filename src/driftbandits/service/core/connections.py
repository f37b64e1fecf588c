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
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._start()

        def data_received(self, data: bytes) -> None:
            if self._timer is None:
                self._start()
            super().data_received(data)

        def on_message_complete(self) -> None:
            self._stop()
            super().on_message_complete()

        def connection_lost(self, error: Exception | None) -> None:
            self._stop()
            super().connection_lost(error)

        def _start(self) -> None:
            self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            if not self.transport.is_closing():
                self.transport.close()

    return Protocol
