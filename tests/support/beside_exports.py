"""Asks while others export: nobody's export may make an ask wait."""

from __future__ import annotations

import threading
import time
from collections import Counter

import httpx

from in_process import Running

EXPORTERS = 8


def ask_beside_exports(running: Running, decisions: int, asks: int) -> tuple[Counter[str], float]:
    """What exporters were answered, and the 99th percentile of seconds that an ask took meanwhile."""
    path = running.create("exported")
    for _ in range(-(-decisions // 10_000)):
        assert running.http.post(f"{path}/ask_many", json={"count": 10_000}).status_code == 200
    seen, ended = Counter[str](), threading.Event()

    def export() -> None:
        with httpx.Client(base_url=running.url, timeout=600) as client:
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
        assert running.http.post(f"{path}/ask").status_code == 200
        waited.append(time.perf_counter() - began)
        assert running.http.get("/readyz").status_code == 200
    ended.set()
    for thread in exporting:
        thread.join()
    return seen, sorted(waited)[int(0.99 * asks)]
