"""league(): play, judge, and write the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from driftbandits._common.checks import check_horizon, check_whole
from driftbandits._common.files import written_whole
from driftbandits.instances.base import HORIZON
from driftbandits.research.league.as_recorded import play_as_recorded
from driftbandits.research.league.delays import delay_standings, play_delays
from driftbandits.research.league.page import compose, delay_drawing, shipped
from driftbandits.research.league.play import play, run_table
from driftbandits.research.league.quantiles import MANY_RUNS, play_quantiles
from driftbandits.research.league.report.content import Content
from driftbandits.research.league.report.page import write_report
from driftbandits.research.league.report.parts import Settings
from driftbandits.research.league.standings import against, mean_regrets, standings

if TYPE_CHECKING:
    import polars as pl

RUNS = 10


@dataclass(frozen=True)
class League:
    """The result: every run, the standings, and what the page says."""

    runs: pl.DataFrame
    standings: pl.DataFrame
    content: Content


def league(
    runs: int = RUNS,
    seed: int = 0,
    out: Path = Path("league"),
    *,
    workers: int | None = None,
    again: bool = False,
    horizon: int = HORIZON,
) -> League:
    """Write league.html, league.parquet, standings.csv, figures and runs below ``out``.

    Matches played by an earlier call are kept; ``again`` plays them once more, needed after changing the package's
    code. Regrets depend on ``runs``, ``seed`` and ``horizon`` alone, never on ``workers``.
    """
    settings, workers = _checked(runs, seed, horizon, workers)
    played = play(settings, out, workers, again)
    late = play_delays(settings, out, workers, again)
    recorded = play_as_recorded(settings, out, workers, again)
    table = run_table(played, settings.horizon)
    ranked = standings(table)
    regrets = mean_regrets(table)
    with written_whole(out / "league.parquet") as temporary:
        table.write_parquet(temporary)
    with written_whole(out / "standings.csv") as temporary:
        shipped(against(regrets, set(regrets["policy"]))).write_csv(temporary)
    content = compose(settings, played, table, ranked, late, recorded, out)
    write_report(content, out)
    return League(table, ranked, content)


def delays(
    runs: int = RUNS,
    seed: int = 0,
    out: Path = Path("league"),
    *,
    workers: int | None = None,
    again: bool = False,
    horizon: int = HORIZON,
) -> pl.DataFrame:
    """The part of the league in which rewards come late, alone: ``delay_standings``, and its figure below ``out``."""
    settings, workers = _checked(runs, seed, horizon, workers)
    table = delay_standings(play_delays(settings, out, workers, again))
    delay_drawing(table, out)
    return table


def quantiles(
    runs: int = MANY_RUNS,
    seed: int = 0,
    out: Path = Path("league"),
    *,
    workers: int | None = None,
    again: bool = False,
    horizon: int = HORIZON,
) -> pl.DataFrame:
    """Median and 95th percentile of BreakEven's and AutoTS's regret on every instance; also as quantiles.csv."""
    settings, workers = _checked(runs, seed, horizon, workers)
    table = play_quantiles(settings, out, workers, again)
    with written_whole(out / "quantiles.csv") as temporary:
        table.write_csv(temporary)
    return table


def _checked(runs: int, seed: int, horizon: int, workers: int | None) -> tuple[Settings, int | None]:
    settings = Settings(check_whole("runs", runs, 1), check_whole("seed", seed, 0), check_horizon(horizon, 2))
    return settings, None if workers is None else check_whole("workers", workers, 1)
