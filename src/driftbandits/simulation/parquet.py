"""Finished runs in a Parquet file: one row for each policy and run, and in its metadata how to run it again."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from driftbandits._common.checks import check_path
from driftbandits._common.expansion import TooLargeError, read_npy
from driftbandits._common.files import written_whole
from driftbandits._common.parquet import check_parquet
from driftbandits.errors import InputError
from driftbandits.instances.describe import check_arrays
from driftbandits.simulation.engine import Run

FORMAT = 1
"""Raised when what the file holds changes."""

Runs = dict[str, dict[int, Run]]
"""Finished runs, by policy and by number."""


def write_runs(path: str | os.PathLike[str], done: Runs, recipe: dict[str, Any]) -> None:
    """Write finished runs, completely or not at all."""
    import polars as pl

    rows = [(name, run, result) for name, runs in done.items() for run, result in sorted(runs.items())]
    table = pl.DataFrame(
        {
            "policy": pl.Series([name for name, _, _ in rows], dtype=pl.String),
            "run": pl.Series([run for _, run, _ in rows], dtype=pl.Int64),
            "seconds": pl.Series([result.seconds for _, _, result in rows], dtype=pl.Float64),
            "regret": pl.Series([result.regret for _, _, result in rows], dtype=pl.List(pl.Float64)),
            "realised": pl.Series([result.realised for _, _, result in rows], dtype=pl.List(pl.Float64)),
            "pulls": pl.Series([result.pulls for _, _, result in rows], dtype=pl.List(pl.Int64)),
            # Every policy notes other things, so its events travel as a numpy record array in .npy form.
            "events": pl.Series([_packed(result.events) for _, _, result in rows], dtype=pl.Binary),
        }
    )
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata={"driftbandits": json.dumps({"format": FORMAT, **recipe})})


def read_runs(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Runs]:
    """The recipe and the finished runs of a file."""
    import polars as pl

    if not check_path("path", path).exists():
        raise InputError(f"there is no file {path}")
    try:
        check_parquet(Path(path), str(path), "it is not what Simulation.save wrote")
        recipe = json.loads(pl.read_parquet_metadata(Path(path))["driftbandits"])
        check_arrays(recipe)
        table = pl.read_parquet(Path(path))
    except TooLargeError:
        raise
    except Exception as error:
        raise InputError(f"{path} does not hold a simulation, or was cut short: {error}") from error
    if recipe["format"] != FORMAT:
        raise InputError(f"{path} has format {recipe['format']}; this version reads format {FORMAT}: run it again")
    done: Runs = {name: {} for name in recipe["policies"]}
    try:
        for row in table.iter_rows(named=True):
            regret, realised, pulls = (np.array(row[column]) for column in ("regret", "realised", "pulls"))
            events = None if row["events"] is None else read_npy(row["events"])
            done[row["policy"]][row["run"]] = Run(regret, realised, pulls, row["seconds"], events)
    except (KeyError, ValueError) as error:
        raise InputError(f"{path} does not hold a simulation, or was altered: {error}") from error
    return recipe, done


def _packed(events: Any) -> bytes | None:
    if events is None:
        return None
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(events), allow_pickle=False)
    return buffer.getvalue()
