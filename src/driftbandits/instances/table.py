"""Means from a file."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.checks import check_path, shown
from driftbandits._common.expansion import allowed, read_npz
from driftbandits._common.parquet import check_parquet
from driftbandits._common.text_tables import read_csv
from driftbandits.errors import InputError
from driftbandits.instances.base import FAMILIES, Instance, column_names

if TYPE_CHECKING:
    import polars as pl

TIMES = (
    "time",
    "timestamp",
    "date",
    "datetime",
    "year",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "step",
    "t",
)
"""What columns of times are called."""
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, RuntimeError)
"""What numpy and zipfile raise, between them, on files that are cut, altered or something else by another name."""


def table(
    path: str | os.PathLike[str],
    drift: float | None = None,
    *,
    time: str | None = None,
    reward_range: Sequence[float] | None = None,
) -> Instance:
    """The instance in a file as ``Instance.save`` writes it: one row a step, one column an arm.

    A .csv file begins with a line of column names, which name the arms; a .npz file holds the array ``means``, and may
    hold ``arms``, ``available`` and ``reward_range``. ``drift``, when given, is a promise that is checked: no mean may
    move by more in one step. ``time`` is the column of a .csv or .parquet file that holds times or row numbers: it is
    left out, and the rows are taken in the order of the file. ``reward_range`` is that of ``Instance``. The instance
    has no recipe: the file may change.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Instance([[0.5, 0.4], [0.5, 0.6]]).save(f"{folder}/measured.csv")
    ...     table(f"{folder}/measured.csv", drift=0.2)
    <Instance measured: T=2, K=2, drift_limit=0.2>
    """
    file = check_path("path", path)
    readers = {".npz": _from_npz, ".csv": _from_csv, ".parquet": _from_parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise InputError(f"cannot read {file}: the name must end in .npz, .csv or .parquet")
    if not file.is_file():
        what = "it is a directory" if file.is_dir() else "there is no such file"
        raise InputError(f"cannot read {file}: {what}; give the path of a table of means")
    try:
        if file.stat().st_size == 0:
            raise InputError("the file is empty; save the instance again")
        means, arms, available, kept = reader(file, time)
        limits = kept if reward_range is None else reward_range
        return Instance(means, name=file.stem, drift=drift, arms=arms, available=available, reward_range=limits)
    except InputError as error:
        raise InputError(f"cannot use {file}: {error}") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error


# Not @family: a recipe would name a file that may have changed or gone when the instance is built again.
FAMILIES["table"] = table


Found: TypeAlias = "tuple[Array, list[str] | None, Array | None, list[float] | None]"
"""Means, the names of arms if there are any, which are there if not all always are, the range of rewards if any."""


def _from_npz(file: Path, time: str | None) -> Found:
    if time is not None:
        raise InputError(f"time names a column of a .csv or .parquet file, and this is .npz: leave out time={time!r}")
    try:
        with file.open("rb") as stream:
            advice = "save it with numpy.savez, which does not compress"
            found = read_npz(stream, "it", allowed(file.stat().st_size), advice)
    except InputError:
        raise
    except DAMAGED as error:
        raise InputError("it is damaged, or not a .npz archive of numbers; save the instance again") from error
    if "means" not in found:
        raise InputError(f"it has no array named means; its arrays are: {', '.join(found) or 'none'}")
    names, limits = (found[key].tolist() if key in found else None for key in ("arms", "reward_range"))
    return found["means"], names, found.get("available"), limits


def _from_csv(file: Path, time: str | None) -> Found:
    frame = read_csv(file)
    if any(_is_number(name) for name in frame.columns):  # polars renames the second of two equal names, so not "all"
        raise InputError("its first line holds numbers; put a line of column names above, such as arm_0,arm_1")
    for name in frame.columns:
        first, again, number = name.rpartition("_duplicated_")
        if again and number.isdigit() and first in frame.columns:  # as polars calls them
            raise InputError(f"two of its columns are called {first!r}: give every arm a name of its own")
    return _numbers(frame, time)


def _from_parquet(file: Path, time: str | None) -> Found:
    import polars as pl

    check_parquet(file, "it", "save it as .npz")
    try:
        frame = pl.read_parquet(file)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"it is damaged or not a Parquet file ({_first_line(error)}); save it again") from error
    return _numbers(frame, time)


def _numbers(frame: pl.DataFrame, time: str | None) -> Found:
    """The columns but ``time`` as one array of numbers, or an error that names the first cell that is none."""
    import polars as pl

    if time is not None and time not in frame.columns:
        raise InputError(f"time must name one of its columns, {', '.join(frame.columns)}; got {shown(time)}")
    frame = frame.drop(time) if time is not None else frame
    columns = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_temporal():
            raise InputError(f"column {name!r} holds times, not means: {_leave_out(name)}")
        if not (column.dtype.is_numeric() or column.dtype == pl.String):
            raise InputError(f"column {name!r} holds {column.dtype}, not numbers; remove it or convert it")
        values = column.str.strip_chars().cast(pl.Float64, strict=False) if column.dtype == pl.String else column
        if values.null_count():
            row = int(values.is_null().arg_max() or 0)
            cell = "an empty cell" if column[row] is None else f"{column[row]!r}"
            hint = f": {_leave_out(name)}" if values.null_count() == len(values) else ""
            raise InputError(f"column {name!r} has {cell} where step {row + 1} needs a number{hint}")
        columns.append(values.to_numpy())
    if columns:
        _refuse_index(frame.columns[0], columns[0])
    means = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return means, column_names(frame.columns), None, None


def _leave_out(name: str) -> str:
    """What to do about a column of times."""
    return f"if it holds times, say table(path, time={name!r}), or --set FILE.time={name} on the command line"


def _refuse_index(name: str, values: Array) -> None:
    """Whole numbers that count the rows are no means: most likely the index that pandas writes unless told not to."""
    called = name.strip().lower()
    counts = len(values) > 2 or called in ("", "index", "unnamed: 0")
    if counts and len(values) > 1 and values[0] in (0, 1) and (np.diff(values) == 1).all():
        raise InputError(
            f"its first column, {name!r}, counts the rows ({values[0]:.0f}, {values[1]:.0f}, ...) as an index does: "
            f"leave it out, as by to_csv(index=False); {_leave_out(name)}"
        )
    rises = len(values) > 1 and values[-1] > 1 and (values % 1 == 0).all() and (np.diff(values) > 0).all()
    if called in TIMES and rises:
        raise InputError(
            f"its first column, {name!r}, rises as times do ({values[0]:.0f}, {values[1]:.0f}, ...): {_leave_out(name)}"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0]
