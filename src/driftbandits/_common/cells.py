"""Cells of CSV files that a spreadsheet would take for formulas: written as text, and read back as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = r"['=+\-@\t\r\n]"
"""How such a cell begins; an apostrophe is one of them, so that what was escaped can be told from what was not."""


def escaped(text: pl.Expr) -> pl.Expr:
    """With an apostrophe before what would be a formula; numbers are no text, and stay numbers.

    >>> import polars as pl
    >>> pl.select(escaped(pl.lit(pl.Series(["=1+1", "-5", "'tis", "red", None])))).to_series().to_list()
    ["'=1+1", "'-5", "''tis", 'red', None]
    """
    return text.str.replace(f"^({FORMULA})", "'${1}")


def unescaped(text: pl.Expr) -> pl.Expr:
    """The same without it.

    >>> import polars as pl
    >>> pl.select(unescaped(pl.lit(pl.Series(["'=1+1", "-5", "''tis", "'tis"])))).to_series().to_list()
    ['=1+1', '-5', "'tis", "'tis"]
    """
    return text.str.replace(f"^'({FORMULA})", "${1}")
