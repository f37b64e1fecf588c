"""Many open dashboards: each is a stream of events, and none may make others wait."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import Counter

import httpx

from serving import Process


def beside_open_pages(service: Process, pages: int, looks: int) -> tuple[Counter[str], float]:
    """What the streams brought, and the longest time that /healthz took beside them while the experiment moved on."""
    http = httpx.Client(base_url=service.url, timeout=60)
    assert http.post("/v1/experiments", json={"id": "shown", "arms": ["red", "blue"]}).status_code == 201
    seen, ended, waiting = Counter[str](), threading.Event(), selectors.DefaultSelector()
    opened = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(pages)]
    for page in opened:
        page.sendall(b"GET /v1/live?experiment=shown HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        page.setblocking(False)
        waiting.register(page, selectors.EVENT_READ)

    def read() -> None:
        while not ended.is_set():
            for ready, _ in waiting.select(0.2):
                data = ready.fileobj.recv(1 << 16)  # type: ignore[union-attr]
                assert data, "a stream was cut off"
                seen["pages opened"] += data.startswith(b"HTTP/1.1 200")
                seen["pictures"] += data.count(b"event: view")

    reading = threading.Thread(target=read)
    reading.start()
    longest = 0.0
    for _ in range(looks):
        assert http.post("/v1/experiments/shown/ask_many", json={"count": 50}).status_code == 200
        began = time.perf_counter()
        assert http.get("/healthz").status_code == 200
        longest = max(longest, time.perf_counter() - began)
    ended.set()
    reading.join()
    for page in opened:
        page.close()
    http.close()
    assert seen["pages opened"] == pages
    return seen, longest
