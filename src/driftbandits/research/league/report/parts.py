"""A reproduction in parts: each is one file, written whole, that a later call finds and does not run again.

The recipe travels in the file. A part of another seed, another number of runs or another version, or one that was cut
short, is run again after one line says so: every part can be had again from its seed, so nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftbandits._common.files import written_whole
from driftbandits._common.parquet import check_parquet
from driftbandits._common.versions import versions
from driftbandits.errors import InputError
from driftbandits.instances.base import Instance
from driftbandits.simulation.simulate import simulate

if TYPE_CHECKING:
    import polars as pl

TABLE_FORMAT = 1


@dataclass(frozen=True)
class Settings:
    """What decides every number of a reproduction."""

    runs: int
    seed: int
    horizon: int


@dataclass(frozen=True)
class Part:
    """One piece of work: ``work(settings, workers, path)`` runs it, or reads ``path`` if it was run before."""

    name: str
    group: str
    weight: float
    """About how many seconds it takes, for the time left."""
    work: Callable[[Settings, int | None, Path], Any]

    def result(self, settings: Settings, workers: int | None, path: Path, say: Callable[[str], None]) -> Any:
        """The part's result, from its file where that is what was asked for."""
        if path.exists():
            try:
                return self.work(settings, workers, path)
            except InputError as error:
                say(f"{self.name}: running it again, since {error}")
                path.unlink()
        return self.work(settings, workers, path)


def simulated(
    name: str,
    group: str,
    weight: float,
    policies: Callable[[int], Mapping[str, Any]],
    instance: Callable[[int], Instance],
) -> Part:
    """A part that is one simulation; both functions are given the horizon."""

    def work(settings: Settings, workers: int | None, path: Path) -> Any:
        T = settings.horizon
        options: dict[str, Any] = {"runs": settings.runs, "seed": settings.seed, "workers": workers}
        return simulate(policies(T), instance(T), events=True, keep=path, progress=False, **options)

    return Part(name, group, weight, work)


def tabulated(name: str, group: str, weight: float, study: Callable[[Settings], pl.DataFrame]) -> Part:
    """A part that is the table of a study."""

    def work(settings: Settings, workers: int | None, path: Path) -> Any:
        recipe = {"format": TABLE_FORMAT, "table": name, **asdict(settings), "versions": versions("scipy")}
        if path.exists():
            return read_table(path, recipe)
        table = study(settings)
        write_table(table, path, recipe)
        return table

    return Part(name, group, weight, work)


def write_table(table: pl.DataFrame, path: Path, recipe: dict[str, Any]) -> None:
    """Write a table with the recipe that made it."""
    with written_whole(path) as temporary:
        table.write_parquet(temporary, metadata={"driftbandits": json.dumps(recipe)})


def read_table(path: Path, recipe: dict[str, Any]) -> pl.DataFrame:
    """The table in ``path``, if this recipe made it."""
    import polars as pl

    try:
        check_parquet(path, str(path), "remove it, and it is made again")
        found = json.loads(pl.read_parquet_metadata(path)["driftbandits"])
        table = pl.read_parquet(path)
    except Exception as error:
        raise InputError(f"{path} does not hold a table, or was cut short: {error}") from error
    different = [key for key, value in recipe.items() if found.get(key) != value]
    if different:
        raise InputError(f"{path} holds another table (different {', '.join(different)})")
    return table
