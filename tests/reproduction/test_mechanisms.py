"""The paper's explanations are judged by what is measured, and sections say what their tables hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from driftbandits.research.paper import authors_run, mechanisms, strong_tests
from driftbandits.research.paper.experiments import EXPERIMENTS, FORMS
from driftbandits.research.paper.sections import Material
from driftbandits.research.studies.many_drifts import Correlation

from driftbandits import instances, simulate
from driftbandits.research.league.report.content import FAILS, HOLDS, UNDECIDED
from driftbandits.research.league.report.parts import Settings

T = 40_000


def material(**results: Any) -> Material:
    return Material(Settings(3, 0, T), {name.replace("_", "-"): found for name, found in results.items()}, Path())


@pytest.fixture(scope="module")
def toggling() -> Any:
    """Two flat stretches and a half; only the calibrated form snoozes."""
    experiment = EXPERIMENTS[1]
    (instance,) = experiment.instances
    policies = experiment.policies(instance, T)
    return simulate(policies, instances.toggling(T), runs=3, seed=0, events=True, checkpoints=1)


@pytest.mark.filterwarnings("ignore")
def test_who_pays_less_while_the_arms_stand_still(toggling: Any) -> None:
    found = {one.form: one for one in mechanisms.toggling_mechanisms(material(toggling=toggling))}
    assert list(found) == [*FORMS, "SW-UCB#"]
    assert found["printed"].verdict == FAILS
    assert "an arm is snoozed 0% of the time" in found["printed"].measured
    assert found["SW-UCB#"].verdict == FAILS  # its window is shorter than a stretch
    assert "stand still for 4,000 at a time" in found["SW-UCB#"].measured


def test_stretches_are_counted_one_by_one() -> None:
    assert mechanisms._longest_stretch(np.array([1, 0, 1, 1, 1, 0, 1, 1], bool)) == 3
    assert mechanisms._longest_stretch(np.ones(4, bool)) == 4
    assert mechanisms._longest_window(162_755) == 2_480


@pytest.mark.parametrize(
    ("r", "way", "verdict"), [(0.9, 1, HOLDS), (0.9, -1, FAILS), (-0.9, -1, HOLDS), (0.1, 1, UNDECIDED)]
)
def test_an_explanation_needs_the_right_sign(r: float, way: int, verdict: str) -> None:
    assert mechanisms._goes(Correlation(r, r - 0.3, r + 0.3, 10), way) == verdict


def drift_table(**columns: list[float | None]) -> pl.DataFrame:
    size = len(next(iter(columns.values())))
    parts = [
        pl.DataFrame({"drift": np.arange(1.0, size + 1), **columns}).with_columns(policy=pl.lit(name))
        for name in FORMS.values()
    ]
    return pl.concat(parts)


def test_explanations_follow_their_columns() -> None:
    up: list[float | None] = [1.0, 2.0, 3.1, 4.0, 5.2, 6.0, 7.0]
    down = up[::-1]
    rare: list[float | None] = [None] * 4 + [1.0, 2.0, 3.0]
    found = mechanisms.drift_mechanisms(
        material(
            many_drifts_common_periods=drift_table(detected=up, snooze=rare, episodes=down, snoozed=up),
            many_drifts_equal_drift=drift_table(snooze=down, episodes=up, snoozed=up),
        )
    )
    printed = [(one.experiment, one.verdict) for one in found if one.form == "printed"]
    assert [verdict for _, verdict in printed] == [HOLDS, UNDECIDED, FAILS, HOLDS, HOLDS, HOLDS, FAILS]
    assert [experiment for experiment, _ in printed] == ["Experiment 3"] * 4 + ["Experiment 4"] * 3


def test_the_authors_numbers_stand_beside_ours(toggling: Any) -> None:
    section = authors_run.authors_run_section(material(toggling=toggling))
    (rows,) = section.tables.values()
    assert [row["policy"] for row in rows] == list(authors_run.AVERAGE_REGRET)
    said = " ".join(section.text)
    for part in ("github.com/rama56/MAB_Simulator", "non_stat_karms.ipynb", "75e0b19b5ffa", "contradicts Claim 2"):
        assert part in said


def test_lemmas_that_are_violated_are_named() -> None:
    columns = {"checks": [10, 20], "could_fail": [5, 20], "violations": [0, 2], "closest": [0.5, 1.5]}
    table = pl.DataFrame({"lemma": ["Lemma 2", "Lemma 4"], **columns, "where": ["", "crossing: 2"]})
    section = strong_tests.episodes_section(material(episodes=table))
    assert section.text[-1] == "Violated: Lemma 4."
    none = strong_tests.episodes_section(material(episodes=table.head(1)))
    assert none.text[-1] == "Violated: none."
