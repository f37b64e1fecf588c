"""What a service's dashboard remembers of experiments, so that it survives a restart. Nothing else depends on it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from driftbandits._common.expansion import inflated
from driftbandits.errors import InputError
from driftbandits.store.database import Database
from driftbandits.store.schema import experiments, views


class SavedView(NamedTuple):
    """A view of the first ``seq`` events, and a short one as JSON."""

    seq: int
    data: bytes
    summary: str | None

    def compressed(self) -> SavedView:
        """As it is saved."""
        return self._replace(data=zlib.compress(self.data, 1))


class Views:
    """The views; there is one for each experiment, the last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, connection: Connection, saved: Mapping[int, SavedView]) -> None:
        """Write compressed views of experiments, by key, in place of the ones before; part of a transaction."""
        if saved:
            connection.execute(delete(views).where(views.c.experiment.in_(saved)))
            rows = [{"experiment": key, **each._asdict()} for key, each in saved.items()]
            connection.execute(insert(views), rows)

    def find(self, id: str) -> bytes | None:
        """Return the view of an experiment that was saved last, if there is one and it can be read."""
        known = select(views.c.data).join_from(views, experiments, experiments.c.key == views.c.experiment)
        statement = known.where(experiments.c.id == id)
        with self._database.reading() as connection:
            data = connection.execute(statement).scalar_one_or_none()
        try:
            return None if data is None else inflated(data)
        except InputError:
            return None  # damaged: it is made again from the log

    def summaries(self) -> dict[str, str]:
        """Return the short views that were saved last, by the experiments' ids."""
        statement = select(experiments.c.id, views.c.summary).join_from(
            views, experiments, experiments.c.key == views.c.experiment
        )
        with self._database.reading() as connection:
            return {row.id: row.summary for row in connection.execute(statement.where(views.c.summary.is_not(None)))}
