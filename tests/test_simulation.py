"""simulate: reproducible bits, honest sums, files that come back, and Ctrl-C that loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.recording import trajectory
from test_online import Stubborn

T = 5_000
POLICIES = {
    "SnoozeIt": db.SnoozeIt(T, 1e-3, confidence=0.1),
    "SW-UCB#": db.SWUCBSharp(T, 1e-3),
    "Rexp3": db.Rexp3(T, 1e-3),
    "plain": Stubborn(),
}


@pytest.fixture(scope="module")
def world() -> db.Instance:
    return db.instances.sinusoid(horizon=T, drift=1e-3)


@pytest.fixture(scope="module")
def result(world: db.Instance) -> db.Simulation:
    return db.simulate(POLICIES, world, runs=6, seed=11, workers=1, events=True)


def same(one: db.Simulation, other: db.Simulation, name: str) -> bool:
    pairs = [(getattr(one, part)[name], getattr(other, part)[name]) for part in ("regret", "realised", "pulls")]
    return all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("workers", [2, 5])
def test_the_number_of_workers_changes_nothing(world: db.Instance, result: db.Simulation, workers: int) -> None:
    again = db.simulate(POLICIES, world, runs=6, seed=11, workers=workers, events=True)
    assert all(same(result, again, name) for name in POLICIES)
    assert result.events["SnoozeIt"].equals(again.events["SnoozeIt"])


def test_alone_or_in_company(world: db.Instance, result: db.Simulation) -> None:
    for name, policy in POLICIES.items():
        assert same(result, db.simulate({name: policy}, world, runs=6, seed=11), name)


def test_more_runs_begin_with_the_same_runs(world: db.Instance, result: db.Simulation) -> None:
    more = db.simulate({"SW-UCB#": POLICIES["SW-UCB#"]}, world, runs=9, seed=11)
    assert np.array_equal(more.regret["SW-UCB#"][:6], result.regret["SW-UCB#"])
    other = db.simulate({"SW-UCB#": POLICIES["SW-UCB#"]}, world, runs=6, seed=12)
    assert not np.array_equal(other.regret["SW-UCB#"], result.regret["SW-UCB#"])


def test_all_policies_meet_the_same_luck(result: db.Simulation) -> None:
    """Realised less pseudo-regret is the noise received; it is the same sum for every policy."""
    noise = {name: result.realised[name][:, -1] - result.regret[name][:, -1] for name in POLICIES}
    for name in POLICIES:
        np.testing.assert_allclose(noise[name], noise["plain"], rtol=0, atol=1e-9)


def test_sums_are_those_of_the_trajectory(world: db.Instance, result: db.Simulation) -> None:
    for name in POLICIES:
        played = trajectory(POLICIES[name], world, seed=11, run=4)
        loss = world.best_mean - world.means[np.arange(T), played.arms]
        np.testing.assert_allclose(result.regret[name][4], np.cumsum(loss)[result.times - 1], rtol=1e-12, atol=1e-9)
        lost = np.cumsum(world.best_mean - played.rewards)
        np.testing.assert_allclose(result.realised[name][4], lost[result.times - 1], rtol=1e-12, atol=1e-9)
        assert np.array_equal(result.pulls[name][4], np.bincount(played.arms, minlength=2))


@pytest.mark.parametrize(("horizon", "checkpoints"), [(1, 200), (7, 3), (100, 100), (1_000, 7)])
def test_checkpoints_are_even_and_end_at_the_horizon(horizon: int, checkpoints: int) -> None:
    times = db.simulate(
        {"it": db.RoundRobin()}, db.instances.stationary(horizon), runs=1, checkpoints=checkpoints
    ).times
    assert times[-1] == horizon
    assert len(times) == min(horizon, checkpoints)
    assert np.ptp(np.diff(times, prepend=0)) <= 1


@pytest.mark.parametrize(
    "noise", [db.Gaussian(0.3), db.Bernoulli(), db.Bounded(0.2)], ids=lambda noise: type(noise).__name__
)
def test_noise_has_the_mean_and_the_bounds_it_promises(noise: db.Noise) -> None:
    """Over 200,000 draws the mean is within six standard errors (false alarm under 1e-8)."""
    world = db.instances.stationary(200_000, (0.3, 0.9))
    for arm in (0, 1):
        rewards = trajectory(db.Oracle([arm]), world, noise, seed=2).rewards
        assert abs(rewards.mean() - world.means[0, arm]) < 6 * rewards.std() / np.sqrt(len(rewards))
        if not isinstance(noise, db.Gaussian):
            assert rewards.min() >= 0
            assert rewards.max() <= 1
    spread = {"Gaussian": 0.3, "Bernoulli": np.sqrt(0.09), "Bounded": 0.1 / np.sqrt(3)}[type(noise).__name__]
    assert rewards.std() == pytest.approx(spread, rel=0.02)


def test_wrong_noise() -> None:
    with pytest.raises(db.InputError, match="sigma must be finite"):
        db.Gaussian(-1)
    with pytest.raises(db.InputError, match="width must lie"):
        db.Bounded(0.6)


def test_summary_and_differences(result: db.Simulation) -> None:
    table = result.summary()
    final = result.regret["Rexp3"][:, -1]
    row = table.filter(policy="Rexp3").row(0, named=True)
    reach = 2.570582 * final.std(ddof=1) / np.sqrt(6)  # Student, five degrees of freedom
    assert row["regret"] == pytest.approx(final.mean())
    assert (row["low"], row["high"]) == pytest.approx((final.mean() - reach, final.mean() + reach), rel=1e-6)
    paired = result.differences("Rexp3").filter(policy="SW-UCB#").row(0, named=True)
    gaps = result.regret["SW-UCB#"][:, -1] - final
    assert paired["difference"] == pytest.approx(gaps.mean())
    assert paired["high"] - paired["low"] == pytest.approx(2 * 2.570582 * gaps.std(ddof=1) / np.sqrt(6), rel=1e-6)
    with pytest.raises(db.InputError, match="no policy is called 'nobody'"):
        result.differences("nobody")


def test_one_run_has_no_interval(world: db.Instance) -> None:
    table = db.simulate({"it": db.RoundRobin()}, world, runs=1).summary()
    assert np.isnan(table["low"][0])


def test_plot_labels_everything(result: db.Simulation) -> None:
    for measure in ("regret", "realised"):
        axes = result.plot(measure).axes[0]
        assert axes.get_xlabel() == "step t"
        assert "regret" in axes.get_ylabel()
        legend = axes.get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()] == list(POLICIES)
    with pytest.raises(db.InputError, match="unknown measure"):
        result.plot("profit")


def test_parquet_round_trip(result: db.Simulation, tmp_path: Path) -> None:
    result.save(tmp_path / "runs.parquet")
    back = db.Simulation.load(tmp_path / "runs.parquet")
    assert all(same(result, back, name) for name in POLICIES)
    assert (back.seed, back.runs, back.versions) == (result.seed, result.runs, result.versions)
    assert back.events["SnoozeIt"].equals(result.events["SnoozeIt"])
    assert np.array_equal(back.instance.means, result.instance.means)
    assert {name: back.policies[name] for name in list(POLICIES)[:3]} == {
        name: POLICIES[name] for name in list(POLICIES)[:3]
    }
    assert back.policies["plain"]["class"] == "Stubborn"


def test_a_loaded_simulation_runs_again(tmp_path: Path) -> None:
    """Also one whose means came from no family, and one with arrays among its parameters."""
    means = np.random.default_rng(0).random((300, 3))
    world = db.Instance(means, name="my own")
    first = db.simulate({"it": db.Oracle(world.best_arm), "sw": db.SWUCBSharp(300, 0.1)}, world, db.Bernoulli(), runs=3)
    first.save(tmp_path / "runs.parquet")
    again = db.Simulation.load(tmp_path / "runs.parquet").rerun()
    assert same(first, again, "it")
    assert same(first, again, "sw")
    assert again.noise == db.Bernoulli()


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "foreign", "format"])
def test_damaged_files_are_named(result: db.Simulation, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "runs.parquet"
    if damage != "missing":
        result.save(path)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "foreign":
        result.summary().write_parquet(path)
    elif damage == "format":
        import polars as pl

        held = json.loads(pl.read_parquet_metadata(path)["driftbandits"])
        pl.read_parquet(path).write_parquet(path, metadata={"driftbandits": json.dumps({**held, "format": 99})})
    words = {"missing": "no file", "format": "has format 99"}.get(damage, "does not hold a simulation")
    with pytest.raises(db.InputError, match=words):
        db.Simulation.load(path)


def test_an_unwritable_place_is_named(result: db.Simulation, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(db.InputError, match="cannot write"):
        result.save(tmp_path / "file" / "runs.parquet")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"runs": 0}, "runs must be a whole number, at least 1; got 0"),
    ({"workers": 0}, "workers must be a whole number, at least 1; got 0"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"checkpoints": 0}, "checkpoints must be"),
    ({"policies": {}}, "at least one policy"),
    ({"policies": db.RoundRobin()}, "at least one policy"),
    (
        {"policies": {"it": db.SnoozeIt(T, 1e-3)}, "instance": db.instances.stationary(10, (0.1, 0.2, 0.3))},
        "exactly 2 arms",
    ),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_arguments(world: db.Instance, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.simulate(**{"policies": {"it": db.RoundRobin()}, "instance": world, **options})


def test_keep_goes_on_where_it_was(world: db.Instance, result: db.Simulation, tmp_path: Path) -> None:
    """A file with a third of the runs is finished, and none of those runs is made again."""
    from driftbandits.parquet import read_runs, write_runs

    path = tmp_path / "kept.parquet"
    policies = {name: POLICIES[name] for name in ("SW-UCB#", "Rexp3")}
    whole = db.simulate(policies, world, runs=6, seed=11, keep=path)
    recipe, done = read_runs(path)
    part = {name: {run: runs[run] for run in (1, 4)} for name, runs in done.items()}
    write_runs(path, part, {key: value for key, value in recipe.items() if key != "format"})
    with pytest.raises(db.InputError, match="not finished, 8 runs are missing"):
        db.Simulation.load(path)
    resumed = db.simulate(policies, world, runs=6, seed=11, keep=path)
    assert same(whole, resumed, "Rexp3")
    assert resumed.seconds["Rexp3"][4] == whole.seconds["Rexp3"][4]
    assert same(db.Simulation.load(path), whole, "SW-UCB#")
    with pytest.raises(db.InputError, match=r"another simulation .*different seed"):
        db.simulate(policies, world, runs=6, seed=12, keep=path)


def test_ctrl_c_returns_promptly_and_keeps_what_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "kept.parquet"
    program = (
        "import driftbandits as db\n"
        "world = db.instances.sinusoid(horizon=2_000_000)\n"
        "print('ready', flush=True)\n"
        f"db.simulate({{'it': db.SWUCBSharp(2_000_000, 1e-5)}}, world, runs=100_000, workers=2, keep={str(path)!r})\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(6)
    os.kill(process.pid, signal.SIGINT)
    begun = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - begun < 30
    from driftbandits.parquet import read_runs

    recipe, done = read_runs(path)
    assert recipe["runs"] == 100_000
    assert 1 <= len(done["it"]) < 100_000
    assert [file.name for file in tmp_path.iterdir()] == ["kept.parquet"]
