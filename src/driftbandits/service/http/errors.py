"""Every refusal as one JSON shape with the status that a client expects: ``{"error": code, "message": ...}``."""

from __future__ import annotations

import json
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from driftbandits._common.checks import shown
from driftbandits.errors import DriftbanditsError, InputError
from driftbandits.live.decisions import ConflictError, ExpiredError, TooOldError, UnknownDecisionError
from driftbandits.service.core.held import ArchivedError, PausedError
from driftbandits.service.core.invalid import explain_invalid
from driftbandits.service.core.logs import rarely
from driftbandits.service.http.access import ForbiddenError, NoTokenError
from driftbandits.service.http.answers import ReusedKeyError
from driftbandits.service.http.exports import TooManyExportsError
from driftbandits.service.http.front import request_id
from driftbandits.service.http.streams import TooManyStreamsError
from driftbandits.store import BusyError, ExperimentExistsError, StoreError, UnknownExperimentError

RETRY_AFTER = "1"
log = structlog.get_logger("driftbandits.service")

UNKNOWN = {
    "Not Found": "there is nothing at {path}: the reference at /docs lists all paths",
    "Method Not Allowed": "{path} does not take this method: the reference at /docs says which it takes",
}
"""What Starlette's words mean here."""

STATUSES: dict[type[Exception], tuple[int, str]] = {
    NoTokenError: (401, "no_token"),
    ForbiddenError: (403, "forbidden"),
    UnknownDecisionError: (404, "unknown_decision"),
    UnknownExperimentError: (404, "unknown_experiment"),
    ConflictError: (409, "conflict"),
    ExperimentExistsError: (409, "exists"),
    PausedError: (409, "paused"),
    ReusedKeyError: (409, "reused_key"),
    ExpiredError: (410, "expired"),
    TooOldError: (410, "too_old"),
    ArchivedError: (410, "archived"),
    BusyError: (503, "busy"),
    TooManyExportsError: (503, "exports"),
    TooManyStreamsError: (503, "streams"),
    StoreError: (503, "store"),
    InputError: (422, "input"),
}


def refuse(status: int, code: str, message: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """A refusal."""
    body = json.dumps({"error": code, "message": message, **more})
    return Response(body, status, headers, "application/json")


def refuse_for(error: Exception, path: str) -> Response:
    """The refusal that an exception means; 500 when it is a bug."""
    kind = next((kind for kind in type(error).__mro__ if kind in STATUSES), None)
    if isinstance(error, RequestValidationError | ValidationError):
        return refuse(422, "input", explain_invalid(error.errors()))
    if isinstance(error, HTTPException) and error.status_code == 400:
        return refuse(422, "input", "the body is not JSON in UTF-8, or a number in it has too many digits")
    if isinstance(error, HTTPException):
        code = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}.get(error.status_code, "http")
        said = UNKNOWN.get(str(error.detail), str(error.detail)).format(path=shown(path))
        return refuse(error.status_code, code, said, dict(error.headers or {}))
    if kind is None:
        log.error("bug", path=path, id=request_id.get(), exc_info=error)
        return refuse(500, "bug", "something went wrong here that should not; the log tells what")
    status, code = STATUSES[kind]
    if isinstance(error, BusyError):
        return refuse(status, code, str(error), {"Retry-After": RETRY_AFTER}, holder=error.holder, url=error.url)
    if isinstance(error, UnknownExperimentError):
        return refuse(status, code, str(error).partition(" in ")[0])
    if isinstance(error, TooManyExportsError | TooManyStreamsError):
        return refuse(status, code, str(error), {"Retry-After": RETRY_AFTER})
    if status == 503:
        rarely("store", error=str(error))
        reason = getattr(error, "reason", None) or "it cannot be used now"
        return refuse(status, code, f"the store: {reason}; nothing was done", {"Retry-After": RETRY_AFTER})
    return refuse(status, code, str(error), {"WWW-Authenticate": "Bearer"} if status == 401 else None)


def add_error_handlers(app: FastAPI) -> None:
    """Make all errors of the application use this shape."""

    async def on_error(request: Request, error: Exception) -> Response:
        return refuse_for(error, request.url.path)

    for kind in (DriftbanditsError, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, on_error)
