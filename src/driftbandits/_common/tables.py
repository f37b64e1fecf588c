"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


MOST_WIDE = 10_000
"""Characters of the widest table."""


def print_table(table: pl.DataFrame, title: str, formats: dict[str, str], caption: str | None = None) -> None:
    """Print a data frame; ``formats`` maps each column shown to how its values are written, as in ``",.1f"``.

    No number is cut: a terminal too narrow for the table folds its cells, and a pipe gets it as wide as it is.
    """
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table

    console = Console()
    shown = Table()
    for column in formats:
        numeric = table[column].dtype.is_numeric()
        shown.add_column(column.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    for row in table.iter_rows(named=True):
        shown.add_row(*[_written(row[column], style) for column, style in formats.items()])
    if not console.is_terminal:  # a file or a pipe is as wide as the table
        wide = Console(width=MOST_WIDE)
        console.width = max(console.width, Measurement.get(wide, wide.options, shown).maximum)
    console.print(f"\n{title}", style="bold", highlight=False, soft_wrap=True)
    console.print(shown)
    if caption:
        console.print(caption, style="dim", highlight=False, soft_wrap=True)


def _written(value: Any, style: str) -> str:
    return "" if value is None or value != value else format(value, style)
