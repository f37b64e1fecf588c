"""Asks while others export: nobody's export may make an ask wait.

The service is a process of its own, as it is in use: clients in its process would share its interpreter.
"""

from __future__ import annotations

import threading
import time
from collections import Counter

import httpx

EXPORTERS = 8


def ask_beside_exports(url: str, decisions: int, asks: int) -> tuple[Counter[str], float]:
    """What exporters were answered, and the 99th percentile of seconds that an ask took meanwhile."""
    http = httpx.Client(base_url=url, timeout=60)
    assert http.post("/v1/experiments", json={"id": "exported", "arms": ["red", "blue"]}).status_code == 201
    path = "/v1/experiments/exported"
    for _ in range(-(-decisions // 10_000)):
        assert http.post(f"{path}/ask_many", json={"count": 10_000}).status_code == 200
    seen, ended = Counter[str](), threading.Event()

    def export() -> None:
        with httpx.Client(base_url=url, timeout=600) as client:
            while not ended.is_set():
                with client.stream("GET", f"{path}/export") as response:
                    rows = sum(chunk.count(b"\n") for chunk in response.iter_bytes())
                whole = response.status_code == 200 and rows >= decisions
                seen["whole exports" if whole else f"answers {response.status_code}"] += 1
                assert whole or response.status_code == 503, response.status_code
                time.sleep(0 if whole else 0.1)

    exporting = [threading.Thread(target=export) for _ in range(EXPORTERS)]
    for thread in exporting:
        thread.start()
    waited = []
    for _ in range(asks):
        began = time.perf_counter()
        assert http.post(f"{path}/ask").status_code == 200
        waited.append(time.perf_counter() - began)
        assert http.get("/readyz").status_code == 200
    ended.set()
    for thread in exporting:
        thread.join()
    http.close()
    return seen, sorted(waited)[int(0.99 * asks)]
