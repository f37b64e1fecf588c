"""Everything that a reproduction runs, cut into parts of a few seconds each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from driftbandits.instances import toggling
from driftbandits.instances.base import Instance
from driftbandits.policies import RoundRobin, SnoozeIt
from driftbandits.research.paper.experiments import (
    ALGORITHM_1,
    CALIBRATED,
    CONFIDENCES,
    EXPERIMENTS,
    FORMS,
    OTHER_FORMS,
    RIVALS,
    Experiment,
    PaperInstance,
    at_confidences,
    rivals,
    snoozeit,
)
from driftbandits.research.report.parts import Part, Settings, simulated, tabulated
from driftbandits.research.studies.change_of_measure import change_of_measure
from driftbandits.research.studies.episodes import check_episodes
from driftbandits.research.studies.good_event import good_event
from driftbandits.research.studies.many_drifts import FAMILIES as DRIFT_FAMILIES
from driftbandits.research.studies.many_drifts import many_drifts
from driftbandits.research.studies.regret_against_drift import DRIFTS, FAMILIES, Maker, mild_drift, regret_against_drift
from driftbandits.research.studies.sharp_bounds import SHAPES, sharp_bounds
from driftbandits.research.studies.worst_gap import worst_gap
from driftbandits.theory.lower import block_length, block_pair

if TYPE_CHECKING:
    import polars as pl

DRIFT_RUNS = 10
"""Instances at each drift of the regret-against-drift study, at most: every run there draws its own."""
MILD_RUNS = 20
"""Runs at each horizon of the mild-drift study, at most: the longest horizon is 16 times the paper's."""
MEASURE_RUNS = 5
"""Runs of the change-of-measure study for every run asked for: its instances are single blocks."""
COUNTER_EXAMPLE_DRIFT = 1 / 4_800
BLOCK_DRIFT = 1 / 4_800

FEW_RUNS = 5
"""Runs, at most, where many instances are played and none is in doubt."""
EPISODE_RUNS = 2
"""Runs, at most, of the instances whose every episode is checked."""
EPISODE_DRIFTS = (1e-7, 1e-6, 1e-5)

NEEDS = {
    "confidence": ("separated", "toggling"),
    "authors-run": ("toggling",),
    "mechanisms": ("toggling", "common-periods", "equal-drift"),
    "provenance": ("separated", "toggling"),
}
"""Whose results a group cannot be read without."""


def parts() -> list[Part]:
    """All parts, in the order in which they are run."""
    found = [_experiment(experiment, instance) for experiment in EXPERIMENTS for instance in experiment.instances]
    found += [_confidence(instance) for experiment in EXPERIMENTS for instance in experiment.instances]
    found.append(tabulated("good-event", "confidence", 4.0, _good_event))
    found += [_drift(family) for family in FAMILIES]
    found += [
        tabulated(f"many-drifts-{family}", family, 3.0, partial(_many_drifts, family)) for family in DRIFT_FAMILIES
    ]
    found += [_other_form(form.instance, form.experiment) for form in OTHER_FORMS]
    found.append(tabulated("sharp-bounds", "sharp-bounds", 5.0, _sharp_bounds))
    found.append(tabulated("worst-gap", "worst-gap", 7.0, _worst_gap))
    found.append(tabulated("episodes", "episodes", 7.0, _episodes))
    found.append(tabulated("mild-drift", "mild-drift", 2.0, _mild_drift))
    found.append(tabulated("change-of-measure", "change-of-measure", 5.0, _change_of_measure))
    found.append(
        simulated(
            "episodic-regret",
            "episodic-regret",
            1.0,
            lambda horizon: {ALGORITHM_1: SnoozeIt(horizon, COUNTER_EXAMPLE_DRIFT, variant="original")},
            counter_example,
        )
    )
    return found


def counter_example(horizon: int) -> Instance:
    """Arms that cross so often that no window shows a gap: one active phase, in which the best arm keeps changing."""
    half = COUNTER_EXAMPLE_DRIFT * 1_000 / 2
    return toggling(horizon, COUNTER_EXAMPLE_DRIFT, flat=1_000, start=(0.5 + half, 0.5 - half))


def _experiment(experiment: Experiment, instance: PaperInstance) -> Part:
    weight = 3.0 if experiment.with_rivals else 1.0
    return simulated(
        instance.name, experiment.name, weight, lambda horizon: experiment.policies(instance, horizon), instance.build
    )


def _other_form(instance: PaperInstance, experiment: str) -> Part:
    (like,) = (one for one in EXPERIMENTS if one.name == experiment)
    return simulated(instance.name, "provenance", 3.0, lambda horizon: like.policies(instance, horizon), instance.build)


def _few(settings: Settings, most: int = FEW_RUNS) -> dict[str, Any]:
    """Two runs at least, so that there is a scatter."""
    return {"runs": max(2, min(settings.runs, most)), "seed": settings.seed}


def _many_drifts(family: str, settings: Settings) -> pl.DataFrame:
    return many_drifts(family, settings.horizon, snoozeit, **_few(settings))


def _sharp_bounds(settings: Settings) -> pl.DataFrame:
    horizons = [max(settings.horizon // part, 2) for part in (16, 4, 1)]
    return sharp_bounds(horizons, **_few(settings))


def _worst_gap(settings: Settings) -> pl.DataFrame:
    return worst_gap(settings.horizon, **_few(settings))


def _episodes(settings: Settings) -> pl.DataFrame:
    return check_episodes(episode_instances(settings.horizon), **_few(settings, EPISODE_RUNS))


def episode_instances(horizon: int) -> dict[str, tuple[Instance, float]]:
    """Where every episode is checked: all instances of the paper, those of sharp bounds, and the counter-example."""
    found = {one.name: (one.build(horizon), one.drift) for each in EXPERIMENTS for one in each.instances}
    for shape, build in SHAPES.items():
        for drift in EPISODE_DRIFTS:
            found |= {f"{shape}, gap {gap}, δ = {drift:g}": (build(horizon, drift, gap), drift) for gap in (0.3, 0.6)}
    return found | {"counter-example": (counter_example(horizon), COUNTER_EXAMPLE_DRIFT)}


def _confidence(instance: PaperInstance) -> Part:
    return simulated(
        f"confidence-{instance.name}",
        "confidence",
        1.5,
        lambda horizon: at_confidences(horizon, instance.drift),
        instance.build,
    )


def _good_event(settings: Settings) -> pl.DataFrame:
    grid = np.unique([*CONFIDENCES, *np.linspace(0.4, 1.0, 61).round(2)])
    return good_event(settings.horizon, grid.tolist(), runs=settings.runs, seed=settings.seed)


def _drift(family: str) -> Part:
    def study(settings: Settings) -> pl.DataFrame:
        # A block of the lower bound must fit into the horizon.
        drifts = [drift for drift in DRIFTS if block_length(drift) <= settings.horizon]
        runs = max(2, min(settings.runs, DRIFT_RUNS))
        return regret_against_drift(drifts, settings.horizon, _makers(family), family, runs=runs, seed=settings.seed)

    name = f"regret-against-drift-{family.replace(' ', '-')}"
    return tabulated(name, "regret-against-drift", 4.0, study)


def _makers(family: str) -> dict[str, Maker]:
    """SnoozeIt everywhere; its rivals on the instances of the lower bound, which is about every policy."""

    def maker(name: str) -> Maker:
        return lambda horizon, drift: (snoozeit(horizon, drift) | rivals(horizon, drift))[name]

    made = {name: maker(name) for name in (*FORMS.values(), *(RIVALS if family == "lower bound" else ()))}
    return made | {ALGORITHM_1: lambda horizon, drift: SnoozeIt(horizon, drift, variant="original")}


def _mild_drift(settings: Settings) -> pl.DataFrame:
    horizons = [settings.horizon * 4**power // 16 for power in range(5)]
    return mild_drift(horizons, runs=max(2, min(settings.runs, MILD_RUNS)), seed=settings.seed)


def _change_of_measure(settings: Settings) -> pl.DataFrame:
    import polars as pl

    m = block_length(BLOCK_DRIFT)
    policies = {"round robin": RoundRobin(), **rivals(m, BLOCK_DRIFT)}
    policies["SnoozeIt, confidence 0.05"] = SnoozeIt(m, BLOCK_DRIFT, confidence=CALIBRATED / 2)
    rows = []
    for name, policy in policies.items():
        runs = MEASURE_RUNS * max(settings.runs, 2)
        found = change_of_measure(policy, *block_pair(BLOCK_DRIFT), runs=runs, seed=settings.seed)
        sides = {
            f"{side} {end}": getattr(getattr(found, side), end)
            for side in ("left", "right")
            for end in ("value", "low", "high")
        }
        rows.append({"policy": name, **sides, "refuted": found.refuted})
    return pl.DataFrame(rows)
