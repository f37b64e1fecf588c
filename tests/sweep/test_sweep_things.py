"""Objects, classes, functions and files in a grid: what they play, what rows call them, how they are known again."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import driftbandits as db
from driftbandits.interop import from_river
from stubborn import Stubborn

WALK = db.instances.walk(300, drift=0.02, seed=4)
MEANS = db.Instance(np.random.default_rng(0).random((200, 2)), name="measured", arms=["red", "blue"])


def regrets(table: pl.DataFrame, **cell: Any) -> list[float]:
    return table.filter(**cell)["regret"].explode().to_list()


def still(horizon: int = 50) -> db.Instance:
    return db.instances.stationary(horizon, (0.75, 0.25))


def hundred() -> Any:
    return db.SWUCB(window=100, xi=0.6)


def test_objects_play_as_in_a_simulation(tmp_path: Path) -> None:
    policies = [db.SWUCB(window=20, xi=0.6), db.SWUCB(window=90, xi=0.6), Stubborn(), db.UCB1()]
    sweep = db.Sweep({"policy": policies, "instance": [WALK, MEANS], "noise": db.Gaussian(0.1)}, runs=3, seed=2)
    table = sweep.run(tmp_path / "out")
    names = ["SWUCB(window=20, xi=0.6)", "SWUCB(window=90, xi=0.6)", "Stubborn", "UCB1"]
    assert table["policy"].unique(maintain_order=True).to_list() == names
    assert table["instance"].unique(maintain_order=True).to_list() == ["random walk", "measured"]
    assert table["noise"].unique().to_list() == ["Gaussian"]
    for instance in (WALK, MEANS):
        found = db.simulate(dict(zip(names, policies, strict=True)), instance, db.Gaussian(0.1), runs=3, seed=2)
        for name in names:
            wanted = found.regret[name][:, -1].tolist()
            assert regrets(table, policy=name, instance=instance.name) == wanted


def test_names_objects_classes_functions_and_files_stand_side_by_side(tmp_path: Path) -> None:
    MEANS.save(tmp_path / "means.csv")
    file = str(tmp_path / "means.csv")
    sweep = db.Sweep(
        {
            "policy": ["UCB1", db.SWUCB(window=9, xi=0.6), db.Uniform, hundred, "mine", "eager"],
            "instance": ["walk", still, file],
        },
        zipped=[{"horizon": [60]}],
        policies={"mine": Stubborn(), "eager": {"policy": "SWUCB", "window": 5, "xi": 0.6}},
        runs=2,
    )
    assert list(dict.fromkeys(cell.columns["policy"] for cell in sweep.cells)) == [
        "UCB1",
        "SWUCB",
        "Uniform",
        "hundred",
        "mine",
        "eager",
    ]
    assert list(dict.fromkeys(cell.columns["instance"] for cell in sweep.cells)) == ["walk", "still", file]
    table = sweep.run(tmp_path / "out")
    for name, policy in (("SWUCB", db.SWUCB(window=9, xi=0.6)), ("hundred", hundred()), ("mine", Stubborn())):
        for label, instance in (("still", still(60)), (file, MEANS)):
            alone = db.simulate({"it": policy}, instance, runs=2, checkpoints=1).regret["it"][:, -1].tolist()
            assert regrets(table, policy=name, instance=label) == alone


def test_objects_by_name_alone(tmp_path: Path) -> None:
    MEANS.save(tmp_path / "means.npz")
    sweep = db.Sweep(
        {},
        policies={"mine": db.SWUCB(window=9, xi=0.6), "usual": "UCB1"},
        instances={"it": tmp_path / "means.npz", "w": WALK},
    )
    assert [(cell.columns["policy"], cell.columns["instance"]) for cell in sweep.cells] == [
        ("mine", "it"),
        ("usual", "it"),
        ("mine", "w"),
        ("usual", "w"),
    ]


def test_an_object_whose_label_is_taken_tells_its_settings() -> None:
    grid = {"policy": ["UCB1", db.UCB1(), "SWUCB", db.SWUCB(window=50, xi=0.6)], "instance": WALK, "window": 9}
    labels = [cell.columns["policy"] for cell in db.Sweep(grid).cells]
    assert labels == ["UCB1", "UCB1()", "SWUCB", "SWUCB(window=50, xi=0.6)"]


def one(policy: Any = None, instance: Any = WALK, **options: Any) -> db.Sweep:
    return db.Sweep({"policy": policy or db.SWUCB(window=20, xi=0.6), "instance": instance}, runs=2, **options)


def test_the_same_objects_made_again_go_on_and_others_are_refused(tmp_path: Path) -> None:
    table = one().run(tmp_path / "out")
    assert (
        one(db.SWUCB(window=20, xi=0.6), db.instances.walk(300, drift=0.02, seed=4)).run(tmp_path / "out").equals(table)
    )
    assert len(list((tmp_path / "out").glob("part-*"))) == 1
    other_means = db.Instance(WALK.means[::-1].copy(), name=WALK.name, drift=WALK.drift)
    for other in (one(db.SWUCB(window=21, xi=0.6)), one(instance=other_means), one("UCB1")):
        with pytest.raises(db.InputError, match="belongs to another sweep"):
            other.run(tmp_path / "out")
    mine = Stubborn()
    one(mine).run(tmp_path / "mine")
    one(Stubborn()).run(tmp_path / "mine")
    mine.level = 3  # type: ignore[attr-defined]
    with pytest.raises(db.InputError, match="belongs to another sweep"):
        one(mine).run(tmp_path / "mine")


def test_a_file_that_changed_is_another_instance_and_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "means.npz"
    still(50).save(path)
    first = one(db.RoundRobin(), path).run(tmp_path / "out")
    db.instances.stationary(50, (0.95, 0.05)).save(path)
    with pytest.raises(db.InputError, match=r"belongs to another sweep.*different files"):
        one(db.RoundRobin(), path).run(tmp_path / "out")
    second = one(db.RoundRobin(), path).run(tmp_path / "other")
    assert regrets(first)[0] == pytest.approx(12.5)
    assert regrets(second)[0] == pytest.approx(22.5)


def test_two_instances_of_one_name_in_one_process_are_two(tmp_path: Path) -> None:
    found = []
    for number, gap in enumerate((0.2, 0.4)):
        instance = db.Instance([[0.5 + gap, 0.5]] * 40, name="same")
        found.append(regrets(one(db.RoundRobin(), instance).run(tmp_path / f"{number}"))[0])
    assert found == [pytest.approx(4), pytest.approx(8)]


def test_workers_of_other_processes_get_the_objects(tmp_path: Path) -> None:
    def made() -> db.Sweep:
        return db.Sweep(
            {"policy": [db.SWUCB(window=20, xi=0.6), Stubborn(), hundred], "instance": [MEANS, WALK]}, runs=3
        )

    here = made().run(tmp_path / "here")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert made().run(tmp_path / "there", pool).equals(here)


def test_a_toml_file_may_name_a_file_of_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    MEANS.save("means.csv")
    Path("one.toml").write_text('runs = 2\n[grid]\npolicy = "UCB1"\ninstance = "means.csv"\n')
    alone = db.simulate("UCB1", MEANS, runs=2, checkpoints=1).regret["UCB1"][:, -1].tolist()
    assert regrets(db.Sweep.load("one.toml").run("out")) == alone
    Path("two.toml").write_text('runs = 2\n[grid]\npolicy = "UCB1"\ninstance = "gone.csv"\n')
    with pytest.raises(db.InputError, match=r"two\.toml, line 4, grid\.instance: .*gone\.csv: there is no such file"):
        db.Sweep.load("two.toml")


def test_what_a_sweep_ran_is_drawn_without_naming_its_directory_again(tmp_path: Path) -> None:
    sweep = db.Sweep({"policy": "UCB1", "instance": "walk", "horizon": [50, 100, 200]}, runs=2)
    for draw in (sweep.plot, sweep.summary):
        with pytest.raises(db.InputError, match="has not run yet: run it first, or name the directory"):
            draw()
    sweep.run(tmp_path / "out")
    assert sweep.summary().equals(sweep.summary(tmp_path / "out"))
    assert sweep.plot().axes[0].get_xlabel() == "horizon T (steps)"
    assert sweep.plot(title="mine", against="horizon").get_suptitle() == "mine"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"policy": 3}, r"grid\.policy: must be the name of a policy, a policy object such as UCB1\(\).*; got 3"),
        ({"policy": [db.UCB1(), None]}, r"grid\.policy: must be .*; got None"),
        ({"policy": object()}, r"grid\.policy: must be the name of a policy.*got <object"),
        ({"policy": {"log": [1, 2], "points": 2}}, r"grid\.policy: must be the name"),
        ({"policy": [Stubborn(), Stubborn()]}, r"grid\.policy: has two that are called Stubborn: give each a name"),
        ({"policy": lambda: db.UCB1()}, "function without a name: define it with def"),
        (
            {"policy": from_river(lambda n_arms, seed: None)},
            "can't .*: give a function that makes it, defined with def",
        ),
        ({"instance": 3}, r"grid\.instance: must be the name of a family, an Instance, a file .*; got 3"),
        (
            {"instance": [WALK, WALK.with_arms(["a", "b"])]},
            "has two that are called random walk: give each a name, as in inst",
        ),
        ({"instance": "means.xlsx"}, "unknown instance 'means.xlsx'"),
        ({"instance": Path("means.xlsx")}, "the name must end in .npz, .csv or .parquet"),
        ({"noise": 0.5}, r"grid\.noise: must be the name of a noise, or a noise object such as Gaussian"),
        ({"policies": {"mine": 3}}, r"policies\.mine: must be the name of a policy.*; got 3"),
        ({"policies": [db.UCB1()]}, "policies: must map names to policies; got"),
        ({"instances": {"mine": 3}}, r"instances\.mine: must be the name of a family"),
        ({"zipped": {"horizon": [1]}}, "zipped: must be a list of tables"),
        ({"policy": hundred, "policy_window": 3}, "policy_window"),
    ],
)
def test_what_is_not_accepted(given: Any, said: str) -> None:
    tables = {name: given.pop(name) for name in ("policies", "instances", "zipped") if name in (given := dict(given))}
    with pytest.raises(db.InputError, match=said):
        db.Sweep({"policy": "UCB1", "instance": "walk", **given}, **tables)


def test_a_policy_of_another_library_is_pointed_to_its_function() -> None:
    class Theirs:
        def pull(self, arms: Any) -> Any: ...

        def update(self, arm: Any, reward: float) -> None: ...

    with pytest.raises(db.InputError, match=r"give driftbandits\.interop\.from_river"):
        db.Sweep({"policy": Theirs(), "instance": "walk"})


def test_what_an_object_is_told_by_nobody() -> None:
    """An object has its own settings: the grid's parameters go to names, classes and functions."""
    with pytest.raises(db.InputError, match="no policy, instance or noise of this sweep has a parameter 'window'"):
        db.Sweep({"policy": db.SWUCB(window=5, xi=0.6), "instance": WALK, "window": 9})


def test_an_array_of_values_is_the_list_of_them(tmp_path: Path) -> None:
    """Another array is another sweep: its results are not those of the first one."""

    def made(values: Any, noise: Any = 0.1) -> db.Sweep:
        return db.Sweep({"policy": "SWUCB", "instance": WALK, "window": values, "noise_sigma": noise}, runs=2)

    table = made(np.array([5, 9])).run(tmp_path / "out")
    assert made([5, 9]).run(tmp_path / "out").equals(table)
    for same in (made([np.int64(5), np.int64(9)], np.float64(0.1)), made(range(5, 10, 4))):
        assert same.run(tmp_path / "out").equals(table)
        assert same.run(tmp_path / f"{id(same)}").equals(table), "run again, with columns of the same types"
    for other in (made(np.array([5, 10])), made(np.array([9, 5])), made(np.array([5, 9]), np.float64(0.2))):
        with pytest.raises(db.InputError, match="belongs to another sweep"):
            other.run(tmp_path / "out")
    assert made(np.array([5, 10])).run(tmp_path / "other")["window"].unique().sort().to_list() == [5, 10]


def test_an_array_in_a_table_of_policies_is_known_again(tmp_path: Path) -> None:
    def made(window: Any) -> db.Sweep:
        return db.Sweep({"instance": WALK}, policies={"mine": {"policy": "SWUCB", "window": window, "xi": 0.6}}, runs=2)

    table = made(np.int64(7)).run(tmp_path / "out")
    assert made(7).run(tmp_path / "out").equals(table)
    assert made(7).run(tmp_path / "again").equals(table)
    with pytest.raises(db.InputError, match="belongs to another sweep"):
        made(np.int64(8)).run(tmp_path / "out")
    means = np.array([[0.9, 0.1]])
    sweep = db.Sweep({"policy": "RoundRobin"}, instances={"it": {"instance": "stationary", "means": means[0]}}, runs=1)
    assert sweep.run(tmp_path / "means")["instance_means"].to_list() == ["[0.9, 0.1]"]


def test_a_sweep_of_one_cell_is_shown_run_and_summarised(tmp_path: Path) -> None:
    sweep = one()
    assert repr(sweep) == "<Sweep sweep: 1 cells; values: one of each>"
    assert "1 cells, 2 runs each, seed 0" in sweep._repr_html_()
    assert sweep.run(tmp_path / "out").height == 1
    assert sweep.summary()["runs"].to_list() == [2]
    with pytest.raises(db.InputError, match="no parameter of this sweep is a number that differs"):
        sweep.plot()
