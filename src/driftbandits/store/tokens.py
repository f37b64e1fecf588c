"""Bearer tokens of the service. Only their hashes are stored, so someone who reads the database cannot use them."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from driftbandits.errors import InputError
from driftbandits.store.database import Database
from driftbandits.store.schema import tokens

SCOPES = ("read", "write", "admin")


@dataclass(frozen=True)
class Token:
    """A token without its secret. ``revoked`` is when, or None while it is good."""

    name: str
    scope: str
    created: float
    revoked: float | None


class Tokens:
    """The tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, name: str, scope: str) -> str:
        """A new one's secret."""
        if scope not in SCOPES:
            raise InputError(f"scope must be one of {', '.join(SCOPES)}; got {scope!r}")
        if not (isinstance(name, str) and 1 <= len(name) <= 64):
            raise InputError(f"a token needs a name of 1 to 64 characters; got {name!r}")
        secret = f"db_{secrets.token_urlsafe(32)}"
        row = {"name": name, "hash": _hash(secret), "scope": scope, "created": self._database.clock()}
        with self._database.writing() as connection:
            try:
                connection.execute(insert(tokens), row)
            except IntegrityError:
                raise InputError(f"there is a token {name!r} already: choose another name") from None
        return secret

    def find(self, secret: str) -> Token | None:
        """The good one with that secret."""
        statement = select(tokens).where(tokens.c.hash == _hash(secret), tokens.c.revoked.is_(None))
        with self._database.reading() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else Token(row.name, row.scope, row.created, row.revoked)

    def all(self) -> list[Token]:
        """By name, good ones and revoked ones."""
        with self._database.reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [Token(row.name, row.scope, row.created, row.revoked) for row in rows]

    def revoke(self, name: str) -> None:
        """Note when it was revoked."""
        with self._database.writing() as connection:
            known = connection.execute(select(tokens.c.name).where(tokens.c.name == name)).one_or_none()
            good = tokens.c.name == name, tokens.c.revoked.is_(None)
            connection.execute(update(tokens).where(*good).values(revoked=self._database.clock()))
        if known is None:
            raise InputError(f"there is no token {name!r}")


def _hash(secret: str) -> str:
    """Secrets are 256 random bits, which no one guesses: they need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
