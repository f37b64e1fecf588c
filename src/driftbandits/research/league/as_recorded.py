"""The league on series as they were recorded: policies that are told nothing, since nobody knows T and delta there."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits._common.versions import versions
from driftbandits.errors import InputError
from driftbandits.instances.recorded import ROWS_A_DAY
from driftbandits.offline.recorded import play_recorded
from driftbandits.policies import POLICIES
from driftbandits.research.league.matches import LEFT_OUT, told
from driftbandits.research.league.report.content import Section
from driftbandits.research.league.report.parts import Settings, read_table, write_table

if TYPE_CHECKING:
    import polars as pl

FILE = "as-recorded.parquet"


def play_as_recorded(settings: Settings, out: Path, workers: int | None = None, again: bool = False) -> pl.DataFrame:
    """One row for each series and policy: what it received a step, and its regret; from a file if it was played."""
    import polars as pl

    names = [name for name in sorted(set(POLICIES) - set(LEFT_OUT)) if _told_nothing(name)]
    policies = {name: POLICIES[name]() for name in names}
    path = out / "runs" / FILE
    recipe = {"table": FILE, "policies": names, **asdict(settings), "versions": versions()}
    if path.exists() and not again:
        try:
            return read_table(path, recipe)
        except InputError:
            path.unlink()
    options: dict[str, Any] = {"starts": settings.runs, "seed": settings.seed, "workers": workers}
    played = [
        play_recorded(policies, name, **options).insert_column(0, pl.lit(name).alias("series")) for name in ROWS_A_DAY
    ]
    table = pl.concat(played)
    write_table(table, path, recipe)
    return table


def _told_nothing(name: str) -> bool:
    """Whether a policy needs neither T nor delta nor anything else."""
    return told(name) == "nothing" and all(field.default is not MISSING for field in fields(POLICIES[name]))  # type: ignore[arg-type]


def recorded_section(table: pl.DataFrame) -> Section:
    """The part of the page about it."""
    text = [
        "Prices, tweets and temperatures as they were recorded, nothing smoothed, and only the value of the chosen arm "
        "seen. Rewards are scaled by the past alone. There is one history: every policy plays it from several moments "
        "on, and intervals are from blocks of one day drawn anew.",
        "“To the best fixed arm” may be negative: who follows the drift beats every fixed arm. “To the oracle” is the "
        "distance to playing always the arm with the best average of the day around each moment. No policy was tuned "
        "on these series.",
    ]
    tables = {name: [_row(row) for row in table.filter(series=name).iter_rows(named=True)] for name in ROWS_A_DAY}
    return Section("as-recorded", "As it was recorded", text, [], tables)


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "policy": row["policy"],
        "reward a step": row["reward"],
        "regret to the best fixed arm": row["fixed"],
        "interval": f"{row['fixed_low']:.4f} to {row['fixed_high']:.4f}",
        "regret to the oracle": row["oracle"],
        "its interval": f"{row['oracle_low']:.4f} to {row['oracle_high']:.4f}",
    }
