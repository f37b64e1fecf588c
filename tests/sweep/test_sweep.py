"""Sweeps: the declared grid, its errors, the cut into blocks, and what the numbers are."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits._common.intervals import mean_interval
from driftbandits.sweep.blocks import STEPS, cut
from driftbandits.sweep.summary import exponents, matching, summarise
from driftbandits.sweep.toml import line_of

SMALL = {"policy": "RoundRobin", "instance": "toggling", "horizon": 50}


@given(st.integers(1, 10**9), st.integers(0, 10**5), st.integers(0, 10**5))
@settings(deadline=None)
def test_blocks_cover_every_run_once(horizon: int, start: int, more: int) -> None:
    blocks = list(itertools.islice(cut(3, horizon, start, start + more), 10**4))
    at = start
    for block in blocks:
        assert block.cell == 3
        assert block.first == at
        assert block.runs == 1 or block.runs * horizon <= STEPS
        at += block.runs
    assert at == start + more or len(blocks) == 10**4


def test_runs_of_a_cell_are_those_of_one_simulation(tmp_path: Path) -> None:
    grid = {"policy": ["Exp3S", "SnoozeIt"], "instance": "sinusoid", "drift": [1e-3, 1e-2], "confidence": 0.1}
    table = db.Sweep(grid | {"horizon": 300_000}, runs=9, seed=5).run(tmp_path / "out")
    assert table["runs"].to_list() == [6, 3] * 4  # blocks of two million steps
    for drift in (1e-3, 1e-2):
        world = db.instances.sinusoid(300_000, drift)
        policies = {"Exp3S": db.Exp3S(300_000, drift), "SnoozeIt": db.SnoozeIt(300_000, drift, confidence=0.1)}
        result = db.simulate(policies, world, runs=9, seed=5, checkpoints=1)
        for name in policies:
            rows = table.filter(policy=name, drift=drift)
            assert rows["regret"].explode().to_list() == result.regret[name][:, -1].tolist()
            assert rows["realised"].explode().to_list() == result.realised[name][:, -1].tolist()
            assert rows["confidence"].to_list() == ([None] if name == "Exp3S" else [0.1]) * 2


def test_fresh_worlds_are_drawn_by_the_run(tmp_path: Path) -> None:
    grid = {"policy": ["UCB1", "KalmanTS"], "instance": "walk", "horizon": 2_000, "instance_drift": 1e-2}
    table = db.Sweep(grid, runs=5, seed=3, fresh_worlds=True).run(tmp_path / "out")
    for name, make in (("UCB1", db.UCB1), ("KalmanTS", lambda: db.KalmanTS(1e-2))):
        found = table.filter(policy=name)["regret"].explode().to_list()
        for run in range(5):
            world = db.instances.walk(2_000, 1e-2, seed=run)
            alone = db.simulate({"it": make()}, world, runs=run + 1, seed=3, checkpoints=1)
            assert found[run] == alone.regret["it"][run, -1]


def test_crossed_zipped_named_and_per_cell_runs() -> None:
    sweep = db.Sweep(
        {"noise": ["gaussian", "bernoulli"], "drift": {"log": [1e-4, 1e-2], "points": 3}},
        zipped=[{"horizon": [100, 1e3], "runs": [7, 3]}],
        policies={"eager": {"policy": "SnoozeIt", "confidence": 0.1}, "turns": {"policy": "RoundRobin"}},
        instances={"swing": {"instance": "sinusoid", "amplitude": 0.2}},
    )
    assert len(sweep.cells) == 2 * 1 * 2 * 3 * 2
    assert [cell.number for cell in sweep.cells] == list(range(24))
    for cell in sweep.cells:
        assert cell.runs == {100: 7, 1000: 3}[cell.columns["horizon"]]
        assert cell.columns["instance_amplitude"] == cell.family_arguments["amplitude"] == 0.2
        assert cell.columns["policy_confidence"] == (0.1 if cell.columns["policy"] == "eager" else None)
        assert cell.family_arguments["drift"] == cell.columns["drift"]
        told = {"drift": cell.columns["drift"], "horizon": cell.columns["horizon"], "confidence": 0.1}
        assert cell.policy_arguments == (told if cell.columns["policy"] == "eager" else {})
    assert list(sweep.cells[0].columns)[:3] == ["policy", "instance", "noise"]


def test_a_prefix_wins_and_what_a_name_states_wins_over_both() -> None:
    """As docs/sweeps.md says, for policies and for instances; the columns say what came to bear."""
    sweep = db.Sweep(
        {
            "policy": ["SnoozeIt", "own"],
            "instance": ["sinusoid", "swing"],
            "horizon": 50,
            "drift": 1e-4,
            "policy_drift": 1e-3,
            "instance_horizon": 60,
        },
        policies={"own": {"policy": "SnoozeIt", "drift": 1e-2}},
        instances={"swing": {"instance": "sinusoid", "horizon": 70}},
    )
    policies = [cell.policy_arguments for cell in sweep.cells]
    assert policies == 2 * [{"horizon": 50, "drift": 1e-3}] + 2 * [{"horizon": 50, "drift": 1e-2}]
    worlds = [cell.family_arguments for cell in sweep.cells]
    assert worlds == 2 * [{"horizon": 60, "drift": 1e-4}, {"horizon": 70, "drift": 1e-4}]
    given = ("horizon", "drift", "policy_drift", "instance_horizon")
    assert [tuple(cell.columns[name] for name in given) for cell in sweep.cells] == [
        (50, 1e-4, 1e-3, 60),
        (50, 1e-4, 1e-3, 70),
        (50, 1e-4, 1e-2, 60),
        (50, 1e-4, 1e-2, 70),
    ]


def test_a_parameter_that_a_policy_lacks_makes_no_more_cells_of_it() -> None:
    sweep = db.Sweep({**SMALL, "policy": ["RoundRobin", "SnoozeIt"], "confidence": [0.1, 0.2, 0.3], "drift": 1e-3})
    assert [cell.columns["policy"] for cell in sweep.cells] == ["RoundRobin"] + 3 * ["SnoozeIt"]


def test_own_policies_and_worlds(tmp_path: Path) -> None:
    table = db.Sweep(
        {"horizon": [40]},
        policies={"mine": {"policy": Stubborn, "arm": 1}},
        instances={"still": {"instance": still}},
        runs=2,
    ).run(tmp_path / "out")
    assert table["regret"].explode().round(9).to_list() == [20.0, 20.0]


def test_what_names_a_policy_instance_or_noise_is_no_parameter() -> None:
    """Though a policy of one's own may have one that is called so."""
    (cell,) = db.Sweep({**SMALL, "policy": "mine", "noise": "bernoulli"}, policies={"mine": {"policy": Loud}}).cells
    assert cell.policy_arguments == {}
    (cell,) = db.Sweep({**SMALL, "policy": "mine", "policy_noise": 2.0}, policies={"mine": {"policy": Loud}}).cells
    assert cell.policy_arguments == {"noise": 2.0}


class Stubborn:
    def __init__(self, arm: int) -> None:
        self.arm = arm

    def init(self, n_arms: int) -> None:
        return None

    def select(self, state: Any, rng: Any) -> int:
        return self.arm

    def update(self, state: Any, arm: int, reward: float) -> None:
        pass


class Loud(Stubborn):
    def __init__(self, noise: float = 1.0) -> None:
        self.arm = int(noise)


def still(horizon: int) -> db.Instance:
    return db.instances.stationary(horizon, (0.75, 0.25))


GOOD = """# a sweep
name = "good"
runs = 3

[grid]
policy = ["RoundRobin",
          "SnoozeIt", "eager"]
instance = "toggling"
drift = { log = [1e-4, 1e-2], points = 2 }
horizon = 50

[[zipped]]
confidence = [0.1, 0.2]
flat = [10, 20]

[policies.eager]
policy = "SnoozeIt"
"""


def test_a_file_says_the_same_as_the_call(tmp_path: Path) -> None:
    path = tmp_path / "good.toml"
    path.write_text(GOOD)
    loaded = db.Sweep.load(path)
    assert len(loaded.cells) == 3 * 2 * 2  # flat belongs to the instance, so no two cells coincide
    assert loaded.cells[0].runs == 3


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "said"),
    [
        ('"SnoozeIt", ', '"Snoozeit", ', 6, "grid.policy", "unknown policy 'Snoozeit'; did you mean SnoozeIt"),
        ('"toggling"', '"togling"', 8, "grid.instance", "did you mean toggling"),
        ("drift = {", "drfit = {", 9, "grid.drfit", "has a parameter 'drfit'; did you mean drift"),
        ("log = [1e-4,", "log = [0.0,", 9, "grid.drift", "two ends above 0"),
        ("points = 2", "points = 1", 9, "grid.drift", "points must be a whole number, from 2"),
        ("points = 2", "steps = 2", 9, "grid.drift", "a range is written"),
        ("{ log = [1e-4, 1e-2], points = 2 }", "[]", 9, "grid.drift", "empty list"),
        ("{ log = [1e-4, 1e-2], points = 2 }", "[0.1, 0.1]", 9, "grid.drift", "lists 0.1 twice"),
        ("{ log = [1e-4, 1e-2], points = 2 }", "[0.1, 2.0]", 9, "grid.drift", "drift must lie in [0, 1]"),
        ("horizon = 50", "horizon = 0.5", 10, "grid.horizon", "whole number"),
        ("horizon = 50", "start = [0.9, 0.1]", 10, "grid.start", "a value that is a list itself"),
        ("horizon = 50", "horizon = 50\nseed = 1", 11, "grid.seed", "instance_seed"),
        ("[0.1, 0.2]", "[0.1, 0.2, 0.3]", 12, "zipped", "confidence has 3, flat has 2"),
        (
            "[0.1, 0.2]",
            "[0.1, -0.2]",
            13,
            "zipped.confidence",
            "confidence must be positive, from 1e-06",
        ),
        ("flat = [10, 20]", "drift = [0.1, 0.2]", 14, "zipped.drift", "already given as grid.drift"),
        ('policy = "SnoozeIt"\n', 'policy = "SnoozeIt"\nconfidnce = 1', 18, "policies.eager.confidnce", "confidence?"),
        ('policy = "SnoozeIt"\n', 'policy = "SnoozeIt"\npick = "any"', 18, "policies.eager.pick", "unknown pick"),
        (', "eager"]', "]", 16, "policies.eager", "is not among the grid's values of policy"),
        ("runs = 3", "seed = -1", 3, "seed", "seed must be a whole number, at least 0; got -1"),
        ("runs = 3", "runs = 0", 3, "runs", "at least 1; got 0"),
        ("runs = 3", "run = 3", 3, "run", "did you mean runs"),
        ("runs = 3", "runs = true", 3, "runs", "must be a whole number"),
        ("runs = 3", "fresh_worlds = true", 3, "fresh_worlds", "no instance can be fresh"),
        ("[grid]", "[gird]", 5, "gird", "did you mean grid"),
        ("runs = 3", "runs = = 3", 3, "", "is not TOML"),
        ("horizon = 50", "horizon = 50\nn_arms = 3", 11, "grid.n_arms", "has a parameter 'n_arms'"),
    ],
)
def test_errors_point_at_the_line_and_the_key(
    old: str, new: str, line: int, key: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(db.InputError) as caught:
        db.Sweep.load(path)
    message = str(caught.value)
    assert said in message
    assert f"line {line}" in message
    assert key in message


def test_impossible_grids() -> None:
    with pytest.raises(db.InputError, match=r"grid.*names no policy"):
        db.Sweep({"instance": "toggling"})
    many = {"linear": [1, 1000], "points": 1000}
    with pytest.raises(db.InputError, match="1000 x 1000 make 1,000,000 cells, and a sweep has at most 200,000"):
        db.Sweep({**SMALL, "horizon": many, "flat": many})
    with pytest.raises(db.InputError, match=r"grid.horizon: a block of m = 136 steps does not fit into horizon=50"):
        db.Sweep({"policy": "RoundRobin", "instance": "lower_bound", "horizon": 50, "drift": 3.16e-4})
    with pytest.raises(db.InputError, match="needs 1,000,000,000,000 means"):
        db.Sweep({**SMALL, "horizon": 500_000_000_000})
    with pytest.raises(db.InputError, match="exactly 2 arms"):
        db.Sweep({"policy": "SnoozeIt", "instance": "wave", "horizon": 50})


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"drift": 2.0}, "grid.drift"),  # the world's, though the policy has one of its own
        ({"policies": {"own": {"policy": "SnoozeIt"}}, "instance_drift": 2.0}, "grid.instance_drift"),
        ({"policies": {"own": {"policy": "SnoozeIt", "drift": 2.0}}}, "policies.own.drift"),
        ({"policies": {"own": {"policy": "SnoozeIt"}}, "policy_drift": 2.0}, "grid.policy_drift"),
        ({"policies": {"own": {"policy": "SnoozeIt"}}, "instance_horizon": 0}, "grid.instance_horizon"),
        ({"policies": {"own": {"policy": "Rexp3"}}, "drift": 0.0}, "grid.drift"),
        ({"policies": {"own": {"policy": "SnoozeIt"}}, "policy_drift": 1e-3, "drift": 2.0}, "grid.drift"),
        ({"instances": {"still": {"instance": "table"}}}, "instances.still"),
        ({"noise_sigma": -1.0}, "grid.noise_sigma"),
    ],
)
def test_of_parameters_with_one_name_the_wrong_one_is_blamed(changes: dict[str, Any], key: str) -> None:
    named: dict[str, Any] = {"policies": {"own": {"policy": "SnoozeIt", "drift": 1e-3}}}
    named |= {"instances": {"still": {"instance": "sinusoid"}}}
    grid = {name: value for name, value in changes.items() if name not in named}
    grid = {**grid, **{name: value for name, value in {"horizon": 50, "drift": 1e-4}.items() if name not in grid}}
    with pytest.raises(db.InputError) as caught:
        db.Sweep(grid, **{name: changes.get(name, table) for name, table in named.items()})
    assert str(caught.value).startswith(f"{key}: ")


def test_a_parameter_that_nobody_takes_since_all_have_their_own() -> None:
    with pytest.raises(db.InputError, match=r"grid.confidence: .* all that have a 'confidence' state their own"):
        db.Sweep(
            {**SMALL, "policy": "own", "confidence": 0.2}, policies={"own": {"policy": "SnoozeIt", "confidence": 0.1}}
        )


def test_lines_of_keys() -> None:
    lines = GOOD.splitlines()
    for key, start in {
        ("grid", "instance"): "instance",
        ("zipped", 0, "flat"): "flat",
        ("policies", "eager"): "[policies.eager]",
        ("grid", "nothing"): "[grid]",
    }.items():
        assert lines[line_of(GOOD, key) - 1].startswith(start)


def test_summary_and_exponents_against_numpy(tmp_path: Path) -> None:
    grid = {
        "policy": "UCB1",
        "instance": "sinusoid",
        "drift": {"log": [1e-4, 1e-2], "points": 5},
        "horizon": [500, 900],
    }
    rows = db.Sweep(grid, runs=8).run(tmp_path / "out")
    table = summarise(rows)
    for cell in table.iter_rows(named=True):
        values = rows.filter(cell=cell["cell"])["regret"].explode().to_numpy()
        assert np.allclose(mean_interval(values), (cell["regret"], cell["low"], cell["high"]), rtol=1e-12)
    fits = exponents(table, "drift")
    assert fits["horizon"].to_list() == [500, 900]
    for row in fits.iter_rows(named=True):
        part = table.filter(horizon=row["horizon"])
        slope = np.polyfit(np.log(part["drift"]), np.log(part["regret"]), 1)[0]
        assert row["exponent"] == pytest.approx(slope)
    assert matching(table, ["horizon=500", "policy=UCB1"]).height == 5
    with pytest.raises(db.InputError, match="no cell has horizon=1; horizon is one of 500, 900"):
        matching(table, ["horizon=1"])


def test_a_cell_of_one_run_has_no_interval(tmp_path: Path) -> None:
    (cell,) = summarise(db.Sweep({"policy": "UCB1", "instance": "toggling"}, runs=1).run(tmp_path)).to_dicts()
    assert cell["regret"] > 0
    assert np.isnan([cell["low"], cell["high"]]).all()


def test_polars_reads_the_directory_itself(tmp_path: Path) -> None:
    table = db.Sweep(SMALL, runs=3).run(tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "*.parquet").equals(table)


def test_a_table_of_means_that_changed_is_another_sweep(tmp_path: Path) -> None:
    file = tmp_path / "means.csv"
    grid = {"policy": "RoundRobin", "instance": "table", "path": str(file)}
    db.instances.sinusoid(50, 1e-3).save(file)
    assert db.Sweep(grid, runs=2).run(tmp_path / "out").height == 1
    db.instances.sinusoid(60, 1e-3).save(file)
    with pytest.raises(db.InputError, match=r"belongs to another sweep.*different files"):
        db.Sweep(grid, runs=2).run(tmp_path / "out")
