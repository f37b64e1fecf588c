"""A log as a table, one row for each Decision: Parquet, CSV or JSON lines, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, select, text

from driftbandits._common.checks import check_path
from driftbandits._common.files import written_whole
from driftbandits.errors import InputError
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiment
from driftbandits.store.schema import events

if TYPE_CHECKING:
    import polars as pl

ROWS = 50_000


def export_log(
    database: Database, experiment: Experiment, path: str | os.PathLike[str], shown: Callable[[int], None]
) -> int:
    """Write one row for each Decision, whole or not at all; returns how many."""
    import polars as pl
    from polars.io.plugins import register_io_source

    ending = check_path("path", path).suffix
    if ending not in (".parquet", ".csv", ".jsonl"):
        raise InputError(f"the file must end in .parquet, .csv or .jsonl; got {os.fspath(path)!r}")
    columns = dict.fromkeys(("time", "due", "probability", "reward"), pl.Float64)
    schema = {"id": pl.String, "step": pl.Int64, "arm": pl.String, **columns}
    schema |= {"settled": pl.String, "told_at": pl.Float64}
    written = 0

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal written
        for rows in _decisions(database, experiment):
            yield pl.DataFrame(rows, schema, orient="row")
            written += len(rows)
            shown(written)

    with written_whole(path) as temporary:
        table = register_io_source(source, schema=schema)
        sink: Any = {".parquet": table.sink_parquet, ".csv": table.sink_csv, ".jsonl": table.sink_ndjson}[ending]
        sink(temporary, engine="streaming")
    return written


def _decisions(database: Database, experiment: Experiment) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of the table, chunk by chunk, none of a later time than the first."""
    asked, closed = events.alias("asked"), events.alias("closed")
    # Spelt as the indexes' own conditions are, or else a planner would not see that they fit.
    same = and_(closed.c.experiment == asked.c.experiment, closed.c.step == asked.c.step, text("closed.kind <> 'a'"))
    statement = (
        select(
            asked.c.step,
            asked.c.arm,
            asked.c.time,
            asked.c.due,
            asked.c.probability,
            closed.c.reward,
            closed.c.kind,
            closed.c.time,
        )
        .select_from(asked.outerjoin(closed, and_(same, closed.c.seq <= experiment.last_seq)))
        .where(asked.c.experiment == experiment.key, asked.c.seq <= experiment.last_seq, text("asked.kind = 'a'"))
        .order_by(asked.c.step)
        .limit(ROWS)
    )
    step = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(statement.where(asked.c.step > step)).all()
        if not rows:
            return
        yield [_decision(experiment, row) for row in rows]
        step = rows[-1][0]


def _decision(experiment: Experiment, row: Any) -> tuple[Any, ...]:
    step, arm, time, due, probability, reward, kind, told_at = row
    settled = {None: None, "t": "told", "s": "dropped" if reward is None else "default"}[kind]
    return f"{experiment.id}-{step}", step, experiment.arms[arm], time, due, probability, reward, settled, told_at
