"""BreakEven against AutoTS, both told nothing: what is claimed of it, and the ratio for every kind and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from driftbandits.research.league.matches import ABRUPT, DRIFTING, KINDS, STATIONARY
from driftbandits.research.league.report.content import Claim
from driftbandits.research.league.verdicts import family_ratios, jackknife, mean_ratio, verdict_on

if TYPE_CHECKING:
    import polars as pl

NEW, OLD = "BreakEven", "AutoTS"
LIMITS = {
    "A third less than AutoTS": (0.65, "in geometric mean over the drifting families", DRIFTING, True),
    "On no family worse than AutoTS": (1.05, "on every drifting family", DRIFTING, False),
    "No worse where nothing moves": (1.0, "on stationary arms", STATIONARY, True),
    "Not much worse where means jump": (1.1, "on instances that jump", ABRUPT, True),
}
"""For each claim the largest ratio with which it holds, where, and whether families are averaged."""


def judge_new(runs: pl.DataFrame) -> list[Claim]:
    """What is claimed of BreakEven against AutoTS; nothing where either did not play."""
    if not {NEW, OLD} <= set(runs["policy"]):
        return []
    claims = []
    for name, (limit, where, kind, averaged) in LIMITS.items():
        measure = mean_ratio(NEW, OLD, kind) if averaged else family_ratios(NEW, {OLD}, kind)
        claimed = f"{NEW} has at most {limit:g} times the regret of {OLD} {where}, whatever the noise."
        refuted = f"A ratio above {limit:g}, with its whole interval."
        claims.append(Claim(name, claimed, refuted, {NEW: verdict_on(runs, measure, limit, OLD)}))
    return claims


def by_kind_and_noise(runs: pl.DataFrame, policy: str, rival: str) -> list[dict[str, Any]]:
    """One row for each kind and noise that both played: the ratio of their regrets, and its 95 % interval."""
    rows = []
    for kind in KINDS:
        for noise in ("all", *sorted(set(runs["noise"]))):
            played = runs.filter(kind=kind) if noise == "all" else runs.filter(kind=kind, noise=noise)
            if {policy, rival} <= set(played["policy"]):
                ((ratio, low, high),) = jackknife(played, mean_ratio(policy, rival, kind)).values()
                instances = played.filter(policy=policy)["instance"].n_unique()
                found = {"kind": kind, "noise": noise, "instances": instances}
                rows.append({**found, "ratio": ratio, "low": low, "high": high})
    return rows
