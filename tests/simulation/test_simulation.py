"""simulate: reproducible bits, honest sums, files that come back, and Ctrl-C that loses nothing."""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from comparison import POLICIES, T, same
from driftbandits._common.plotting import save_figure
from driftbandits.instances import describe as recipe
from driftbandits.simulation import engine, events
from driftbandits.simulation.engine import NOISE, OWN, Job, stream
from driftbandits.simulation.trajectory import trajectory


@pytest.mark.parametrize("workers", [2, 5])
def test_the_number_of_workers_changes_nothing(instance: db.Instance, result: db.Simulation, workers: int) -> None:
    again = db.simulate(POLICIES, instance, runs=6, seed=11, workers=workers, events=True)
    assert all(same(result, again, name) for name in POLICIES)
    assert result.events["SnoozeIt"].equals(again.events["SnoozeIt"])


def test_alone_or_in_company(instance: db.Instance, result: db.Simulation) -> None:
    for name, policy in POLICIES.items():
        assert same(result, db.simulate({name: policy}, instance, runs=6, seed=11), name)


def test_more_runs_begin_with_the_same_runs(instance: db.Instance, result: db.Simulation) -> None:
    more = db.simulate({"SW-UCB#": POLICIES["SW-UCB#"]}, instance, runs=9, seed=11)
    assert np.array_equal(more.regret["SW-UCB#"][:6], result.regret["SW-UCB#"])
    other = db.simulate({"SW-UCB#": POLICIES["SW-UCB#"]}, instance, runs=6, seed=12)
    assert not np.array_equal(other.regret["SW-UCB#"], result.regret["SW-UCB#"])


def test_every_run_has_two_streams_of_its_own() -> None:
    places = [(seed, run, which) for seed in (0, 1) for run in (0, 1, 2) for which in (NOISE, OWN)]
    assert len({stream(*place).random() for place in places}) == len(places)


class LearnsInItself:
    """A plain policy that keeps everything in itself: arm 0 for ten steps, then arm 1."""

    def __init__(self) -> None:
        self.pulls = 0

    def init(self, n_arms: int) -> None:
        self.n_arms = n_arms

    def select(self, state: None, rng: np.random.Generator) -> int:
        return int(self.pulls >= 10)

    def update(self, state: None, arm: int, reward: float) -> None:
        self.pulls += 1


def test_a_plain_policy_starts_every_run_afresh() -> None:
    policy = LearnsInItself()
    played = db.simulate({"it": policy}, db.instances.stationary(25), runs=4, workers=2).pulls["it"]
    assert played.tolist() == [[10, 15]] * 4
    assert vars(policy) == {"pulls": 0}


@pytest.mark.parametrize(("chunk", "first_log"), [(1, 1), (37, 2), (T, 1), (T - 1, 64)])
def test_neither_chunks_nor_the_length_of_the_log_show(
    instance: db.Instance, monkeypatch: pytest.MonkeyPatch, chunk: int, first_log: int
) -> None:
    """A run is cut where Ctrl-C is looked for and where the event log is full; nothing may get lost at a cut."""
    heard: list[int] = []

    def play() -> engine.Run:
        job = Job(POLICIES["SnoozeIt"], instance, db.Gaussian(), np.arange(1, T + 1), 11, events=True)
        played = job.play(0, lambda steps: heard.append(steps) or True)  # type: ignore[func-returns-value]
        assert played is not None
        return played

    whole = play()
    assert whole.events is not None
    assert len(whole.events) > 10
    assert whole.events["count"].tolist() == list(range(1, len(whole.events) + 1))
    heard.clear()
    monkeypatch.setattr(engine, "COMPILED_CHUNK", chunk)
    monkeypatch.setattr(events, "FIRST_LOG", first_log)
    cut = play()
    assert cut.events is not None
    assert np.array_equal(whole.realised, cut.realised)
    assert whole.events.tolist() == cut.events.tolist()
    assert sum(heard) == T
    assert max(heard) <= chunk


def test_all_policies_meet_the_same_luck(result: db.Simulation) -> None:
    """Realised less pseudo-regret is the noise received; it is the same sum for every policy."""
    noise = {name: result.realised[name][:, -1] - result.regret[name][:, -1] for name in POLICIES}
    for name in POLICIES:
        np.testing.assert_allclose(noise[name], noise["plain"], rtol=0, atol=1e-9)


def test_sums_are_those_of_the_trajectory(instance: db.Instance, result: db.Simulation) -> None:
    for name in POLICIES:
        played = trajectory(POLICIES[name], instance, seed=11, run=4)
        loss = instance.best_mean - instance.means[np.arange(T), played.arms]
        np.testing.assert_allclose(result.regret[name][4], np.cumsum(loss)[result.times - 1], rtol=1e-12, atol=1e-9)
        lost = np.cumsum(instance.best_mean - played.rewards)
        np.testing.assert_allclose(result.realised[name][4], lost[result.times - 1], rtol=1e-12, atol=1e-9)
        assert np.array_equal(result.pulls[name][4], np.bincount(played.arms, minlength=2))


@pytest.mark.parametrize(("horizon", "checkpoints"), [(1, 200), (7, 3), (12, 10), (100, 100), (1_000, 7), (9, 10**12)])
def test_checkpoints_are_even_and_end_at_the_horizon(horizon: int, checkpoints: int) -> None:
    times = db.simulate(
        {"it": db.RoundRobin()}, db.instances.stationary(horizon), runs=1, checkpoints=checkpoints
    ).times
    assert times[-1] == horizon
    assert len(times) == min(horizon, checkpoints)
    count = len(times)
    assert times.tolist() == [math.ceil(Fraction(step * horizon, count)) for step in range(1, count + 1)]
    assert np.ptp(np.diff(times, prepend=0)) <= 1


@pytest.mark.parametrize(
    "noise", [db.Gaussian(0.3), db.Bernoulli(), db.Bounded(0.2)], ids=lambda noise: type(noise).__name__
)
def test_noise_has_the_mean_and_the_bounds_it_promises(noise: db.Noise) -> None:
    """Over 200,000 draws the mean is within six standard errors (false alarm under 1e-8)."""
    instance = db.instances.stationary(200_000, (0.3, 0.9))
    for arm in (0, 1):
        rewards = trajectory(db.Oracle([arm]), instance, noise, seed=2).rewards
        assert abs(rewards.mean() - instance.means[0, arm]) < 6 * rewards.std() / np.sqrt(len(rewards))
        if not isinstance(noise, db.Gaussian):
            assert rewards.min() >= 0
            assert rewards.max() <= 1
    spread = {"Gaussian": 0.3, "Bernoulli": np.sqrt(0.09), "Bounded": 0.1 / np.sqrt(3)}[type(noise).__name__]
    assert rewards.std() == pytest.approx(spread, rel=0.02)


def test_wrong_noise() -> None:
    for sigma in (-1, np.inf, np.nan):
        with pytest.raises(db.InputError, match=f"sigma must be finite and at least 0; got {sigma}"):
            db.Gaussian(sigma)
    with pytest.raises(db.InputError, match="width must lie"):
        db.Bounded(0.6)


def test_summary_and_differences(result: db.Simulation) -> None:
    table = result.summary()
    final = result.regret["Rexp3"][:, -1]
    row = table.filter(policy="Rexp3").row(0, named=True)
    reach = 2.570582 * final.std(ddof=1) / np.sqrt(6)  # Student, five degrees of freedom
    assert row["regret"] == pytest.approx(final.mean())
    assert (row["low"], row["high"]) == pytest.approx((final.mean() - reach, final.mean() + reach), rel=1e-6)
    assert row["realised"] == pytest.approx(result.realised["Rexp3"][:, -1].mean())
    assert row["ns_per_step"] == pytest.approx(result.seconds["Rexp3"].mean() / T * 1e9)
    paired = result.differences("Rexp3").filter(policy="SW-UCB#").row(0, named=True)
    gaps = result.regret["SW-UCB#"][:, -1] - final
    assert paired["difference"] == pytest.approx(gaps.mean())
    assert paired["high"] - paired["low"] == pytest.approx(2 * 2.570582 * gaps.std(ddof=1) / np.sqrt(6), rel=1e-6)
    with pytest.raises(db.InputError, match="no policy is called 'nobody'"):
        result.differences("nobody")


def test_one_run_has_no_interval(instance: db.Instance) -> None:
    table = db.simulate({"it": db.RoundRobin()}, instance, runs=1).summary()
    assert np.isnan(table["low"][0])


def test_plot_labels_everything(result: db.Simulation) -> None:
    for measure in ("regret", "realised"):
        axes = result.plot(measure).axes[0]
        assert axes.get_xlabel() == "step t"
        assert "regret" in axes.get_ylabel()
        legend = axes.get_legend()
        assert legend is not None
        assert {text.get_text().split(":")[0] for text in legend.get_texts()} == set(POLICIES)
        for name, line in zip(POLICIES, axes.get_lines(), strict=True):
            np.testing.assert_allclose(np.asarray(line.get_ydata()), getattr(result, measure)[name].mean(axis=0))
        assert len(axes.collections) == len(POLICIES)  # one band each
    with pytest.raises(db.InputError, match="unknown measure"):
        result.plot("profit")


@pytest.mark.parametrize(
    ("ending", "dated"), [("svg", b"<dc:date>"), ("pdf", b"CreationDate"), ("png", b"Software"), ("PNG", b"Software")]
)
def test_figures_carry_no_date(result: db.Simulation, tmp_path: Path, ending: str, dated: bytes) -> None:
    """So equal runs give equal files."""
    path = tmp_path / f"regret.{ending}"
    save_figure(result.plot(), path)
    assert path.stat().st_size > 1_000
    assert dated not in path.read_bytes()


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
    instance = db.Instance(means, name="my own")
    first = db.simulate(
        {"it": db.Oracle(instance.best_arm), "sw": db.SWUCBSharp(300, 0.1)}, instance, db.Bernoulli(), runs=3
    )
    first.save(tmp_path / "runs.parquet")
    again = db.Simulation.load(tmp_path / "runs.parquet").rerun()
    assert same(first, again, "it")
    assert same(first, again, "sw")
    assert again.noise == db.Bernoulli()
    assert again.instance.name == "my own"


def test_a_simulation_runs_again_with_all_its_numbers(instance: db.Instance) -> None:
    policies = {"SnoozeIt": POLICIES["SnoozeIt"]}
    first = db.simulate(policies, instance, db.Bernoulli(), runs=2, seed=5, checkpoints=7, events=True)
    again = first.rerun()
    assert same(first, again, "SnoozeIt")
    assert first.times.tolist() == again.times.tolist()
    assert first.events["SnoozeIt"].equals(again.events["SnoozeIt"])


@pytest.mark.parametrize(("module", "name"), [("subprocess", "Popen"), ("this", "s"), ("driftbandits", "InputError")])
def test_a_file_cannot_make_us_run_or_import_what_it_names(module: str, name: str) -> None:
    sys.modules.pop("this", None)
    with pytest.raises(db.InputError, match=f"{module}.{name} cannot be built again"):
        recipe.build({"module": module, "class": name, "fields": {"args": "false"}})
    assert "this" not in sys.modules


def test_events_in_a_file_are_numbers_only() -> None:
    """An array of objects would be unpickled, and pickles run code."""
    from io import BytesIO

    from driftbandits._common.expansion import read_npy

    buffer = BytesIO()
    np.save(buffer, np.array([pickle], dtype=object)[:0].astype(object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        read_npy(buffer.getvalue())


def test_a_failed_write_leaves_the_old_file(
    result: db.Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars as pl

    path = tmp_path / "new folder" / "runs.parquet"
    result.save(path)
    before, mask = path.read_bytes(), os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask

    def broken(self: pl.DataFrame, file: Path, **options: Any) -> None:
        file.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", broken)
    with pytest.raises(OSError, match="disk full"):
        result.save(path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


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
    with pytest.raises(db.InputError, match="it is a directory"):
        result.save(tmp_path)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"runs": 0}, "runs must be a whole number, at least 1; got 0"),
    ({"workers": 0}, "workers must be a whole number, at least 1; got 0"),
    ({"seed": -1}, "seed must be a whole number"),
    ({"checkpoints": 0}, "checkpoints must be"),
    ({"policies": {}}, "at least one policy"),
    ({"policies": []}, "at least one policy"),
    ({"policies": {"it": db.RoundRobin}}, r"RoundRobin is a class: write RoundRobin\(...\)"),
    ({"policies": {"it": 3}}, "'it' must be an object with the methods init, select and update.*got 3"),
    ({"noise": 0.5}, "noise must be a noise model.*got 0.5"),
    (
        {"policies": {"it": db.SnoozeIt(T, 1e-3)}, "instance": db.instances.stationary(10, (0.1, 0.2, 0.3))},
        "exactly 2 arms",
    ),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_arguments(instance: db.Instance, options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.simulate(**{"policies": {"it": db.RoundRobin()}, "instance": instance, **options})
