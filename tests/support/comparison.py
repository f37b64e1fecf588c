"""Policies that meet on a small instance, and what came of it: fixtures for every test."""

from __future__ import annotations

import numpy as np
import pytest

import driftbandits as db
from stubborn import Stubborn

T = 5_000
POLICIES = {
    "SnoozeIt": db.SnoozeIt(T, 1e-3, confidence=0.1),
    "SW-UCB#": db.SWUCBSharp(T, 1e-3),
    "Rexp3": db.Rexp3(T, 1e-3),
    "plain": Stubborn(),
}


def same(one: db.Simulation, other: db.Simulation, name: str) -> bool:
    """Whether two simulations of a policy agree to the last bit."""
    pairs = [(getattr(one, part)[name], getattr(other, part)[name]) for part in ("regret", "realised", "pulls")]
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.fixture(scope="session")
def instance() -> db.Instance:
    return db.instances.sinusoid(horizon=T, drift=1e-3)


@pytest.fixture(scope="session")
def result(instance: db.Instance) -> db.Simulation:
    return db.simulate(POLICIES, instance, runs=6, seed=11, workers=1, events=True)
