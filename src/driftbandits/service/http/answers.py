"""Requests with an Idempotency-Key: sent twice, done once, with the same response both times."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

from driftbandits.errors import InputError
from driftbandits.service.core.holdings import Holdings
from driftbandits.store import Answer, Token

LONGEST_KEY = 255


class ReusedKeyError(InputError):
    """An Idempotency-Key was used for another request before."""


class Answers:
    """Answers by key. Those on their way to disk are known here, the others by the Store.

    The Store is asked for all keys that wait at once, in one query.
    """

    def __init__(self, holdings: Holdings) -> None:
        self._holdings = holdings
        self._under_way: dict[tuple[int, str], tuple[str, asyncio.Future[str]]] = {}
        self._asked: dict[tuple[int, str], asyncio.Future[Answer | None]] = {}
        self._asking = False

    async def once(self, scope: int, key: str, digest: str, do: Callable[[], Awaitable[str]]) -> str:
        """The answer to ``key`` in its ``scope``: the one given before, or what ``do`` returns now.

        ``do`` must keep its answer in the Store, in one transaction with what it did.
        """
        where = scope, key
        if where in self._under_way:
            before, future = self._under_way[where]
            _check_same(before, digest)
            return await asyncio.shield(future)
        future = asyncio.get_running_loop().create_future()
        self._under_way[where] = digest, future
        try:
            found = await self._look_up(where)
            if found is not None:
                _check_same(found.digest, digest)
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
                found = await self._holdings.in_thread(self._holdings.store.answers.find, list(asked))
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


def key_of(token: Token | None, key: str) -> str:
    """Under which the answer to one token is kept: another one with the same key must not learn it."""
    return hashlib.sha256(b"%s\0%s" % (("" if token is None else token.name).encode(), key.encode())).hexdigest()


def _check_same(before: str, now: str) -> None:
    if before != now:
        raise ReusedKeyError(
            "this Idempotency-Key was used for another request before: take a new key for every request"
        )
