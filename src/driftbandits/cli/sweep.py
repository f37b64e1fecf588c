"""The commands of sweeps; as in ``cli``, each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from driftbandits.cli.options import COMPARE, Whole
from driftbandits.errors import InputError

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 100
"""A longer table is for polars or DuckDB."""

sweep = App(name="sweep", group=COMPARE)


@sweep.default
def run(
    file: Path,
    *,
    out: Path | None = None,
    workers: Whole | None = None,
    cluster: str | None = None,
    local_cluster: Whole | None = None,
    until: str | None = None,
    most_runs: Whole = 1_000_000,
) -> None:
    """Run the grid that a TOML file declares, into a directory of Parquet files; then show what came out.

    If it is stopped or killed, or loses its cluster, the same command continues with what is missing. The result is the
    same bytes wherever it ran. To look at it, also while it is running: driftbandits sweep show DIRECTORY

    A file may read:

        runs = 20
        [grid]
        policy = ["SnoozeIt", "SWUCBSharp"]
        instance = "toggling"
        drift = { log = [1e-6, 1e-3], points = 7 }

    Parameters
    ----------
    file
        The TOML file; docs/sweeps.md explains it. It is checked before anything runs.
    out
        The directory for the results; the file's name without .toml unless given.
    workers
        Threads; all cores unless given.
    cluster
        Run on the Dask cluster whose scheduler listens here, as in tcp://host:8786.
    local_cluster
        Run on a Dask cluster of so many processes, started on this machine.
    until
        As in "ci<0.02": add runs to each cell until the 95 % interval of its mean regret at T reaches less than 2 % of
        it to each side.
    most_runs
        Stop adding runs to a cell here.
    """
    from driftbandits._common.checks import check_whole
    from driftbandits.sweep import executors
    from driftbandits.sweep.plan import Until
    from driftbandits.sweep.sweep import Sweep

    if sum(choice is not None for choice in (workers, cluster, local_cluster)) > 1:
        raise InputError("choose one of --workers, --cluster and --local-cluster")
    wanted = None if until is None else Until.parse(until, check_whole("most_runs", most_runs, 1))
    made = Sweep.load(file)
    folder = Path(file.stem) if out is None else out
    if cluster is not None:
        pool = executors.cluster(cluster)
    else:
        pool = executors.threads(workers) if local_cluster is None else executors.local_cluster(local_cluster)
    with pool as opened:
        made.run_on(opened, folder, wanted, None, lambda line: print(line, flush=True))
    show(folder)


@sweep.command
def show(
    directory: Path,
    *,
    against: str | None = None,
    heat: tuple[str, str] | None = None,
    where: Annotated[list[str] | None, Parameter(negative="")] = None,
    form: str = "png",
) -> None:
    """Print the table of a sweep with fitted exponents, and draw it; also while the sweep is running.

    Parameters
    ----------
    directory
        Where the sweep puts its results. Figures go to its folder figures.
    against
        Draw regret against this parameter, and fit its exponents; the one with most values unless given.
    heat
        Draw a heat map over these two parameters; the two numbers with most values unless given.
    where
        Keep only cells with name=value, as in policy=SnoozeIt; repeat it for more.
    form
        The figures' form: png, svg or pdf.
    """
    from driftbandits._common.plotting import figure_ending, save_figure
    from driftbandits.sweep.directory import read, read_manifest
    from driftbandits.sweep.figures import plot_against, plot_heat
    from driftbandits.sweep.summary import matching, numeric, parameters_of, summarise

    figure_ending(f"figure.{form}")
    manifest = read_manifest(directory)
    whole = summarise(read(directory))
    if not whole.height:
        print(f"{manifest['name']}: none of {manifest['cells']:,} cells has finished a block yet")
        return
    table = matching(whole, where or ())
    _print_cells(table, f"{manifest['name']}: {whole.height:,} of {manifest['cells']:,} cells")
    numbers = numeric(table)
    chosen = against or next(iter([*numbers, *parameters_of(table)]), None)
    if chosen is not None:
        figure = _drawn(lambda: plot_against(table, chosen, manifest["name"]), asked=against is not None)
        if chosen in numbers:
            _print_exponents(table, chosen)
        if figure is not None:
            save_figure(figure, path := directory / "figures" / f"regret-against-{chosen}.{form}")
            print(f"wrote {path}")
    pair = heat or ((numbers[0], numbers[1]) if len(numbers) > 1 else None)
    if pair is not None:
        figure = _drawn(lambda: plot_heat(table, *pair, manifest["name"]), asked=heat is not None)
        if figure is not None:
            save_figure(figure, path := directory / "figures" / f"regret-over-{pair[0]}-and-{pair[1]}.{form}")
            print(f"wrote {path}")


def _drawn(draw: Any, asked: bool) -> Any:
    """A figure; one that was not asked for and cannot be drawn is only a note."""
    try:
        return draw()
    except InputError as error:
        if asked:
            raise
        print(f"note: {error}")
        return None


def _print_cells(table: pl.DataFrame, title: str) -> None:
    from driftbandits._common.tables import print_table
    from driftbandits.sweep.summary import parameters_of

    digits = ",.0f" if table["regret"].max() > 1e4 else ",.1f"  # type: ignore[operator]
    formats = {name: _format(table[name]) for name in parameters_of(table)}
    formats |= {"runs": ",", "regret": digits, "±": digits}
    table = table.with_columns((table["high"] - table["regret"]).alias("±"))
    caption = "regret: mean dynamic pseudo-regret at T; ±: its 95 % interval"
    if table.height > MOST_ROWS:
        caption += f"; {table.height - MOST_ROWS:,} more cells are in the directory"
    print_table(table.head(MOST_ROWS), title, formats, caption)


def _print_exponents(table: pl.DataFrame, against: str) -> None:
    from driftbandits._common.tables import print_table
    from driftbandits.sweep.summary import exponents

    found = exponents(table, against)
    if found.height:
        measured = {"points": "", "exponent": ".3f", "low": ".3f", "high": ".3f"}
        formats = {name: _format(found[name]) for name in found.columns}
        caption = "least squares of logarithms; low, high: 95 % interval, by the scatter about a straight line"
        print_table(found, f"The exponent b of regret = a · {against}^b", formats | measured, caption)


def _format(column: pl.Series) -> str:
    return ".3g" if column.dtype.is_float() else "," if column.dtype.is_integer() else ""
