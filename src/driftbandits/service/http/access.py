"""Who may do what: bearer tokens with the scopes read, write and admin."""

from __future__ import annotations

import secrets
import time
from functools import lru_cache
from hashlib import sha256
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from driftbandits.errors import DriftbanditsError, InputError
from driftbandits.service.core.holdings import Holdings
from driftbandits.service.core.settings import Settings, is_loopback
from driftbandits.service.http.headers import headers_of
from driftbandits.store import AuditEntry, Store, Token
from driftbandits.store.tokens import SECRET

RANKS = {"read": 0, "write": 1, "admin": 2}
FRESH = 5.0
"""Seconds for which a token is taken for what it was: so long a revoked one may go on."""
MOST_CACHED = 10_000
"""Good tokens that are remembered; no more than there are, so this is for those who have many."""
FORWARDED = {b"forwarded", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-real-ip", b"via"}
"""What proxies add to requests."""


class NoTokenError(DriftbanditsError):
    """The request has no valid token (401)."""


class ForbiddenError(DriftbanditsError):
    """The request may not do this (403)."""


def auth_needed(settings: Settings, store: Store) -> bool:
    """Whether requests need a token; InputError when that would lock everyone out, or let everyone in."""
    if settings.auth is False and not settings.on_loopback:
        raise InputError(f"--no-auth lets everyone who can reach {settings.host} in: it is only for --host 127.0.0.1")
    needed = settings.auth is not False
    if needed and not _has_tokens(store):
        raise InputError(
            "the service needs tokens, and the Store has none: "
            f"driftbandits token create NAME --scope admin --store {store.url}"
        )
    return needed


def first_token(settings: Settings, store: Store) -> str | None:
    """An admin's token for a Store that has none, so that the first start needs no other command."""
    if settings.auth is False or _has_tokens(store):
        return None
    name = f"first-{secrets.token_hex(3)}"
    return store.tokens.add(
        name, "admin", audit=AuditEntry("first start", "token created", None, {"name": name, "scope": "admin"})
    )


def _has_tokens(store: Store) -> bool:
    return any(token.revoked is None for token in store.tokens.all())


class Access:
    """Checks requests. Tokens are looked up in the Store, and remembered for some seconds."""

    def __init__(self, holdings: Holdings, needed: bool) -> None:
        self._holdings, self.needed = holdings, needed
        self._known: dict[bytes, tuple[float, Token]] = {}
        """Good tokens, by a hash of the header that they came in."""

    async def check(self, request: HTTPConnection, scope: str, experiment: str | None = None) -> Token | None:
        """Its token, if it may do this; NoTokenError or ForbiddenError otherwise. None where no tokens are needed.

        What is about one experiment is named in the path, or by ``experiment``; all else shows all experiments, and a
        token that is for some of them does not do; but "" says that the caller leaves out the others by itself.
        """
        headers = headers_of(request.scope)
        if not self.needed:
            if not FORWARDED.isdisjoint(headers):
                proxy = min(FORWARDED & headers.keys())
                raise ForbiddenError(
                    f"this came through a proxy, as its header {proxy.decode()!r} shows, and --no-auth is for this "
                    "machine alone: start the service without --no-auth"
                )
            host = headers.get(b"host", b"").decode("latin-1")
            origin = headers[b"origin"].decode("latin-1") if b"origin" in headers else None
            if not _is_this_machine(host, origin):
                raise ForbiddenError(
                    f"without tokens only this machine may ask; got host {host!r}, origin {origin!r}: use "
                    "http://127.0.0.1, or create a token"
                )
            return None
        token = await self.token(request)
        if RANKS[token.scope] < RANKS[scope]:
            raise ForbiddenError(f"this needs a token of scope {scope}; {token.name!r} has scope {token.scope}")
        if token.experiments is not None and experiment != "":
            named = request.scope.get("path_params", {}).get("experiment") if experiment is None else experiment
            if named is None or not token.is_for(named):
                raise ForbiddenError(
                    f"the token {token.name!r} is for the experiments {', '.join(token.experiments)} only"
                )
        return token

    async def token(self, request: HTTPConnection) -> Token:
        """The good token that a request came with; NoTokenError if it has none."""
        header = headers_of(request.scope).get(b"authorization", b"")
        digest = sha256(header).digest()
        known = self._known.get(digest)
        if known is not None and time.monotonic() <= known[0]:
            return known[1]
        kind, _, secret = header.decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not secret:
            raise NoTokenError("this needs a token: send the header 'Authorization: Bearer TOKEN'")
        token = None
        if SECRET.fullmatch(secret):
            token = await self._holdings.in_thread(self._holdings.store.tokens.find, secret)
        if token is None:
            self._known.pop(digest, None)
            raise NoTokenError(
                "this token is unknown, was revoked or has ended, as driftbandits token list shows: driftbandits token "
                "create makes a new one"
            )
        if len(self._known) >= MOST_CACHED:
            self._known.clear()
        self._known[digest] = time.monotonic() + FRESH, token
        return token


@lru_cache
def _is_this_machine(host: str, origin: str | None) -> bool:
    """Without tokens, a page of some other site that runs in a browser here must not get in either."""
    try:
        named = urlsplit(f"//{host}").hostname or ""
        return is_loopback(named) and (origin is None or is_loopback(urlsplit(origin).hostname or ""))
    except ValueError:
        return False
