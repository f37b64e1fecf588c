"""Who reads an export or a live stream slowly keeps nobody else from theirs, and is given up in the end."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from driftbandits.service.dashboard import routes
from driftbandits.service.http import exports, streams
from driftbandits.store import Store
from in_process import Running, serving
from waiting import wait_until

DECISIONS = 60_000
"""Their export is several times what the connections on this machine take by themselves."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    """A Store with a long log, and tokens for it."""
    url = f"sqlite:///{tmp_path_factory.mktemp('slow')}/store.db"
    with Store(url) as store:
        secrets = {name: store.tokens.add(name, "read") for name in ("slow", "other", "third", "fourth", "fifth")}
        store.create("button", arms=["r" * 150, "b" * 150])
        with store.open("button") as session:
            for _ in range(DECISIONS // 10_000):
                session.ask_many(10_000)
    return url, secrets


@contextmanager
def slow_reader(running: Running, secret: str, path: str = "/v1/experiments/button/export") -> Iterator[socket.socket]:
    """One who has read that the answer is 200, and no more."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(60)
        client.connect(("127.0.0.1", int(running.url.rpartition(":")[2])))
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 200"
        yield client


def _all_wait(running: Running) -> bool:
    return all(pipe.waiting for pipe in running.service.exports._pipes)


def export(running: Running, secret: str, format: str = "jsonl") -> httpx.Response:
    return running.http.get(
        f"/v1/experiments/button/export?format={format}", headers={"Authorization": f"Bearer {secret}"}
    )


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_slow_readers_keep_nobody_waiting(filled: tuple[str, dict[str, str]], format: str) -> None:
    """As many as may be open are, and polars, which writes all of them in a few threads, writes the others."""
    url, secrets = filled
    with serving(url) as running, ExitStack() as readers:
        for name in ("slow", "slow", "other", "other", "third", "third"):
            path = f"/v1/experiments/button/export?format={format}"
            readers.enter_context(slow_reader(running, secrets[name], path))
            wait_until(lambda: _all_wait(running), "the export to wait for its reader")
        refused = export(running, secrets["slow"])
        assert (refused.status_code, refused.json()["error"]) == (503, "exports")
        assert "'slow' has 2 exports open" in refused.json()["message"]
        assert refused.headers["retry-after"]
        for wanted in ("jsonl", "csv", "parquet"):
            whole = export(running, secrets["fourth"], wanted)
            assert whole.status_code == 200
            assert wanted == "parquet" or whole.text.count("\n") == DECISIONS + (wanted == "csv")
        with ExitStack() as more:
            for _ in range(2):
                more.enter_context(slow_reader(running, secrets["fourth"]))
            refused = export(running, secrets["fifth"])
            assert (refused.status_code, refused.json()["error"]) == (503, "exports")
        wait_until(lambda: running.service.exports.running == 6, "those who went away to be given up")
        assert export(running, secrets["fifth"]).status_code == 200


def test_a_slow_reader_is_given_up_and_a_slower_one_than_most_is_not(
    filled: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, secrets = filled
    monkeypatch.setattr(streams, "PATIENCE", 0.5)
    with serving(url) as running, capture_logs() as said:
        with slow_reader(running, secrets["slow"]):
            wait_until(lambda: running.service.exports.running == 0, "it to be given up")
            assert export(running, secrets["slow"]).status_code == 200
        assert [line["event"] for line in said if line["log_level"] == "warning"] == ["too slow a client"]


@pytest.mark.parametrize(("rate", "whole"), [(50_000, True), (400, False)])
def test_so_much_a_second_is_enough(rate: int, whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is the test's: a client takes ``rate`` bytes a second, of what takes an hour at 50,000."""
    now, limit, sent, ended = 0.0, 0.0, 0, list[bool]()
    plain, pieces = asyncio.timeout, 3600 * 50_000 // exports.PIECE

    def timeout(seconds: float) -> asyncio.Timeout:
        nonlocal limit
        limit = seconds
        return plain(None)

    async def content() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield b"x" * exports.PIECE

    async def send(message: Any) -> None:
        nonlocal now, sent
        took = len(message.get("body", b"")) / rate
        now += min(took, limit)
        if took > limit:
            raise TimeoutError
        sent += len(message.get("body", b""))

    async def receive() -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(streams, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(streams, "asyncio", SimpleNamespace(timeout=timeout))
    stream = streams.Stream(content(), lambda: ended.append(True))
    asyncio.run(stream({"type": "http", "path": "/"}, receive, send))
    assert ended == [True]
    assert (sent == pieces * exports.PIECE) is whole
    assert whole or now < 2 * streams.PATIENCE


def test_one_who_reads_slowly_gets_it_all(filled: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Some times faster than the least, with pauses of half of what is allowed."""
    url, secrets = filled
    monkeypatch.setattr(streams, "PATIENCE", 2.0)
    monkeypatch.setattr(streams, "SLOWEST", 1_000_000)
    with serving(url) as running, slow_reader(running, secrets["slow"]) as client:
        received, count = b"", 0
        while not received.endswith(b"0\r\n\r\n"):
            more = client.recv(1 << 16)
            assert more, "it was given up"
            received, count = (received + more)[-100:], count + len(more)
            time.sleep(0.5 if count < len(more) + 100 else 0.0)
        assert count > 100 * DECISIONS


def test_live_streams_of_a_token(filled: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    url, secrets = filled
    monkeypatch.setattr(routes, "MOST_EACH", 3)
    with serving(url) as running, ExitStack() as open_streams:
        for _ in range(3):
            open_streams.enter_context(slow_reader(running, secrets["slow"], "/v1/live?experiment=button"))
        headers = {"Authorization": f"Bearer {secrets['slow']}"}
        refused = running.http.get("/v1/live", headers=headers)
        assert (refused.status_code, refused.json()["error"]) == (503, "streams")
        with slow_reader(running, secrets["other"], "/v1/live"):
            pass
        open_streams.close()
        wait_until(lambda: not running.service.streams._taken, "the streams to be closed")
        with slow_reader(running, secrets["slow"], "/v1/live"):
            pass


def test_a_stalled_live_stream_is_dropped(filled: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    async def loud(*_: object) -> Any:
        while True:
            yield "data: " + "x" * 100_000 + "\n\n"

    url, secrets = filled
    monkeypatch.setattr(streams, "PATIENCE", 0.3)
    monkeypatch.setattr(routes, "_events", loud)
    with serving(url) as running, slow_reader(running, secrets["slow"], "/v1/live"):
        wait_until(lambda: not running.service.streams._taken, "it to be dropped")


def test_a_pipe_that_is_given_up_stops_its_writer() -> None:
    """At once, whether the writer waits for its reader or has room to write on."""

    async def given_up() -> None:
        pipe, stopped = exports.Pipe(asyncio.get_running_loop()), threading.Event()

        def write() -> None:
            try:
                pipe.write(b"x" * (exports.ROOM + 1))
                pipe.wait()
            except BrokenPipeError:
                stopped.set()

        threading.Thread(target=write, daemon=True).start()
        while not pipe.waiting:
            await asyncio.sleep(0.001)
        pipe.give_up()
        assert await asyncio.to_thread(stopped.wait, 5.0), "the writer still waits"
        other = exports.Pipe(asyncio.get_running_loop())
        other.write(b"x")
        other.give_up()
        for use in (other.wait, lambda: other.write(b"x")):
            with pytest.raises(BrokenPipeError, match="nobody reads"):
                use()
        assert await other.read() == b"x"

    asyncio.run(given_up())


def test_an_end_of_the_service_waits_for_no_reader(filled: tuple[str, dict[str, str]]) -> None:
    url, secrets = filled
    with serving(url) as running, slow_reader(running, secrets["slow"]):
        pipes = list(running.service.exports._pipes)
        wait_until(lambda: all(pipe.waiting for pipe in pipes), "the reader to be waited for")
        running.service.exports.close()
        wait_until(
            lambda: not any(thread.name.startswith("export") for thread in threading.enumerate()), "threads to end"
        )
