"""What is measured: every study is a function from a Context to a frozen dataclass, kept as Parquet."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from reproduction.context import Context
from reproduction.experiments import EXPERIMENTS
from reproduction.studies import (
    change_of_measure,
    comparison,
    confidence,
    drift,
    episodes,
    gap_profile,
    good_event,
    many_drifts,
    mechanisms,
    mild_drift,
    released,
    sharp_bounds,
    theory,
    trajectories,
    wave,
    worst_gap,
)  # fmt: skip


@dataclass(frozen=True)
class Study:
    """A study: its name, its result's type, what computes it, and about how many seconds that takes with 100 runs."""

    name: str
    kind: type[Any]
    compute: Callable[[Context], Any]
    weight: float

    def result(self, context: Context) -> Any:
        """The result, computed or read from its file."""
        return context.result(self.name, self.kind, self.compute)


def _studies() -> list[Study]:
    compared = [
        Study(name, comparison.Comparison, partial(comparison.compare, name=name), 14.0 if one.with_rivals else 6.0)
        for name, one in EXPERIMENTS.items()
    ]
    return [
        Study("trajectories", trajectories.Trajectories, trajectories.trajectories, 1.0),
        *compared,
        Study("gap-profile", gap_profile.GapProfile, gap_profile.gap_profile, 1.0),
        Study("good-event", good_event.GoodEvent, good_event.good_event, 5.0),
        Study("confidence", confidence.Confidence, confidence.confidence, 25.0),
        Study("many-drifts", many_drifts.ManyDrifts, many_drifts.many_drifts, 8.0),
        Study("regret-against-drift", drift.RegretAgainstDrift, drift.regret_against_drift, 15.0),
        Study("mild-drift", mild_drift.MildDrift, mild_drift.mild_drift, 3.0),
        Study("sharp-bounds", sharp_bounds.SharpBounds, sharp_bounds.sharp_bounds, 6.0),
        Study("worst-gap", worst_gap.WorstGap, worst_gap.worst_gap, 8.0),
        Study("episodes", episodes.Episodes, episodes.episodes, 8.0),
        Study("wave", wave.Wave, wave.wave_study, 2.0),
        Study("episodic-regret", wave.EpisodicRegret, wave.episodic_regret, 1.0),
        Study("change-of-measure", change_of_measure.ChangeOfMeasure, change_of_measure.change_of_measure, 5.0),
        Study("mechanisms", mechanisms.Mechanisms, mechanisms.mechanisms, 3.0),
        Study("authors-run", released.AuthorsRun, released.authors_run, 1.0),
        Study("mistaken-gamma", released.MistakenGamma, released.mistaken_gamma, 1.0),
        Study("provenance", released.Provenance, released.provenance, 14.0),
        Study("feasibility", theory.Feasibility, theory.feasibility, 0.5),
        Study("budgets", theory.Budgets, theory.budgets, 0.5),
    ]


STUDIES = {study.name: study for study in _studies()}
"""Every study, in the order in which they run. A verdict function names them as its parameters, with underscores."""
