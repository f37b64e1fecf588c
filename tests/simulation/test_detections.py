"""Delays, missed changes and false alarms, from events written by hand and from simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.simulation.detections import detection_delays, true_changes


def instance() -> db.Instance:
    """Changes after 100 steps (arm 0) and 200 (both arms), 300 steps in all."""
    return db.Instance(np.repeat([[0.1, 0.5], [0.9, 0.5], [0.2, 0.3]], 100, axis=0), name="two changes")


def simulation(events: list[tuple[int, int, int]], runs: int = 2) -> db.Simulation:
    """A Simulation whose events (run, step, arm) are the given ones."""
    made = db.simulate({"it": db.MUCB(300), "turns": db.RoundRobin()}, instance(), runs=runs, events=True)
    table = pl.DataFrame(events, schema={"run": pl.Int64, "step": pl.Int64, "arm": pl.Int64}, orient="row")
    return replace(made, events={"it": table.with_columns(statistic=1.0)})


def test_changes() -> None:
    assert true_changes(instance()).tolist() == [100, 200]
    assert true_changes(db.instances.stationary(50, (0.1, 0.2))).tolist() == []
    abrupt = db.instances.abrupt(1_000, 3, 4, seed=2)
    assert len(true_changes(abrupt)) == 4
    with pytest.raises(db.InputError, match="jump now and then"):
        true_changes(db.instances.sinusoid(1_000))


def test_by_hand() -> None:
    """Run 0: a false alarm at 100, delays 7 and 100, one more false alarm. Run 1: the first change is missed."""
    result = simulation([(0, 100, -1), (0, 107, -1), (0, 108, -1), (0, 300, -1), (1, 201, -1)])
    delays = detection_delays(result)
    assert delays["delay"].to_list() == [7, 100, None, 1]
    row = db.detection_table(result).row(0, named=True)
    assert (row["policy"], row["changes"]) == ("it", 2)
    assert row["delay"] == pytest.approx((53.5 + 1) / 2)
    assert row["missed"] == pytest.approx((0 + 0.5) / 2)
    assert 0.0 <= row["missed_low"] < row["missed"] < row["missed_high"] <= 1.0, "it reached from -2.9 to 3.4"
    assert row["false_alarms"] == pytest.approx((2 + 0) / 2 * 1e5 / 300)
    assert row["false_alarms_low"] < row["false_alarms"] < row["false_alarms_high"]


def test_arms_restarted_one_by_one() -> None:
    """Each arm that changed may alarm once a change; arm 1 does not change at 100."""
    result = simulation([(0, 110, 0), (0, 120, 1), (0, 210, 0), (0, 220, 1), (0, 230, 1)], runs=1)
    assert db.detection_table(result)["false_alarms"].to_list() == [pytest.approx(2 * 1e5 / 300)]
    assert detection_delays(result)["delay"].to_list() == [10, 10]


def test_nothing_seen() -> None:
    row = db.detection_table(simulation([])).row(0, named=True)
    assert row["delay"] is None
    assert (row["missed"], row["false_alarms"]) == (1.0, 0.0)
    assert 0.0 < row["missed_low"] < row["missed_high"] == 1.0
    assert db.plot_detections(simulation([])).axes


def test_without_detectors() -> None:
    result = db.simulate({"it": db.BOB(300), "turns": db.RoundRobin()}, instance(), runs=1, events=True)
    with pytest.raises(db.InputError, match="events=True"):
        db.detection_table(result)


def test_figure_shows_the_share_seen() -> None:
    result = simulation([(0, 107, -1), (0, 300, -1), (1, 201, -1)])
    figure = db.plot_detections(result)
    x, y = figure.axes[0].lines[0].get_data()
    assert np.asarray(x).tolist() == [0, 1, 7, 100, 100]
    assert np.asarray(y).tolist() == [0, 0.25, 0.5, 0.75, 0.75]
    assert "(0 false alarms per 100,000)" in figure.legends[0].get_texts()[0].get_text()
    assert figure.legends[0].get_title().get_text() == "2 runs of 2 changes"


def test_stationary_instances_have_false_alarms_only() -> None:
    stationary = db.instances.stationary(5_000, (0.5, 0.5))
    result = db.simulate({"it": db.CUSUMUCB(5_000, threshold=2.0)}, stationary, runs=4, events=True)
    row = db.detection_table(result).row(0, named=True)
    assert row["changes"] == 0
    assert row["missed"] is None
    assert row["false_alarms"] == pytest.approx(len(result.events["it"]) / 4 * 1e5 / 5_000)
