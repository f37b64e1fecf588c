"""Arms with names, on the way into an Instance, through its files and out again; equal instances are equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftbandits as db
from driftbandits import Instance, instances

MEANS = {"red": [0.1, 0.2, 0.3], "blue": [0.5, 0.5, 0.4]}


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_names_survive_every_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"it.{ending}"
    for instance in (Instance(MEANS, name="it"), Instance(np.transpose(list(MEANS.values())), name="it")):
        instance.save(path)
        found = instances.table(path)
        assert found == instance
        assert found.named_arms == instance.named_arms


@pytest.mark.parametrize("frame", [MEANS, pl.DataFrame(MEANS), pl.LazyFrame(MEANS), pd.DataFrame(MEANS)], ids=type)
def test_columns_name_the_arms(frame: Any) -> None:
    assert Instance(frame).arms == ("red", "blue")
    assert Instance(frame, arms=["a", "b"]).arms == ("a", "b")
    assert Instance(frame).means.tolist() == [[0.1, 0.5], [0.2, 0.5], [0.3, 0.4]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"means": MEANS, "arms": ["red"]}, "must name all 2 arms, and names 1"),
        ({"means": MEANS, "arms": ["red", "red"]}, "different names"),
        ({"means": {"red": ["x", "y"], "blue": [0.1, 0.2]}}, "a table of numbers"),
        ({"means": {"red": [0.1], "blue": [0.1, 0.2]}}, "as a table of named columns"),
    ],
)
def test_wrong_names_and_frames(options: dict[str, Any], words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        Instance(**options)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(MEANS),
        pd.DataFrame(MEANS, index=[1, 2, 3]),
        pd.DataFrame(MEANS, index=pd.Index([0, 1, 2], name="step")),
        pd.DataFrame(MEANS).head(2),
    ],
)
def test_an_index_in_a_csv_file_is_named(frame: Any, tmp_path: Path) -> None:
    """pandas writes one unless told not to; taken for an arm it would be the best."""
    frame.to_csv(tmp_path / "it.csv")
    with pytest.raises(db.InputError, match=r"its first column, '(step)?', counts the rows .*index=False"):
        instances.table(tmp_path / "it.csv")
    frame.to_csv(tmp_path / "it.csv", index=False)
    assert instances.table(tmp_path / "it.csv").arms == ("red", "blue")


def test_an_arm_that_steps_from_zero_to_one_is_no_index(tmp_path: Path) -> None:
    Instance([[0.0, 0.5], [1.0, 0.5]]).save(tmp_path / "it.csv")
    assert instances.table(tmp_path / "it.csv").horizon == 2


def test_equal_instances() -> None:
    one = instances.walk(200, seed=1)
    assert one == instances.walk(200, seed=1)
    assert len({one, instances.walk(200, seed=1)}) == 1
    for other in (instances.walk(200, seed=2), instances.walk(199, seed=1), one.with_arms(["a", "b"]), "walk"):
        assert one != other
    assert Instance(one.means, name="another") != one


def test_a_notebook_shows_facts_and_a_picture() -> None:
    for instance in (instances.wave(50, n_arms=40), instances.stationary(1), Instance([[0.5, 0.5]] * 9, name="<b>")):
        html = instance._repr_html_()
        assert html.count("<polyline") == min(instance.n_arms, 24)
        assert "nan" not in html
        assert "<b>" not in html.removeprefix("<div><b>")
    assert len(instances.wave(n_arms=40)._repr_html_()) < 100_000


def test_recorded_arms_keep_their_names() -> None:
    assert instances.weather(100).arms == ("EWR", "JFK", "LGA")
    assert instances.ad_prices(100).arms == ("exchange 2", "exchange 3", "exchange 4")
    assert instances.clicks(100).arms[0] == "article 1"
    assert "AMZN" in instances.tweets(100).arms
    result = db.simulate("RoundRobin", instances.weather(100), runs=1)
    assert result.pull_shares()["arm"].to_list() == ["EWR", "JFK", "LGA"]
    assert [line.get_label() for line in instances.weather(100).plot().axes[0].lines] == ["EWR", "JFK", "LGA"]


def test_a_broken_promise_of_drift_names_the_arm() -> None:
    with pytest.raises(db.InputError, match="arm 'red' moves by"):
        Instance(MEANS, drift=0.05, arms=["red", "blue"])
