"""The report's sections on the experiments: what was run, the figures, and regret at T as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from driftbandits.research.paper import trajectories
from driftbandits.research.paper.claims import final, regret_interval
from driftbandits.research.paper.experiments import EXPERIMENTS, Experiment
from driftbandits.research.paper.figures import plot_drifts, plot_instances, plot_policies
from driftbandits.research.report.content import Drawing, Section
from driftbandits.research.report.drawings import save_drawing
from driftbandits.research.report.parts import Settings
from driftbandits.simulation.result import Simulation
from driftbandits.theory.figures import plot_episode_bounds

TWO_FORMS = (
    "In our form curves are the mean dynamic pseudo-regret and bands the 95 % interval of that mean (Student's). In "
    "the paper's form curves are the mean realised regret, best means less the rewards received, and bands reach "
    "half a standard deviation to each side, which is what the authors plotted; they say nothing of how sure the "
    "mean is."
)


@dataclass(frozen=True)
class Material:
    """What sections are made of: the results by part, and where figures go."""

    settings: Settings
    results: Mapping[str, Any]
    out: Path

    def simulations(self, experiment: str, prefix: str = "") -> dict[str, Simulation]:
        """The simulations of an experiment by label, or those with this prefix on the same instances."""
        (found,) = (one for one in EXPERIMENTS if one.name == experiment)
        return {instance.label: self.results[prefix + instance.name] for instance in found.instances}


def experiment_section(material: Material, experiment: Experiment) -> Section:
    """One experiment of the paper."""
    simulations = material.simulations(experiment.name)
    instances = {label: simulation.instance for label, simulation in simulations.items()}
    drawings = [
        save_drawing(
            material.out,
            f"instances-{experiment.name}",
            f"The true means: {experiment.title.split(': ')[1]}",
            f"{experiment.about} Told to the policies: {', '.join(instances)}.",
            {"ours": partial(plot_instances, instances)},
        ),
        _regret_drawing(material, experiment, simulations),
    ]
    T, runs = material.settings.horizon, material.settings.runs
    text = [
        f"{experiment.about} T = {T:,}, rewards are Gaussian with variance 1/4, {runs} run{'s' * (runs > 1)}, and all "
        f"policies of a run meet the same noise.",
    ]
    tables = {"Regret at T": _regret_table(simulations)}
    if experiment.with_rivals:
        tables["Differences from SW-UCB#, run by run"] = _difference_table(simulations)
    return Section(experiment.name, experiment.title, text, drawings, tables)


def _regret_drawing(material: Material, experiment: Experiment, simulations: dict[str, Simulation]) -> Drawing:
    if experiment.with_rivals:
        (only,) = simulations.values()
        draws = {form: partial(plot_policies, only, form) for form in ("ours", "paper")}
        who = "Regret of the four policies, SnoozeIt in its three forms and Exp3.S also as it was released"
        note = " Our form has a logarithmic scale, so that the low curves can be told apart."
    else:
        draws = {form: partial(plot_drifts, simulations, form) for form in ("ours", "paper")}
        who, note = "Regret of SnoozeIt at four drift limits, one panel for each of its forms", ""
    return save_drawing(material.out, f"regret-{experiment.name}", who, TWO_FORMS + note, draws)


def _regret_table(simulations: Mapping[str, Simulation]) -> list[dict[str, Any]]:
    rows = []
    for label, simulation in simulations.items():
        for name in simulation.regret:
            found = regret_interval(final(simulation, name))
            rows.append(
                {
                    "drift": label,
                    "policy": name,
                    "regret": found.mean,
                    "95 % low": _known(found.low),
                    "95 % high": _known(found.high),
                    "realised": float(simulation.realised[name][:, -1].mean()),
                    "snoozes a run": _snoozes(simulation, name),
                }
            )
    return rows


def _difference_table(simulations: Mapping[str, Simulation]) -> list[dict[str, Any]]:
    (only,) = simulations.values()
    return [
        {
            "policy": row["policy"],
            "regret less SW-UCB#'s": row["difference"],
            "95 % low": _known(row["low"]),
            "95 % high": _known(row["high"]),
        }
        for row in only.differences("SW-UCB#").iter_rows(named=True)
    ]


def _snoozes(simulation: Simulation, name: str) -> float | None:
    if name not in simulation.events:
        return None
    return int(simulation.events[name]["snoozed"].sum()) / simulation.runs


def _known(value: float) -> float | None:
    """Numbers go into tables as measured: who rounds twice gets 14,288 of 14,287.46."""
    return None if value != value else value


def trajectories_section(material: Material) -> Section:
    """Two runs of SnoozeIt in detail."""
    T, seed = material.settings.horizon, material.settings.seed
    found = [
        ("trajectory-growing", "A run of SnoozeIt where the gap grows", trajectories.growing_gap(T)),
        ("trajectory-swinging", "A run of SnoozeIt where the arms swing", trajectories.swinging_arms(T)),
    ]
    drawings = []
    for name, title, (instance, drift) in found:
        run = trajectories.play(instance, drift, seed)
        draw = {"ours": partial(trajectories.plot_run, run)}
        drawings.append(save_drawing(material.out, name, title, trajectories.describe(run), draw))
    text = [
        "Two whole runs of the printed form. Episodes begin at the grey lines. In an active phase both arms are "
        "pulled in turn, in a passive phase only the better one; so the snoozed arm's empirical mean, which is "
        "counted from the episode's start, stays where it was.",
        "Below, each test that passed stands at its $λ̂ = √(c1 L/w)$, $w$ the window that passed: full if a "
        "snooze followed. The test asks for a difference of $4 r(w) = (2/3) λ̂$, so λ̂ may exceed the true gap by half "
        "of it.",
    ]
    return Section("trajectories", "SnoozeIt, step by step", text, drawings)


def episode_bounds_section(material: Material) -> Section:
    """The two bound curves of appendix B."""
    T, drift = material.settings.horizon, 1 / 48_000
    drawing = save_drawing(
        material.out,
        "episode-bounds",
        "The bound on regret a step, by an episode's active phase and by its duration",
        f"T = {T:,}, δ = 1/48,000, logarithmic scales. An episode with a short active phase is followed by a long "
        "snooze, and one with a long active phase has none; the bound is worst where the two meet, at the shortest "
        "episode.",
        {"ours": partial(plot_episode_bounds, T, drift)},
    )
    text = [
        "Appendix B of the paper: what one episode of Algorithm 1 may cost a step, under the good event and Lemma 4 "
        "(episodic regret). Theorem 2 is $T$ times the peak. The curves begin where the test can first pass, and end "
        "at the horizon."
    ]
    return Section("episode-bounds", "What an episode may cost", text, [drawing])
