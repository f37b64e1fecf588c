"""Data frames of others as polars' own, column by column, so that neither pandas nor pyarrow is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from driftbandits.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def is_frame(given: Any) -> bool:
    """Whether it is a table with named columns: a data frame of polars, pandas or others, or a mapping to lists."""
    return isinstance(given, Mapping) or hasattr(type(given), "columns")  # asking itself costs a LazyFrame much


def as_polars(given: Any) -> pl.DataFrame:
    """A data frame of polars, from one, from one of pandas, or from a mapping of names to columns.

    >>> as_polars({"arm": ["a", "b"], "reward": [0.0, 1.0]}).rows()
    [('a', 0.0), ('b', 1.0)]
    """
    import polars as pl

    if isinstance(given, pl.DataFrame):
        return given
    if isinstance(given, pl.LazyFrame):
        return given.collect()
    try:
        if not isinstance(given, Mapping) and type(given).__module__.split(".")[0] == "pandas":
            given = {str(name): _column(given[name]) for name in given.columns}
        return pl.DataFrame(given, strict=False, nan_to_null=True)
    except Exception as error:  # whatever another library says of its own columns
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot read this {type(given).__name__} as a table of named columns: {reason}") from error


def _column(series: Any) -> Any:
    """The values of a column of pandas: what is missing there (NaN, NaT, NA) is None."""
    if str(series.dtype).startswith("datetime64"):
        if getattr(series.dt, "tz", None) is not None:
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return series.to_numpy()
    if series.dtype.kind in "iufb" and not hasattr(series.array, "_mask"):  # not pandas' own nullable numbers
        return series.to_numpy()
    return series.astype(object).where(series.notna(), None).to_list()
