"""Exports, streamed: a thread reads pages and writes them into a pipe of bounded size, from which a client is sent."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, cast

import structlog

from driftbandits.errors import DriftbanditsError
from driftbandits.service.http.streams import Shares
from driftbandits.store import Store, Token

MOST = 2
"""Exports that are read at a time: each is a busy thread, and asks share the interpreter with it."""
MOST_OPEN = 8
"""The same and those that wait for their clients, which cost a thread that sleeps."""
MOST_EACH = 2
"""Of one token."""
ROOM = 1 << 20
"""Bytes that wait to be sent; when there are more, no further page is read."""
PIECE = 1 << 16
"""Bytes that are sent at a time."""

log = structlog.get_logger("driftbandits.service")


class TooManyExportsError(DriftbanditsError):
    """Others are running (503)."""


class Exports:
    """The exports that run, in threads of their own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._threads = ThreadPoolExecutor(MOST_OPEN, "export")
        self._shares = Shares(MOST_EACH, "exports", TooManyExportsError)
        self._pipes = set[Pipe]()

    @property
    def running(self) -> int:
        """Exports that are being sent."""
        return len(self._pipes)

    async def start(
        self, id: str, format: str, since: int, token: Token | None
    ) -> tuple[AsyncIterator[bytes], Callable[[], None]]:
        """The log in pieces, and what must be called when no more of them are wanted.

        What is wrong at first is raised here; later the stream breaks off: the log says why.
        """
        busy = sum(not pipe.waiting for pipe in self._pipes)
        if busy >= MOST or self.running >= MOST_OPEN:
            count = busy if busy >= MOST else self.running
            raise TooManyExportsError(f"{count} exports are running, which is the most at a time: try again later")
        give_back = self._shares.take(token)
        pipe = Pipe(asyncio.get_running_loop())
        self._pipes.add(pipe)

        def end() -> None:
            if pipe in self._pipes:
                self._pipes.remove(pipe)
                give_back()
                pipe.give_up()

        try:
            work = asyncio.get_running_loop().run_in_executor(self._threads, self._write, id, format, since, pipe)
            first = await pipe.read()
            if first is None:
                await work
        except BaseException:
            end()
            raise
        return self._pieces(first, pipe, work, id), end

    async def _pieces(
        self, piece: bytes | None, pipe: Pipe, work: asyncio.Future[None], id: str
    ) -> AsyncIterator[bytes]:
        try:
            while piece is not None:
                for start in range(0, len(piece), PIECE):
                    yield piece[start : start + PIECE]
                piece = await pipe.read()
            await work
        except DriftbanditsError as error:
            log.warning("export stopped", experiment=id, error=str(error))
            raise

    def _write(self, id: str, format: str, since: int, pipe: Pipe) -> None:
        try:
            self._store.history.stream(id, format, cast("IO[bytes]", pipe), since, pipe.wait)
        except BrokenPipeError:
            pass  # nobody reads it any more
        finally:
            pipe.end()

    def close(self) -> None:
        """Wait for none: those that run are given up with their clients."""
        for pipe in self._pipes:
            pipe.give_up()
        self._threads.shutdown(wait=False, cancel_futures=True)


class Pipe(io.RawIOBase):
    """A file that is written by threads and read on the event loop.

    Who writes does not wait for the reader, because polars writes all files of a process in a few threads: one file
    that waits would hold up all others. Who reads the log waits, page by page.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self._pieces = loop, asyncio.Queue[bytes | None]()
        self._changed, self._size, self._given_up = threading.Condition(), 0, False
        self.waiting = False
        """Whether the next page waits for the reader."""

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """Hand a piece on."""
        piece = bytes(data)  # type: ignore[call-overload]
        with self._changed:
            self._check()
            self._size += len(piece)
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)
        return len(piece)

    def wait(self, _: int = 0) -> None:
        """Return when there is room for more."""
        with self._changed:
            while self._size > ROOM and not self._given_up:
                self.waiting = True
                self._changed.wait()
            self.waiting = False
            self._check()

    def _check(self) -> None:
        if self._given_up:
            raise BrokenPipeError("nobody reads this export any more")

    def end(self) -> None:
        """There is no more."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._pieces.put_nowait, None)

    async def read(self) -> bytes | None:  # type: ignore[override]
        """The next piece; None at the end."""
        piece = await self._pieces.get()
        with self._changed:
            self._size -= len(piece or b"")
            self._changed.notify_all()
        return piece

    def give_up(self) -> None:
        """Nobody reads any more: the writer fails at its next piece."""
        with self._changed:
            self._given_up = True
            self._changed.notify_all()
