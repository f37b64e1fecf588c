"""Requests with an Idempotency-Key: sent twice, done once, answered twice the same."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from driftbandits.errors import InputError
from driftbandits.service.held import Held
from driftbandits.service.keeper import Keeper
from driftbandits.store import Answer

LONGEST_KEY = 255


class ReusedKeyError(InputError):
    """An Idempotency-Key was used for another request before."""


class Replies:
    """Answers by key. Those on their way to disk are known here, the others by the Store.

    The Store is asked for all keys that wait at once, in one query.
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._under_way: dict[tuple[int, str], tuple[str, asyncio.Future[str]]] = {}
        self._asked: dict[tuple[int, str], asyncio.Future[Answer | None]] = {}
        self._asking = False

    async def once(self, held: Held, key: str, digest: str, work: Callable[[Held], str]) -> str:
        """The answer to this key: ``work``'s, done now and kept with what it did, or the one given before."""

        async def do() -> str:
            here = await self._keeper.get(held.id)  # it may have been let go meanwhile
            return await self._keeper.durably(here, work, lambda response: Answer(key, digest, response))

        return await self.kept(held.writer.experiment.key, key, digest, do)

    async def kept(self, scope: int, key: str, digest: str, do: Callable[[], Awaitable[str]]) -> str:
        """The answer to ``key`` among those of ``scope``; ``do`` must keep in the Store what it returns."""
        where = scope, key
        if where in self._under_way:
            before, future = self._under_way[where]
            _check_same(key, before, digest)
            return await asyncio.shield(future)
        future = asyncio.get_running_loop().create_future()
        self._under_way[where] = digest, future
        try:
            found = await self._look_up(where)
            if found is not None:
                _check_same(key, found.digest, digest)
            response = await do() if found is None else found.response
        except BaseException as error:
            future.set_exception(error if isinstance(error, Exception) else ConnectionError("stopped"))
            future.exception()  # seen: often there is nobody else who waits
            raise
        finally:
            del self._under_way[where]
        future.set_result(response)
        return response

    async def _look_up(self, where: tuple[int, str]) -> Answer | None:
        future: asyncio.Future[Answer | None] = asyncio.get_running_loop().create_future()
        self._asked[where] = future
        if not self._asking:
            self._asking = True
            asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(self._ask()))
        return await future

    async def _ask(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                found = await self._keeper.in_thread(self._keeper.store.answers, list(asked))
            except Exception as error:
                for future in asked.values():
                    if not future.done():
                        future.set_exception(error)
            else:
                for where, future in asked.items():
                    if not future.done():  # one who went away cancelled it
                        future.set_result(found.get(where))
        self._asking = False


def digest_of(path: str, body: bytes) -> str:
    """What tells one request from another: its path and its body."""
    return hashlib.sha256(b"%s\0%s" % (path.encode(), body)).hexdigest()


def _check_same(key: str, before: str, now: str) -> None:
    if before != now:
        raise ReusedKeyError(
            f"the Idempotency-Key {key!r} was used for another request before: take a new key for every request"
        )
