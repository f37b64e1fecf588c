"""Reads a log of decisions: one row each, with its step, arm, reward and the probability of that choice."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits._common.arrays import Array
from driftbandits._common.cells import unescaped
from driftbandits._common.checks import LARGEST_REWARD, shown
from driftbandits._common.frames import as_polars, is_frame
from driftbandits._common.parquet import check_parquet
from driftbandits._common.text_tables import check_uncompressed, read_csv
from driftbandits.errors import InputError
from driftbandits.offline.walks import DriftEstimate, fit_drift

if TYPE_CHECKING:
    import polars as pl


NEEDED = ("step", "arm", "reward")
ENDINGS = (".csv", ".parquet", ".jsonl")
MOST_ARMS = 1_000


@dataclass(frozen=True, eq=False)
class Log:
    """Decisions in the order of their steps. A reward that never came is NaN, and so is a probability not logged.

    ``probability`` is None if there is none at all.
    ``again`` counts rows that are not here: Decisions that gave a unit the arm that it had.
    """

    names: tuple[str, ...]
    arms: Array
    rewards: Array
    probability: Array | None
    again: int = 0

    def __len__(self) -> int:
        return len(self.arms)

    @property
    def n_arms(self) -> int:
        """K, the number of arms that the log names."""
        return len(self.names)

    @functools.cached_property
    def drift(self) -> DriftEstimate:
        """How fast the means drift, in rewards per step of the log, from all rewards that came."""
        came = np.isfinite(self.rewards)
        found = fit_drift(self.rewards[came], self.arms[came])
        share = float(came.mean())  # steps without a reward were left out, so what remains seems to drift faster
        return found._replace(drift=found.drift * share, low=found.low * share, high=found.high * share)


def read_log(
    source: str | os.PathLike[str] | pl.DataFrame | Log | Any, columns: Mapping[str, str] | None = None
) -> Log:
    """The log in a .csv, .parquet or .jsonl file, or in a data frame of polars or pandas.

    Columns: ``step`` gives the order: whole numbers, each once, or time stamps, of which equal ones keep the order of
    their rows; ``arm`` (names or whole numbers), ``reward`` (empty: it never came), and ``probability``, with which the
    policy that ran chose this arm at this step, in (0, 1]; empty where it was not logged. Rows that ``again`` marks as
    true are left out, since nothing was chosen there. Other columns are ignored.
    ``columns`` maps these names to those that the log has, as in ``{"step": "time", "arm": "variant"}``.

    >>> import polars as pl
    >>> log = read_log(pl.DataFrame({"step": [2, 1, 3], "arm": ["b", "a", "a"], "reward": [0.5, 1.0, None]}))
    >>> log.names, log.arms.tolist(), log.rewards.tolist()
    (('a', 'b'), [0, 1, 0], [1.0, 0.5, nan])
    """
    if isinstance(source, Log):
        return source
    if is_frame(source):
        return _checked(_renamed(as_polars(source), columns, "the log"), "the log")
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(f"a log is a file or a data frame; got {shown(source)}")
    file = Path(source)
    if file.suffix.lower() not in ENDINGS:
        raise InputError(f"cannot read {file}: the name of a log must end in {', '.join(ENDINGS)}")
    if not file.is_file():
        what = "it is a directory" if file.is_dir() else "there is no such file"
        raise InputError(f"cannot read {file}: {what}; give the path of a log")
    if file.stat().st_size == 0:
        raise InputError(f"cannot read {file}: the file is empty; export the log again")
    frame = _renamed(_frame(file), columns, str(file))
    if file.suffix.lower() == ".csv" and "arm" in frame.columns:
        import polars as pl

        frame = frame.with_columns(unescaped(pl.col("arm")))
    return _checked(frame, str(file))


def _renamed(frame: pl.DataFrame, columns: Mapping[str, str] | None, where: str) -> pl.DataFrame:
    """The columns that a log needs, by the names that this package has for them."""
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            f'columns must map our names to those of the log, as in {{"step": "time", "arm": "variant"}}; '
            f"got {shown(columns)}"
        )
    for ours, theirs in (columns or {}).items():
        if ours not in (*NEEDED, "probability"):
            raise InputError(f"columns maps step, arm, reward and probability to the log's names; got {shown(ours)}")
        if theirs not in frame.columns:
            raise InputError(f"{where} has no column {shown(theirs)}; its columns: {', '.join(frame.columns)}")
    return frame.with_columns(frame[theirs].alias(ours) for ours, theirs in (columns or {}).items())


def _frame(file: Path) -> pl.DataFrame:
    import polars as pl

    try:
        if file.suffix.lower() == ".parquet":
            check_parquet(file, file.name, "export a part of the log, or save it as .csv")
            return pl.read_parquet(file)
        if file.suffix.lower() == ".jsonl":
            check_uncompressed(file)
            return pl.read_ndjson(file, infer_schema_length=None)
        return read_csv(file)
    except InputError as error:
        raise InputError(f"cannot read {file}: {error}") from error
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"cannot read {file}: it is damaged or not a {file.suffix} table ({reason})") from error
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror or error}") from error


def _checked(frame: pl.DataFrame, where: str) -> Log:
    import polars as pl

    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        has = ", ".join(frame.columns) or "none"
        raise InputError(
            f"{where} has no column {missing[0]!r}; a log needs step, arm and reward: say what it calls them, as in "
            f'columns={{"{missing[0]}": "its name"}} (--columns {missing[0]}=NAME); its columns: {has}'
        )
    if len(frame) == 0:
        raise InputError(f"{where} has no rows: there is nothing to replay")
    steps = _steps(frame, where)
    rewards = _numbers(frame, "reward", where)
    wrong = ~(rewards.abs() <= LARGEST_REWARD)
    _refuse(wrong, frame, "reward", where, f"a finite number of at most {LARGEST_REWARD:g} in size, or nothing")
    arms = _arms(frame, where)
    names = arms.unique().sort()
    if not 2 <= len(names) <= MOST_ARMS:
        only = f"one arm, {names[0]!r}" if len(names) == 1 else f"{len(names):,} arms"
        raise InputError(f"{where} names {only}: replay compares 2 to {MOST_ARMS:,} arms")
    texts = names.cast(pl.String)
    again = _again(frame)
    order = np.argsort(steps.to_numpy(), kind="stable")
    order = order[~again.to_numpy()[order]]
    return Log(
        tuple(texts),
        arms.cast(pl.String).cast(pl.Enum(texts)).to_physical().to_numpy().astype(np.int32)[order],
        rewards.to_numpy()[order],
        _probability(frame, where, order, again),
        int(again.sum()),
    )


def _steps(frame: pl.DataFrame, where: str) -> pl.Series:
    """What the rows are sorted by: whole numbers, each once, or time stamps."""
    import polars as pl

    column = frame["step"]
    if column.dtype == pl.String:
        times = column.str.strip_chars().str.to_datetime(strict=False) if _looks_dated(column) else column
        column = times if times.null_count() == 0 else column
    if column.dtype.is_temporal():
        _refuse(column.is_null(), frame, "step", where, "a time stamp")
        return column.to_physical()
    steps = _numbers(frame, "step", where)
    _refuse(steps.is_null() | (steps % 1 != 0), frame, "step", where, "a whole number or a time stamp")
    _refuse(steps.is_duplicated(), frame, "step", where, "each step once")
    return steps


def _looks_dated(column: pl.Series) -> bool:
    """Whether text begins as a date does, such as 2024-05-17."""
    return bool(column.str.contains(r"^\s*\d{4}-\d{2}-\d{2}").all())


def _arms(frame: pl.DataFrame, where: str) -> pl.Series:
    """Whole numbers where all arms are, so that 10 comes after 9; text otherwise."""
    import polars as pl

    arms = frame["arm"]
    if not (arms.dtype.is_integer() or arms.dtype in (pl.String, pl.Categorical, pl.Enum)):
        raise InputError(f"{where}: column 'arm' holds {arms.dtype}; an arm is a name or a whole number")
    _refuse(arms.is_null(), frame, "arm", where, "a name or a whole number")
    if arms.dtype.is_integer():
        return arms
    text = arms.cast(pl.String)
    whole = text.cast(pl.Int64, strict=False)
    # "01" and "1" are two names.
    return whole if whole.null_count() == 0 and (whole.cast(pl.String) == text).all() else text


def _again(frame: pl.DataFrame) -> pl.Series:
    """Which rows gave a unit the arm that it had, as exports of a Store say it."""
    import polars as pl

    nowhere = pl.repeat(False, len(frame), eager=True)
    if "again" not in frame.columns:
        return nowhere
    column = frame["again"]
    if column.dtype == pl.String and column.is_in(["true", "false"]).all():
        return column == "true"
    return column.fill_null(False) if column.dtype == pl.Boolean else nowhere  # else it is someone else's word


def _probability(frame: pl.DataFrame, where: str, order: Array, again: pl.Series) -> Array | None:
    if "probability" not in frame.columns or (frame["probability"].is_null() | again).all():
        return None
    values = _numbers(frame, "probability", where)
    wrong = values.is_not_null() & ~((values > 0) & (values <= 1)) & ~again
    _refuse(wrong, frame, "probability", where, "a number in (0, 1], or nothing where it was not logged")
    return values.to_numpy()[order]


def _numbers(frame: pl.DataFrame, name: str, where: str) -> pl.Series:
    """The column as floats; text that is no number is an error, nothing at all is null."""
    import polars as pl

    column = frame[name]
    if column.dtype == pl.String:
        text = column.str.strip_chars()
        text = text.set(text == "", None) if (text == "").any() else text
        values = text.cast(pl.Float64, strict=False)
        _refuse(values.is_null() & text.is_not_null(), frame, name, where, "a number")
        return values
    if not (column.dtype.is_numeric() or column.dtype in (pl.Null, pl.Boolean)):
        raise InputError(f"{where}: column {name!r} holds {column.dtype}, not numbers")
    return column.cast(pl.Float64)


def _refuse(wrong: pl.Series, frame: pl.DataFrame, name: str, where: str, wanted: str) -> None:
    """Raise InputError that names the first wrong row, counted from 1 without the header."""
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        cell = frame[name][row]
        got = "nothing" if cell is None else repr(cell)
        raise InputError(f"{where}: row {row + 1}, column {name!r} must be {wanted}; got {got}")
