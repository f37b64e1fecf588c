"""The report's sentences say what was measured, also where runs differ from each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from test_paper import RUNS, around, simulation

from driftbandits.research.paper import facts
from driftbandits.research.paper.experiments import ALGORITHM_1, FORMS
from driftbandits.research.paper.sections import Material
from driftbandits.research.paper.summary import summary
from driftbandits.research.report.content import FAILS, HOLDS, UNDECIDED, Section
from driftbandits.research.report.parts import Settings
from driftbandits.simulation.result import Simulation
from driftbandits.theory.bounds import episode_regret

T = 1_000


def material(**results: Any) -> Material:
    return Material(Settings(RUNS, 0, T), {name.replace("_", "-"): found for name, found in results.items()}, Path())


def with_events(played: Simulation, policy: str, snoozed: list[int]) -> Simulation:
    return replace(played, events={policy: pl.DataFrame({"snoozed": snoozed}, schema={"snoozed": pl.Int64})})


@pytest.mark.parametrize(("like", "said"), [(20, "in every run"), (19, "in 19 of 20 runs"), (0, "in none of 20 runs")])
def test_in_how_many_runs_printed_snoozeit_was_round_robin(like: int, said: str) -> None:
    turns = around(500)
    printed = np.where(np.arange(RUNS) < like, turns, turns - 1)
    played = with_events(simulation(printed=printed, turns=turns), FORMS["printed"], [1, 0, 1])
    (_, measured) = facts.cannot_snooze_section(material(toggling=played)).text
    assert measured.startswith("Measured: 2 snoozes in 20 runs of Experiment 2, and a regret of ")
    assert f", the same as that of round robin {said} (" in measured


@pytest.mark.parametrize(("above", "said"), [(20, "in every run"), (1, "in 1 of 20 runs"), (0, "in none of 20 runs")])
def test_in_how_many_runs_episodic_regret_fails(above: int, said: str) -> None:
    bound = float(episode_regret(T, T))
    regret = np.where(np.arange(RUNS) < above, bound + 1, bound)
    played = with_events(simulation(first=regret), ALGORITHM_1, [])
    section = facts.episodic_regret_section(material(episodic_regret=played))
    assert "In 20 runs the test of Algorithm 1 passed 0 times, so each run is one active phase; " in section.text[1]
    assert section.text[1].endswith(f", which exceeds the bound of {bound:,.0f} {said}.")


def test_episodic_regret_where_the_test_passed() -> None:
    played = with_events(simulation(first=around(100)), ALGORITHM_1, [1, 0])
    section = facts.episodic_regret_section(material(episodic_regret=played))
    assert "passed 2 times, so not every run is one active phase; " in section.text[1]


@pytest.mark.parametrize(
    ("failed", "said"),
    [
        (
            {0.1: 1.0, 0.2: 1.0, 0.4: 0.5, 0.5: 0.0, 1.0: 0.0},
            "in every run up to a confidence of 0.2 and in no run from a confidence of 0.5 on: the paper's radius is "
            "2.0 times as wide as these runs need",
        ),
        ({0.1: 1.0, 0.2: 1.0, 0.5: 0.5}, "in every run up to a confidence of 0.2"),
        (
            {0.1: 0.5, 0.25: 0.0, 1.0: 0.0},
            "in no run from a confidence of 0.25 on: the paper's radius is 4.0 times as wide as these runs need",
        ),
        ({0.1: 0.75, 0.25: 0.05}, "in 5% to 75% of the runs"),
    ],
)
def test_where_the_good_event_fails(failed: dict[float, float], said: str) -> None:
    table = pl.DataFrame({"confidence": list(failed), "failed": list(failed.values())})
    assert facts._good_event_sentence(table) == f"The good event fails {said}."


def test_the_claim_by_confidence_in_a_sentence() -> None:
    verdicts = {0.1: HOLDS, 0.2: UNDECIDED, 0.5: FAILS, 1.0: HOLDS}
    rows = [{"confidence": value, "claim": verdict} for value, verdict in verdicts.items()]
    said = "Experiment 2: the claim holds at 0.1, 1; is not decidable at 0.2; fails at 0.5."
    assert facts._claim_sentence("Experiment 2: by confidence", rows) == said


def test_of_several_instances_the_worst_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: dict[str, list[float | None]] = {
        "one": [0.1, 0.05, 0.2],
        "two": [0.3, 0.2, 0.4],
        "three": [None, None, None],
    }
    columns = ("unsafe", "unsafe low", "unsafe high")
    curves = {
        label: pl.DataFrame(
            [
                {
                    "confidence": 0.5,
                    "regret": 100.0,
                    "low": 90.0,
                    "high": 110.0,
                    **dict(zip(columns, found, strict=True)),
                },
                {"confidence": 1.0, "regret": 1.0, "low": 1.0, "high": 1.0, **dict.fromkeys(columns, 1.0)},
            ]
        )
        for label, found in rates.items()
    }
    monkeypatch.setattr(facts, "curve", lambda label: curves[label])
    good_event = pl.DataFrame({"confidence": [1.0, 0.5], "failed": [0.0, 0.75]})
    played = {label: label for label in curves}
    row = facts._confidence_row(material(good_event=good_event), 0.5, played)
    assert row == {
        "confidence": 0.5,
        **dict.fromkeys(curves, "100 (90 to 110)"),
        "Lemma 2 fails": "30.0% (20.0% to 40.0%)",
        "good event fails": "75%",
    }
    alone = facts._confidence_row(material(good_event=good_event), 0.5, {"three": "three"})
    assert (alone["regret"], alone["Lemma 2 fails"]) == ("100 (90 to 110)", None)


def test_the_price_where_nothing_was_snoozed() -> None:
    rows = [
        {"confidence": 0.1, "claim": HOLDS, "Lemma 2 fails": "3.0% (2.0% to 4.0%)"},
        {"confidence": 0.2, "claim": FAILS, "Lemma 2 fails": "2.0% (1.0% to 3.0%)"},
        {"confidence": 1.0, "claim": HOLDS, "Lemma 2 fails": None},
    ]
    section = Section("confidence", "", [], tables={"Experiment 2: toggling: by confidence": rows})
    said = summary(material(), [], [], [section])[-1]
    assert "Of 3 confidences tried, Claim 2 holds at 0.1, 1; there, in turn, 3.0% (2.0% to 4.0%), none of all" in said


def test_how_many_policies_refute_lemma_9() -> None:
    ends = {f"{side} {end}": [0.5, 0.25] for side in ("left", "right") for end in ("value", "low", "high")}
    table = pl.DataFrame({"policy": ["UCB1", "AutoTS"], "refuted": [True, False], **ends})
    section = facts.change_of_measure_section(material(change_of_measure=table))
    assert "refute left ≥ right for 1 of 2 policies" in section.text[1]
    assert section.tables["Lemma 9 (change of measure)"][1] == {
        "policy": "AutoTS",
        "paid": "0.2500 (0.2500 to 0.2500)",
        "told apart": "0.2500 (0.2500 to 0.2500)",
    }
