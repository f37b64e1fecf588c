"""All that the routes of one service share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from starlette.requests import HTTPConnection

from driftbandits.errors import InputError
from driftbandits.service.core.held import Held
from driftbandits.service.core.holdings import Holdings
from driftbandits.service.core.metrics import Metrics
from driftbandits.service.core.probe import Probe
from driftbandits.service.core.settings import Settings
from driftbandits.service.core.warming import Warming
from driftbandits.service.dashboard.overview import Overview
from driftbandits.service.http.access import Access
from driftbandits.service.http.answers import LONGEST_KEY, Answers, digest_of
from driftbandits.service.http.exports import Exports
from driftbandits.service.http.headers import headers_of
from driftbandits.service.http.streams import Shares
from driftbandits.store import Answer, AuditEntry, Store, Token


@dataclass
class Service:
    """One running service."""

    settings: Settings
    store: Store
    metrics: Metrics
    holdings: Holdings
    answers: Answers
    access: Access
    exports: Exports
    streams: Shares
    probe: Probe
    warming: Warming
    overview: Overview

    async def perform(
        self,
        id: str,
        path: str,
        key: str | None,
        body: bytes,
        work: Callable[[Held], str],
        heavy: Callable[[Held], bool] | None = None,
        private: bool = False,
    ) -> str:
        """Let ``work`` change a Session, and return its result once that is on disk. With a key, only once.

        Of a body that is ``private``, naming a unit perhaps, no more than a hash under the experiment's secret is kept.
        """
        held = self.holdings.here(id) or await self.holdings.get(id)
        if key is None:
            return await self.holdings.durably(held, work, heavy=heavy is not None and heavy(held))
        if private:
            body = blake2b(body, key=held.writer.experiment.secret().encode()).digest()
        digest = digest_of(path, body)

        async def do() -> str:
            here = await self.holdings.get(id)  # it may have been let go meanwhile
            in_thread = heavy is not None and heavy(here)
            return await self.holdings.durably(here, work, lambda made: Answer(key, digest, made), in_thread)

        return await self.answers.once(held.writer.experiment.key, key, digest, do)


async def admit(request: HTTPConnection, scope: str, experiment: str | None = None) -> Service:
    """The service that a request came to, if it may do what needs this scope, to that experiment."""
    service: Service = request.app.state.service
    request.scope["token"] = await service.access.check(request, scope, experiment)
    return service


def audited(request: HTTPConnection, did: str, experiment: str, details: Any = None) -> AuditEntry:
    """Who does this, to be written down with it."""
    token: Token | None = request.scope["token"]
    return AuditEntry("no token" if token is None else token.name, did, experiment, details)


def idempotency_key(request: HTTPConnection) -> str | None:
    """The request's Idempotency-Key, if it has one."""
    key = headers_of(request.scope).get(b"idempotency-key")
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST_KEY:
        raise InputError(f"an Idempotency-Key has 1 to {LONGEST_KEY} characters; got {len(key)}")
    return key.decode("latin-1")
