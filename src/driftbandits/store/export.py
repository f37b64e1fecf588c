"""A log as a table, one row for each Decision: Parquet, CSV or JSON lines, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from sqlalchemy import and_, or_, select, text

from driftbandits._common.cells import escaped
from driftbandits.live.decisions import AGAIN
from driftbandits.store.database import Database
from driftbandits.store.experiments import Experiment
from driftbandits.store.log import Correction, Log
from driftbandits.store.schema import events, notes

if TYPE_CHECKING:
    import polars as pl

ROWS = 2_000
"""In a page: some megabytes."""


FORMATS = ("parquet", "csv", "jsonl")
ROW_GROUP = 50_000
"""Rows of a Parquet file that are in memory until they are written."""


def export_log(
    database: Database,
    log: Log,
    experiment: Experiment,
    to: str | os.PathLike[str] | IO[bytes],
    format: str,
    shown: Callable[[int], None] = lambda rows: None,
    until: int | None = None,
    since: int = 0,
) -> int:
    """Write one row for each Decision to a path or a file, page by page; returns how many.

    With ``until``, only those that were closed by that event; with ``since``, only those that were asked, closed or
    corrected after that one.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    columns = dict.fromkeys(("time", "due", "probability", "reward"), pl.Float64)
    schema = {"id": pl.String, "step": pl.Int64, "arm": pl.String, **columns}
    schema |= {"settled": pl.String, "told_at": pl.Float64}
    schema |= {"unit": pl.String, "again": pl.Boolean, "metadata": pl.String}
    written = 0
    failed: list[BaseException] = []

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal written
        try:
            for rows in _decisions(database, log, experiment, until, since):
                yield pl.DataFrame(rows, schema, orient="row")
                written += len(rows)
                shown(written)
        except Exception as error:
            failed.append(error)
            raise

    table = register_io_source(source, schema=schema)
    sinks: dict[str, Callable[..., Any]] = {
        "parquet": partial(table.sink_parquet, row_group_size=ROW_GROUP),
        "csv": table.with_columns(escaped(pl.col("arm"))).sink_csv,
        "jsonl": table.sink_ndjson,
    }
    try:
        sinks[format](to, engine="streaming")
    except Exception:
        if failed:
            raise failed[0] from None  # polars would say that its source failed, and not why
        raise
    return written


def _decisions(
    database: Database, log: Log, experiment: Experiment, until: int | None, since: int
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows of the table, chunk by chunk, none of a later time than the first."""
    asked, closed = events.alias("asked"), events.alias("closed")
    # Spelt as the indexes' own conditions are, or else a planner would not see that they fit.
    same = and_(closed.c.experiment == asked.c.experiment, closed.c.step == asked.c.step, text("closed.kind <> 'a'"))
    noted = and_(notes.c.experiment == asked.c.experiment, notes.c.step == asked.c.step)
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
            notes.c.unit,
            notes.c.way,
            notes.c.metadata,
        )
        .select_from(asked.outerjoin(closed, and_(same, closed.c.seq <= experiment.last_seq)).outerjoin(notes, noted))
        .where(asked.c.experiment == experiment.key, asked.c.seq <= experiment.last_seq, text("asked.kind = 'a'"))
        .order_by(asked.c.step)
        .limit(ROWS)
    )
    if until is not None:
        statement = statement.where(closed.c.seq <= until)
    corrections = log.corrections(experiment.key, experiment.last_seq)
    corrected = {each.step: each for each in corrections}
    if since > 0:
        again = [each.step for each in corrections if each.seq > since]
        statement = statement.where(or_(asked.c.seq > since, closed.c.seq > since, asked.c.step.in_(again)))
    step = 0
    while True:
        with database.reading() as connection:
            rows = connection.execute(statement.where(asked.c.step > step)).all()
        if not rows:
            return
        yield [_decision(experiment, row, corrected) for row in rows]
        step = rows[-1][0]


def _decision(experiment: Experiment, row: Any, corrected: dict[int, Correction]) -> tuple[Any, ...]:
    step, arm, time, due, probability, reward, kind, told_at, unit, way, metadata = row
    settled = {None: None, "t": "told", "s": "dropped" if reward is None else "default"}[kind]
    if step in corrected:
        reward = corrected[step].reward
        settled = "retracted" if reward is None else "corrected"
    told = f"{experiment.id}-{step}", step, experiment.arms[arm], time, due, probability, reward, settled, told_at
    return *told, unit and unit.hex(), bool((way or 0) & AGAIN), metadata
