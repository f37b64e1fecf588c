"""What people type into simulate, and what they do with its result: every form gives the same runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftbandits as db
from comparison import POLICIES, same
from driftbandits.simulation.parquet import read_runs, write_runs

SHORT = db.instances.toggling(300, drift=0.01, flat=30)
TOLD = db.SWUCBSharp(300, 0.01)


@pytest.mark.parametrize(
    ("policies", "names"),
    [
        (TOLD, ["SWUCBSharp"]),
        ("SWUCBSharp", ["SWUCBSharp"]),
        ([TOLD, "UCB1"], ["SWUCBSharp", "UCB1"]),
        ((TOLD,), ["SWUCBSharp"]),
        ({"mine": "SWUCBSharp"}, ["mine"]),
        ([TOLD, db.SWUCBSharp(300, 0.02)], ["SWUCBSharp(drift=0.01)", "SWUCBSharp(drift=0.02)"]),
    ],
)
def test_policies_in_every_form(policies: Any, names: list[str]) -> None:
    plain = db.simulate({names[0]: TOLD}, SHORT, runs=2)
    found = db.simulate(policies, SHORT, runs=2)
    assert list(found.regret) == names
    assert found.policies[names[0]] == TOLD  # a name is told what the instance knows
    assert same(plain, found, names[0])


@pytest.mark.parametrize(
    "instance",
    [
        SHORT.means,
        SHORT.means.tolist(),
        pl.DataFrame(SHORT.means),
        pd.DataFrame(SHORT.means),
        np.ma.array(SHORT.means, mask=False),
    ],
    ids=["array", "list", "polars", "pandas", "masked nowhere"],
)
def test_instances_in_every_form(instance: Any) -> None:
    assert same(db.simulate(TOLD, SHORT, runs=1), db.simulate(TOLD, instance, runs=1), "SWUCBSharp")


def test_instances_by_name(tmp_path: Path) -> None:
    assert db.simulate("Uniform", "stationary", runs=1).instance == db.instances.stationary()
    SHORT.save(tmp_path / "means.csv")
    assert np.array_equal(db.simulate("Uniform", tmp_path / "means.csv", runs=1).instance.means, SHORT.means)


@pytest.mark.parametrize(
    ("policies", "instance", "words"),
    [
        ("UCB2", SHORT, "did you mean UCB1"),
        ([db.UCB1], SHORT, r"UCB1 is a class.*write UCB1\("),
        ([db.UCB1(), db.UCB1()], SHORT, "two policies of the list are UCB1: give them names"),
        ([3], SHORT, "must be an object with the methods init, select and update.*got 3"),
        ({1: db.UCB1()}, SHORT, "the name of a policy must be text; got 1"),
        ("UCB1", "togling", "unknown instance 'togling'; did you mean toggling"),
        ("UCB1", db.instances.toggling, r"toggling is a function .*call it, as in toggling\(\)"),
        ("UCB1", 3, "the instance must be one of db.instances.*; got 3"),
        (
            "UCB1",
            np.ma.array([[0.1, 0.2], [0.3, 0.4]], mask=[[False, False], [False, True]]),
            "arm 1 at step 2 is masked",
        ),
    ],
)
def test_what_cannot_be_meant(policies: Any, instance: Any, words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.simulate(policies, instance, runs=1)


def test_a_new_seed_is_told_and_kept(tmp_path: Path) -> None:
    first, other = (db.simulate("Uniform", SHORT, runs=2, seed=None) for _ in range(2))
    assert first.seed != other.seed
    assert db.simulate("Uniform", SHORT, runs=2, seed=first.seed) == first
    kept = db.simulate("Uniform", SHORT, runs=2, seed=None, keep=tmp_path / "kept.parquet")
    assert db.simulate("Uniform", SHORT, runs=2, seed=None, keep=tmp_path / "kept.parquet") == kept


def test_equal_is_what_has_the_same_numbers(result: db.Simulation, instance: db.Instance, tmp_path: Path) -> None:
    result.save(tmp_path / "it.parquet")
    assert db.Simulation.load(tmp_path / "it.parquet") == result == result.rerun()
    again: dict[str, Any] = {"runs": 6, "seed": 11, "events": True}
    for other in (
        db.simulate(POLICIES, instance, **{**again, "seed": 12}),
        db.simulate(POLICIES, instance, **{**again, "events": False}),
        db.simulate(POLICIES, instance, db.Bernoulli(), **again),
        db.simulate(POLICIES, instance.with_arms(["a", "b"]), **again),
        db.simulate({"SnoozeIt": POLICIES["SnoozeIt"]}, instance, **again),
        "result",
    ):
        assert result != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)


def test_the_long_table_goes_everywhere(result: db.Simulation, tmp_path: Path) -> None:
    table = result.to_frame()
    assert table.columns == ["policy", "run", "t", "regret", "realised"]
    assert table.height == len(POLICIES) * result.runs * len(result.times)
    mine = table.filter(policy="Rexp3", run=4)
    assert mine["t"].to_list() == result.times.tolist()
    assert mine["regret"].to_list() == result.regret["Rexp3"][4].tolist()
    assert mine["realised"].to_list() == result.realised["Rexp3"][4].tolist()
    assert result.to_pandas().to_dict("list") == table.to_dict(as_series=False)
    result.save(tmp_path / "it.csv")
    assert pl.read_csv(tmp_path / "it.csv").equals(table)
    with pytest.raises(db.InputError, match=r"numbers alone.*save it as .parquet"):
        db.Simulation.load(tmp_path / "it.csv")
    with pytest.raises(db.InputError, match=r"kept as Parquet: name .*runs.parquet"):
        db.simulate("Uniform", SHORT, runs=1, keep=tmp_path / "runs.csv")


def test_what_an_interruption_leaves_can_be_read(tmp_path: Path) -> None:
    """The runs that all policies finished, from the first on: a Simulation with so many runs."""
    path = tmp_path / "kept.parquet"
    db.simulate(["UCB1", "Uniform"], SHORT, runs=5, keep=path)
    recipe, done = read_runs(path)
    del recipe["format"], done["UCB1"][3], done["Uniform"][2]
    write_runs(path, done, recipe)
    assert db.Simulation.load(path, partial=True) == db.simulate(["UCB1", "Uniform"], SHORT, runs=2)
    with pytest.raises(db.InputError, match=r"2 runs are missing: .*partial=True"):
        db.Simulation.load(path)
    del done["Uniform"][0]
    write_runs(path, done, recipe)
    with pytest.raises(db.InputError, match=r"no run in .* is finished by all policies"):
        db.Simulation.load(path, partial=True)


def test_printed_it_fits_on_a_screen(result: db.Simulation) -> None:
    many = db.simulate({f"{'long' * 30} {index}": db.RoundRobin() for index in range(60)}, SHORT, runs=2)
    for each in (result, many):
        lines = repr(each).splitlines()
        assert len(lines) <= 30
        assert max(map(len, lines)) <= 120
    assert "and 36 more policies" in repr(many)
    for row in result.summary().iter_rows(named=True):
        (line,) = [line for line in repr(result).splitlines() if line.startswith(f"{row['policy']} ")]
        assert f"{row['regret']:,.1f}" in line
        assert f"{row['low']:,.1f} to {row['high']:,.1f}" in line
    for words in ("T = 5,000", "K = 2", "6 runs", "seed 11", "s of processor time"):
        assert words in repr(result)
        assert words in result._repr_html_()
    html = db.simulate({"<script>": db.RoundRobin()}, SHORT, runs=1)._repr_html_()
    assert "<script>" not in html
    assert "one run" in html


def test_arms_have_names_everywhere(tmp_path: Path) -> None:
    named = SHORT.with_arms(["red", "blue"])
    found = db.simulate("RoundRobin", named, runs=2)
    assert found.pull_shares().rows() == [("RoundRobin", "red", 0.5), ("RoundRobin", "blue", 0.5)]
    found.save(tmp_path / "it.parquet")
    assert db.Simulation.load(tmp_path / "it.parquet").instance.arms == ("red", "blue")
    assert [text.get_text() for text in named.plot().legends[0].get_texts()] == ["red", "blue"]
    assert "red, blue" in named._repr_html_()
    db.simulate("RoundRobin", named, runs=2, keep=tmp_path / "it.parquet")  # names change no number
    assert db.simulate("RoundRobin", SHORT, runs=2, keep=tmp_path / "it.parquet").instance.arms == ("arm 0", "arm 1")
