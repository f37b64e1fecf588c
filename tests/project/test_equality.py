"""Public objects can be compared and put in a set, and what holds arrays is equal to itself alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.instances.recorded import RecordedSeries
from driftbandits.offline.log import read_log
from lively import lively

POLICIES = sorted(set(db.POLICIES) - {"Oracle"})
ROWS = pl.DataFrame({"step": range(400), "arm": ["a", "b"] * 200, "reward": [0.5, 1.0] * 200, "probability": 0.5})

VALUES: dict[str, Callable[[], Any]] = {
    "Doubling": lambda: db.Doubling(db.SnoozeItK(16, 1e-3)),
    "Gaussian": lambda: db.Gaussian(0.3),
    "Bernoulli": db.Bernoulli,
    "Bounded": lambda: db.Bounded(0.2),
    "Instance": lambda: db.instances.toggling(500),
    "Recommendation": lambda: db.Recommendation(db.UCB1(), 0.5, "UCB1()", "because"),
}
"""Equal where they were made alike."""
THINGS: dict[str, Callable[[], Any]] = {
    "Log": lambda: read_log(ROWS),
    "Oracle": lambda: db.Oracle(np.arange(9) % 2),
    "RecordedSeries": lambda: RecordedSeries("mine", ("red", "blue"), np.ones((48, 2)), 24),
    "Replay": lambda: db.replay(ROWS.with_columns(arm=np.random.default_rng(1).integers(0, 2, 400)), ["RoundRobin"]),
    "Session": lambda: db.Session(arms=["a", "b"]),
    "Sweep": lambda: db.Sweep({"policy": "UCB1", "instance": "walk", "horizon": 50}, runs=1),
}
"""Each equal to itself alone."""


@pytest.mark.parametrize("name", [*POLICIES, *VALUES])
def test_what_was_made_alike_is_equal(name: str) -> None:
    one, other = (VALUES[name]() if name in VALUES else lively(name) for _ in range(2))
    assert one is not other
    assert one == other
    assert hash(one) == hash(other)
    assert {one: 1}[other] == 1
    assert one != object()


@pytest.mark.parametrize("name", POLICIES)
def test_policies_of_other_settings_are_not_equal(name: str) -> None:
    policy = lively(name)
    assert is_dataclass(policy)
    for field in fields(policy):
        other = lively(name)
        object.__setattr__(other, field.name, 7.25)
        assert other != policy, field.name


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", THINGS)
def test_what_holds_arrays_is_equal_to_itself_alone(name: str) -> None:
    one, other = THINGS[name](), THINGS[name]()
    assert one == one
    assert one != other
    assert {one: 1}[one] == 1
    assert other not in {one}


def test_simulations_are_compared_by_their_numbers_and_have_no_hash() -> None:
    instance = VALUES["Instance"]()
    one, other, longer = (db.simulate("RoundRobin", instance, runs=runs, progress=False) for runs in (1, 1, 2))
    assert one == other
    assert one != longer
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
