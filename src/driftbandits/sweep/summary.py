"""What a sweep found: a row for each cell, and the exponents of regret as a power of a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from driftbandits._common.fits import LEAST_POINTS, fit_power_law
from driftbandits._common.intervals import half_width
from driftbandits.errors import InputError
from driftbandits.sweep.grid import KINDS, nearest

if TYPE_CHECKING:
    import polars as pl

MEASURED = ("runs", "regret", "low", "high")


def summarise(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each cell of ``read``'s table: its parameters, runs, and mean regret at T with the 95 % interval."""
    import polars as pl

    parameters = rows.columns[: rows.columns.index("first_run")]
    cells = rows.select(*parameters, "regret").explode("regret").group_by(parameters, maintain_order=True)
    found = cells.agg(pl.len().alias("runs"), pl.mean("regret").alias("mean"), pl.std("regret").alias("sd"))
    ends = found.with_columns(pl.Series("reach", half_width(found["sd"].to_numpy(), found["runs"].to_numpy())))
    low, high = (pl.col("mean") - pl.col("reach")).alias("low"), (pl.col("mean") + pl.col("reach")).alias("high")
    return ends.select(*parameters, "runs", pl.col("mean").alias("regret"), low, high)


def parameters_of(table: pl.DataFrame) -> list[str]:
    """The parameters that differ between cells of ``summarise``'s table, except those that a policy's name implies."""
    names = [name for name in table.columns if name not in ("cell", *MEASURED) and table[name].n_unique() > 1]
    return [name for name in names if not any(name.startswith(f"{by}_") and _implies(table, by, name) for by in KINDS)]


def _implies(table: pl.DataFrame, by: str, name: str) -> bool:
    """Whether who knows ``by`` knows ``name``: the settings of a named policy, or parameters that go together."""
    return table.select(by, name).n_unique() == table[by].n_unique()


def numeric(table: pl.DataFrame) -> list[str]:
    """Those of them that are numbers, the one with most values first."""
    names = [name for name in parameters_of(table) if table[name].dtype.is_numeric()]
    return sorted(names, key=lambda name: -table[name].drop_nulls().n_unique())


def check_parameter(table: pl.DataFrame, name: str) -> str:
    """A parameter that differs between cells, by its name."""
    varying = parameters_of(table)
    if name in varying:
        return name
    if name in table.columns:
        raise InputError(f"{name} is the same in all cells; those that differ: {', '.join(varying) or 'none'}")
    raise InputError(f"unknown parameter {name!r}; {nearest(name, varying)}")


def matching(table: pl.DataFrame, conditions: Sequence[str]) -> pl.DataFrame:
    """The cells of which every condition, written name=value, is true."""
    import polars as pl

    for condition in conditions:
        name, sign, value = condition.partition("=")
        if not sign or name not in table.columns:
            hint = nearest(name, [column for column in table.columns if column not in MEASURED])
            raise InputError(f"where must read name=value, as in policy=SnoozeIt; got {condition!r}; {hint}")
        wanted: Any = value
        if table[name].dtype.is_numeric():
            try:
                wanted = float(value)
            except ValueError:
                raise InputError(f"{name} is a number; got {condition!r}") from None
        found = table.filter(pl.col(name) == wanted)
        if not found.height:
            there = ", ".join(f"{one}" for one in table[name].unique().sort().to_list())
            raise InputError(f"no cell has {condition}; {name} is one of {there}")
        table = found
    return table


def curves(table: pl.DataFrame, against: str) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Cells that differ in ``against`` alone, in its order; with them, what they have in common."""
    others = [name for name in parameters_of(table) if name != against and not _implies(table, against, name)]
    known = table.filter(table[against].is_not_null())
    if not others:
        yield {}, known.sort(against)
        return
    for key, part in known.group_by(others, maintain_order=True):
        yield dict(zip(others, key, strict=True)), part.sort(against)


def exponents(table: pl.DataFrame, against: str) -> pl.DataFrame:
    """The exponent b of regret = a ``against``^b with its 95 % interval, for each curve with three positive points."""
    import polars as pl

    rows = []
    for common, part in curves(table, against):
        used = part.filter((part[against] > 0) & (part["regret"] > 0))
        if used.height >= LEAST_POINTS and used[against].n_unique() == used.height:
            fit = fit_power_law(used[against].to_numpy(), used["regret"].to_numpy())
            rows.append({**common, "points": used.height, **fit._asdict()})
    return pl.DataFrame(rows, infer_schema_length=None)
