"""recommend(): what to use, given what the user knows, from the standings of a league that ships with the package.

The rules:

1. Instances: those that jump if the user says abrupt; stationary ones if drift = 0; drifting ones if a drift is given.
   If nothing is said, all three kinds, each counting the same.
2. Candidates: policies that need nothing the user does not know (T, delta; where means jump, how often), are defined
   for so many arms, and, unless the user says what the noise is like, choose alike whatever the unit of the rewards.
3. Of these, the one with the least regret: geometric mean, over families, of the ratio to the best policy of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from driftbandits._common.checks import check_choice, check_drift, check_horizon, check_whole
from driftbandits.errors import InputError
from driftbandits.policies import POLICIES, Policy, make_policy
from driftbandits.research.league.matches import ABRUPT, DRIFTING, STATIONARY, asked, needs, shape, told
from driftbandits.research.league.standings import published

if TYPE_CHECKING:
    import polars as pl

UNITLESS = {"AutoTS", "BreakEven", "ExploreThenCommit", "RoundRobin", "Uniform"}
"""Policies that do not care in which unit rewards come; others want deviations near 1/2, or rewards in [0, 1]."""
NOISES = ("gaussian", "bernoulli", "bounded")
LATE = " Where means are stationary and rewards are delayed by 100 steps or more, AutoTS() is better."
"""``benchmarks/fresh_draws.py --delays``: BreakEven has 1.13 of its regret there."""

COVERED = {DRIFTING: (2, 20), STATIONARY: (2, 8), ABRUPT: (4, 6)}
"""The fewest and the most arms of the league's instances, by kind."""
BEYOND = (
    " The league's {kinds} instances have {least} to {most} arms: for {arms:,} arms this is an extrapolation, which "
    "simulate on an instance like yours can check."
)


@dataclass(frozen=True)
class Recommendation:
    """A ``policy``, made with what is known, and ``why``: its requirements, and its regret on the benchmark.

    ``ratio`` is its regret over that of the best policy there: the geometric mean over families of instances. As text
    it is the answer of ``driftbandits recommend``.
    """

    policy: Policy
    ratio: float
    call: str
    """How the policy is made, such as SWUCBSharp(horizon=1000, drift=0.01)."""
    why: str

    def __str__(self) -> str:
        return f"Use {self.call}: {self.why}"


def recommend(
    *,
    horizon: int | None = None,
    drift: float | None = None,
    noise: str | None = None,
    arms: int | None = None,
    abrupt: bool = False,
) -> Recommendation:
    """Recommend a policy from what is known, by the benchmark of all policies (``docs/league.md``).

    Parameters
    ----------
    horizon
        T, the number of steps, if it is known.
    drift
        The most that a mean moves in one step, if it is known; 0 if the means are stationary. With ``abrupt``, the sum
        of all changes divided by T.
    noise
        "gaussian", "bernoulli" or "bounded", for rewards around means in [0, 1]. Default: rewards in any unit.
    arms
        The number of arms. Default: 2.
    abrupt
        Whether the means change abruptly now and then, and do not drift.

    >>> found = recommend()
    >>> found.policy, str(found).split(":")[0]
    (BreakEven(), 'Use BreakEven()')
    >>> recommend(drift=0, noise="bernoulli", horizon=10_000).policy.arms
    (2, inf)
    """
    import polars as pl

    if horizon is not None:
        check_horizon(horizon)
    if drift is not None:
        check_drift(drift)
    if noise is not None:
        check_choice("noise", noise, NOISES)
    given_arms = arms is not None
    arms = 2 if arms is None else check_whole("arms", arms, 2)
    if horizon is not None and arms > horizon:
        raise InputError(
            f"arms must be at most the horizon, {horizon:,}, since no policy can try more arms than there are steps; "
            f"got {arms:,}: leave arms out"
        )
    kinds = [ABRUPT] if abrupt else [DRIFTING, STATIONARY, ABRUPT] if drift is None else [DRIFTING]
    kinds = [STATIONARY] if drift == 0 and not abrupt else kinds
    known = {word for word, value in (("T", horizon), ("δ", drift)) if value is not None}
    table = rank(kinds, known, arms, noise is not None)
    if table.is_empty():
        raise InputError("no policy of the league fits; say more of what you know")
    best = table.row(0, named=True)
    given: dict[str, object] = {"horizon": horizon, "drift": drift}
    given |= {} if noise is None else shape(noise == "gaussian")
    said = {key: value for key, value in given.items() if value is not None and key in asked(best["policy"])}
    call = ", ".join(f"{key}={value!r}" for key, value in said.items())
    others = rank(kinds, known, arms, noise=True)
    why = f"{_why(best, kinds)}{_rival(others.filter(pl.col('policy') != best['policy']), noise is not None)}"
    least, most = min(COVERED[kind][0] for kind in kinds), max(COVERED[kind][1] for kind in kinds)
    outside = given_arms and not least <= arms <= most
    beyond = BEYOND.format(arms=arms, least=least, most=most, kinds=_spoken(kinds)) if outside else ""
    late = LATE if best["policy"] == "BreakEven" else ""
    policy = make_policy(best["policy"], **said)
    return Recommendation(policy, float(best["ratio"]), f"{best['policy']}({call})", f"{why}{late}{beyond}")


def rank(kinds: list[str], known: set[str], arms: int, noise: bool) -> pl.DataFrame:
    """The candidates, best first, with their mean ratio to the best policy of all on instances of these kinds."""
    import polars as pl

    table = shipped_standings().filter(pl.col("kind").is_in(kinds))
    fit = [
        name
        for name in table["policy"].unique()
        if needs(told(name)) <= known and (noise or name in UNITLESS) and _defined(name, arms, ABRUPT in kinds)
    ]
    by_kind = table.filter(pl.col("policy").is_in(fit)).group_by("policy", "kind")
    logs = by_kind.agg(pl.col("ratio").log().mean()).group_by("policy").agg(pl.col("ratio").mean(), kinds=pl.len())
    whole = logs.filter(pl.col("kinds") == len(kinds)).with_columns(pl.col("ratio").exp())
    return whole.select("policy", "ratio").sort("ratio", "policy")


def shipped_standings() -> pl.DataFrame:
    """Made by ``driftbandits league`` with its defaults: the ratio to the best of all, for each policy and family."""
    import polars as pl

    return pl.read_csv(files("driftbandits.research.league").joinpath("standings.csv").read_bytes())


def _defined(name: str, arms: int, jumps: bool) -> bool:
    """Whether a policy takes so many arms; and, where means jump, does not ask how often."""
    low, high = POLICIES[name].arms
    return low <= arms <= high and not (jumps and {"changes", "nu"} & asked(name))


def _spoken(kinds: list[str]) -> str:
    return "drifting, stationary and abrupt" if len(kinds) > 1 else kinds[0]


def _why(best: dict[str, Any], kinds: list[str]) -> str:
    words = _spoken(kinds)
    ratio = f"its regret is {best['ratio']:.2f} times that of the best policy there"
    return f"it needs to know {told(best['policy'])}, and on the league's {words} instances {ratio}."


def _rival(others: pl.DataFrame, noise: bool) -> str:
    """What the best published policy would have cost."""
    import polars as pl

    theirs = others.filter(pl.col("policy").is_in(list(published(others))))
    if theirs.is_empty():
        return ""
    rival = theirs.row(0, named=True)
    count_on = "" if noise or rival["policy"] in UNITLESS else ", and counts on rewards in [0, 1] or not far from it"
    has = f"has {rival['ratio']:.2f} times{count_on}"
    return f" The best published policy that you know enough for, {rival['policy']}, {has}."
