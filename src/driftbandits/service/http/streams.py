"""Responses that are sent for long: their clients must keep up, and a token has so many of them at a time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import structlog
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from driftbandits.errors import DriftbanditsError
from driftbandits.store import Token

SLOWEST = 10_000
"""Bytes a second that a client must take on average while there is something to be sent."""
PATIENCE = 60.0
"""Seconds for which it may take less, or nothing."""

log = structlog.get_logger("driftbandits.service")


class TooManyStreamsError(DriftbanditsError):
    """The token has too many streams open (503)."""


class Shares:
    """How many of something each token has at a time: one token can't use up what all need."""

    def __init__(self, most: int, what: str, error: type[DriftbanditsError]) -> None:
        self._most, self._what, self._error = most, what, error
        self._taken = Counter[str]()

    def take(self, token: Token | None) -> Callable[[], None]:
        """One more; call what is returned when it ends. Where no tokens are needed, nobody can be told apart."""
        name = "" if token is None else token.name
        if token is not None and self._taken[name] >= self._most:
            raise self._error(
                f"the token {name!r} has {self._most} {self._what} open, which is the most of one token: close one, or "
                "wait until one ends"
            )
        self._taken[name] += 1

        def give_back() -> None:
            self._taken[name] -= 1
            if not self._taken[name]:
                del self._taken[name]

        return give_back


class Stream(StreamingResponse):
    """Is given up when its client is too slow; ``end`` is called in any case, whatever was sent."""

    def __init__(self, content: AsyncIterator[Any], end: Callable[[], None], **about: Any) -> None:
        super().__init__(content, **about)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it all."""
        left = PATIENCE

        async def in_time(message: Message) -> None:
            nonlocal left
            began = time.monotonic()
            async with asyncio.timeout(left):
                await send(message)
            left = min(PATIENCE, left - (time.monotonic() - began) + len(message.get("body", b"")) / SLOWEST)

        try:
            await super().__call__(scope, receive, in_time)
        except (TimeoutError, ClientDisconnect):
            log.warning("too slow a client", path=scope["path"])
        finally:
            self._end()
