"""Floods of requests that no token is needed for, and what a process has in memory."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

from driftbandits.store import Store
from serving import Process

LARGE = 1 << 20


def memory_of(pid: int) -> int:
    """Bytes of a process in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096


def flood(port: int, count: int, header: Callable[[int], bytes], clients: int = 8) -> Counter[int]:
    """So many requests, each with a header of its own: the statuses of what was answered.

    The service may answer and close before all was sent; another connection is opened then.
    """
    seen = Counter[int]()

    async def one(numbers: range) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            writer.write(b"GET /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n\r\n" % header(number))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
                seen[int(head[9:12])] += 1
                closed = b"connection: close" in head.lower()
            except (OSError, asyncio.IncompleteReadError):
                seen[0] += 1
                closed = True
            if closed:
                writer.transport.abort()
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.transport.abort()

    async def all_of_them() -> None:
        await asyncio.gather(*(one(range(first, count, clients)) for first in range(clients)))

    asyncio.run(all_of_them())
    return seen


def wrong_token(number: int) -> bytes:
    """As long as a good one."""
    return b"Authorization: Bearer db_%043d" % number


def huge_token(number: int) -> bytes:
    """Of 1 MB, and no two alike."""
    return b"Authorization: Bearer %d" % number + b"x" * LARGE


def many_headers(number: int) -> bytes:
    """Ten thousand of them."""
    return b"\r\n".join(b"X-%d: %d" % (each, number) for each in range(10_000))


async def _with_bodies(port: int, count: int, hold: Callable[[], object]) -> None:
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"POST /v1/experiments HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n" % LARGE
        )
        writer.write(b"x" * (LARGE - 1))
        writers.append(writer)
    await asyncio.sleep(1.0)
    await asyncio.to_thread(hold)
    for writer in writers:
        writer.transport.abort()


def beside_bodies(port: int, count: int, look: Callable[[], object]) -> None:
    """``look`` while so many bodies of almost 1 MB have come without a token, and are never ended."""
    asyncio.run(_with_bodies(port, count, look))


def beside_floods(store: str, times: int, wrong: int) -> Counter[str]:
    """All floods, 300 requests of each ``times`` over and ``wrong`` wrong tokens, while one with a token is served."""
    with Store(store) as opened:
        headers = {"Authorization": f"Bearer {opened.tokens.add('good', 'admin')}"}
    process, ended, seen = Process(store, auth=True), threading.Event(), Counter[str]()
    failed = list[str]()

    def ask() -> None:
        with httpx.Client(base_url=process.url, headers=headers, timeout=60) as client:
            while not ended.is_set():
                answer = client.post("/v1/experiments/button/ask")
                seen["asks"] += 1
                if answer.status_code != 200:
                    failed.append(answer.text)

    try:
        process.wait()
        made = httpx.post(
            f"{process.url}/v1/experiments", json={"id": "button", "arms": ["red", "blue"]}, headers=headers, timeout=60
        )
        assert made.status_code == 201, made.text
        asking = threading.Thread(target=ask)
        asking.start()
        flood(process.port, 500, wrong_token)
        before = memory_of(process.pid)
        for _ in range(times):
            for kind in (huge_token, many_headers):
                for status, count in flood(process.port, 300, kind).items():
                    seen[f"answers {status}"] += count
        seen["answers 401"] += flood(process.port, wrong, wrong_token)[401]
        grown = list[int]()
        beside_bodies(process.port, 200, lambda: grown.append(memory_of(process.pid) - before))
        ended.set()
        asking.join()
        assert not failed, failed[:3]
        assert seen["answers 401"] == wrong
        seen["MB more in memory"] = grown[0] >> 20
        assert seen["MB more in memory"] < 100, seen
        process.stop()
        return seen
    finally:
        ended.set()
        process.kill()
