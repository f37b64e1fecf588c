"""What a service's dashboard remembers of experiments, so that it survives a restart. Nothing else rests on it."""

from __future__ import annotations

import zlib

from sqlalchemy import delete, insert, select

from driftbandits.store.schema import views, writers
from driftbandits.store.writers import Writer, Writers


class Views(Writers):
    """Verbs on views; there is one for each experiment, the last."""

    def save_view(self, writer: Writer, seq: int, data: bytes) -> None:
        """Keep a view of the first ``seq`` events; one who is no longer the writer keeps nothing."""
        mine = writers.c.experiment == writer.experiment.key, writers.c.epoch == writer.epoch
        row = {"experiment": writer.experiment.key, "seq": seq, "data": zlib.compress(data, 1)}
        with self.writing() as connection:
            if connection.execute(select(writers.c.epoch).where(*mine).with_for_update()).one_or_none():
                connection.execute(delete(views).where(views.c.experiment == writer.experiment.key))
                connection.execute(insert(views), row)

    def view(self, id: str) -> bytes | None:
        """The view that was kept last."""
        statement = select(views.c.data).where(views.c.experiment == self.experiment(id).key)
        with self.reading() as connection:
            data = connection.execute(statement).scalar_one_or_none()
        try:
            return None if data is None else zlib.decompress(data)
        except zlib.error:
            return None  # damaged: it is made again from the log
