"""A log is the same log from polars, pandas or a file, whatever its columns are called and its steps count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import driftbandits as db
from driftbandits.offline.log import read_log

ROWS: dict[str, Any] = {
    "step": [3, 1, 2, 4],
    "arm": ["b", "a", "b", "a"],
    "reward": [0.5, 1.0, None, 0.0],
    "probability": [0.5, 0.5, 0.25, 0.5],
}
THEIRS = {"step": "time", "arm": "variant", "reward": "clicked", "probability": "p"}
TIMES = [f"2026-01-0{step}T10:00:00" for step in ROWS["step"]]


def named(rows: dict[str, Any]) -> dict[str, Any]:
    return {THEIRS[name]: values for name, values in rows.items()}


def in_form(form: str, table: dict[str, Any], arm: str, folder: Path) -> Any:
    if form == "csv":
        pl.DataFrame(table).write_csv(folder / "log.csv")
        return folder / "log.csv"
    if form == "categories":
        return pd.DataFrame(table).astype({arm: "category"})
    kinds: dict[str, Any] = {"polars": pl.DataFrame, "lazy": pl.LazyFrame, "pandas": pd.DataFrame, "mapping": dict}
    return kinds[form](table)


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("form", ["polars", "lazy", "pandas", "categories", "mapping", "csv"])
def test_every_form_is_the_same_log(form: str, dated: bool, tmp_path: Path) -> None:
    rows = ROWS | ({"step": pd.to_datetime(TIMES).to_list()} if dated else {})
    for columns, table in ((None, rows), (THEIRS, named(rows))):
        source = in_form(form, table, "arm" if columns is None else "variant", tmp_path)
        log = read_log(source, columns)
        assert log.names == ("a", "b")
        assert log.arms.tolist() == [0, 1, 1, 0]
        np.testing.assert_array_equal(log.rewards, [1.0, np.nan, 0.5, 0.0])
        assert log.probability is not None
        assert log.probability.tolist() == [0.5, 0.25, 0.5, 0.5]


def test_equal_times_keep_their_order() -> None:
    when = pd.Timestamp("2026-01-01", tz="Europe/Berlin")
    log = read_log(pd.DataFrame({"step": [when] * 4, "arm": ["b", "a", "a", "b"], "reward": [1.0, 2.0, 3.0, 4.0]}))
    assert log.rewards.tolist() == [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("source", "columns", "words"),
    [
        (ROWS, {"arms": "arm"}, "columns maps step, arm, reward and probability to the log's names; got 'arms'"),
        (ROWS, {"arm": "variant"}, "has no column 'variant'; its columns: step, arm, reward, probability"),
        ({"arm": ["a"]}, None, "no column 'step'.*say what it calls them, as in columns="),
        ({**ROWS, "step": ["2026-01-01", "soon", "2026-01-02", "2026-01-03"]}, None, "'step' must be a number"),
        ([1, 2], None, r"a log is a file or a data frame; got \[1, 2\]"),
    ],
)
def test_what_is_wrong_is_named(source: Any, columns: Any, words: str) -> None:
    with pytest.raises(db.InputError, match=words):
        db.replay(source, columns=columns)


def test_a_drift_from_names_frames_and_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(0, 2, 500), rng.random(500)
    found = db.estimate_drift(rewards, arms)
    names = np.array(["red", "blue"])[arms]
    log = pd.DataFrame({"time": np.arange(500), "variant": names, "clicked": rewards})
    columns = {name: THEIRS[name] for name in ("step", "arm", "reward")}
    log.to_csv(tmp_path / "log.csv")
    for again in (
        db.estimate_drift(rewards, names),
        db.estimate_drift(log["clicked"], log["variant"]),
        db.estimate_drift(log, columns=columns),
        db.estimate_drift(tmp_path / "log.csv", columns=columns),
    ):
        assert again == pytest.approx(found)
    with pytest.raises(db.InputError, match="arms are missing"):
        db.estimate_drift(rewards)
    with pytest.raises(db.InputError, match="some are masked"):
        db.estimate_drift(np.ma.array(rewards, mask=rewards > 0.9), arms)
