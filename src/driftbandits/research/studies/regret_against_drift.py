"""Regret against the drift limit: is it T delta^(1/3) where it must be, and ln T where the drift is mild?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from driftbandits._common.checks import check_horizon, check_whole
from driftbandits._common.fits import LEAST_POINTS, PowerLaw, fit_curvature, fit_line, fit_power_law, power_law_meets
from driftbandits._common.intervals import t_quantile
from driftbandits.errors import InputError
from driftbandits.instances import Instance, lower_bound, toggling, walk
from driftbandits.instances.base import HORIZON
from driftbandits.instances.noise import Noise
from driftbandits.policies import SnoozeIt
from driftbandits.research.studies.sharp_bounds import round_robin_regret
from driftbandits.research.studies.tables import summarised
from driftbandits.simulation.simulate import simulate
from driftbandits.theory.bounds import instance_dependent, minimax_lower, minimax_upper

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Family = Callable[[int, float, int], Instance]
Maker = Callable[[int, float], Any]

DRIFTS = tuple(float(f"{drift:.12g}") for drift in np.geomspace(1e-7, 1e-2, 11))  # the last bits are the processor's
EAGER = 0.2
"""The confidence that makes SnoozeIt's test one of 5.5 standard deviations at T = 162,755; 1, the paper's, is 27.7."""


def _hard(horizon: int, drift: float, seed: int) -> Instance:
    return lower_bound(horizon, drift, seed)


def _swinging(horizon: int, drift: float, seed: int) -> Instance:
    return toggling(horizon, drift, flat=max(1, round(5 / (6 * drift))))


def _walking(horizon: int, drift: float, seed: int) -> Instance:
    return walk(horizon, drift, reverse=min(1.0, 2 * drift), seed=seed)


FAMILIES: dict[str, Family] = {"lower bound": _hard, "toggling": _swinging, "walk": _walking}
"""Instances of any drift: Theorem 3's; Experiment 2's arms, at rest and crossing for 5/(6 delta) steps in turn, so that
they cover 5/6 of [0, 1] at any speed; and random walks that turn after 1/(2 delta) steps on average."""

SNOOZEIT: dict[str, Maker] = {
    "SnoozeIt, printed": lambda horizon, drift: SnoozeIt(horizon, drift),
    "SnoozeIt, confidence 0.2": lambda horizon, drift: SnoozeIt(horizon, drift, confidence=EAGER),
}


def regret_against_drift(
    drifts: Sequence[float] = DRIFTS,
    horizon: int = HORIZON,
    policies: Mapping[str, Maker] = SNOOZEIT,
    world: str | Family = "lower bound",
    noise: Noise | None = None,
    *,
    runs: int = 20,
    seed: int = 0,
) -> pl.DataFrame:
    """Measured regret at T for each drift delta and policy, beside the bounds of Theorems 2 and 3.

    ``policies`` maps names to functions of (horizon, drift), ``world`` is a family of instances: a name in
    ``FAMILIES`` or a function of (horizon, drift, seed). Every run draws its own instance. Columns: drift, policy,
    regret with the 95 % interval of the mean low .. high, its standard error, runs, turns (what round robin pays on the
    same instances), upper and lower. The upper bound is that of SnoozeIt as printed, on every instance: where ``turns``
    is below it, no test of it can fail. The lower one is that of the worst instance for each policy; averaged over the
    instances of ``lower_bound`` a third of it is certain.

    >>> table = regret_against_drift([1e-4, 1e-3], horizon=20_000, runs=3)
    >>> table.columns, table.height
    (['drift', 'policy', 'regret', 'low', 'high', 'error', 'runs', 'turns', 'upper', 'lower'], 4)
    """
    import polars as pl

    if isinstance(world, str) and world not in FAMILIES:
        raise InputError(f"unknown world {world!r}; choose one of {', '.join(FAMILIES)}, or give a function")
    build = FAMILIES[world] if isinstance(world, str) else world
    runs, seed = check_whole("runs", runs, 2), check_whole("seed", seed, 0)
    rows = []
    for drift in drifts:
        made = {name: make(horizon, drift) for name, make in policies.items()}
        regrets: dict[str, list[float]] = {name: [] for name in made}
        turns = 0.0
        for run in range(seed, seed + runs):
            instance = build(horizon, drift, run)
            turns += round_robin_regret(instance) / runs
            result = simulate(made, instance, noise, runs=1, seed=run, checkpoints=1, progress=False)
            for name in made:
                regrets[name].append(float(result.regret[name][0, -1]))
        bounds = {"upper": minimax_upper(horizon, drift).total, "lower": minimax_lower(horizon, drift).total}
        for name, values in regrets.items():
            rows.append({"drift": float(drift), "policy": name, **summarised(values), "turns": turns, **bounds})
    return pl.DataFrame(rows)


def fit_exponents(table: pl.DataFrame) -> pl.DataFrame:
    """The exponent b of regret = a delta^b for each policy in ``regret_against_drift``'s table: least squares of logs.

    The interval low .. high is Student's at 95 %: it covers the scatter about a straight line, whatever its cause. The
    theory says 1/3 where the instance is as hard as it can be. Two tests tell whether the points contradict every power
    law; the exponent is then a mean slope and no more. ``bends``: a parabola through the logarithms is no straight line
    (see ``fit_curvature``); the slope goes from ``first``, at the smallest drift, to ``last``. ``misses``: no straight
    line passes through the intervals of all means, which hold together at 95 % (see ``power_law_meets``). With three
    points nothing is known of bends.
    """
    import polars as pl

    rows: list[dict[str, Any]] = []
    for (name,), part in table.group_by("policy", maintain_order=True):
        row = {"policy": name, **fit_power_law(part["drift"], part["regret"])._asdict()}
        bend = fit_curvature(part["drift"], part["regret"]) if len(part) > LEAST_POINTS else None
        known = (bend.bends, bend.first_slope, bend.last_slope) if bend else (None, None, None)
        rows.append(row | dict(zip(("bends", "first", "last"), known, strict=True)) | {"misses": _misses(part)})
    types = {"bends": pl.Boolean, "first": pl.Float64, "last": pl.Float64, "misses": pl.Boolean}
    return pl.DataFrame(rows, schema_overrides=types)


def _misses(part: pl.DataFrame) -> bool | None:
    """Whether every straight line misses an interval of some mean; None where the table has no errors, or one run."""
    if "error" not in part.columns or part["runs"].min() == 1:
        return None
    reach = part["error"] / part["regret"] * t_quantile(part["runs"].to_numpy() - 1, together=len(part))
    factor = np.exp(np.minimum(reach.to_numpy(), 700.0))  # as positive_mean_interval, for all means together
    return not power_law_meets(part["drift"], part["regret"] / factor, part["regret"] * factor)


def plot_ratio_to_round_robin(table: pl.DataFrame, title: str = "") -> Figure:
    """Regret divided by round robin's on the same instances: at 1 a policy has learnt nothing that pays."""
    from driftbandits._common import plotting as figures

    with figures.canvas(size=(5.0, 4.2)) as (figure, axes):
        for index, ((name,), part) in enumerate(table.group_by("policy", maintain_order=True)):
            part = part.sort("drift")
            style = figures.line_style(index)
            axes.plot(part["drift"], part["regret"] / part["turns"], label=name, marker="o", markersize=4, **style)
        axes.axhline(1.0, color="0.5", linewidth=1.0)
        axes.set(xscale="log", xlabel="drift limit δ (per step)", ylabel="regret / round robin's", title=title)
        axes.set_ylim(0, None)
        figure.legend(ncols=2, loc="outside lower center", fontsize=8)
    return figure  # type: ignore[no-any-return]


def plot_regret_against_drift(table: pl.DataFrame, title: str = "") -> Figure:
    """The table as a figure with two logarithmic axes, the bounds in black; the legend states the fitted exponents.

    Every curve has rings of its own size, so that a ring within a ring is two curves in one place; policies that agree
    at every drift are one curve with both names. A band ends where its interval reaches zero, for which a logarithmic
    axis has no place. The lower bound is that of the worst instance for each policy, not of the instances played.
    """
    from driftbandits._common import plotting as figures

    fits = {row["policy"]: row for row in fit_exponents(table).iter_rows(named=True)}
    with figures.canvas(size=(5.0, 5.8)) as (figure, axes):
        for index, names in enumerate(_together(table)):
            part, fit = table.filter(policy=names[0]).sort("drift"), fits[names[0]]
            law = f"exponent {fit['exponent']:.2f} ± {(fit['high'] - fit['low']) / 2:.2f}"
            label = f"{' = '.join(names)}: {'no power law' if fit['bends'] or fit['misses'] else law}"
            ring = {"marker": "o", "markersize": 3 + 2 * index, "markerfacecolor": "none", "markeredgewidth": 1.1}
            axes.plot(part["drift"], part["regret"], label=label, **ring, **figures.line_style(index))
            positive = part.filter(part["low"] > 0)
            figures.shade(axes, positive["drift"], positive["low"], positive["high"], index)
        bounds = table.unique("drift").sort("drift")
        axes.plot(bounds["drift"], bounds["upper"], "k-", linewidth=1, label="upper bound, every instance (Theorem 2)")
        positive = bounds.filter(bounds["lower"] > 0)
        label = "lower bound, the worst instance only (Theorem 3)"
        axes.plot(positive["drift"], positive["lower"], "k:", linewidth=1.4, label=label)
        axes.set(xscale="log", yscale="log", xlabel="drift limit δ (per step)", ylabel="regret at T", title=title)
        note = "bands and ±: 95 % intervals; ring within ring: curves coincide"
        figure.legend(ncols=1, loc="outside lower center", title=note, title_fontsize=8, fontsize=8)
    return figure  # type: ignore[no-any-return]


def _together(table: pl.DataFrame) -> list[list[str]]:
    """The policies, with those in one list whose mean regrets agree within a thousandth at every drift."""
    groups: list[tuple[Any, list[str]]] = []
    for (name,), part in table.group_by("policy", maintain_order=True):
        values = part.sort("drift")["regret"].to_numpy()
        for first, names in groups:
            if len(first) == len(values) and np.allclose(first, values, rtol=1e-3, atol=0):
                names.append(str(name))
                break
        else:
            groups.append((values, [str(name)]))
    return [names for _, names in groups]


def mild_drift(
    horizons: Sequence[int] = (10_000, 100_000, 1_000_000, 10_000_000),
    confidence: float = 1.0,
    gap: float = 0.5,
    noise: Noise | None = None,
    *,
    runs: int = 20,
    seed: int = 0,
) -> pl.DataFrame:
    """SnoozeIt's regret where drift is as mild as the paper's discussion asks: delta = sqrt(L)/T^(3/2), L = ln T.

    The means start ``gap`` apart and close in on each other by delta each in every step, the worst they can do; over
    all T steps each moves by sqrt(L/T) only. Theorem 1 then has a single block, and regret O(L/gap), not O(T). Columns:
    horizon, drift, regret with its 95 % interval low .. high, standard error and runs, ``per_log`` = regret/L, bound
    (that of Theorem 1) and turns (round robin's regret).
    """
    import polars as pl

    rows = []
    for horizon in horizons:
        T = check_horizon(horizon, 2)
        drift = math.sqrt(math.log(T)) / T**1.5
        moved = drift * np.arange(T)
        instance = Instance(np.column_stack([0.5 + gap / 2 - moved, 0.5 - gap / 2 + moved]), name="mild drift")
        policy = SnoozeIt(T, drift, confidence=confidence)
        result = simulate({"it": policy}, instance, noise, runs=runs, seed=seed, checkpoints=1, progress=False)
        found = summarised(result.regret["it"][:, -1])
        beside = {"bound": instance_dependent(instance, drift).total, "turns": round_robin_regret(instance)}
        rows.append({"horizon": T, "drift": drift, **found, "per_log": found["regret"] / math.log(T), **beside})
    return pl.DataFrame(rows)


class LogarithmicFit(NamedTuple):
    """regret = offset + slope * ln T, with the slope's 95 % interval; b of regret/ln T = a T^b: 0 if that is all."""

    offset: float
    slope: float
    low: float
    high: float
    exponent: PowerLaw


def fit_logarithm(table: pl.DataFrame) -> LogarithmicFit:
    """Fit ``mild_drift``'s table: how fast regret grows with ln T, and that nothing is left of a power of T."""
    log_t = np.log(table["horizon"].to_numpy())
    offset, slope, reach = fit_line(log_t, table["regret"].to_numpy())
    return LogarithmicFit(
        offset, slope, slope - reach, slope + reach, fit_power_law(table["horizon"], table["per_log"])
    )


def plot_mild_drift(table: pl.DataFrame) -> Figure:
    """SnoozeIt's regret against the horizon, beside Theorem 1's bound and what round robin pays."""
    from driftbandits._common import plotting as figures

    table = table.sort("horizon")
    curves = {"SnoozeIt printed": "regret", "bound of Theorem 1": "bound", "round robin": "turns"}
    with figures.canvas(size=(5.0, 4.2)) as (figure, axes):
        for index, (label, column) in enumerate(curves.items()):
            style = figures.line_style(index)
            axes.plot(table["horizon"], table[column], label=label, marker="o", markersize=4, **style)
        figures.shade(axes, table["horizon"], table["low"], table["high"], 0)
        axes.set(xscale="log", yscale="log", xlabel="horizon T", ylabel="regret at T")
        figure.legend(ncols=2, loc="outside lower center", fontsize=8)
    return figure  # type: ignore[no-any-return]
