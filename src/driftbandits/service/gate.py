"""What every request passes: the limit on its body, and the count of responses."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftbandits.service.errors import refuse
from driftbandits.service.metrics import Metrics


class Gate:
    """Refuses bodies of more than ``most_body`` bytes, whatever they say of themselves."""

    def __init__(self, app: ASGIApp, most_body: int, metrics: Metrics) -> None:
        self._app, self._most, self._metrics = app, most_body, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.responses.labels(message["status"]).inc()
            await send(message)

        declared = next((value for name, value in scope["headers"] if name == b"content-length"), None)
        if declared is None:
            await self._app(scope, self._limited(receive), counted)
        elif declared.isdigit() and int(declared) <= self._most:  # the server reads no more than was declared
            await self._app(scope, receive, counted)
        else:
            await refuse(413, "too_large", self._message)(scope, receive, counted)

    @property
    def _message(self) -> str:
        return f"a body has at most {self._most:,} bytes: send several smaller requests"

    def _limited(self, receive: Receive) -> Receive:
        seen = 0

        async def limited() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                raise HTTPException(413, self._message)
            return message

        return limited
