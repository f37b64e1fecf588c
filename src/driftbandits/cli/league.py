"""The commands of the league; as in ``cli``, each imports what it needs when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from driftbandits.cli.options import Whole


def league(
    *,
    runs: Whole = 10,
    seed: Whole = 0,
    out: Path = Path("league"),
    workers: Whole | None = None,
    horizon: Whole = 162_755,
    again: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Play every policy on a fixed set of instances, and write the standings.

    If it is stopped, the same command continues where it was.

    Parameters
    ----------
    runs
        How many runs of each policy on each instance.
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
    """
    from driftbandits._common.tables import print_table
    from driftbandits.research.league.league import league

    result = league(runs, seed, out, workers=workers, again=again, horizon=horizon)
    ratios = dict.fromkeys(("drifting", "worst", "still", "abrupt"), ".2f")
    print_table(
        result.standings.rename({"stationary": "still", "ns_per_step": "ns"}),  # to fit into 80 columns
        f"The league: T = {horizon:,}, {runs:,} runs, seed {seed}",
        {"policy": "", "told": "", **ratios, "ns": ".0f"},
        caption="regret over that of the best policy told no more: geometric means over families; ns a step",
    )
    for claim in result.content.claims:
        print(f"\n{claim.name}: {claim.claimed}")
        for policy, found in claim.verdicts.items():
            print(f"    {policy} {found.verdict}. {found.numbers}")
    print(f"wrote {out / 'league.html'}")


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

    print(recommend(horizon, drift, noise, arms, abrupt))
