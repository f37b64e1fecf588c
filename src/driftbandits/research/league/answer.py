"""The answer to "what should I use?": one sentence and one picture, computed from the runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from driftbandits._common import plotting as figures
from driftbandits.research.league.matches import ABRUPT, DRIFTING, REAL, STATIONARY, needs
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
    from matplotlib.figure import Figure

WHERE = {
    DRIFTING: "where means drift",
    STATIONARY: "where nothing moves",
    ABRUPT: "where means jump",
    REAL: "on means measured in the world",
}
"""The kinds that count for the answer, each as much as another; the lower bound's instances are made to be hopeless."""
BLIND = "Uniform"
MOST = 6
"""Policies in the picture."""


def losses(runs: pl.DataFrame) -> dict[str, dict[str, float]]:
    """For each policy and kind: of every 100 that choosing at random loses, how many it loses.

    A geometric mean over families. A policy that does not play every instance of a kind is left out of it.
    """
    import polars as pl

    regrets = mean_regrets(runs)
    ratios = against(regrets, {BLIND})
    found: dict[str, dict[str, float]] = {}
    for kind in WHERE:
        played = ratios.filter(pl.col("kind") == kind)
        for policy in sorted(set(played["policy"])):
            own = played.filter(pl.col("policy") == policy)
            if len(own) == played["instance"].n_unique():
                share = over_families(by_family(own), kind)
                found.setdefault(policy, {})[kind] = 100 * (share or 0.0)
    return found


def told_nothing(runs: pl.DataFrame) -> set[str]:
    """The policies that need no knowledge of the instance."""
    pairs = runs.select("policy", "told").unique().iter_rows()
    return {policy for policy, words in pairs if not needs(words)}


def best_told_nothing(runs: pl.DataFrame) -> str:
    """The policy to use: told nothing, with the least loss in geometric mean over the kinds."""
    lost, free = losses(runs), told_nothing(runs)
    kinds = {kind for found in lost.values() for kind in found}
    whole = {policy: found for policy, found in lost.items() if policy in free and set(found) == kinds}
    return min(sorted(whole), key=lambda policy: sum(math.log(max(lost, 1e-9)) for lost in whole[policy].values()))


def answer(runs: pl.DataFrame) -> str:
    """What to use, in one sentence."""
    lost, free, best = losses(runs), told_nothing(runs), best_told_nothing(runs)
    rivals = {
        kind: min((p for p in free if kind in lost.get(p, {})), key=lambda p: lost[p][kind]) for kind in lost[best]
    }
    leads = [WHERE[kind] for kind in WHERE if rivals.get(kind) == best]
    behind = [f"{rivals[kind]} {WHERE[kind]}" for kind in WHERE if rivals.get(kind, best) != best]
    said = f"Use {best}(): it must be told nothing"
    if leads:
        said += f", and of all policies that are told nothing it loses least {_joined(leads)}"
    else:
        said += ", and of all policies that are told nothing it loses least over all"
    return said + (f" (better there: {_joined(behind)})." if behind else ".")


def shown(runs: pl.DataFrame) -> list[str]:
    """The policies of the picture: the answer, ours that are told nothing, and the best published ones."""
    regrets, free = mean_regrets(runs), told_nothing(runs)
    theirs = published(regrets)
    wanted = [best_told_nothing(runs), "BreakEven", "AutoTS", best_single(regrets, theirs, DRIFTING)]
    wanted += [best_single(regrets, theirs & free, DRIFTING), "ThompsonSampling", "UCB1"]
    there = set(losses(runs))
    return [policy for policy in dict.fromkeys(wanted) if policy in there][:MOST]


def plot_answer(runs: pl.DataFrame) -> Figure:
    """A bar for each policy and kind: what it loses of every 100 that choosing at random loses."""
    lost, policies = losses(runs), shown(runs)
    words = dict(runs.select("policy", "told").unique().iter_rows())
    kinds = [kind for kind in WHERE if any(kind in lost[policy] for policy in policies)]
    figure: Figure
    with figures.canvas(1, len(kinds), size=(7.6, 0.9 + 0.34 * len(policies)), sharey=True, squeeze=False) as made:
        figure, panels = made
        for axes, kind in zip(panels[0], kinds, strict=True):
            values = [lost[policy].get(kind) for policy in policies]
            most = max(value or 0.0 for value in values)
            for place, value in enumerate(values):
                colour = figures.COLOURS[0] if place == 0 else "0.7"
                axes.barh(place, value or 0.0, color=colour, height=0.62)
                axes.text((value or 0.0) + 0.03 * most, place, _number(value), va="center", fontsize=8)
            axes.set(title=kind, xlim=(0, 1.35 * most), xticks=[])  # each kind has a scale of its own
            axes.title.set_fontsize(9)
            axes.grid(visible=False)
            axes.spines["bottom"].set_visible(False)
            axes.tick_params(length=0)
        panels[0][0].set_yticks(range(len(policies)), [f"{policy}\ntold {words[policy]}" for policy in policies])
        panels[0][0].tick_params(axis="y", labelsize=8)
        panels[0][0].invert_yaxis()
    return figure


def _number(value: float | None) -> str:
    if value is None:
        return "not defined"
    return f"{value:.2f}" if value < 0.995 else f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def _joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
