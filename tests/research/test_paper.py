"""Claims are judged by their numbers alone; figures carry their labels; trajectories show what the paper's show."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

from driftbandits import instances
from driftbandits._common.fits import PowerLaw
from driftbandits.errors import FeasibilityWarning
from driftbandits.instances.noise import Gaussian
from driftbandits.research.paper import claims, trajectories
from driftbandits.research.paper.confidence import claim_at, curve
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
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED, Claim
from driftbandits.simulation.simulate import Simulation, simulate

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


def three(printed: float, released: float, calibrated: float, **others: float) -> Simulation:
    values = {"printed": printed, "released": released, "calibrated": calibrated, **others}
    return simulation(**{name: around(mean) for name, mean in values.items()})


def verdicts(claim: Claim) -> list[str]:
    return [claim.verdicts[form].verdict for form in FORMS]


def test_claim_1_needs_both_rivals_beaten_by_both() -> None:
    found = three(900, 400, 100, sharp=200, rexp3=800, exp3s=300, defective=1_000)
    claim = claims.claim_1(found)
    assert verdicts(claim) == [FAILS, FAILS, HOLDS]
    assert "mistaken γ, it holds" in claim.verdicts["released"].numbers
    worse = three(900, 400, 100, sharp=350, rexp3=800, exp3s=300, defective=50)
    assert verdicts(claims.claim_1(worse)) == [FAILS, FAILS, FAILS]
    assert "mistaken γ, it fails" in claims.claim_1(worse).verdicts["calibrated"].numbers


def test_claim_2_is_judged_by_paired_differences() -> None:
    luck = around(0, 500)
    close = simulation(printed=100 + luck, released=110 + luck, calibrated=around(105, 300), sharp=105 + luck)
    assert verdicts(claims.claim_2(close)) == [HOLDS, FAILS, UNDECIDED]


def test_equal_regret_is_not_less() -> None:
    assert verdicts(claims.claim_2(three(100, 100, 99, sharp=100))) == [FAILS, FAILS, HOLDS]


def test_one_run_decides_nothing() -> None:
    assert claims.beats(np.array([1.0]), {"rival": np.array([2.0])}).verdict == UNDECIDED
    assert "no interval" in claims.beats(np.array([1.0]), {"rival": np.array([2.0])}).numbers


def test_claims_3_and_4_are_opposites() -> None:
    noisy = NOISE[::-1] * 100
    steps = [three(100 * k, 500 - abs(k - 2), 100, sharp=1) for k in (1, 2, 3, 4)]
    for k, one in enumerate(steps):
        one.regret[FORMS["calibrated"]][:, -1] += noisy * (k % 2)
    assert verdicts(claims.claim_3(steps)) == [FAILS, HOLDS, UNDECIDED]
    assert verdicts(claims.claim_4(steps)) == [HOLDS, FAILS, UNDECIDED]


def test_theorem_1_compares_every_instance_with_its_bound() -> None:
    found = {"a": three(50, 90, 10, first=60, turns=70), "b": three(100, 200, 150, first=100, turns=500)}
    claim = claims.theorem_1(found, {"a": 65.0, "b": 150.0})
    assert verdicts(claim) == [HOLDS, UNDECIDED, UNDECIDED]
    assert "92% of the bound (a)" in claim.verdicts["printed"].numbers
    assert "on 2 of 2 instances" in claim.verdicts["printed"].numbers
    assert claim.verdicts["released"].numbers.startswith("Not covered by the theorem")
    worse = {"a": three(50, 50, 50, first=80, turns=70)}
    assert verdicts(claims.theorem_1(worse, {"a": 65.0})) == [FAILS, UNDECIDED, UNDECIDED]


def table(**means: float) -> pl.DataFrame:
    names = {**FORMS, "first": ALGORITHM_1}
    rows = [
        {"drift": 1e-4, "policy": names.get(name, name), "regret": mean, "low": mean - 5, "high": mean + 5}
        for name, mean in means.items()
    ]
    rows += [{"drift": 1e-4, "policy": name, "regret": 40.0, "low": 35.0, "high": 45.0} for name in RIVALS]
    return pl.DataFrame(rows).with_columns(upper=pl.lit(100.0), lower=pl.lit(20.0))


def test_theorem_2_compares_every_drift_and_world_with_the_bound() -> None:
    exponents = {name: PowerLaw(0.33, 0.30, 0.36) for name in (*FORMS.values(), ALGORITHM_1)}
    tables = {
        "here": table(printed=50, released=50, calibrated=50, first=50),
        "there": table(printed=90, released=110, calibrated=98, first=20),
    }
    claim = claims.theorem_2(tables, exponents)
    assert verdicts(claim) == [HOLDS, UNDECIDED, UNDECIDED]
    worse = {**tables, "there": table(printed=90, released=50, calibrated=50, first=110)}
    assert verdicts(claims.theorem_2(worse, exponents))[0] == FAILS
    assert "δ^0.33 (0.30 to 0.36)" in claim.verdicts["printed"].numbers


def test_theorem_3_holds_or_is_left_open() -> None:
    claim = claims.theorem_3(table(printed=50, released=22, calibrated=10, first=50))
    assert verdicts(claim) == [HOLDS, UNDECIDED, UNDECIDED]
    assert "2.5 times the bound" in claim.verdicts["printed"].numbers


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
    assert [panel.get_title() for panel in figure.axes] == [f"SnoozeIt, {form}" for form in FORMS]
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
    assert labels(below) == ["confidence (1 = the paper's radius)", "share"]


def test_a_claim_is_judged_at_each_confidence_as_it_is_for_the_forms(small: dict[str, Simulation]) -> None:
    played = small["confidence"]
    rival = {"rival": played.regret["0.1"][:, -1] + 1_000}
    assert claim_at("toggling", 0.1, [played], rival).verdict == HOLDS
    assert claim_at("equal-drift", 0.1, [played, played], {}).verdict == FAILS
    assert claim_at("common-periods", 0.1, [played, played], {}).verdict == HOLDS


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
