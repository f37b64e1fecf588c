"""Answers kept under idempotency keys, so that a request sent twice is answered twice and done once."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from driftbandits.store.log import Log
from driftbandits.store.schema import answers


class Answer(NamedTuple):
    """What was answered to the request of ``key``. ``digest`` is the request's: the same key must mean the same."""

    key: str
    digest: str
    response: str


class Answers(Log):
    """Verbs on idempotency keys; ``append`` writes them, in one transaction with what the request did."""

    def answer(self, id: str, key: str) -> Answer | None:  # noqa: A002
        """What was answered to that key, or None."""
        statement = select(answers).where(
            answers.c.experiment == self.experiment(id).key, answers.c.idempotency_key == key
        )
        with self.reading() as connection:
            row = connection.execute(statement).one_or_none()
        return None if row is None else Answer(key, row.digest, row.response)

    def prune_answers(self, age: float) -> int:
        """Forget answers older than ``age`` seconds; returns how many."""
        with self.writing() as connection:
            return connection.execute(delete(answers).where(answers.c.created < self.clock() - age)).rowcount

    def _keep(self, connection: Connection, kept: list[tuple[int, Answer]]) -> None:
        if kept:
            now = self.clock()
            rows = [
                {
                    "experiment": key,
                    "idempotency_key": answer.key,
                    "digest": answer.digest,
                    "response": answer.response,
                    "created": now,
                }
                for key, answer in kept
            ]
            connection.execute(insert(answers), rows)
