"""Arms that come and go: what an instance says of them, its files, its picture, its family, and who refuses it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.instances.recipe import build_instance, describe_instance
from driftbandits.instances.table import table
from driftbandits.simulation.detections import true_changes
from driftbandits.simulation.late import late_regret
from driftbandits.testing import check_instance

MEANS = [[0.5, 0.9, 0.1], [0.5, 0.8, 0.2], [0.6, 0.7, 0.3], [0.6, 0.6, 0.4]]
THERE = [[True, True, True], [True, False, True], [False, False, True], [True, True, True]]
WORLD = db.Instance(MEANS, name="shop", available=THERE)


def test_what_is_best_is_there() -> None:
    check_instance(WORLD)
    assert WORLD.best_arm.tolist() == [1, 0, 2, 0]
    assert WORLD.best_mean.tolist() == [0.9, 0.5, 0.3, 0.6]
    np.testing.assert_allclose(WORLD.gap, [0.4, 0.3, np.inf, 0.0])
    assert WORLD.arm_changes.tolist() == [1, 2, 3]
    assert repr(WORLD) == "<Instance shop: T=4, K=3, drift_limit=0.1, arms come or go 3 times>"
    assert "times that arms come or go" in WORLD._repr_html_()
    assert db.Instance(MEANS).arm_changes.tolist() == []


def test_arms_that_are_always_there_are_nothing_special() -> None:
    instance = db.Instance(MEANS, name="shop", available=np.ones((4, 3), bool))
    assert instance.available is None
    assert instance == db.Instance(MEANS, name="shop")
    assert instance != WORLD
    assert db.Instance(MEANS, name="shop", available=THERE[::-1]) != WORLD
    assert db.Instance(MEANS, name="shop", available=THERE) == WORLD
    assert WORLD.with_arms(["a", "b", "c"]).available is WORLD.available


def test_the_table_is_a_copy_that_nobody_changes() -> None:
    there = np.array(THERE)
    instance = db.Instance(MEANS, available=there)
    there[:] = True
    assert instance.available is not None
    assert not instance.available.all()
    with pytest.raises(ValueError, match="read-only"):
        instance.available[0, 0] = False


def test_files_and_recipes_keep_it(tmp_path: Path) -> None:
    WORLD.with_arms(["a", "b", "c"]).save(tmp_path / "shop.npz")
    assert table(tmp_path / "shop.npz") == WORLD.with_arms(["a", "b", "c"])
    db.Instance(MEANS).save(tmp_path / "older.npz")
    with np.load(tmp_path / "older.npz") as older:
        assert older.files == ["means"]  # as every version wrote it
    assert table(tmp_path / "older.npz").available is None
    for ending in (".csv", ".parquet"):
        with pytest.raises(db.InputError, match=r"arms that come and go.*save as \.npz"):
            WORLD.save(tmp_path / f"shop{ending}")
    assert build_instance(describe_instance(WORLD)) == WORLD
    made = db.instances.coming_and_going(500, 1e-3, stay=60, away=30)
    assert build_instance(describe_instance(made)) == made


def test_an_arm_is_drawn_while_it_is_there() -> None:
    lines = WORLD.plot().axes[0].get_lines()
    drawn = np.array([np.isfinite(np.asarray(line.get_ydata(), float)) for line in lines]).T
    assert drawn.tolist() == THERE
    assert WORLD._repr_html_().count("<polyline") == 5  # two arms in two pieces


@given(st.integers(0, 50), st.integers(3, 7), st.integers(1, 40), st.integers(1, 40))
def test_two_arms_are_always_there(seed: int, arms: int, stay: int, away: int) -> None:
    instance = db.instances.coming_and_going(200, 1e-3, arms, stay, away, seed=seed)
    assert np.array_equal(instance.means, db.instances.walk(200, 1e-3, arms, seed=seed).means)
    if instance.available is not None:
        assert instance.available.sum(axis=1).min() >= 2


def test_arms_stay_and_are_away_as_long_as_said() -> None:
    """One arm of 40, so that it is never kept; lengths are geometric, their means within five standard errors."""
    there = db.instances.coming_and_going(60_000, 1e-4, 40, stay=90, away=30, seed=3).available
    assert there is not None
    assert there.mean() == pytest.approx(0.75, abs=0.01)
    for stretch, wanted in ((there, 90), (~there, 30)):
        ends = (stretch[:-1] & ~stretch[1:]).sum()
        assert stretch.sum() / ends == pytest.approx(wanted, rel=5 / np.sqrt(ends) + 0.01)


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (lambda: db.detectable_gap(WORLD), "the theory of detectable gaps"),
        (lambda: db.bounds.instance_dependent(WORLD, 0.1), "the theory of detectable gaps"),
        (lambda: true_changes(WORLD), "judging detections"),
        (lambda: late_regret({"it": db.UCB1()}, WORLD, db.Gaussian()), "playing with late rewards"),
    ],
)
def test_what_is_not_defined_there_says_so(refused: Callable[[], Any], said: str) -> None:
    with pytest.raises(
        db.InputError, match=f"{said} needs arms that are always there, and those of 'shop' come and go"
    ):
        refused()


def test_a_sweep_plays_it(tmp_path: Path) -> None:
    grid = {"policy": ["UCB1"], "instance": "coming_and_going", "horizon": 300, "drift": 1e-3, "stay": 60, "away": 30}
    sweep = db.Sweep(grid, runs=3, fresh_worlds=True)
    regret = sweep.run(tmp_path / "sweep", workers=1)["regret"].explode().to_list()
    for run in range(3):
        world = db.instances.coming_and_going(300, 1e-3, stay=60, away=30, seed=run)
        assert regret[run] == db.simulate("UCB1", world, runs=run + 1).regret["UCB1"][run, -1]
