"""What a policy is told by an instance: one answer, whoever asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.cli import simulate as command
from driftbandits.policies import make_policy
from driftbandits.policies.registry import told_by
from driftbandits.research import bench, pages
from driftbandits.research.league.matches import DRIFTING, USUAL, Match
from driftbandits.simulation import simulate as simulation

NAMES = ["SWUCBSharp", "KalmanTS", "GLRUCB", "Oracle"]
EVERYTHING = ["horizon", "drift", "best_arms"]


def by_simulate(family: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    made: dict[str, Any] = {}
    monkeypatch.setattr(simulation, "simulate", lambda policies, *_, **__: made.update(policies))
    monkeypatch.setattr(command, "_print_summary", lambda result: None)
    command.simulate(family, NAMES)
    return made


def by_sweep(family: str) -> dict[str, Any]:
    cells = db.Sweep({"policy": NAMES, "instance": family, "noise": "bernoulli"}, runs=1).cells
    return {cell.columns["policy"]: cell.make_policy(cell.instance()) for cell in cells}


def fields(policy: Any) -> dict[str, Any]:
    return {name: vars(policy)[name] for name in EVERYTHING if name in vars(policy)}


@pytest.mark.parametrize("family", ["lower_bound", "fading"])
def test_everyone_tells_the_same(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = db.instances.FAMILIES[family]()
    tellers = [by_simulate(family, monkeypatch), by_sweep(family), bench.every(instance)]
    tellers.append({name: pages.policies_drawn(name, instance)[name] for name in NAMES})
    for name in NAMES:
        right = fields(make_policy(name, instance))
        assert right, name
        for made in tellers:
            np.testing.assert_equal(fields(made[name]), right)


def test_the_league_tells_the_drift_that_an_instance_has() -> None:
    """Its standings were played so. On the instances behind Theorem 3, where the two differ most, by less than 1 %."""
    for family in (db.instances.lower_bound, db.instances.fading):
        instance = family(horizon=20_000)
        entrants = Match("", "", DRIFTING, instance, USUAL).entrants()
        declared = told_by(instance, EVERYTHING)["drift"]
        assert fields(entrants["GLRUCB"]) == {"horizon": instance.horizon}
        assert fields(entrants["KalmanTS"]) == {"drift": instance.drift_limit}
        assert instance.drift_limit == pytest.approx(declared, rel=0.01)


def test_the_declared_drift_is_told_and_else_the_one_there_is() -> None:
    means = [[0.5, 0.5], [0.5, 0.6], [0.5, 0.6]]
    assert told_by(db.Instance(means, drift=0.3), EVERYTHING)["drift"] == 0.3
    assert told_by(db.Instance(means), EVERYTHING)["drift"] == pytest.approx(0.1)
    assert told_by(db.instances.toggling(horizon=100, drift=1e-3), EVERYTHING)["drift"] == 1e-3
    assert told_by(db.instances.equal_drift(2), EVERYTHING)["drift"] == pytest.approx(2 / 48_000)


def test_what_is_said_wins_over_the_instance() -> None:
    instance = db.instances.toggling(horizon=100)
    assert fields(make_policy("SWUCBSharp", instance, drift=0.01)) == {"horizon": 100, "drift": 0.01}
