"""The Gate itself, as a server calls it: bodies in pieces, lengths that were declared, and responses counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.settings import Settings
from driftbandits.service.http.errors import add_error_handlers
from driftbandits.service.http.gate import Gate

MOST = 10
SHORT, LONG = "/v1/experiments/button/tell", "/echo"
"""Past FastAPI, and through it."""


async def echo(request: Request) -> Response:
    return Response(await request.body())


class Driven:
    """A Gate, and what it answers to one request after the other."""

    def __init__(self) -> None:
        app = FastAPI()
        app.state.service = SimpleNamespace(access=self)
        add_error_handlers(app)
        app.post(LONG)(echo)
        self.metrics = Metrics()
        self.gate = Gate(app, Settings(most_body=MOST), self.metrics, {"tell": echo})

    async def check(self, *_: object) -> None:
        """Of the Access: everyone may."""

    def post(self, path: str, pieces: Sequence[bytes], declared: str | None = None) -> tuple[int, bytes]:
        """Status and body of the answer to a body that comes in pieces."""
        left = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        left.append({"type": "http.request", "more_body": False})  # ASGI allows a message without a body
        sent: list[Any] = []

        async def receive() -> Any:
            return left.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [] if declared is None else [(b"content-length", declared.encode())]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        asyncio.run(self.gate(scope, receive, send))
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.parametrize("path", [SHORT, LONG])
@pytest.mark.parametrize("size", [1, 3, 4, 10])
def test_a_body_in_pieces_is_measured_whole(path: str, size: int) -> None:
    driven = Driven()
    for length in (0, 1, MOST - 1, MOST):
        body = bytes(range(length))
        pieces = [body[start : start + size] for start in range(0, length, size)]
        assert driven.post(path, pieces) == (200, body)
    for length in (MOST + 1, 2 * MOST, 100):
        status, answer = driven.post(path, [b"x" * size] * -(-length // size))
        assert (status, json.loads(answer)["error"]) == (413, "too_large")
        assert "10 bytes" in json.loads(answer)["message"]


@pytest.mark.parametrize("path", [SHORT, LONG])
@pytest.mark.parametrize(
    ("declared", "status"), [("0", 200), ("10", 200), ("11", 413), ("-1", 413), ("ten", 413), ("", 413), ("1e1", 413)]
)
def test_a_declared_length_is_judged_before_the_body_is_read(path: str, declared: str, status: int) -> None:
    assert Driven().post(path, [b"x"], declared)[0] == status


def test_every_response_is_counted() -> None:
    driven = Driven()
    driven.post(SHORT, [b"x"])
    driven.post(LONG, [b"x"])
    driven.post(SHORT, [b"x" * 11])
    driven.post(LONG, [b"x" * 11])
    driven.post(LONG, [b"x"], "11")
    driven.post("/nowhere", [])
    counted = driven.metrics.text().decode()
    for line in ('{status="200"} 2.0', '{status="413"} 3.0', '{status="404"} 1.0'):
        assert f"driftbandits_responses_total{line}\n" in counted


@pytest.mark.parametrize(
    "path", ["/v1/experiments/echo", "/v1/experiments/button/x/echo", "/v2/experiments/button/echo"]
)
def test_only_the_shortcuts_own_paths_are_short(path: str) -> None:
    assert Driven().post(path, [])[0] == 404
