"""What a connection may send before anyone knows who it is, and how long it may take what it asked for."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import HTTPConnection

import systems
from driftbandits.service.core import connections
from driftbandits.service.http.access import Access, NoTokenError
from driftbandits.store import Store
from floods import beside_bodies, flood, huge_token, many_headers, memory_of, wrong_token
from in_process import Running, serving
from serving import Process
from waiting import wait_until

HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with serving() as running:
        running.create()
        yield running


@contextmanager
def connected(running: Running) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2]))) as client:
        client.settimeout(60)
        yield client


def received(client: socket.socket) -> bytes:
    """All until the service closes the connection."""
    found = b""
    while more := client.recv(1 << 16):
        found += more
    return found


def answers(text: bytes) -> list[tuple[int, Any]]:
    """Statuses and bodies of responses, one behind the other."""
    found = []
    while text:
        head, _, rest = text.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        found.append((int(head[9:12]), json.loads(rest[:length])))
        text = rest[length:]
    return found


def head(*headers: bytes, path: bytes = b"/healthz") -> bytes:
    return b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"".join(each + b"\r\n" for each in headers) + b"\r\n"


LONG = b"x" * (connections.MOST_LINE + 1)
TOO_LARGE = {
    "a long header": (head(b"X-Long: " + LONG), 431),
    "a very long header": (head(b"X-Long: " + LONG * 100), 431),
    "a header that never ends": (head(b"X-Long: " + LONG * 100)[:-4], 431),
    "a long token": (head(b"Authorization: Bearer " + LONG), 431),
    "a long name": (head(LONG + b": 1"), 431),
    "many headers": (head(*(b"X-%d: 1" % number for number in range(connections.MOST_HEADERS))), 431),
    "very many headers": (head(*(b"X-%d: 1" % number for number in range(20_000))), 431),
    "much in all": (head(*(b"X-%d: %s" % (number, LONG[:5000]) for number in range(7))), 431),
    "a long URL": (head(path=b"/" + LONG), 414),
    "a long query": (head(path=b"/healthz?" + LONG), 414),
    "a URL that never ends": (b"GET /" + LONG * 100, 414),
    "spaces that never end": (b"GET / HTTP/1.1\r\nX-Long:" + b" " * 100_000, 431),
    "lines that never begin": (b"\r\n" * 50_000, 431),
}


@pytest.mark.parametrize("size", [1 << 20, 700])
@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_head_that_is_too_large(running: Running, what: str, size: int) -> None:
    """Whatever pieces it comes in, it is rejected with a reason, and nobody else notices."""
    sent, status = TOO_LARGE[what]
    with connected(running) as client:
        sender = threading.Thread(target=send, args=(client, sent, size))
        sender.start()
        ((said, body),) = answers(received(client))
        sender.join(60)
    assert (said, body["error"]) == (status, "too_large")
    assert "8,192" in body["message"]
    assert running.http.get("/healthz").status_code == 200


def send(client: socket.socket, data: bytes, size: int) -> None:
    for start in range(0, len(data), size):
        try:
            client.sendall(data[start : start + size])
        except OSError:  # it was answered, and closed
            return


def test_what_is_as_large_as_can_be(running: Running) -> None:
    full = LONG[: connections.MOST_LINE - 20]
    many = [b"X-%d: 1" % number for number in range(connections.MOST_HEADERS - 2)]
    for request in (head(b"X-Full: " + full, b"Y-Full: " + full, b"Z-Full: " + full), head(*many)):
        for size in (1 << 20, 100):
            with connected(running) as client:
                send(client, request[:-2] + b"Connection: close\r\n\r\n", size)
                assert answers(received(client)) == [(200, {"status": "ok"})]


@pytest.mark.parametrize("size", [1 << 20, 5000])
def test_each_request_of_a_connection_is_counted_anew(running: Running, size: int) -> None:
    """Many small ones, sent at once, large bodies, and then a small one again."""
    large = json.dumps({"rewards": [{"id": "button-1", "reward": 1}] * 10_000}).encode()
    assert len(large) > 10 * connections.MOST_HEAD
    post = b"POST /v1/experiments/button/tell_many HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(large)
    chunked = b"POST /v1/experiments/button/tell_many HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    pieces = [large[start : start + 30_000] for start in range(0, len(large), 30_000)]
    chunked += b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nX-Trailer: 1\r\n\r\n"
    small = head(b"X-Medium: " + LONG[:4000])
    requests = small * 50 + (post + large) * 2 + chunked + small + head(b"Connection: close")
    with connected(running) as client:
        sender = threading.Thread(target=send, args=(client, requests, size))
        sender.start()
        said = answers(received(client))
        sender.join(60)
    assert [status for status, _ in said] == [200] * 55
    assert [len(body["outcomes"]) for _, body in said[50:53]] == [10_000] * 3


def test_what_came_before_is_answered_before_the_connection_is_closed(running: Running) -> None:
    with connected(running) as client:
        ask = b"POST /v1/experiments/button/ask HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n"
        client.sendall(ask * 2 + head(b"X-Long: " + LONG) + head())
        said = answers(received(client))
    assert [status for status, _ in said] == [200, 200, 431]


def test_a_body_is_followed_by_little(running: Running) -> None:
    begun = b"POST /v1/experiments/button/tell HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
    for rest in (
        b"0\r\nX-Long: " + LONG * 100,
        b"0\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(1000)),
        b"1;" + LONG * 100,
    ):
        with connected(running) as client:
            sender = threading.Thread(target=send, args=(client, begun + rest, 1 << 20))
            sender.start()
            with suppress(ConnectionResetError):
                assert received(client) == b""
            sender.join(60)
    assert running.http.get("/healthz").status_code == 200


def test_few_requests_of_one_connection_wait(running: Running) -> None:
    with connected(running) as client:
        sender = threading.Thread(target=send, args=(client, b"GET /healthz HTTP/1.1\r\n\r\n" * 10_000, 1 << 20))
        sender.start()
        said = answers(received(client))
        sender.join(60)
    assert said[-1][0] == 429
    assert {status for status, _ in said[:-1]} == {200}
    assert len(said) < 1000


@pytest.mark.parametrize("path", [b"/docs/swagger-ui-bundle.js", b"/v1/experiments/button/export"])
def test_who_takes_nothing_is_given_up(path: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be it that the response is under way, or that all of it was handed to the connection, which was closed."""
    monkeypatch.setattr(connections, "STALLED", 0.2)
    with serving() as running:
        running.http.post(f"{running.create()}/ask_many", json={"count": 10_000})
        running.http.close()
        for _ in range(3):
            with pytest.raises(ConnectionResetError):  # what the system had taken is thrown away, too
                take_nothing(running, path)


def take_nothing(running: Running, path: bytes) -> None:
    """Ask for much, read ten bytes of it, and look again when the service has given up."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(("127.0.0.1", int(running.url.rpartition(":")[2])))
        client.sendall(head(path=path) * 20)
        client.recv(10)
        wait_until(lambda: not running.server.server_state.connections, "the connection to be given up")
        received(client)


# Tokens


def test_only_hashes_of_good_tokens_are_kept(running: Running) -> None:
    access = Access(running.service.holdings, needed=True)
    good = running.service.store.tokens.add("good", "read")

    async def check(secret: str) -> bool:
        scope = {"type": "http", "headers": [(b"authorization", f"Bearer {secret}".encode("latin-1"))], "path": "/"}
        try:
            await access.check(HTTPConnection(scope), "read")
        except NoTokenError:
            return False
        return True

    for number in range(200):
        assert running.on_loop(check(f"db_{number:043d}")) is False
    for wrong in ("x", "x" * 8000, "db_", f"{good}x", "db_" + "ä" * 43):
        assert running.on_loop(check(wrong)) is False
    assert [running.on_loop(check(good)) for _ in range(3)] == [True] * 3
    assert len(access._known) == 1
    assert good not in repr(access._known)
    assert good.encode() not in repr(access._known).encode()


@systems.process_table
def test_memory_stays_flat_without_a_token(tmp_path: Path) -> None:
    """300 tokens of 1 MB, thousands of short ones, and bodies of 1 MB leave a service about as large as it was."""
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        store.tokens.add("someone", "admin")
    process = Process(store.url, auth=True)
    try:
        process.wait()
        assert flood(process.port, 500, wrong_token) == {401: 500}
        before = memory_of(process.pid)
        flood(process.port, 300, huge_token)
        flood(process.port, 300, many_headers)
        assert flood(process.port, 3000, wrong_token) == {401: 3000}
        grown = list[int]()
        beside_bodies(process.port, 200, lambda: grown.append(memory_of(process.pid) - before))
        assert grown[0] < 100 << 20, f"{grown[0] >> 20} MB more"
        process.stop()
    finally:
        process.kill()
