"""Routes for the verbs that must be fast: the endpoint gets the request itself, and describes itself to OpenAPI."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

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
    422: "The input cannot be used; the message says why.",
    503: "Another service holds the experiment, or the store is away: try again after Retry-After seconds.",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": reason, "model": Error} for status, reason in REASONS.items()
}


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
