"""What the runs show beside the claims: each a section of sentences, figures and tables computed from results."""

from __future__ import annotations

from functools import partial
from typing import Any

import polars as pl

from driftbandits.instances.base import Instance
from driftbandits.research.paper.claims import Interval, final, interval, regret_interval
from driftbandits.research.paper.confidence import claim_at, curve
from driftbandits.research.paper.evidence import decide_all
from driftbandits.research.paper.experiments import (
    ALGORITHM_1,
    CONFIDENCES,
    DEFECTIVE,
    EXPERIMENTS,
    FORMS,
    RIVALS,
    ROUND_ROBIN,
)
from driftbandits.research.paper.figures import plot_confidence
from driftbandits.research.paper.plan import DRIFT_RUNS, MILD_RUNS
from driftbandits.research.paper.sections import Material
from driftbandits.research.report.content import UNDECIDED, Section
from driftbandits.research.report.drawings import save_drawing
from driftbandits.research.studies.good_event import plot_good_event
from driftbandits.research.studies.regret_against_drift import (
    DRIFTS,
    FAMILIES,
    fit_exponents,
    fit_logarithm,
    plot_mild_drift,
    plot_ratio_to_round_robin,
    plot_regret_against_drift,
)
from driftbandits.theory.bounds import episode_regret
from driftbandits.theory.feasibility import explain_feasibility

MUST_BEAT = {"separated": ("Rexp3", "Exp3.S"), "toggling": ("SW-UCB#",)}
"""Whom SnoozeIt is claimed to beat, by experiment."""


def cannot_snooze_section(material: Material) -> Section:
    """Experiment 2 is out of reach of the printed constants."""
    simulation, T = material.results["toggling"], material.settings.horizon
    printed, turns = final(simulation, FORMS["printed"]), final(simulation, ROUND_ROBIN)
    snoozes = int(simulation.events[FORMS["printed"]]["snoozed"].sum())
    feasible = explain_feasibility(T, 1 / 4_800)
    text = [
        str(feasible).replace("SnoozeIt (modified)", FORMS["printed"]),
        f"Measured: {snoozes} snoozes in {simulation.runs} runs of Experiment 2, and a regret of "
        f"{regret_interval(printed)}, the same as that of round robin {_in_runs(printed == turns)} "
        f"({regret_interval(turns)}).",
    ]
    rows = []
    for experiment in EXPERIMENTS:
        for instance in experiment.instances:
            for variant in ("modified", "released"):
                found = explain_feasibility(T, instance.drift, variant)
                rows.append(
                    {
                        "experiment": experiment.name,
                        "drift": instance.label,
                        "form": "printed" if variant == "modified" else variant,
                        "can snooze": "yes" if found.can_snooze else "no",
                        "gap needed": round(found.needed_gap, 3),
                        "longest snooze, steps": found.longest_snooze,
                    }
                )
    return Section(
        "cannot-snooze",
        f"SnoozeIt as printed {'can' if feasible.can_snooze else 'cannot'} snooze in Experiment 2",
        text,
        tables={"What a snooze needs": rows},
    )


def defective_exp3s_section(material: Material) -> Section:
    """What the factor 1/3 does to Exp3.S."""
    text, rows = [], []
    for name in ("separated", "toggling"):
        simulation = material.results[name]
        right, wrong = final(simulation, "Exp3.S"), final(simulation, DEFECTIVE)
        gammas = [simulation.policies[one].parameters(2)["gamma"] for one in ("Exp3.S", DEFECTIVE)]
        rows.append(
            {
                "experiment": name,
                "γ, cube root": gammas[0],
                "γ, a third": gammas[1],
                "regret, cube root": str(regret_interval(right)),
                "regret, a third": str(regret_interval(wrong)),
                "difference": str(interval(wrong - right)),
            }
        )
        text.append(
            f"{name.capitalize()}: the mistaken γ multiplies the regret of Exp3.S by {wrong.mean() / right.mean():.1f}."
        )
    intro = (
        "The authors' code takes a third of (4 V K ln(K T)/((e − 1)² T)) for Exp3.S's γ where its tuning asks for "
        "the cube root. So small a γ makes Exp3.S learn and explore too slowly to follow the drift. Wherever the "
        f"figures show “{DEFECTIVE}”, γ is set to that number by hand; “Exp3.S” is tuned as its authors say."
    )
    return Section("exp3s", "What the mistaken γ does to Exp3.S", [intro, *text], tables={"Exp3.S, both ways": rows})


def confidence_section(material: Material) -> Section:
    """Regret over confidence, beside what fails, and the claims at each confidence."""
    good_event = material.results["good-event"].sort("confidence")
    drawings, tables = [], {}
    verdicts = claims_by_confidence(material)
    for experiment in EXPERIMENTS:
        played = material.simulations(experiment.name, "confidence-")
        curves = {label: curve(simulation) for label, simulation in played.items()}
        compared = material.results[experiment.name] if experiment.with_rivals else None
        rivals = {name: final(compared, name) for name in RIVALS} if compared else {}
        lines = {name: float(values.mean()) for name, values in rivals.items()}
        drawings.append(
            save_drawing(
                material.out,
                f"confidence-{experiment.name}",
                f"Regret against confidence, {experiment.name.replace('-', ' ')}",
                "Above: regret at T with the 95 % interval of its mean. Below: the share of snoozes that break Lemma "
                "2 (snooze safety), and the share of runs in which some average leaves its radius (the good event "
                "fails).",
                {"ours": partial(plot_confidence, curves, lines, good_event, experiment.title)},
            )
        )
        tables[f"{experiment.title}: by confidence"] = [
            _confidence_row(material, value, played) | {"claim": verdicts[experiment.name, value]}
            for value in CONFIDENCES
        ]
    drawings.append(
        save_drawing(
            material.out,
            "good-event",
            "How often the good event fails",
            f"T = {material.settings.horizon:,}, {material.settings.runs} runs: the share of runs in which some "
            "average of some window leaves its radius, beside the union bounds. Claim 1 (good event) is the paper's "
            "own, and allows 2/T at confidence 1.",
            {"ours": partial(plot_good_event, good_event)},
        )
    )
    text = [
        "Confidence multiplies the radius r(w) of SnoozeIt's test; 1 is the paper's. Smaller values shorten the active "
        "phases and give up, bit by bit, what the proof rests on: that all averages stay within their radius (Claim 1, "
        "good event), hence that no snoozed arm becomes the better one during its snooze (Lemma 2, snooze safety). "
        "That lemma “fails” at the share of snoozes that break it, the largest where there are several instances.",
        _good_event_sentence(good_event),
        f"The {len(verdicts)} verdicts below are judged as one family: the chance that even one of them is false is 5 "
        "% at most (Holm's correction). Experiment 3 is judged in the weaker of its readings, that regret does not "
        "rise at every step, since four drifts decide nothing on correlation.",
        *(_claim_sentence(title, rows) for title, rows in tables.items()),
    ]
    return Section("confidence", "Which confidence would make each claim true", text, drawings, tables)


def claims_by_confidence(material: Material) -> dict[Any, str]:
    """The verdict on each experiment's claim at each confidence, corrected for there being so many."""
    family = {}
    for experiment in EXPERIMENTS:
        played = list(material.simulations(experiment.name, "confidence-").values())
        compared = material.results[experiment.name] if experiment.with_rivals else None
        beaten = {name: final(compared, name) for name in MUST_BEAT.get(experiment.name, ())} if compared else {}
        for value in CONFIDENCES:
            family[experiment.name, value] = claim_at(experiment.name, value, played, beaten)
    return decide_all(family)


def _confidence_row(material: Material, value: float, played: dict[str, Any]) -> dict[str, Any]:
    good_event = material.results["good-event"]
    failed = float(good_event.filter(good_event["confidence"] == value)["failed"][0])
    row: dict[str, Any] = {"confidence": value}
    rates: list[tuple[float, float, float]] = []
    for label, simulation in played.items():
        found = next(entry for entry in curve(simulation).iter_rows(named=True) if entry["confidence"] == value)
        row["regret" if len(played) == 1 else label] = str(Interval(found["regret"], found["low"], found["high"]))
        if found["unsafe"] is not None:
            rates.append((found["unsafe"], found["unsafe low"], found["unsafe high"]))
    row["Lemma 2 fails"] = "{:.1%} ({:.1%} to {:.1%})".format(*max(rates)) if rates else None
    row["good event fails"] = f"{failed:.0%}"
    return row


def _good_event_sentence(table: Any) -> str:
    shares = {row["confidence"]: row["failed"] for row in table.iter_rows(named=True)}
    always = [confidence for confidence, share in shares.items() if share == 1]
    never = [confidence for confidence, share in shares.items() if share == 0]
    where = []
    if always:
        where.append(f"in every run up to a confidence of {max(always):g}")
    if never:
        wide = f"the paper's radius is {1 / min(never):.1f} times as wide as these runs need"
        where.append(f"in no run from a confidence of {min(never):g} on: {wide}")
    if not where:
        where.append(f"in {min(shares.values()):.0%} to {max(shares.values()):.0%} of the runs")
    return f"The good event fails {' and '.join(where)}."


def _claim_sentence(title: str, rows: list[dict[str, Any]]) -> str:
    by_verdict: dict[str, list[str]] = {}
    for row in rows:
        by_verdict.setdefault(row["claim"], []).append(f"{row['confidence']:g}")
    said = "; ".join(
        f"{'is ' * (verdict == UNDECIDED)}{verdict} at {', '.join(values)}" for verdict, values in by_verdict.items()
    )
    return f"{title.split(':')[0]}: the claim {said}."


def drift_section(material: Material) -> Section:
    """Regret against the drift limit, with bounds, round robin and fitted exponents."""
    drawings, tables = [], {}
    for family in FAMILIES:
        stem = f"regret-against-drift-{family.replace(' ', '-')}"
        table = material.results[stem].filter(pl.col("policy") != ALGORITHM_1)
        drawings.append(
            save_drawing(
                material.out,
                stem,
                f"Regret against the drift limit, instances: {family}",
                "Logarithmic scales. Bands: 95 % interval of the mean; the legend has the fitted exponents. "
                "Without rings: the upper bound of Theorem 2 and the lower bound of Theorem 3 (for the worst instance "
                "of each). Algorithm 1 would lie on top of SnoozeIt printed.",
                {"ours": partial(plot_regret_against_drift, table, f"instances: {family}")},
            )
        )
        tables[f"Exponents, instances: {family}"] = [
            {"policy": row["policy"], "exponent": round(row["exponent"], 3), **_ends(row), "law": power_law(row)}
            for row in fit_exponents(table).iter_rows(named=True)
        ]
    hard = material.results["regret-against-drift-lower-bound"]
    drawings.insert(
        0,
        save_drawing(
            material.out,
            "ratio-to-round-robin",
            "Regret divided by that of round robin, instances: lower bound",
            "At 1 a policy has learnt nothing that pays. SnoozeIt as printed lies on that line at every drift, so its "
            "exponent there is round robin's.",
            {"ours": partial(plot_ratio_to_round_robin, hard.filter(pl.col("policy") != ALGORITHM_1))},
        ),
    )
    runs = max(2, min(material.settings.runs, DRIFT_RUNS))
    count = sum(len(rows) for rows in tables.values())
    bent = sum(row["law"] != "power law" for rows in tables.values() for row in rows)
    text = [
        _hard_sentence(hard),
        f"{len(DRIFTS)} drifts, {runs} instances at each, drawn anew for every run, at T = "
        f"{material.settings.horizon:,}. Intervals of a mean are Student's on a logarithmic scale, so that they stay "
        "above zero however skewed the instances.",
        f"Of {count} curves, {bent} are no power law, and their exponent is a mean slope and no more. Some bend: the "
        "quadratic term of a parabola in logarithms excludes 0 at 95 %; for these the table gives the slopes at both "
        "ends. For others no straight line in logarithms passes through the intervals of all means (95 % together).",
    ]
    return Section("regret-against-drift", "Regret against the drift limit", text, drawings, tables)


def _hard_sentence(hard: pl.DataFrame) -> str:
    """Whose exponent it is on the lower bound's instances."""
    mine = hard.filter(policy=ALGORITHM_1).sort("drift")
    apart = float((mine["regret"] / mine["turns"] - 1).abs().max())  # type: ignore[arg-type]
    fit = fit_exponents(mine).row(0, named=True)
    turns = fit_exponents(mine.with_columns(regret=pl.col("turns"))).row(0, named=True)
    verb = "is" if apart < 1e-3 else "is not"
    return (
        f"On the instances of the lower bound round robin's regret grows as δ^{turns['exponent']:.3f} "
        f"({turns['low']:.3f} to {turns['high']:.3f}). Algorithm 1 {verb} round robin there: their mean regrets differ "
        f"by {apart:.1g} of each other at most, and its exponent is {fit['exponent']:.3f} ({fit['low']:.3f} to "
        f"{fit['high']:.3f}). An exponent of 1/3 says nothing of SnoozeIt on these instances; the worst gap, below, is "
        "where it does."
    )


def power_law(row: dict[str, Any]) -> str:
    """Whether an exponent is one: a power law, or a curve that bends or is missed by every straight line."""
    if row["bends"] is None:
        return "too few points"
    if row["bends"]:
        return f"none: slope from {row['first']:.2f} to {row['last']:.2f}"
    return "none: no line meets all intervals" if row.get("misses") else "power law"


def mild_drift_section(material: Material) -> Section:
    """Logarithmic regret under mild drift."""
    table = material.results["mild-drift"]
    fit = fit_logarithm(table)
    rows = [
        {
            "T": row["horizon"],
            "δ": f"{row['drift']:.2e}",
            "regret": str(Interval(row["regret"], row["low"], row["high"])),
            "regret/ln T": round(row["per_log"], 1),
            "bound of Theorem 1": round(row["bound"]),
            "round robin": round(row["turns"]),
        }
        for row in table.iter_rows(named=True)
    ]
    runs = max(2, min(material.settings.runs, MILD_RUNS))
    text = [
        "Where δ is at most √(ln T)/T^(3/2) and the gap is large, the paper promises regret of order ln T. The means "
        f"start 0.5 apart and close in by δ each a step; SnoozeIt as printed, {runs} runs a horizon.",
        f"Regret/ln T changes as T to the power {fit.exponent.exponent:.3f} ({fit.exponent.low:.3f} to "
        f"{fit.exponent.high:.3f}): 0 would be exactly logarithmic, 1 linear.",
        f"Theorem 1's bound has a single block here. It is below round robin's regret at "
        f"{int((table['bound'] < table['turns']).sum())} of {len(table)} horizons, where it could fail, and regret is "
        f"{float((table['regret'] / table['bound']).max()):.0%} of it at most.",
    ]
    drawing = save_drawing(
        material.out,
        "mild-drift",
        "Regret under mild drift, beside Theorem 1's bound",
        "Logarithmic scales. Regret and bound grow as ln T; round robin's regret, as T.",
        {"ours": partial(plot_mild_drift, table)},
    )
    return Section("mild-drift", "Mild drift costs ln T", text, [drawing], {"Regret under mild drift": rows})


def change_of_measure_section(material: Material) -> Section:
    """Lemma 9 (change of measure), measured."""
    table = material.results["change-of-measure"]
    rows = []
    for row in table.iter_rows(named=True):
        sides = {side: [row[f"{side} {end}"] for end in ("value", "low", "high")] for side in ("left", "right")}
        shown = {name: "{:.4f} ({:.4f} to {:.4f})".format(*values) for name, values in sides.items()}
        rows.append({"policy": row["policy"], "paid": shown["left"], "told apart": shown["right"]})
    refuted = int(table["refuted"].sum())
    text = [
        "The lower bound rests on Lemma 9 (change of measure): a policy that behaves differently on two instances "
        "must have paid for telling them apart. On one block of the lower bound (δ = 1/4,800), Bernoulli rewards, "
        "the left side is the information that a policy's pulls give, the right side how differently it shares its "
        "pulls in the two instances.",
        f"The intervals, which hold together at 95 %, refute left ≥ right for {refuted} of {len(rows)} policies.",
    ]
    return Section(
        "change-of-measure",
        "The price of telling two instances apart",
        text,
        tables={"Lemma 9 (change of measure)": rows},
    )


def episodic_regret_section(material: Material) -> Section:
    """The counter-example to Lemma 4 (episodic regret)."""
    simulation, T = material.results["episodic-regret"], material.settings.horizon
    regret, passed = final(simulation, ALGORITHM_1), len(simulation.events[ALGORITHM_1])
    bound, instance = float(episode_regret(T, T)), simulation.instance
    phases = "not every run" if passed else "each run"
    text = [
        "Lemma 4 (episodic regret) says that an episode whose active phase lasts τ steps costs at most 1 + 6 √((τ − "
        "1) L). Its proof reads the regret of turns off the difference of the arms' sums; where the means cross, "
        "one arm's lead cancels the other's in that difference, but not in the regret.",
        "Counter-example: the flips of Experiment 2 with 1,000 steps between turns and means that stay within "
        f"{_reach(instance)} of 1/2. In {simulation.runs} runs the test of Algorithm 1 passed {passed} times, so "
        f"{phases} is one active phase; its regret is {regret_interval(regret)}, which exceeds the bound of "
        f"{bound:,.0f} {_in_runs(regret > bound)}.",
        "Theorem 2 survives: cut the phase where the means cross, and each piece obeys a bound of the same order.",
    ]
    return Section(
        "episodic-regret", "Lemma 4 (episodic regret), where the best arm changes within an active phase", text
    )


def _in_runs(so: Any) -> str:
    """In how many runs it is so."""
    return "in every run" if so.all() else f"in {so.sum() or 'none'} of {len(so)} runs"


def _reach(instance: Instance) -> str:
    return f"{abs(instance.means - 0.5).max():.3f}"


def _ends(row: dict[str, Any]) -> dict[str, float]:
    return {"95 % low": round(row["low"], 3), "95 % high": round(row["high"], 3)}
