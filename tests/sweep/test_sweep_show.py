"""driftbandits sweep and sweep show, as a person meets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftbandits as db
from commands import driftbandits
from driftbandits._common.plotting import value_text
from driftbandits.sweep.directory import read
from driftbandits.sweep.figures import plot_against, plot_heat
from driftbandits.sweep.summary import summarise

FILE = """
name = "Three drifts"
runs = 4
[grid]
policy = ["UCB1", "SWUCBSharp"]
instance = "sinusoid"
drift = { log = [1e-4, 1e-2], points = 3 }
horizon = [200, 400]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "three.toml").write_text(FILE)
    answer = driftbandits("sweep", folder / "three.toml", "--out", folder / "out")
    assert answer.returncode == 0, answer.stderr
    assert "Three drifts: 12 cells, 48 runs to do in 12 blocks, 1.44e+04 steps: about a second on" in answer.stdout
    assert "The exponent b of regret = a · drift^b" in answer.stdout
    return folder


def test_the_table_the_exponents_and_the_figures(folder: Path) -> None:
    assert {path.name for path in (folder / "out" / "figures").iterdir()} == {
        "regret-against-drift.png",
        "regret-over-drift-and-horizon.png",
    }
    words = (folder / "out", "--against", "horizon", "--heat", "policy", "drift", "--form", "svg")
    answer = driftbandits("sweep", "show", *words, "--where", "policy=UCB1")
    assert answer.returncode == 2
    assert "policy is the same in all cells; those that differ: drift, horizon" in answer.stderr
    answer = driftbandits("sweep", "show", *words)
    assert answer.returncode == 0, answer.stderr
    assert (folder / "out" / "figures" / "regret-against-horizon.svg").exists()
    assert (folder / "out" / "figures" / "regret-over-policy-and-drift.svg").exists()
    table = summarise(read(folder / "out"))
    shown = table.filter(policy="UCB1", drift=1e-2, horizon=400)["regret"][0]
    assert f"{shown:,.1f}" in answer.stdout


def test_what_figures_say(folder: Path) -> None:
    table = summarise(read(folder / "out"))
    axes = plot_against(table, "drift", "title").axes[0]
    assert axes.get_xscale() == "log"
    legend: Any = axes.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    last = table.filter(drift=1e-2).sort("regret", descending=True)
    assert [label.split("; exponent ")[0] for label in labels] == [
        f"{row['policy']}, horizon {row['horizon']}: {value_text(row['regret'])}" for row in last.iter_rows(named=True)
    ]
    assert all("; exponent " in label for label in labels)
    assert plot_against(table, "policy", "title").axes[0].get_xscale() == "linear"
    panels = plot_heat(table, "drift", "horizon", "title").axes[:2]
    assert [panel.get_title() for panel in panels] == ["UCB1", "SWUCBSharp"]
    numbers = [text.get_text() for text in panels[0].texts]
    assert len(numbers) == 6
    assert f"{table['regret'][0]:.3g}" == numbers[0]


def test_until_and_most_runs_reach_the_sweep(tmp_path: Path) -> None:
    """Two runs to begin with, and never enough: 2, 3, 4, 6, 9, 13, 19, and 20 where it must stop."""
    file = tmp_path / "few.toml"
    file.write_text('runs = 2\n[grid]\npolicy = "Uniform"\ninstance = "sinusoid"\nhorizon = [50, 60]\n')
    answer = driftbandits("sweep", file, "--out", tmp_path / "out", "--until", "ci<1e-6", "--most-runs", 20)
    assert answer.returncode == 0, answer.stderr
    assert read(tmp_path / "out").group_by("cell").agg(pl.sum("runs"))["runs"].to_list() == [20, 20]
    assert "not enough" in answer.stdout


def test_the_directory_has_the_files_name_unless_given(tmp_path: Path) -> None:
    (tmp_path / "few.toml").write_text('runs = 2\n[grid]\npolicy = "Uniform"\ninstance = "sinusoid"\nhorizon = 50\n')
    answer = driftbandits("sweep", "few.toml", "--workers", 1, cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "on 1 " in answer.stdout
    assert read(tmp_path / "few")["runs"].to_list() == [2]


def test_show_before_anything_is_finished(tmp_path: Path) -> None:
    db.Sweep({"policy": "UCB1", "instance": "sinusoid", "horizon": 100}, runs=2).run(tmp_path / "out")
    for part in (tmp_path / "out").glob("part-*"):
        part.unlink()
    answer = driftbandits("sweep", "show", tmp_path / "out")
    assert answer.returncode == 0, answer.stderr
    assert "none of 1 cells has finished a block yet" in answer.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.toml"], "cannot read nowhere.toml: No such file"),
        (["{toml}", "--cluster", "tcp://a:1", "--workers", "2"], "choose one of --workers, --cluster"),
        (["{toml}", "--until", "soon"], 'until must read "ci<0.02"'),
        (["{toml}", "--until", "ci<0.1", "--most-runs", "0"], "most_runs must be a whole number, at least 1; got 0"),
        (["{toml}", "--workers", "0"], "workers must be a whole number, at least 1; got 0"),
        (["{toml}", "--local-cluster", "0"], "workers must be a whole number, at least 1; got 0"),
        (["show", "nowhere"], "nowhere is not the directory of a sweep"),
        (["show", "{out}", "--against", "drfit"], "unknown parameter 'drfit'; did you mean drift"),
        (["show", "{out}", "--heat", "drift", "drift"], "two different parameters"),
        (["show", "{out}", "--form", "jpg"], "must end in .svg, .pdf or .png"),
        (["show", "{out}", "--where", "drift"], "where must read name=value"),
        (["show", "{out}", "--where", "drift=fast"], "drift is a number"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, folder: Path) -> None:
    words = [word.format(toml=folder / "three.toml", out=folder / "out") for word in words]
    answer = driftbandits("sweep", *words, cwd=folder)
    assert answer.returncode == 2, answer.stderr
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_twenty_policies_share_a_panel_and_can_be_told_apart() -> None:
    rows = [
        {"policy": f"number {number}", "horizon": horizon, "runs": 3, "regret": 10.0 * number + horizon}
        for number in range(1, 21)
        for horizon in (100, 400, 900)
    ]
    table = pl.DataFrame(rows).with_columns(low=pl.col("regret") - 1, high=pl.col("regret") + 1)
    figure = plot_against(table, "horizon", "")
    (axes,) = figure.axes
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines}) == 20
    assert len({line.get_color() for line in axes.lines}) == 20
    legend: Any = axes.get_legend()
    names = [text.get_text().split(":")[0] for text in legend.get_texts()]
    assert names == [f"number {number}" for number in range(20, 0, -1)]
    figure.draw_without_rendering()
    around = legend.get_window_extent()
    assert around.y0 >= 0
    assert around.x0 >= 0
    assert around.x1 <= figure.bbox.x1


def test_too_many_curves_ask_for_fewer() -> None:
    rows = [{"policy": "a", "x": x, "y": y, "z": z} for x in range(3) for y in range(5) for z in range(4)]
    table = pl.DataFrame(rows).with_columns(
        pl.lit(1).alias("runs"), *(pl.lit(1.0).alias(name) for name in ("regret", "low", "high"))
    )
    with pytest.raises(db.InputError, match=r"20 panels, and at most 6.*--where NAME=VALUE"):
        plot_heat(table.with_columns(w=pl.col("x")), "x", "w", "")
    many = pl.concat([table.with_columns(policy=pl.lit(f"{one}")) for one in range(9)])
    with pytest.raises(db.InputError, match="9 panels, and at most 6"):
        plot_against(many, "x", "")
