"""A server that answers constants, FastAPI on uvicorn with uvloop and httptools as ours is: the floor of a request.

python benchmarks/floor.py          # answers at once
python benchmarks/floor.py URL      # inserts the rows that our service would, and answers when they are on disk
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.responses import Response
from store import bare_driver

from driftbandits.live.decisions import Asked, Event, Told
from driftbandits.store.lines import rows_of

KEY = -1
"""Of an experiment that the service has not."""
MANY = 100
STEPS = range(123_400, 123_400 + MANY)
DECISIONS = [b'{"id":"load-%d","arm":"blue","step":%d,"due":null}' % (step, step) for step in STEPS]
ANSWERS = {
    "ask": DECISIONS[0],
    "tell": b'{"outcome":"new"}',
    "ask_many": b'{"decisions":[%s]}' % b",".join(DECISIONS),
    "tell_many": b'{"outcomes":[%s]}' % b",".join([b'"new"'] * MANY),
}


class Group:
    """Group commit as plain as can be: what waits is written at once by a thread, and meanwhile the next gathers."""

    def __init__(self, url: str) -> None:
        self._write, self._thread = bare_driver(url), ThreadPoolExecutor(1)
        self._rows: list[tuple[Any, ...]] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._asked, self._told, self._seq = count(1), count(1), 0
        self._task: asyncio.Task[None] | None = None

    async def rows(self, verb: str) -> None:
        """Return when the rows of one such request are on disk."""
        size = MANY if verb.endswith("many") else 1
        self._rows.extend(rows_of(KEY, self._seq, self._events(verb.startswith("ask"), size)))
        self._seq += size
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._commit())
        await future

    def _events(self, asks: bool, many: int) -> Iterator[Event]:
        for _ in range(many):
            yield Asked(next(self._asked), 1, 1.8e9, None, None) if asks else Told(next(self._told), 0.5, 1.8e9)

    async def _commit(self) -> None:
        while self._waiting:
            rows, waiting, self._rows, self._waiting = self._rows, self._waiting, [], []
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, rows)
            for future in waiting:
                future.set_result(None)


def main() -> None:
    """Serve, with the port on standard error."""
    app = FastAPI()
    group = Group(sys.argv[1]) if len(sys.argv) > 1 else None

    def add(verb: str, constant: bytes) -> None:
        @app.post(f"/v1/experiments/load/{verb}")
        async def answer() -> Response:
            if group is not None:
                await group.rows(verb)
            return Response(constant, media_type="application/json")

    for verb, constant in ANSWERS.items():
        add(verb, constant)
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", file=sys.stderr, flush=True)
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_config=None, access_log=False, lifespan="off")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
