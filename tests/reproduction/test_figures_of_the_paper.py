"""Figures carry their labels; trajectories show what the paper's show."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from driftbandits.research.paper import trajectories
from driftbandits.research.paper.confidence import claim_at, curve
from driftbandits.research.paper.evidence import decide
from driftbandits.research.paper.experiments import (
    ALGORITHM_1,
    CONFIDENCES,
    DEFECTIVE,
    EXPERIMENTS,
    FORMS,
    RIVALS,
    ROUND_ROBIN,
    at_confidences,
    defective_exp3s,
)
from driftbandits.research.paper.figures import plot_confidence, plot_drifts, plot_instances, plot_policies
from driftbandits.research.paper.left_open import left_open

from driftbandits import instances
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.noise import Gaussian
from driftbandits.research.league.report.content import FAILS, HOLDS
from driftbandits.simulation.result import Simulation
from driftbandits.simulation.simulate import simulate

RUNS = 20
NOISE = np.random.default_rng(0).normal(size=RUNS)


def around(mean: float, spread: float = 1.0) -> np.ndarray[Any, Any]:
    """One regret a run, with this mean."""
    return np.asarray(mean + spread * (NOISE - NOISE.mean()))


def simulation(**regrets: np.ndarray[Any, Any]) -> Simulation:
    """A simulation that ended with these regrets; names are written without blanks and signs."""
    names = {"printed": FORMS["printed"], "released": FORMS["released"], "calibrated": FORMS["calibrated"]}
    names |= {"sharp": "SW-UCB#", "rexp3": "Rexp3", "exp3s": "Exp3.S", "defective": DEFECTIVE}
    names |= {"first": ALGORITHM_1, "turns": ROUND_ROBIN}
    curves = {names[name]: np.column_stack([values / 2, values]) for name, values in regrets.items()}
    empty: dict[str, Any] = {}
    world = instances.stationary(1_000, (0.9, 0.1))
    return Simulation(
        empty, world, Gaussian(0.5), 0, RUNS, np.array([500, 1_000]), curves, curves, empty, empty, empty, {}
    )


def test_policies_are_told_the_drift_of_their_instances() -> None:
    for experiment in EXPERIMENTS:
        for instance in experiment.instances:
            assert instance.build(162_755).drift_limit == pytest.approx(instance.drift, rel=1e-9)


def test_the_defective_gamma() -> None:
    assert defective_exp3s(162_755, 1 / 48_000).gamma == pytest.approx(0.000239, abs=1e-6)


@pytest.fixture(scope="module")
def small() -> dict[str, Simulation]:
    """Short runs of Experiments 2 and 4 with everything figures need."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeasibilityWarning)
        for experiment in (EXPERIMENTS[1], EXPERIMENTS[3]):
            for instance in experiment.instances:
                policies = experiment.policies(instance, 5_000)
                found[instance.name] = simulate(policies, instance.build(5_000), runs=3, events=True)
        policies = at_confidences(5_000, 1 / 4_800)
        found["confidence"] = simulate(policies, instances.toggling(5_000), runs=3, events=True)
    return found


def labels(axes: Any) -> list[str]:
    return [axes.get_xlabel(), axes.get_ylabel()]


def legend_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize(("form", "measure"), [("ours", "pseudo-regret"), ("paper", "realised regret")])
def test_figures_of_regret_are_labelled(small: dict[str, Simulation], form: str, measure: str) -> None:
    figure = plot_policies(small["toggling"], form)
    (axes,) = figure.axes
    assert labels(axes)[0] == "step t"
    assert measure in labels(axes)[1]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert [name.split(":")[0] for name in legend] == [*FORMS.values(), *RIVALS, DEFECTIVE]
    bands = {"ours": "95 % interval", "paper": "mean ± sd/2"}[form]
    assert bands in figure.legends[0].get_title().get_text()
    drifts = {f"δ = {k}": small[f"equal-drift-{k}"] for k in (1, 2, 3, 4)}
    figure = plot_drifts(drifts, form)
    assert [panel.get_title() for panel in figure.axes] == [f"SnoozeIt {form}" for form in FORMS]
    assert measure in labels(figure.axes[0])[1]
    assert len(legend_of(figure.axes[0])) == 4


def test_figures_of_instances_are_labelled(small: dict[str, Simulation]) -> None:
    one = plot_instances({"δ": small["toggling"].instance})
    assert [text.get_text() for text in one.legends[0].get_texts()] == ["arm 0", "arm 1"]
    four = plot_instances({f"δ = {k}": small[f"equal-drift-{k}"].instance for k in (1, 2, 3, 4)})
    assert len(four.legends[0].get_texts()) == 5
    assert labels(four.axes[0]) == ["step t", "mean reward"]


def test_the_figure_over_confidence(small: dict[str, Simulation]) -> None:
    found = curve(small["confidence"])
    assert found["confidence"].to_list() == list(CONFIDENCES)
    good_event = pl.DataFrame({"confidence": [0.1, 1.0], "failed": [1.0, 0.0]})
    figure = plot_confidence({"δ": found}, {"SW-UCB#": 100.0}, good_event, "title")
    above, below = figure.axes
    assert legend_of(above) == ["δ", "SW-UCB#: 100"]
    (band,) = above.collections
    heights = np.concatenate([np.asarray(path.vertices)[:, 1] for path in band.get_paths()])
    assert (heights.min(), heights.max()) == pytest.approx((found["low"].min(), found["high"].max()))
    assert labels(below) == ["confidence (1 = the paper's radius)", "share"]


def test_a_claim_is_judged_at_each_confidence_as_it_is_for_the_forms(small: dict[str, Simulation]) -> None:
    played = small["confidence"]
    rival = {"rival": played.regret["0.1"][:, -1] + 1_000}
    assert decide(claim_at("toggling", 0.1, [played], rival)) == HOLDS
    assert decide(claim_at("equal-drift", 0.1, [played, played], {})) == FAILS
    assert decide(claim_at("common-periods", 0.1, [played, played], {})) == HOLDS


@pytest.fixture(scope="module")
def runs() -> dict[str, trajectories.Run]:
    made = {"growing": trajectories.growing_gap(162_755), "swinging": trajectories.swinging_arms(162_755)}
    return {name: trajectories.play(*world, seed=0) for name, world in made.items()}


def test_a_growing_gap_shortens_active_phases_and_lengthens_passive_ones(runs: dict[str, trajectories.Run]) -> None:
    episodes = runs["growing"].episodes
    assert episodes["snoozed"].to_list() == [1] * len(episodes)
    active, passive = episodes["passed"] - episodes["start"], episodes["until"] - episodes["passed"]
    assert active[0] > 2 * active[-1]
    assert passive[0] < passive[-1] / 2
    assert episodes["gap"].is_sorted()


def test_swinging_arms_have_episodes_without_passive_phase(runs: dict[str, trajectories.Run]) -> None:
    snoozed = runs["swinging"].episodes["snoozed"].to_list()
    assert snoozed[0] == 0
    assert snoozed.count(0) >= 2
    assert snoozed.count(1) >= 5
    assert "Episodes 1, " in trajectories.describe(runs["swinging"])


def test_captions_say_what_snoozeit_was_told(runs: dict[str, trajectories.Run]) -> None:
    assert "told 2.5 times the true drift limit" in trajectories.describe(runs["growing"])
    assert "δ is the true drift limit." in trajectories.describe(runs["swinging"])
    growing = trajectories.larger_gaps(runs["growing"])
    assert "active phase -" in growing
    assert "passive phase +" in growing


def test_the_snoozed_arms_empirical_mean_stays_flat(runs: dict[str, trajectories.Run]) -> None:
    run = runs["growing"]
    means = trajectories.empirical_means(run.played, trajectories.episode_starts(run))
    first = run.episodes.row(0, named=True)
    passive = means[first["passed"] : int(first["until"])]
    assert len(np.unique(passive[:, 1 - first["arm"]])) == 1
    assert len(np.unique(passive[:, first["arm"]])) > 1_000
    start, later = 0, 500
    pulled = run.played.arms[start:later] == 1
    assert means[later - 1, 1] == pytest.approx(run.played.rewards[start:later][pulled].mean())


def test_the_figure_of_a_run_shows_tests_and_phases(runs: dict[str, trajectories.Run]) -> None:
    figure = trajectories.plot_run(runs["swinging"])
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert {"active phase", "passive phase", "test passed: λ̂, then a snooze", "test passed: λ̂, no snooze"} <= set(said)
    assert labels(figure.axes[0])[1] == "mean reward"
    assert labels(figure.axes[1]) == ["step t", "gap"]


def test_what_is_left_open_is_said_in_full_sentences() -> None:
    for section in left_open():
        assert section.text
        for sentence in section.text:
            assert sentence.endswith(".")
