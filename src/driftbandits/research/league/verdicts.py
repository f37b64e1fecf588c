"""What this package claims about its own policies, judged from the league's runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from driftbandits._common.intervals import t_quantile
from driftbandits.research.league.matches import DRIFTING, STATIONARY, needs, told
from driftbandits.research.league.report.content import FAILS, HOLDS, UNDECIDED, Claim, Verdict
from driftbandits.research.league.standings import (
    against,
    best_single,
    by_family,
    mean_regrets,
    over_families,
    published,
)

if TYPE_CHECKING:
    import polars as pl

Measure = Callable[["pl.DataFrame"], dict[str, float]]

JUDGED = ("BreakEven", "AutoTS", "KalmanTS", "DriftUCB")
FOR_STATIONARY = {"ExploreThenCommit", "KLUCB", "SuccessiveElimination", "ThompsonSampling", "UCB1"}
MOST_ON_AVERAGE, MOST_IN_A_FAMILY, MOST_ON_STATIONARY = 0.5, 1.1, 1.5
"""The largest ratios of regret with which each of the three claims holds."""
AUTO = ("BreakEven", "AutoTS")
"""Told nothing, and set against all published policies, whatever those are told."""


def judge(runs: pl.DataFrame) -> list[Claim]:
    """The three claims, each with a verdict for every policy of ours that makes it."""
    regrets = mean_regrets(runs)
    made: dict[str, dict[str, Verdict]] = {"average": {}, "family": {}, "stationary": {}}
    for policy in (name for name in JUDGED if name in set(regrets["policy"])):
        best = best_single(regrets, rivals(regrets, policy), DRIFTING)
        made["average"][policy] = verdict_on(runs, mean_ratio(policy, best), MOST_ON_AVERAGE, best)
        made["family"][policy] = verdict_on(runs, family_ratios(policy, {best}, DRIFTING), MOST_IN_A_FAMILY, best)
        ratios = family_ratios(policy, FOR_STATIONARY, STATIONARY)
        made["stationary"][policy] = verdict_on(runs, ratios, MOST_ON_STATIONARY, "the best on each instance")
    words = "published policy, the one with the least regret in geometric mean over the drifting families"
    told_as_much = "Policies told nothing are set against all published policies; others against those told no more."
    return [
        Claim(
            "Half the regret",
            f"At most {MOST_ON_AVERAGE} times the regret of the best single {words}. {told_as_much}",
            f"A geometric mean above {MOST_ON_AVERAGE}, with its whole interval.",
            made["average"],
        ),
        Claim(
            "Never much worse",
            f"On no drifting family more than {MOST_IN_A_FAMILY} times the regret of that policy.",
            f"A family whose ratio is above {MOST_IN_A_FAMILY}, with its whole interval.",
            made["family"],
        ),
        Claim(
            "At home on stationary arms",
            f"On stationary arms at most {MOST_ON_STATIONARY} times the regret of the best policy made for them, one "
            "instance at a time.",
            f"A geometric mean above {MOST_ON_STATIONARY}, with its whole interval.",
            made["stationary"],
        ),
    ]


def rivals(regrets: pl.DataFrame, policy: str) -> set[str]:
    """The published policies that ``policy`` is compared with."""
    known = {"T", "δ"} if policy in AUTO else needs(told(policy))
    return {name for name in published(regrets) if needs(told(name)) <= known}


def family_ratios(policy: str, against_whom: set[str], kind: str) -> Measure:
    """The regret of a policy over that of the best of others on each instance, for each family of a kind."""

    def measure(runs: pl.DataFrame) -> dict[str, float]:
        families = by_family(against(mean_regrets(runs).filter(kind=kind), against_whom).filter(policy=policy))
        return dict(families.select("family", "ratio").iter_rows())

    return measure


def mean_ratio(policy: str, best: str, kind: str = DRIFTING) -> Measure:
    """The regret of a policy over that of another, in geometric mean over the families of a kind."""

    def measure(runs: pl.DataFrame) -> dict[str, float]:
        families = by_family(against(mean_regrets(runs), {best}).filter(policy=policy))
        return {f"all {kind} families": over_families(families, kind) or math.nan}

    return measure


def verdict_on(runs: pl.DataFrame, measure: Measure, limit: float, against_whom: str) -> Verdict:
    """Every measured ratio must be at most ``limit``; intervals decide, by the largest of them."""
    found = jackknife(runs, measure)
    if all(high <= limit for _, _, high in found.values()):
        verdict = HOLDS
    elif any(low > limit for _, low, _ in found.values()):
        verdict = FAILS
    else:
        verdict = UNDECIDED
    name, (ratio, low, high) = max(found.items(), key=lambda item: item[1][0])
    where = "" if len(found) == 1 else f", the largest of {len(found)}"
    return Verdict(verdict, f"Against {against_whom} on {name}: {ratio:.3g} ({low:.3g} to {high:.3g}){where}.")


def jackknife(runs: pl.DataFrame, measure: Measure) -> dict[str, tuple[float, float, float]]:
    """Each ratio with its 95 % interval, from leaving out one run at a time; in logarithms, where errors are even.

    Run i meets the same noise for all policies of a match, so leaving it out everywhere keeps pairs together.
    """
    import polars as pl

    numbers = runs["run"].unique().sort().to_list()
    whole, n = measure(runs), len(numbers)
    if n < 2:
        return {name: (ratio, math.nan, math.nan) for name, ratio in whole.items()}
    without = [measure(runs.filter(pl.col("run") != number)) for number in numbers]
    found = {}
    for name, ratio in whole.items():
        logs = np.log([left[name] for left in without])
        reach = t_quantile(n - 1) * math.sqrt((n - 1) / n * float(((logs - logs.mean()) ** 2).sum()))
        found[name] = ratio, ratio * math.exp(-reach), ratio * math.exp(reach)
    return found
