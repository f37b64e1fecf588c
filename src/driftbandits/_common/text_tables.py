"""Tables in text files; errors name their lines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from driftbandits.errors import InputError

if TYPE_CHECKING:
    import polars as pl

SEPARATORS = {";": "';'", "\t": "a tab", "|": "'|'"}
"""What stands between the columns of files that are no .csv here, and what it is called."""
LONGEST_HEADER = 1 << 20
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda")
"""How gzip, Zstandard and zlib begin."""


def read_csv(file: Path) -> pl.DataFrame:
    """The columns of a .csv file, all as text: guessing types from its top would trip over a later 0.5 among 0s and 1s.

    InputError, without the file's name, if it is no such table.
    """
    import polars as pl

    check_uncompressed(file)
    _check_separator(file)
    try:
        return pl.read_csv(file, infer_schema=False, glob=False)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"it is not a table with one length of rows{_first_long_row(file)}") from error


def check_uncompressed(file: Path) -> None:
    """Reject a compressed file: polars would expand it, whatever its size."""
    with file.open("rb") as stream:
        if stream.read(4).startswith(COMPRESSED):
            raise InputError("it is compressed: expand it first, for example with gunzip or unzstd")


def _check_separator(file: Path) -> None:
    with file.open("rb") as stream:
        header = stream.readline(LONGEST_HEADER).decode("utf-8", "replace").rstrip("\r\n")
    found = next((separator for separator in SEPARATORS if separator in header), None)
    if found is not None and "," not in header:
        raise InputError(
            f"its columns are separated by {SEPARATORS[found]}, and must be by ',', with a point in numbers such as "
            f"0.5: save it again so, for example pandas.read_csv(path, sep={found!r}).to_csv(path, index=False)"
        )


def _first_long_row(file: Path) -> str:
    try:
        with file.open(newline="", encoding="utf-8") as stream:
            rows = csv.reader(stream)
            columns = len(next(rows))
            for row in rows:
                if len(row) > columns:
                    return f": line {rows.line_num} has {len(row)} cells, and the first line has {columns}"
    except (csv.Error, UnicodeDecodeError, StopIteration):
        pass
    return "; save it again as UTF-8 text with ',' between its columns"
