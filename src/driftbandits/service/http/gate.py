"""What every request passes: the limit on its body, the count of responses, and a fast path for asks and tells.

FastAPI's path from a request to its endpoint costs more than a whole ask. The endpoints of ``decisions.fast`` take the
request as it is, so nothing is lost when they are called from here; FastAPI describes them to OpenAPI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from driftbandits.errors import DriftbanditsError
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.settings import Settings
from driftbandits.service.http.direct import Whole
from driftbandits.service.http.errors import refuse, refuse_for
from driftbandits.service.http.headers import headers_of

PREFIX = "/v1/experiments/"
PACKED = "a body is read as it is, without Content-Encoding: send it uncompressed"
PARTS = "a body is JSON, whatever its Content-Type says, but not in parts (multipart): send one object of JSON"
WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class Gate:
    """Wraps ``app``, and refuses bodies of more than ``most_body`` bytes, whatever their headers say.

    Of someone without a token no body is read at all.

    A path may begin with the settings' ``root_path``, or come without it from a proxy that takes it off.

    ``shortcuts`` are endpoints by the last part of their path, behind ``PREFIX`` and an experiment's id.
    """

    def __init__(self, app: FastAPI, settings: Settings, metrics: Metrics, shortcuts: Mapping[str, Endpoint]) -> None:
        self.app, self._metrics, self._shortcuts = app, metrics, shortcuts
        self._most, self._root = settings.most_body, settings.root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = headers_of(scope)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            await self._respond(refuse(415, "unsupported", PACKED), scope, receive, send)
            return
        kind = headers.get(b"content-type", b"").lower()
        if kind.startswith(b"multipart/"):
            await self._respond(refuse(415, "unsupported", PARTS), scope, receive, send)
            return
        declared = headers.get(b"content-length")
        if declared is None:
            receive = self._limited(receive)
        elif not declared.isdigit() or int(declared) > self._most:  # the server reads no more than was declared
            await self._respond(refuse(413, "too_large", self._message), scope, receive, send)
            return
        path = scope["path"]
        if self._root and (path == self._root or path.startswith(f"{self._root}/")):
            if path == self._root:  # so that the page's own links, which are relative, lead below it
                await self._respond(Response("", 308, {"Location": f"{self._root}/"}), scope, receive, send)
                return
            path = path[len(self._root) :]
            scope["path"], scope["raw_path"] = path, path.encode()
        if scope["method"] == "POST" and path.startswith(PREFIX):
            id, _, verb = path[len(PREFIX) :].partition("/")
            endpoint = self._shortcuts.get(verb)
            if endpoint is not None:
                scope["path_params"], scope["app"] = {"experiment": id}, self.app
                began = time.perf_counter()
                try:
                    response = await endpoint(Whole(scope, receive))
                except ClientDisconnect:
                    return
                except Exception as error:
                    response = refuse_for(error, path)
                self._metrics.count_response(response.status_code)
                await response(scope, receive, send)
                self._metrics.time_request(verb, time.perf_counter() - began)
                return
        if path.startswith("/v1/") and scope["method"] not in WITHOUT_BODY:
            try:
                await self.app.state.service.access.check(Request(scope), "read", "")
            except DriftbanditsError as error:
                await self._respond(refuse_for(error, path), scope, receive, send)
                return
            if kind != b"application/json":  # curl -d says that it is a form
                others = [each for each in scope["headers"] if each[0] != b"content-type"]
                scope["headers"] = [*others, (b"content-type", b"application/json")]
        began = time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.count_response(message["status"])
                self._metrics.time_request("other", time.perf_counter() - began)
            await send(message)

        await self.app(scope, receive, counted)

    async def _respond(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.count_response(response.status_code)
        await response(scope, receive, send)

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
