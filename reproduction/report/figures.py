"""Figures of regret, bounds and confidence: what each name in a template draws. Words in them are labels of axes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import driftbandits as db
from reproduction.context import Context
from reproduction.experiments import (
    ALGORITHM_1,
    DEFECTIVE,
    EXPERIMENTS,
    FORMS,
    PRINTED,
    RIVALS,
    ROUND_ROBIN,
    SLOW,
    wave,
)  # fmt: skip
from reproduction.report import runs
from reproduction.report.style import (
    DASHES,
    POINTS,
    canvas,
    legend_below,
    line,
    log_scale,
    shade,
    thin,
    thousands,
)  # fmt: skip
from reproduction.statistics import PowerLaw, mean_interval
from reproduction.studies.drift import HARD, RegretAgainstDrift
from reproduction.studies.gap_profile import closest_view, figure_instance, profiles

CURVES = (*FORMS.values(), *RIVALS, DEFECTIVE)
"""A policy keeps its colour and its dashes in every figure."""
OURS, PAPER = "ours", "paper"
"""The two forms of a figure of regret: pseudo-regret with 95 % intervals; realised regret with mean ± sd/2."""
MEASURE = {OURS: "pseudo-regret", PAPER: "realised regret"}
BAND = {OURS: "band: 95 % interval", PAPER: "band: mean ± sd/2"}

Draw = Callable[[], Figure]


def figure_forms(name: str, context: Context, results: Mapping[str, Any]) -> dict[str, Draw]:
    """What draws a figure, by form; most figures have one form."""
    kind, _, rest = name.partition(":")
    return _KINDS[kind](context, results, rest)


def _instances(context: Context, results: Any, name: str) -> dict[str, Draw]:
    made = {each.label: each.build(context.settings.horizon) for each in EXPERIMENTS[name].instances}
    return {OURS: partial(plot_instances, made)}


def _regret(context: Context, results: Any, name: str) -> dict[str, Draw]:
    experiment = EXPERIMENTS[name]
    played = {each.label: context.simulation(each.name) for each in experiment.instances}
    draw = plot_policies if experiment.with_rivals else plot_drifts
    return {form: partial(draw, played, form) for form in (OURS, PAPER)}


def _one(draw: Callable[..., Figure]) -> Callable[[Context, Any, str], dict[str, Draw]]:
    return lambda context, results, name: {OURS: partial(draw, context, results, name)}


def plot_instances(instances: Mapping[str, db.Instance]) -> Figure:
    """The means of both arms, of one instance or of several that differ in their drift."""
    with canvas(height=3.3) as (figure, axes):
        several = len(instances) > 1
        for index, (label, instance) in enumerate(instances.items()):
            at = thin(instance.horizon, 1000)
            for arm in (0, 1):
                style = line(index if several else arm)
                named = (f"{label}, arm 0" if arm == 0 else None) if several else f"arm {arm}"
                if several:
                    style["linestyle"] = (0, (2, 1.5)) if arm else "-"
                axes.plot(at + 1, instance.means[at, arm], label=named, **style)
        if several:
            axes.plot([], [], color="0.3", linestyle=(0, (2, 1.5)), label="broken: arm 1 of each")
        axes.set(xlabel="step t", ylabel="mean reward", ylim=(-0.02, 1.02), xlim=(0, instance.horizon))
        thousands(axes.xaxis)
        legend_below(figure, axes, size=9)
    return figure  # type: ignore[no-any-return]


def plot_policies(played: Mapping[str, db.Simulation], form: str) -> Figure:
    """The regret of all policies of a comparison; the legend says where each curve ends."""
    (simulation,) = played.values()
    with canvas(height=4.8) as (figure, axes):
        for name in (name for name in CURVES if name in simulation.regret):
            _curve(axes, simulation, name, name, CURVES.index(name), form)
        axes.set(xlabel="step t", ylabel=MEASURE[form], xlim=(0, simulation.instance.horizon))
        thousands(axes.xaxis, axes.yaxis)
        if form == OURS:
            log_scale(axes)
        legend_below(figure, axes, note=f"numbers: regret at T; {simulation.runs} runs; {BAND[form]}")
    return figure  # type: ignore[no-any-return]


def plot_drifts(played: Mapping[str, db.Simulation], form: str) -> Figure:
    """The regret of SnoozeIt on instances of several drifts, one panel per form of it."""
    with canvas(len(FORMS), 1, height=8.0, sharex=True) as (figure, panels):
        for panel, name in zip(panels, FORMS.values(), strict=True):
            for index, (label, simulation) in enumerate(played.items()):
                _curve(panel, simulation, name, label, index, form)
            panel.set(title=name, xlim=(0, simulation.instance.horizon), ylim=(0, None), ylabel=MEASURE[form])
            thousands(panel.xaxis, panel.yaxis)
            panel.legend(fontsize=8, loc="upper left")
        panels[-1].set_xlabel("step t")
        figure.supxlabel(f"numbers: regret at T; {simulation.runs} runs; {BAND[form]}", fontsize=8, color="0.35")
    return figure  # type: ignore[no-any-return]


def _curve(axes: Any, simulation: db.Simulation, name: str, label: str, index: int, form: str) -> None:
    if form == OURS:
        mean, low, high = mean_interval(simulation.regret[name])
    else:
        values = simulation.realised[name]
        mean = values.mean(axis=0)
        half = values.std(axis=0, ddof=1) / 2 if simulation.runs > 1 else np.full_like(mean, np.nan)
        low, high = mean - half, mean + half
    at = thin(len(simulation.times), POINTS)
    axes.plot(simulation.times[at], mean[at], label=f"{label}: {mean[-1]:,.0f}", **line(index))
    if simulation.runs > 1:
        shade(axes, simulation.times[at], low[at], high[at], index)


def plot_confidence(context: Context, results: Any, name: str) -> Figure:
    """Regret against confidence above; below, how often what the proof needs fails at that confidence."""
    rows = [row for row in results["confidence"].rows if row.experiment == name]
    good = results["good-event"].rows
    with canvas(2, 1, height=6.0, sharex=True, height_ratios=(3, 2)) as (figure, (above, below)):
        for index, label in enumerate(dict.fromkeys(row.drift for row in rows)):
            mine = [row for row in rows if row.drift == label]
            at, style = [row.confidence for row in mine], line(index)
            above.plot(at, [row.regret.value for row in mine], marker="o", markersize=4, label=label, **style)
            shade(above, at, [row.regret.low for row in mine], [row.regret.high for row in mine], index)
            unsafe = [row.unsafe.value if row.unsafe else np.nan for row in mine]
            below.plot(at, unsafe, marker="o", markersize=3, **style)
        if EXPERIMENTS[name].with_rivals:
            for index, rival in enumerate(RIVALS):
                value = float(context.simulation(name).regret[rival][:, -1].mean())
                grey = {"color": "0.25", "linewidth": 1.0, "linestyle": DASHES[index + 1]}
                above.axhline(value, label=f"{rival}: {value:,.0f}", **grey)
        below.plot([], [], color="0.3", marker="o", markersize=3, label="snoozes of an arm that becomes the better one")
        shares = [row.failed for row in good]
        below.plot(
            [row.confidence for row in good], shares, color="0.0", linewidth=1.4, label="runs without good event"
        )
        above.set(xscale="log", ylabel="regret at T (log scale)")
        log_scale(above)
        below.set(xlabel="confidence (1 = the paper's radius)", ylabel="share", ylim=(-0.03, 1.05))
        ticks = [0.05, 0.1, 0.2, 0.5, 1.0]
        below.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        below.set_xticks([], minor=True)
        above.legend(fontsize=8)
        legend_below(figure, below, 1, "bands: 95 % interval of the mean", 8)
    return figure  # type: ignore[no-any-return]


def plot_good_event(context: Context, results: Any, name: str) -> Figure:
    """The measured share of failing runs beside two union bounds."""
    rows = results["good-event"].rows
    at = [row.confidence for row in rows]
    labels = {"failed": "measured", "union": "union bound, windows counted", "claim": "union bound of Claim 1"}
    with canvas(height=4.0) as (figure, axes):
        for index, (column, label) in enumerate(labels.items()):
            axes.plot(at, [getattr(row, column) for row in rows], label=label, **line(index))
        axes.fill_between(at, [row.low for row in rows], [row.high for row in rows], alpha=0.18, linewidth=0)
        axes.set(xlabel="confidence (1 = the paper's radius)", ylabel="share of runs that leave the radius")
        legend_below(figure, axes, 1, "band: 95 % interval (Clopper and Pearson)")
    return figure  # type: ignore[no-any-return]


def plot_drift(context: Context, results: Any, family: str) -> Figure:
    """Regret against delta on logarithmic axes, the bounds in black; the legend states the fitted exponents.

    Every curve has rings of its own size, so that a ring within a ring is two curves in one place; policies that agree
    at every drift are one curve with both names.
    """
    found: RegretAgainstDrift = results["regret-against-drift"]
    policies = [name for name in _policies(found, family) if name != ALGORITHM_1]
    with canvas(height=5.8) as (figure, axes):
        for index, names in enumerate(_together(found, family, policies)):
            rows, law = found.of(family, names[0]), found.exponent(family, names[0])
            ring = {"marker": "o", "markersize": 3 + 2 * index, "markerfacecolor": "none", "markeredgewidth": 1.1}
            drifts = [row.drift for row in rows]
            label = f"{' = '.join(names)}: {_law(law)}"
            axes.plot(drifts, [row.regret.value for row in rows], label=label, **ring, **line(index))
            shade(axes, drifts, [row.regret.low for row in rows], [row.regret.high for row in rows], index)
        upper, lower = [row.upper for row in rows], [row.lower or np.nan for row in rows]
        axes.plot(drifts, upper, "k-", linewidth=1, label="upper bound, every instance (Theorem 2)")
        axes.plot(drifts, lower, "k:", linewidth=1.4, label="lower bound, the worst instance only (Theorem 3)")
        axes.set(xscale="log", yscale="log", xlabel="drift limit δ (per step)", ylabel="regret at T")
        legend_below(figure, axes, 1, "bands and ±: 95 % intervals; ring within ring: curves coincide", 8)
    return figure  # type: ignore[no-any-return]


def plot_ratio(context: Context, results: Any, name: str) -> Figure:
    """Regret divided by round robin's on the instances of the lower bound."""
    found: RegretAgainstDrift = results["regret-against-drift"]
    with canvas(height=4.2) as (figure, axes):
        for index, policy in enumerate(name for name in _policies(found, HARD) if name != ALGORITHM_1):
            rows = found.of(HARD, policy)
            ratio = [row.regret.value / row.turns for row in rows]
            axes.plot([row.drift for row in rows], ratio, label=policy, marker="o", markersize=4, **line(index))
        axes.axhline(1.0, color="0.5", linewidth=1.0)
        axes.set(xscale="log", xlabel="drift limit δ (per step)", ylabel="regret / round robin's", ylim=(0, None))
        legend_below(figure, axes, size=8)
    return figure  # type: ignore[no-any-return]


def _policies(found: RegretAgainstDrift, family: str) -> list[str]:
    return list(dict.fromkeys(row.policy for row in found.rows if row.family == family))


def _together(found: RegretAgainstDrift, family: str, policies: list[str]) -> list[list[str]]:
    """The policies, with those in one list whose mean regrets agree within a thousandth at every drift."""
    groups: list[tuple[Any, list[str]]] = []
    for name in policies:
        values = np.array([row.regret.value for row in found.of(family, name)])
        for known, names in groups:
            if np.allclose(values, known, rtol=1e-3, atol=0.0):
                names.append(name)
                break
        else:
            groups.append((values, [name]))
    return [names for _, names in groups]


def _law(law: PowerLaw) -> str:
    if law.bends or law.misses:
        return "no power law"
    return f"exponent {law.exponent.value:.2f} ± {(law.exponent.high - law.exponent.low) / 2:.2f}"


def plot_mild_drift(context: Context, results: Any, name: str) -> Figure:
    """SnoozeIt's regret against the horizon, beside Theorem 1's bound and what round robin pays."""
    rows = results["mild-drift"].rows
    at = [row.horizon for row in rows]
    with canvas(height=4.2) as (figure, axes):
        curves = {
            PRINTED: [row.regret.value for row in rows],
            "bound of Theorem 1": [row.bound for row in rows],
            ROUND_ROBIN: [row.turns for row in rows],
        }
        for index, (label, values) in enumerate(curves.items()):
            axes.plot(at, values, label=label, marker="o", markersize=4, **line(index))
        shade(axes, at, [row.regret.low for row in rows], [row.regret.high for row in rows], 0)
        axes.set(xscale="log", yscale="log", xlabel="horizon T", ylabel="regret at T")
        legend_below(figure, axes, size=8)
    return figure  # type: ignore[no-any-return]


def plot_worst_gap(context: Context, results: Any, name: str) -> Figure:
    """Above: regret against the gap, a curve per drift. Below: the largest of each curve, against the drift."""
    found = results["worst-gap"]
    mine = [row for row in found.rows if row.policy == ALGORITHM_1]
    drifts = sorted({row.drift for row in mine})
    with canvas(2, 1, height=7.0) as (figure, (above, below)):
        for index, drift in enumerate(drifts[:: max(1, (len(drifts) - 1) // 3)]):
            rows = [(row.gap, row.regret.value) for row in mine if row.drift == drift]
            above.plot(*zip(*rows, strict=True), marker="o", markersize=3, label=f"δ = {drift:.1e}", **line(index))
        turns = sorted((row.gap, row.regret.value) for row in found.rows if row.policy == ROUND_ROBIN)
        above.plot(*zip(*turns, strict=True), color="0.5", linewidth=1.0, label=ROUND_ROBIN)
        above.set(xlabel="gap between the arms", ylabel="regret at T", xscale="log", yscale="log")
        laws = {ALGORITHM_1: found.mine, PRINTED: found.modified, ROUND_ROBIN: found.turns}
        for index, (policy, law) in enumerate(laws.items()):
            rows = [(row.drift, row.regret.value) for row in found.of(policy)]
            label = f"{policy}: exponent {round(law.exponent.value, 2) + 0.0:.2f}"
            below.plot(*zip(*rows, strict=True), marker="o", markersize=4, label=label, **line(index))
        below.set(xlabel="drift limit δ (per step)", ylabel="regret at the worst gap", xscale="log", yscale="log")
        for panel in (above, below):
            panel.legend(fontsize=8)
    return figure  # type: ignore[no-any-return]


def plot_wave(context: Context, results: Any, name: str) -> Figure:
    """Above: one period of the wave. Below: regret of one episode against its length, beside what Lemma 4 allows."""
    found = results["wave"]
    rows = [row for row in found.rows if not row.calm]
    means = wave(1_600, 0).means
    with canvas(2, 1, height=5.6, height_ratios=(2, 3)) as (figure, (above, below)):
        for arm in (0, 1):
            above.plot(np.arange(1, 1_601), means[:, arm], label=f"arm {arm}", **line(arm))
        above.set(xlabel="step t", ylabel="mean reward", ylim=(0, 1))
        above.legend(fontsize=8, ncols=2)
        lengths = sorted({row.episode for row in rows})
        cost = [max(row.regret for row in rows if row.episode == length) for length in lengths]
        allowed = [float(db.bounds.episode_regret(length, context.settings.horizon)) for length in lengths]
        below.plot(lengths, cost, marker="o", markersize=4, label="measured", **line(0))
        below.plot(lengths, allowed, marker="s", markersize=4, label="Lemma 4", **line(1))
        below.set(xlabel="steps of the active phase", ylabel="regret of the episode", xlim=(0, None), ylim=(0, None))
        thousands(below.xaxis, below.yaxis)
        below.legend(fontsize=8)
    return figure  # type: ignore[no-any-return]


def plot_both_definitions(context: Context, results: Any, name: str) -> Figure:
    """The detectable gap close up: values as defined, stairs as in the released code."""
    instance = figure_instance(context.settings.horizon)
    view = closest_view(instance)
    at = np.arange(view.start, view.stop) + 1
    with canvas(height=3.8) as (figure, axes):
        for index, (definition, profile) in enumerate(profiles(instance).items()):
            axes.plot(at, profile[view], label=definition, marker=".", markersize=4, **line(index))
        axes.set(xlabel="step t", ylabel="detectable gap")
        thousands(axes.xaxis)
        legend_below(figure, axes, 1)
    return figure  # type: ignore[no-any-return]


def plot_budgets(context: Context, results: Any, name: str) -> Figure:
    """Bounds for a drift limit and for the budget that it implies; where they are trivial, T/2 is less."""
    rows = results["budgets"].rows
    curves = {
        "upper": "upper bound, drift limit (Theorem 2)", "budget_upper": "upper bound, budget V = δT (Rexp3)",
        "lower": "lower bound, drift limit (Theorem 3)", "budget_lower": "lower bound, budget V = δT",
    }  # fmt: skip
    with canvas(height=4.6) as (figure, axes):
        for index, (field, label) in enumerate(curves.items()):
            values = [getattr(row, field) for row in rows]
            axes.plot([row.drift for row in rows], values, label=label, marker="o", markersize=3, **line(index))
        axes.axhline(context.settings.horizon / 2, color="0.5", linewidth=1.0, label="T/2: both arms in turn, gap 1")
        axes.set(xscale="log", yscale="log", xlabel="drift limit δ (per step)", ylabel="regret at T")
        legend_below(figure, axes, 1, size=8)
    return figure  # type: ignore[no-any-return]


_KINDS: dict[str, Callable[[Context, Any, str], dict[str, Draw]]] = {
    "instances": _instances,
    "regret": _regret,
    "confidence": _one(plot_confidence),
    "good-event": _one(plot_good_event),
    "regret-against-drift": _one(plot_drift),
    "ratio-to-round-robin": _one(plot_ratio),
    "mild-drift": _one(plot_mild_drift),
    "worst-gap": _one(plot_worst_gap),
    "wave": _one(plot_wave),
    "budgets": _one(plot_budgets),
    "gap-profile": _one(lambda context, *_: db.plot_gap_profile(figure_instance(context.settings.horizon))),
    "gap-profile-both": _one(plot_both_definitions),
    "episode-bounds": _one(lambda context, *_: db.plot_episode_bounds(context.settings.horizon, SLOW)),
    "episode": _one(runs.plot_episode),
    "trajectory": _one(runs.plot_trajectory),
}
