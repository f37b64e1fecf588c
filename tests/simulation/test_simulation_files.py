"""A Simulation's file is its own: whatever was or was not noted, ``load``, ``rerun`` and ``keep`` know it again."""

from __future__ import annotations

from pathlib import Path

import pytest

import driftbandits as db
from driftbandits.simulation.parquet import read_runs
from stubborn import Stubborn

POLICIES = {
    "keeps no events": db.RoundRobin(),
    "notes none": db.SnoozeIt(200, 1e-3),  # too short for its test to pass
    "notes some": db.SnoozeItTight(200, 1e-3, confidence=0.05),
    "plain": Stubborn(),
}


@pytest.mark.parametrize("events", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_events_that_were_asked_for_are_asked_for_again(name: str, events: bool, tmp_path: Path) -> None:
    path, instance, policies = tmp_path / "runs.parquet", db.instances.stationary(200), {name: POLICIES[name]}
    first = db.simulate(policies, instance, runs=2, events=events)
    assert first.with_events is events
    assert events or not first.events
    noted = first.events[name].height if name in first.events else 0
    assert (noted > 0) is (events and name == "notes some")
    first.save(path)
    written = path.stat().st_mtime_ns
    kept = db.simulate(policies, instance, runs=2, events=events, keep=path)
    assert path.stat().st_mtime_ns == written  # nothing was played
    with pytest.raises(db.InputError, match="different events"):
        db.simulate(policies, instance, runs=2, events=not events, keep=path)
    for again in (kept, db.Simulation.load(path), first.rerun()):
        assert again.with_events is events
        assert set(again.events) == set(first.events)
        assert all(again.events[name].equals(table) for name, table in first.events.items())


def test_a_loaded_simulation_is_saved_as_it_was(tmp_path: Path) -> None:
    """Also where only its author can build a policy again."""
    first = db.simulate(POLICIES, db.instances.stationary(200), runs=2, events=True)
    first.save(tmp_path / "one.parquet")
    db.Simulation.load(tmp_path / "one.parquet").save(tmp_path / "other.parquet")
    assert read_runs(tmp_path / "one.parquet")[0] == read_runs(tmp_path / "other.parquet")[0]
    db.simulate(POLICIES, db.instances.stationary(200), runs=2, events=True, keep=tmp_path / "other.parquet")
