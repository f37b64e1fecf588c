"""The commands of the league; as in ``cli``, each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from driftbandits.cli.options import Whole


def league(
    *,
    runs: Whole | None = None,
    seed: Whole = 0,
    out: Path = Path("league"),
    workers: Whole | None = None,
    horizon: Whole = 162_755,
    again: Annotated[bool, Parameter(negative="")] = False,
    delays: Annotated[bool, Parameter(negative="")] = False,
    quantiles: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Play every policy on a fixed set of instances, and write the standings.

    If it is stopped, the same command continues where it was.

    Parameters
    ----------
    runs
        How many runs of each policy on each instance; 10 unless given, with --quantiles 200.
    seed
        Of the runs; the instances are always the same. The same seed gives the same regrets, bit for bit.
    out
        Where league.html, league.parquet, standings.csv, the figures and the runs go.
    workers
        Threads; all cores unless given. The result does not depend on it.
    horizon
        T, the steps of every instance.
    again
        Play finished matches once more.
    delays
        Only what happens when rewards come late or choices are made in bundles: its table and its figure.
    quantiles
        Only the median and the 95th percentile of the regret of the policies that are told nothing and recommended.
    """
    from driftbandits._common.tables import print_table
    from driftbandits.errors import InputError
    from driftbandits.research.league.league import RUNS, league

    if delays and quantiles:
        raise InputError("--delays and --quantiles are two tables: ask for one at a time")
    if quantiles:
        _quantiles(runs, seed, out, workers, again, horizon)
        return
    runs = RUNS if runs is None else runs
    if delays:
        _delays(runs, seed, out, workers, again, horizon)
        return
    result = league(runs, seed, out, workers=workers, again=again, horizon=horizon)
    ratios = dict.fromkeys(("drifting", "worst", "still", "abrupt", "real"), ".3g")
    print(f"\n{result.content.opening[0].text[0]}")
    print_table(
        result.standings.rename({"stationary": "still"}),  # to fit into 80 columns
        f"The league: T = {horizon:,}, {runs:,} runs, seed {seed}",
        {"policy": "", "told": "", **ratios},
        caption="regret over that of the best policy told no more: geometric means over families",
    )
    for claim in result.content.claims:
        print(f"\n{claim.name}: {claim.claimed}")
        for policy, found in claim.verdicts.items():
            print(f"    {policy} {found.verdict}. {found.numbers}")
    print(f"wrote {out / 'league.html'}")


def _delays(runs: int, seed: int, out: Path, workers: int | None, again: bool, horizon: int) -> None:
    from driftbandits._common.tables import print_table
    from driftbandits.research.league.league import delays

    table = delays(runs, seed, out, workers=workers, again=again, horizon=horizon)
    print_table(
        table,
        f"When rewards come late: T = {horizon:,}, {runs:,} runs, seed {seed}",
        {column: "" if column == "policy" else ".2f" for column in table.columns},
        caption="regret over AutoTS's at once: geometric means over drifting instances",
    )
    print(f"wrote {out / 'figures' / 'late.png'}")


def _quantiles(runs: int | None, seed: int, out: Path, workers: int | None, again: bool, horizon: int) -> None:
    from driftbandits._common.tables import print_table
    from driftbandits.research.league.league import quantiles
    from driftbandits.research.league.quantiles import MANY_RUNS, RATIO, bad_runs

    runs = MANY_RUNS if runs is None else runs
    table = quantiles(runs, seed, out, workers=workers, again=again, horizon=horizon)
    print_table(
        table,
        f"Median and 95th percentile of the regret: T = {horizon:,}, {runs:,} runs, seed {seed}",
        {"instance": ""} | {column: ".2f" if column in RATIO else ",.0f" for column in table.columns[2:]},
        caption="ratio: BreakEven's 95th percentile over AutoTS's; low, high: its 95 % interval, if there are 40 runs",
    )
    for sentence in bad_runs(table, runs):
        print(sentence)
    print(f"wrote {out / 'quantiles.csv'}")


def recommend(
    *,
    horizon: Whole | None = None,
    drift: float | None = None,
    noise: Literal["gaussian", "bernoulli", "bounded"] | None = None,
    arms: Whole | None = None,
    abrupt: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Say in a sentence or two which policy to use, from what you know, and why.

    For example: driftbandits recommend --drift 1e-4 --noise bernoulli

    Parameters
    ----------
    horizon
        T, the number of steps, if you know it.
    drift
        delta, the most that a mean moves in one step, if you know it; 0 if means do not move. With --abrupt, how far
        means jump in all, divided by T.
    noise
        How rewards scatter around means in [0, 1]; leave it out if rewards may have any unit.
    arms
        How many arms; 2 unless given.
    abrupt
        Means jump now and then instead of drifting.
    """
    from driftbandits.research.league.recommend import recommend

    print(recommend(horizon=horizon, drift=drift, noise=noise, arms=arms, abrupt=abrupt))
