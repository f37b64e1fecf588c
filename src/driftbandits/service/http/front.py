"""What stands before everything else: an id for each request, the access log, and browsers of other sites (CORS)."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable
from contextvars import ContextVar
from itertools import count

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from driftbandits.service.core.access_log import AccessLog
from driftbandits.service.core.settings import Settings
from driftbandits.service.http.headers import headers_of

ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
NOT_LOGGED = ("/healthz", "/readyz")
SENT = ("Authorization", "Content-Type", "Idempotency-Key", "X-Request-ID")
READ = ("Location", "Retry-After", "X-Request-ID")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Of the request that is being answered."""


class Front:
    """Wraps ``gate``, behind which is ``app``."""

    def __init__(self, app: FastAPI, gate: ASGIApp, settings: Settings) -> None:
        self.app, self.log = app, AccessLog() if settings.access_log else None
        self._next = with_cors(gate, settings.cors_origin.split())
        self._prefix, self._count = secrets.token_hex(4), count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._next(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        given = headers_of(scope).get(b"x-request-id")
        id = given.decode() if given and ID.fullmatch(given) else f"{self._prefix}-{next(self._count):x}"
        request_id.set(id)

        def signed(message: Message) -> Awaitable[None]:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", id.encode()))
            return send(message)

        try:
            await self._next(scope, receive, signed)
        finally:
            if self.log is not None and scope["path"] not in NOT_LOGGED:
                token, client = scope.get("token"), scope.get("client")
                self.log.add(
                    scope["method"],
                    scope["path"],
                    status,
                    time.perf_counter() - began,
                    id,
                    "" if token is None else token.name,
                    "" if client is None else client[0],
                )

    def close(self) -> None:
        """Write the rest of the access log."""
        if self.log is not None:
            self.log.close()


def with_cors(app: ASGIApp, origins: list[str]) -> ASGIApp:
    """Let pages of these origins call; none: as browsers have it, only its own pages."""
    if not origins:
        return app
    return CORSMiddleware(
        app, allow_origins=origins, allow_methods=METHODS, allow_headers=SENT, expose_headers=READ, max_age=600
    )
