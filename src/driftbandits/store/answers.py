"""Answers kept under idempotency keys, so that a request sent twice gets the same response and is done once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, tuple_

from driftbandits.store.database import Database
from driftbandits.store.schema import answers


class Answer(NamedTuple):
    """What was answered to the request of ``key``. ``digest`` is the request's: the same key must mean the same."""

    key: str
    digest: str
    response: str


NO_EXPERIMENT = 0
"""The scope of requests that create experiments; that of all others is their experiment's key."""
CHUNK = 1000


class Answers:
    """The answers. They are written in one transaction with what the request did."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, asked: Sequence[tuple[int, str]]) -> dict[tuple[int, str], Answer]:
        """By (scope, key), as far as there are any."""
        where = tuple_(answers.c.experiment, answers.c.idempotency_key)
        found = {}
        with self._database.reading() as connection:
            for first in range(0, len(asked), CHUNK):
                statement = select(answers).where(where.in_(asked[first : first + CHUNK]))
                for row in connection.execute(statement):
                    found[row.experiment, row.idempotency_key] = Answer(row.idempotency_key, row.digest, row.response)
        return found

    def prune(self, age: float) -> int:
        """Forget those older than ``age`` seconds; returns how many."""
        before = self._database.clock() - age
        with self._database.writing() as connection:
            return connection.execute(delete(answers).where(answers.c.created < before)).rowcount

    def keep(self, connection: Connection, kept: list[tuple[int, Answer]]) -> None:
        """Write answers, each with its scope."""
        if kept:
            now = self._database.clock()
            rows = [
                {
                    "experiment": scope,
                    "idempotency_key": answer.key,
                    "digest": answer.digest,
                    "response": answer.response,
                    "created": now,
                }
                for scope, answer in kept
            ]
            connection.execute(insert(answers), rows)
