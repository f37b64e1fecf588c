"""The authors' own executed run on the toggling instance, reproduced: regret at T = 162,755."""

from __future__ import annotations

import pytest

import driftbandits as db

DRIFT = 1 / 4_800


@pytest.fixture(scope="module")
def result() -> db.Simulation:
    world = db.instances.toggling()
    T = world.horizon
    policies = {
        "released": db.SnoozeIt(T, DRIFT, variant="released"),
        "printed": db.SnoozeIt(T, DRIFT),
        "SW-UCB#": db.SWUCBSharp(T, DRIFT),
        "Rexp3": db.Rexp3(T, DRIFT),
        "Exp3.S": db.Exp3S(T, DRIFT),
        "Exp3.S defective": db.Exp3S(T, DRIFT, gamma=0.0024),
    }
    return db.simulate(policies, world, db.Gaussian(0.5), runs=40, seed=0, events=True)


@pytest.mark.parametrize(
    ("name", "target", "within"),
    [
        ("released", 45_000, 0.02),
        ("SW-UCB#", 2_500, 0.03),
        ("Rexp3", 15_200, 0.02),
        ("Exp3.S", 10_700, 0.02),
        ("Exp3.S defective", 46_000, 0.02),
    ],
)
def test_regret(result: db.Simulation, name: str, target: float, within: float) -> None:
    """The targets are known to two or three digits; forty runs put the mean within half a percent."""
    final = result.regret[name][:, -1]
    assert final.std(ddof=1) / 40**0.5 < 0.005 * final.mean()
    assert final.mean() == pytest.approx(target, rel=within)


def test_printed_is_round_robin(result: db.Simulation) -> None:
    assert result.regret["printed"][:, -1] == pytest.approx(51_128.27, abs=0.005)


def test_episodes_of_the_released_form(result: db.Simulation) -> None:
    episodes = result.events["released"].group_by("run").len()["len"]
    mean = episodes.mean()
    assert isinstance(mean, float)
    assert 75 <= mean <= 77
