"""What explain_feasibility says is possible, against what SnoozeIt does when one arm always pays 1 and the other 0."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import driftbandits as db
import naive_theory as naive
from driftbandits.errors import InputError
from driftbandits.theory.feasibility import explain_feasibility

PAPER = 162_755


def cases() -> list[tuple[int, float, str, float]]:
    """Random constants, half of them close to the drift at which a snooze becomes impossible, and the corners."""
    rng = np.random.default_rng(11)
    found: list[tuple[int, float, str, float]] = [
        (horizon, drift, variant, confidence)
        for variant in ("modified", "original", "released")
        for horizon, drift, confidence in [
            (1, 0.1, 1.0),
            (2, 0.0, 0.01),
            (994, 0.0, 1.0),
            (3_000, 0.0, 1.0),
            (50, 1.0, 0.02),
        ]
    ]
    for index in range(150):
        variant = ("modified", "original", "released")[index % 3]
        horizon = int(10 ** rng.uniform(1.5, 4.3))
        confidence = float(10 ** rng.uniform(-1.5, 0.1))
        factor = 216 if variant == "released" else 864
        limit = min(1.0, 1 / (factor * confidence**2 * math.log(horizon)))
        drift = limit * float(rng.uniform(0.9, 1.1) if index % 2 else 10 ** rng.uniform(-2, 1))
        found.append((horizon, min(1.0, drift), variant, confidence))
    return found


@pytest.mark.parametrize(("horizon", "drift", "variant", "confidence"), cases())
def test_snoozeit_does_what_is_said_to_be_possible(horizon: int, drift: float, variant: str, confidence: float) -> None:
    said = explain_feasibility(horizon, drift, variant, confidence)
    with warnings.catch_warnings():  # SnoozeIt warns where it cannot snooze; here both cases are wanted
        warnings.simplefilter("ignore")
        policy = db.SnoozeIt(horizon, drift, variant=variant, confidence=confidence)
    world = db.Instance(np.broadcast_to([1.0, 0.0], (horizon, 2)))
    result = db.simulate({"it": policy}, world, db.Gaussian(0.0), runs=1, events=True, checkpoints=1)
    events = result.events["it"].to_dicts() if "it" in result.events else []
    assert bool(events) == said.can_pass
    lengths = [math.ceil(min(event["until"], horizon) - event["passed"]) for event in events if event["snoozed"]]
    assert max(lengths, default=0) == said.longest_snooze
    assert any(length > 0 for length in lengths) == said.can_snooze
    if events:
        assert events[0]["window"] == said.smallest_window
    assert naive.longest_snooze(horizon, drift, variant, confidence) == said.longest_snooze


def test_both_answers_occur_often() -> None:
    said = [explain_feasibility(*case) for case in cases()]
    assert sum(answer.can_snooze for answer in said) > 30
    assert sum(answer.can_pass and not answer.can_snooze for answer in said) > 30
    assert sum(not answer.can_pass for answer in said) > 10


@pytest.mark.parametrize(("horizon", "drift", "variant", "confidence"), cases())
def test_the_needed_gap_makes_the_buffer_as_long_as_its_window(
    horizon: int, drift: float, variant: str, confidence: float
) -> None:
    gap = explain_feasibility(horizon, drift, variant, confidence).needed_gap
    c, divisor = (36, 3) if variant == "released" else (72, 6)
    assert gap * gap**2 == pytest.approx(divisor * drift * 2 * c * confidence**2 * math.log(horizon))


def test_the_paper_s_own_experiments() -> None:
    limit = 1 / (864 * math.log(PAPER))
    assert explain_feasibility(PAPER, 1 / 48_000).can_snooze
    assert not explain_feasibility(PAPER, 1 / 4_800).can_snooze  # Experiment 2, as printed, is round robin
    assert not explain_feasibility(PAPER, limit).can_snooze
    assert explain_feasibility(PAPER, 0.99 * limit).can_snooze
    assert explain_feasibility(PAPER, limit).needed_gap == pytest.approx(1)
    assert explain_feasibility(PAPER, 1 / 4_800, "released").can_snooze
    assert explain_feasibility(PAPER, 1 / 4_800, confidence=0.5).can_snooze


def test_the_test_can_pass_from_t_994_on() -> None:
    assert [horizon for horizon in range(2, 2_000) if explain_feasibility(horizon, 0.0).can_pass] == list(
        range(994, 2_000)
    )


@pytest.mark.parametrize(("horizon", "drift", "variant", "confidence"), cases())
def test_the_drift_it_recommends_works(horizon: int, drift: float, variant: str, confidence: float) -> None:
    said = explain_feasibility(horizon, drift, variant, confidence)
    assert str(said) == said.sentence
    assert variant in said.sentence
    if "A drift below about" in said.sentence:
        recommended = float(said.sentence.split("A drift below about ")[1].split()[0])
        assert recommended <= drift * 1.01
        assert explain_feasibility(horizon, 0.99 * recommended, variant, confidence).can_snooze
        assert not explain_feasibility(horizon, min(1.0, 1.01 * recommended), variant, confidence).can_snooze


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match="unknown variant 'snoozier'; choose one of modified, original, released"):
        explain_feasibility(1_000, 0.1, "snoozier")
    with pytest.raises(InputError, match="confidence must be positive"):
        explain_feasibility(1_000, 0.1, confidence=0.0)
    with pytest.raises(InputError, match="horizon"):
        explain_feasibility(0, 0.1)
    with pytest.raises(InputError, match="drift"):
        explain_feasibility(10, 1.1)
