"""Exports, streamed: a thread reads pages and writes them into a pipe of bounded size, from which a client is sent."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, cast

import structlog

from driftbandits.errors import DriftbanditsError
from driftbandits.store import Store

MOST = 2
"""Exports at a time: each is a busy thread, and asks share the interpreter with it."""
CHUNKS = 4
"""Pieces that wait to be sent, each of a page at most."""
STALLED = 60.0
"""Seconds after which a client that takes nothing is given up."""

log = structlog.get_logger("driftbandits.service")


class TooManyExportsError(DriftbanditsError):
    """Others are running (503)."""


class Exports:
    """The exports that run, in threads of their own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(MOST, "export")
        self.running = 0

    async def start(self, id: str, format: str, since: int) -> AsyncIterator[bytes]:
        """The log in pieces. What is wrong at first is raised here; later the stream breaks off: the log says why."""
        if self.running >= MOST:
            raise TooManyExportsError(f"{MOST} exports are running, which is the most at a time: try again later")
        pipe = Pipe(asyncio.get_running_loop())
        self.running += 1
        try:
            work = asyncio.get_running_loop().run_in_executor(self._threads, self._write, id, format, since, pipe)
            first = await pipe.read()
            if first is None:
                await work
        except BaseException:
            self.running -= 1
            pipe.give_up()
            raise
        return self._pieces(first, pipe, work, id)

    async def _pieces(
        self, piece: bytes | None, pipe: Pipe, work: asyncio.Future[None], id: str
    ) -> AsyncIterator[bytes]:
        try:
            while piece is not None:
                yield piece
                piece = await pipe.read()
            await work
        except DriftbanditsError as error:
            log.warning("export stopped", experiment=id, error=str(error))
            raise
        finally:
            self.running -= 1
            pipe.give_up()

    def _write(self, id: str, format: str, since: int, pipe: Pipe) -> None:
        try:
            self._store.stream(id, format, cast("IO[bytes]", pipe), since)
        finally:
            pipe.end()

    def close(self) -> None:
        """Wait for none: those that run are given up with their clients."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Pipe(io.RawIOBase):
    """A file that is written by a thread and read on the event loop; the writer waits when the reader is slow."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._pieces = loop, asyncio.Queue[bytes | None]()
        self._room, self._given_up = threading.Semaphore(CHUNKS), False

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """Hand a piece on, when there is room."""
        piece = bytes(data)  # type: ignore[call-overload]
        if not self._room.acquire(timeout=STALLED) or self._given_up:
            raise BrokenPipeError("nobody reads this export any more")
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
        return len(piece)

    def end(self) -> None:
        """There is no more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, None)

    async def read(self) -> bytes | None:  # type: ignore[override]
        """The next piece; None at the end."""
        piece = await self._pieces.get()
        self._room.release()
        return piece

    def give_up(self) -> None:
        """Nobody reads any more: the writer fails at its next piece."""
        self._given_up = True
        self._room.release()
