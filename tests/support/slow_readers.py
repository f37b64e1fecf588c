"""Slow readers of exports and live streams, and what others get meanwhile."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from contextlib import suppress

import httpx

from driftbandits.store import Store
from floods import memory_of
from serving import Process
from waiting import wait_until

ARMS = ["r" * 150, "b" * 150]
EACH, BYTES, PAUSE = 2, 2048, 5.0
"""Exports of each slow token, and what is read of them how often."""


def beside_slow_readers(store: str, decisions: int, to_the_end: bool) -> Counter[str]:
    """Two tokens read two exports each, and their live streams, as slowly as can be, while another one reads its own.

    ``to_the_end``: until the slow ones are given up.
    """
    with Store(store) as opened:
        slow = [opened.tokens.add(name, "read") for name in ("slow", "slower")]
        good = {"Authorization": f"Bearer {opened.tokens.add('good', 'admin')}"}
        opened.create("button", arms=ARMS)
        with opened.open("button") as session:
            for _ in range(-(-decisions // 10_000)):
                session.ask_many(10_000)
    process, ended, seen = Process(store, auth=True), threading.Event(), Counter[str]()
    readers = list[threading.Thread]()
    try:
        process.wait()

        def read(secret: str, path: str) -> None:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", process.port))
                client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
                assert client.recv(12) == b"HTTP/1.1 200"
                seen["slow readers"] += 1
                with suppress(OSError):
                    while not ended.wait(PAUSE) and client.recv(BYTES):
                        pass
            if not ended.is_set():
                seen["slow readers given up"] += 1

        with httpx.Client(base_url=process.url, headers=good, timeout=120) as client:
            before = 0
            for secret in slow:
                for path in ["/v1/experiments/button/export"] * EACH:
                    readers.append(threading.Thread(target=read, args=(secret, path)))
                    readers[-1].start()
                    wait_until(lambda: seen["slow readers"] == len(readers), "a slow reader to begin")
                    time.sleep(1.0)  # until it is its reader that the export waits for
            while seen["whole exports"] < 3 or (to_the_end and seen["slow readers given up"] < len(readers)):
                with client.stream("GET", "/v1/experiments/button/export") as export:
                    assert export.status_code == 200, export.read()
                    rows = sum(chunk.count(b"\n") for chunk in export.iter_bytes())
                assert rows >= decisions
                seen["whole exports"] += 1
                assert client.post("/v1/experiments/button/ask").status_code == 200
                assert client.get("/readyz").status_code == 200
                seen["asks"] += 1
                if seen["whole exports"] == 2:
                    before = memory_of(process.pid)
            grown = memory_of(process.pid) - before
            assert grown < 100 << 20, f"{grown >> 20} MB more"
        ended.set()
        for reader in readers:
            reader.join()
        process.stop()
        return seen
    finally:
        ended.set()
        process.kill()
