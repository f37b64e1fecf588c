"""The standings: ratios of regret, first averaged inside a family of instances and then over families.

All averages of ratios are geometric: half the regret on one instance and twice on another cancel out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from driftbandits.research.league.matches import ABRUPT, CHANGING, DRIFTING, HARDEST, REAL, STATIONARY, needs

if TYPE_CHECKING:
    import polars as pl

OURS = ("BreakEven", "AutoTS", "DriftUCB", "KalmanTS", "SnoozeItK", "SnoozeItTight")
"""Policies that this package adds; all others are published."""
LEAST = 1.0
"""Regrets below are taken for this: to lose nothing at all is chance, and would make every ratio infinite."""
COST_ARMS = 2
"""The cost of a step is that on instances of so many arms, which all policies play."""


def mean_regrets(runs: pl.DataFrame) -> pl.DataFrame:
    """One row for each instance and policy: the mean regret of its runs, and the cost of a step."""
    import polars as pl

    grouped = runs.group_by("family", "instance", "kind", "arms", "noise", "policy", "told", maintain_order=True)
    return grouped.agg(pl.col("regret").mean(), pl.col("ns_per_step").mean())


def against(regrets: pl.DataFrame, rivals: set[str]) -> pl.DataFrame:
    """``regrets`` with a column ``ratio``: regret over that of the best of ``rivals`` on the same instance."""
    import polars as pl

    best = regrets.filter(pl.col("policy").is_in(list(rivals))).group_by("instance").agg(best=pl.col("regret").min())
    floored = pl.col("regret", "best").clip(lower_bound=LEAST)
    joined = regrets.join(best, on="instance", maintain_order="left").with_columns(floored)
    return joined.with_columns(ratio=pl.col("regret") / pl.col("best")).drop("best")


def by_family(ratios: pl.DataFrame) -> pl.DataFrame:
    """The geometric mean of ratios inside each family, for each policy."""
    import polars as pl

    grouped = ratios.group_by("policy", "told", "kind", "family", maintain_order=True)
    return grouped.agg(ratio=pl.col("ratio").log().mean().exp(), instances=pl.len())


def standings(runs: pl.DataFrame) -> pl.DataFrame:
    """One row a policy, best first among those told as much.

    ``drifting``, ``stationary``, ``abrupt``, ``real``, ``lower_bound`` and ``changing_arms`` are geometric means over
    families of such instances of the regret over that of the best policy told no more than this one; ``worst`` is the
    largest ratio of a drifting family, ``worst_family``. ``played`` counts its drifting instances. A policy that cannot
    be tuned for a kind has null there.
    """
    import polars as pl

    regrets = mean_regrets(runs)
    told = dict(regrets.select("policy", "told").unique().iter_rows())
    rows = []
    for policy, words in told.items():
        equals = {name for name, theirs in told.items() if needs(theirs) <= needs(words)}
        families = by_family(against(regrets, equals).filter(policy=policy))
        drifting = families.filter(kind=DRIFTING).sort("ratio", descending=True)
        cost = regrets.filter(pl.col("policy") == policy, pl.col("arms") == COST_ARMS)["ns_per_step"].median()
        rows.append(
            {
                "policy": policy,
                "told": words,
                "drifting": over_families(families, DRIFTING),
                "worst": drifting["ratio"].max(),
                "worst_family": drifting["family"].first(),
                "stationary": over_families(families, STATIONARY),
                "abrupt": over_families(families, ABRUPT),
                "real": over_families(families, REAL),
                "lower_bound": over_families(families, HARDEST),
                "changing_arms": over_families(families, CHANGING),
                "ns_per_step": cost,
                "played": drifting["instances"].sum(),
            }
        )
    order = pl.col("told").replace_strict({"nothing": 0, "T": 1, "δ": 2, "T and δ": 3})
    return pl.DataFrame(rows).sort(order, "drifting", "policy", nulls_last=True)


def over_families(families: pl.DataFrame, kind: str) -> float | None:
    """The geometric mean over families of a kind."""
    import polars as pl

    found = families.filter(pl.col("kind") == kind).select(pl.col("ratio").log().mean().exp()).item()
    return None if found is None else float(found)


def published(regrets: pl.DataFrame) -> set[str]:
    """The published policies of a table."""
    return set(regrets["policy"].unique()) - set(OURS)


def best_single(regrets: pl.DataFrame, rivals: set[str], kind: str) -> str:
    """The one of ``rivals`` of least regret in geometric mean over families; it must have played every instance."""
    import polars as pl

    families = by_family(against(regrets.filter(pl.col("kind") == kind), rivals))
    most = families.group_by("policy").agg(pl.col("instances").sum())["instances"].max()
    whole = families.group_by("policy").agg(pl.col("ratio").log().mean(), pl.col("instances").sum())
    eligible = whole.filter(pl.col("policy").is_in(list(rivals)), pl.col("instances") == most)
    return str(eligible.sort("ratio", "policy")["policy"].first())
