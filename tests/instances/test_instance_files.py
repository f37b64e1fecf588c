"""Instances as files: read back, refused when damaged, explained when wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from driftbandits import instances
from driftbandits.errors import InputError
from driftbandits.instances import Instance, table


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[str], Path]:
    def save(ending: str) -> Path:
        path = tmp_path / f"means{ending}"
        instances.walk(horizon=200, seed=4).save(path)
        return path

    return save


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet", ".NPZ", ".Csv"])
def test_tables_come_back(ending: str, saved: Callable[[str], Path]) -> None:
    instance = table(saved(ending), drift=1 / 48_000)
    assert np.array_equal(instance.means, instances.walk(horizon=200, seed=4).means)
    assert instance.name == "means"
    assert instance.recipe is None


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_cut_files_are_refused_wherever_they_are_cut(ending: str, saved: Callable[[str], Path]) -> None:
    path = saved(ending)
    content = path.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="empty" if length == 0 else "damaged"):
            table(path)


@pytest.mark.parametrize("ending", [".npz", ".csv", ".parquet"])
def test_altered_files_are_read_or_refused_and_nothing_else(ending: str, saved: Callable[[str], Path]) -> None:
    path = saved(ending)
    content = path.read_bytes()
    refused = 0
    for position in [*range(0, len(content), 41), *range(100), *range(len(content) - 100, len(content))]:
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        try:
            table(path)
        except InputError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("ending", [".npz", ".parquet"])
def test_files_of_another_kind_are_refused(ending: str, saved: Callable[[str], Path]) -> None:
    path = saved(ending)
    with path.open("wb") as file:
        np.save(file, np.full((3, 2), 0.5))
    with pytest.raises(InputError, match="damaged"):
        table(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("arm_0,arm_1\n", "no rows"),
        ("arm_0,arm_1\n0.5,0.5\n0.5,0.5,0.5\n", "one length of rows: line 3 has 3 cells, and the first line has 2"),
        ("red;blue\n0,5;0,4\n0,3;0,2\n", r"separated by ';', and must be by ','.*read_csv\(path, sep=';'\)"),
        ("red;blue\n0.5;0.4\n0.3;0.2\n", "separated by ';', and must be by ','"),
        ("red\tblue\n0.5\t0.4\n", "separated by a tab, and must be by ','"),
        ("red|blue\n0.5|0.4\n", r"separated by '\|', and must be by ','"),
        ("arm_0,arm_1\n0.5,0.5\n0.5\n", "'arm_1' has an empty cell where step 2 needs a number"),
        ("arm_0,arm_1\n0.5,high\n", "'arm_1' has 'high' where step 1 needs a number"),
        ("arm_0,arm_1\n0.5,nan\n", "every mean must be a finite number, .*; arm 1 at step 1 has nan"),
        ("arm_0,arm_1\n0.5,0.5\n0.5,1e200\n", "at most 1e.100 in size; arm 1 at step 2 has 1e.200"),
        ("0.5,0.5\n0.4,0.6\n", "line of column names"),
        ("arm_0\n0.5\n", "at least 2 arms"),
        ("arm_0,arm_1\n0.5,\xff\n", "save it again as UTF-8 text with ','"),
        ("day,a,b\n2024-01-01,0.5,0.4\n2024-01-02,0.5,0.3\n", r"if it holds times, say table\(path, time='day'\)"),
        ("n,a,b\n0,0.5,0.4\n1,0.5,0.3\n2,0.1,0.3\n", r"counts the rows.*index=False\); .*table\(path, time='n'\)"),
        ("Year,a,b\n1999,0.5,0.4\n2001,0.5,0.3\n", r"'Year', rises as times do \(1999, 2001, ...\): .*time='Year'"),
    ],
)
def test_wrong_csv_files_are_explained(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "means.csv"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError, match=message) as caught:
        table(path)
    assert str(path) in str(caught.value)


def test_a_csv_file_may_begin_with_whole_numbers_and_have_spaces(tmp_path: Path) -> None:
    path = tmp_path / "means.csv"
    path.write_text("red, blue\n" + "0, 1\n" * 2_000 + "0.25, 0.75\n")
    assert table(path).means[-1].tolist() == [0.25, 0.75]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_times_is_left_out(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"red": [0.5, 0.4], "day": ["2024-05-02", "2024-05-01"], "blue": [0.1, 0.2]})
    path = tmp_path / f"means.{ending}"
    getattr(frame.with_columns(pl.col("day").str.to_date()), f"write_{ending}")(path)
    with pytest.raises(InputError, match=r"time='day'"):
        table(path)
    found = table(path, drift=0.2, time="day")
    assert (found.arms, found.means.tolist()) == (("red", "blue"), [[0.5, 0.1], [0.4, 0.2]])
    for wrong in ("Day", 1):
        with pytest.raises(InputError, match="time must name one of its columns, red, day, blue; got"):
            table(path, time=wrong)  # type: ignore[arg-type]
    np.savez(tmp_path / "means.npz", means=[[0.5, 0.4]])
    with pytest.raises(InputError, match=r"time names a column of a \.csv or \.parquet file, and this is \.npz"):
        table(tmp_path / "means.npz", time="day")


def test_an_arm_may_be_called_day(tmp_path: Path) -> None:
    (tmp_path / "means.csv").write_text("day,night\n0,0.5\n0.5,0.25\n1,0.5\n")
    assert table(tmp_path / "means.csv").arms == ("day", "night")


def test_other_wrong_files_are_explained(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", rewards=[0.5])
    np.savez(tmp_path / "flat.npz", means=[0.5, 0.5])
    np.savez(tmp_path / "objects.npz", means=np.array([{}, {}], dtype=object))
    (tmp_path / "folder.csv").mkdir()
    pl.DataFrame({"arm_0": [0.5], "day": [True]}).write_parquet(tmp_path / "flag.parquet")
    for name, message in {
        "missing.csv": "there is no such file",
        "folder.csv": "it is a directory",
        "means.txt": r"must end in \.npz, \.csv or \.parquet",
        "other.npz": "no array named means; its arrays are: rewards",
        "flat.npz": "two axes",
        "objects.npz": "archive of numbers",
        "flag.parquet": "column 'day' holds Boolean",
    }.items():
        with pytest.raises(InputError, match=message):
            table(tmp_path / name)
    with pytest.raises(InputError, match=r"use \.npz, \.csv or \.parquet"):
        instances.stationary(horizon=1).save(tmp_path / "means.xlsx")


def test_a_table_keeps_its_promise_of_drift(tmp_path: Path) -> None:
    Instance([[0.5, 0.1], [0.5, 0.4]]).save(tmp_path / "fast.npz")
    with pytest.raises(InputError, match=r"fast\.npz: the instance breaks the declared drift 0\.1"):
        table(tmp_path / "fast.npz", drift=0.1)
