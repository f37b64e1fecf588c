"""Bearer tokens of the service. Only their hashes are stored, so someone who reads the database cannot use them."""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from driftbandits.errors import InputError
from driftbandits.store.audit import AuditEntry, record
from driftbandits.store.database import Database
from driftbandits.store.experiments import check_id
from driftbandits.store.schema import tokens

SCOPES = ("read", "write", "admin")
SECRET = re.compile(r"db_[A-Za-z0-9_-]{43}")
"""What secrets look like: nothing else need be looked for."""


@dataclass(frozen=True)
class Token:
    """A token without its secret. ``revoked`` and ``expires`` are when, or None.

    ``experiments`` are ids, or beginnings of ids that end in "*"; None for all.
    """

    name: str
    scope: str
    created: float
    revoked: float | None
    expires: float | None = None
    experiments: tuple[str, ...] | None = None

    def is_for(self, experiment: str) -> bool:
        """Whether it opens that experiment.

        >>> Token("shop", "write", 0.0, None, None, ("button", "eu-*")).is_for("eu-1")
        True
        """
        return self.experiments is None or any(
            experiment == each or (each.endswith("*") and experiment.startswith(each[:-1])) for each in self.experiments
        )


class Tokens:
    """The tokens."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        scope: str,
        *,
        expires: float | None = None,
        experiments: Sequence[str] | None = None,
        audit: AuditEntry | None = None,
    ) -> str:
        """Make a token and return its secret, which is shown this once.

        ``expires``: seconds since 1970. ``experiments``: ids, or beginnings of ids that end in "*"; None for all.
        """
        if scope not in SCOPES:
            raise InputError(f"scope must be one of {', '.join(SCOPES)}; got {scope!r}")
        if not (isinstance(name, str) and 1 <= len(name) <= 64):
            raise InputError(f"a token needs a name of 1 to 64 characters; got {name!r}")
        secret = f"db_{secrets.token_urlsafe(32)}"
        now = self._database.clock()
        if expires is not None and not now < expires < math.inf:
            raise InputError(f"a token must end after now, {now:.0f} seconds since 1970; got {expires!r}")
        limits = None if experiments is None else [_limit(each) for each in experiments]
        if limits == []:
            raise InputError("a token that is for no experiment opens nothing: name one, or none to open all")
        row: dict[str, Any] = {"name": name, "hash": _hash(secret), "scope": scope, "created": now}
        row |= {"expires": expires, "experiments": None if limits is None else json.dumps(limits)}
        with self._database.writing() as connection:
            try:
                connection.execute(insert(tokens), row)
            except IntegrityError:
                raise InputError(f"there is a token {name!r} already: choose another name") from None
            record(connection, now, audit)
        return secret

    def find(self, secret: str) -> Token | None:
        """Return the token with that secret, if there is one that neither was revoked nor ended."""
        statement = select(tokens).where(tokens.c.hash == _hash(secret), tokens.c.revoked.is_(None))
        with self._database.reading() as connection:
            row = connection.execute(statement).one_or_none()
        ended = row is not None and row.expires is not None and row.expires <= self._database.clock()
        return None if row is None or ended else _token(row)

    def all(self) -> list[Token]:
        """Return all tokens by name, revoked ones too."""
        with self._database.reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name))
            return [_token(row) for row in rows]

    def revoke(self, name: str, audit: AuditEntry | None = None) -> None:
        """Refuse the token from now on. Its name cannot be used again."""
        with self._database.writing() as connection:
            known = connection.execute(select(tokens.c.name).where(tokens.c.name == name)).one_or_none()
            if known is None:
                raise InputError(
                    f"there is no token {name!r} in {self._database.url}: driftbandits token list shows all"
                )
            good, now = (tokens.c.name == name, tokens.c.revoked.is_(None)), self._database.clock()
            if connection.execute(update(tokens).where(*good).values(revoked=now)).rowcount:
                record(connection, now, audit)


def _token(row: Row[Any]) -> Token:
    limits = None if row.experiments is None else tuple(json.loads(row.experiments))
    return Token(row.name, row.scope, row.created, row.revoked, row.expires, limits)


def _limit(experiment: str) -> str:
    check_id(experiment.removesuffix("*") or "all")
    return experiment


def _hash(secret: str) -> str:
    """Secrets are 256 random bits, which no one guesses: they need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()
