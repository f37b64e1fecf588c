"""What proxies and slow clients send."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from in_process import ARMS, serving


def test_without_tokens_no_request_through_a_proxy_is_taken() -> None:
    with serving() as running:
        for header in ("X-Forwarded-For", "Forwarded", "Via", "X-Real-IP"):
            assert running.http.get("/v1/experiments", headers={header: "203.0.113.7"}).status_code == 403


@pytest.mark.parametrize("prefix", ["/bandits", ""])
def test_a_path_prefix_works_for_page_and_api(prefix: str) -> None:
    """Whether the proxy takes it off or leaves it on."""
    with serving(root_path="/bandits") as running:
        made = running.http.post(f"{prefix}/v1/experiments", json={"id": "button", "arms": ARMS})
        assert made.headers["location"] == "/bandits/v1/experiments/button"
        assert running.http.post(f"{prefix}/v1/experiments/button/ask").json()["id"] == "button-1"
        page = running.http.get(f"{prefix}/").text
        assert '"/static' not in page
        assert 'src="static/app.js"' in page
        assert running.http.get(f"{prefix}/static/app.js").status_code == 200
        assert running.http.get(f"{prefix}/openapi.json").json()["servers"] == [{"url": "/bandits"}]
        bare = running.http.get("/bandits", follow_redirects=False)
        assert (bare.status_code, bare.headers["location"]) == (308, "/bandits/")


def test_a_connection_is_closed_when_nothing_more_is_asked() -> None:
    from uvicorn import Config, Server

    from driftbandits.service.core.connections import with_limits

    answered = 0

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        nonlocal answered
        answered += 1
        await asyncio.sleep(0.3)  # longer than the pause: a connection on which one waits for an answer stays
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = Config(nothing, http=with_limits(60), lifespan="off", log_config=None)
        config.timeout_keep_alive = 0.1  # type: ignore[assignment]
        server = Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        with socket.create_connection(listening.getsockname()) as client:
            client.settimeout(60)
            client.sendall(request * 2)  # the second before the first is answered
            said = b""
            while more := client.recv(1000):
                said += more
            assert said.count(b"HTTP/1.1 204") == answered == 2
        server.should_exit = True
        thread.join(60)
    assert server.server_state.total_requests == 2


def test_half_a_request_is_not_waited_for() -> None:
    from uvicorn import Config, Server

    from driftbandits.service.core.connections import with_limits

    async def nothing(scope: Any, receive: Any, send: Any) -> None:
        assert scope["path"] == "/whole"
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(Config(nothing, http=with_limits(0.1), lifespan="off", log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        for sent in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: x\r\n", b"GET / HTTP/1.1\r\n"):
            with socket.create_connection(listening.getsockname()) as client:
                client.settimeout(60)
                client.sendall(sent)
                assert client.recv(100) == b""  # closed by the service
        with socket.create_connection(listening.getsockname()) as client:
            client.settimeout(60)
            client.sendall(b"GET /whole HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 204")
            client.sendall(b"GET / HT")
            assert client.recv(100) == b""  # the second request is not waited for either
        server.should_exit = True
        thread.join(60)
