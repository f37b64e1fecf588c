"""One small comparison that several files look at."""

from __future__ import annotations

import pytest

import driftbandits as db
from comparison import POLICIES, T


@pytest.fixture(scope="session")
def world() -> db.Instance:
    return db.instances.sinusoid(horizon=T, drift=1e-3)


@pytest.fixture(scope="session")
def result(world: db.Instance) -> db.Simulation:
    return db.simulate(POLICIES, world, runs=6, seed=11, workers=1, events=True)
