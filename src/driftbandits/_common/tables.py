"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


def print_table(table: pl.DataFrame, title: str, formats: dict[str, str], caption: str | None = None) -> None:
    """Print a data frame; ``formats`` maps each column shown to how its values are written, as in ``",.1f"``."""
    from rich.console import Console
    from rich.table import Table

    shown = Table()
    for column in formats:
        numeric = table[column].dtype.is_numeric()
        shown.add_column(column.replace("_", " "), justify="right" if numeric else "left", no_wrap=True)
    for row in table.iter_rows(named=True):
        shown.add_row(*[_written(row[column], style) for column, style in formats.items()])
    console = Console()
    console.print(f"\n{title}", style="bold", highlight=False)
    console.print(shown)
    if caption:
        console.print(caption, style="dim", highlight=False)


def _written(value: Any, style: str) -> str:
    return "" if value is None else format(value, style)
