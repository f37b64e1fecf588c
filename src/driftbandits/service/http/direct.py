"""Routes for the verbs that must be fast: the endpoint gets the request itself, and describes itself to OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from driftbandits.service.http.models import Error

KEY_HEADER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and body again gets the same answer, and is done once. With another body: 409.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
EXPERIMENT = {
    "name": "experiment",
    "in": "path",
    "required": True,
    "description": "The experiment's id.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"},
}
REASONS = {
    401: "No token that is good.",
    403: "The token's scope does not allow it.",
    404: "There is no such experiment, or no such Decision.",
    409: "A conflict: exists already, has another reward, is paused, or the key was used for another request.",
    410: "Gone: the Decision's time was up, or the experiment is archived.",
    413: "The body is too large.",
    415: "The body is compressed, or in parts.",
    422: "The input cannot be used; the message says why.",
    503: "Another service holds the experiment, or the store is away: try again after Retry-After seconds.",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": reason, "model": Error} for status, reason in REASONS.items()
}


class Whole(Request):
    """A request whose body, which seldom comes in pieces, is read in as few steps as can be."""

    async def body(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            whole: bytes = message.get("body", b"")
            return whole
        pieces = []
        while message["type"] == "http.request":
            pieces.append(message.get("body", b""))
            if not message.get("more_body", False):
                return b"".join(pieces)
            message = await self._receive()
        raise ClientDisconnect


class Json(Response):
    """A response of JSON, made and sent in as few steps as can be."""

    background = None

    def __init__(self, text: str) -> None:
        self.status_code, self.body = 200, text.encode()
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), (b"content-type", b"application/json")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


class Direct(APIRoute):
    """Calls the endpoint with the request alone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


def described(response: type[BaseModel], body: str, required: bool = True) -> dict[str, Any]:
    """Arguments of a Direct route that tell OpenAPI what the endpoint reads by itself; ``contract`` adds the bodies."""
    extra: dict[str, Any] = {"parameters": [EXPERIMENT, KEY_HEADER]}
    schema = {"$ref": f"#/components/schemas/{body}"}
    extra["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}
    return {
        "response_model": None,
        "responses": {200: {"description": "Done, and on disk.", "model": response}, **REFUSALS},
        "openapi_extra": extra,
    }
