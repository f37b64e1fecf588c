"""The command line as a person meets it: help that teaches, one-line errors, exit codes, files written whole."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl
import pytest

import driftbandits as db
import systems
from commands import driftbandits
from driftbandits.cli.main import main
from naive_offline import greedy_log
from waiting import started, wait_until


@pytest.mark.parametrize(
    "command",
    [
        "simulate",
        "league",
        "recommend",
        "replay",
        "sweep",
        "gap",
        "bounds",
        "bench",
        "experiments",
        "export",
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    assert command in driftbandits("--help").stdout
    answer = driftbandits(command, "--help")
    assert answer.returncode == 0
    assert f"driftbandits {command}" in answer.stdout


def test_simulate_prints_and_writes(tmp_path: Path) -> None:
    instance = db.instances.sinusoid(horizon=2_000, drift=1e-3)
    instance.save(tmp_path / "means.csv")
    words = ["simulate", tmp_path / "means.csv", "--policy", "SWUCBSharp", "--policy", "RoundRobin", "--runs", 3]
    answer = driftbandits(*words, "--plot", tmp_path / "plot.svg", "--keep", tmp_path / "runs.parquet")
    assert answer.returncode == 0, answer.stderr
    assert "SWUCBSharp" in answer.stdout
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8").startswith("<?xml")
    kept = db.Simulation.load(tmp_path / "runs.parquet")
    assert kept.runs == 3
    assert f"{kept.regret['RoundRobin'][:, -1].mean():,.1f}" in answer.stdout


def test_a_file_with_a_column_of_times(tmp_path: Path) -> None:
    rows = "".join(f"2024-05-{day:02d},0.5,0.4\n" for day in range(1, 31))
    (tmp_path / "means.csv").write_text(f"day,red,blue\n{rows}")
    words = ["simulate", "means.csv", "--policy", "RoundRobin", "--runs", 2]
    refused = driftbandits(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--set FILE.time=day on the command line" in refused.stderr
    answer = driftbandits(*words, "--set", "means.csv.time=day", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "means: T = 30" in answer.stdout
    assert (
        "has no parameter 'tim'; did you mean time?"
        in driftbandits(*words, "--set", "means.csv.tim=day", cwd=tmp_path).stderr
    )


def test_gap_and_bounds(tmp_path: Path) -> None:
    db.instances.toggling(horizon=20_000).save(tmp_path / "means.npz")
    answer = driftbandits("gap", tmp_path / "means.npz", "--plot", tmp_path / "gap.png")
    assert answer.returncode == 0, answer.stderr
    assert "detectable gap: median" in answer.stdout
    assert (tmp_path / "gap.png").read_bytes().startswith(b"\x89PNG")
    words = ["bounds", 20_000, 1e-4, "--plot", tmp_path / "a.pdf"]
    answer = driftbandits(*words)
    assert answer.returncode == 0, answer.stderr
    assert f"Theorem 2, any instance: {db.bounds.minimax_upper(20_000, 1e-4).total:,.0f}" in answer.stdout
    assert f"SnoozeItTight, any instance: {db.bounds.snoozeit_tight(20_000, 1e-4).total:,.0f}" in answer.stdout
    assert (tmp_path / "a.pdf").exists()
    answer = driftbandits("bounds", "--instance", tmp_path / "means.npz")
    assert "Theorem 1" in answer.stdout


def test_replay_prints_and_writes(tmp_path: Path) -> None:
    greedy_log(db.instances.sinusoid(2_000, drift=1e-3), 0.5, 0.3, seed=1).write_csv(tmp_path / "log.csv")
    policies = ["--policy", "UCB1", "--policy", "RoundRobin"]
    words = ["replay", tmp_path / "log.csv", *policies, "--replicates", 4, "--seed", 3]
    answer = driftbandits(*words, "--plot", tmp_path / "replay.svg", "--save", tmp_path / "table.csv")
    assert answer.returncode == 0, answer.stderr
    assert "2,000 decisions, 2 arms" in answer.stdout
    assert "drift of the means: " in answer.stdout
    assert "A replay uses one row of the log in 4: the policy lives through 500 steps" in answer.stdout
    assert (tmp_path / "replay.svg").read_text(encoding="utf-8").startswith("<?xml")
    names = pl.read_csv(tmp_path / "table.csv")["policy"].to_list()
    assert names == ["UCB1", "RoundRobin", "only 0", "only 1", "Uniform", "the log"]
    assert all(name in answer.stdout for name in names)
    refused = driftbandits(*words, "--logged", "uniform")
    assert refused.returncode == 2
    assert "has probabilities of its own" in refused.stderr


def test_replay_of_a_log_with_columns_of_other_names(tmp_path: Path) -> None:
    log = greedy_log(db.instances.sinusoid(2_000, drift=1e-3), 0.5, 0.3, seed=1)
    log = log.with_columns(probability=pl.when(pl.col("step") >= 500).then("probability"))
    log.rename({"step": "when", "arm": "button"}).write_csv(tmp_path / "log.csv")
    words = ["replay", "log.csv", "--policy", "UCB1", "--replicates", 4]
    refused = driftbandits(*words, cwd=tmp_path)
    assert refused.returncode == 2
    assert "(--columns step=NAME); its columns: when, button, reward, probability" in refused.stderr
    answer = driftbandits(*words, "--columns", "step=when", "--columns", "arm=button", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    said = " ".join(answer.stdout.split())
    assert "2,000 decisions, 2 arms" in said
    assert "500 of 2,000 rows have no probability and are left out: the first 500." in said


def test_recommend_answers_in_a_sentence_or_two() -> None:
    answer = driftbandits("recommend", "--drift", 1e-4, "--noise", "bernoulli", "--arms", 5)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.startswith("Use ")
    assert answer.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["simulate", "nowhere"], "unknown instance 'nowhere'; known: abrupt"),
        (["simulate", "walk", "--runs", "1.5"], "whole number"),
        (["sweep"], "requires an argument"),
        (["experiments", "--store", "sqlite:///nowhere.db"], "there is no file nowhere.db"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(words: list[str], said: str, tmp_path: Path) -> None:
    """In a process of its own; hundreds more are in tests/project/wrong_calls.txt."""
    answer = driftbandits(*words, cwd=tmp_path)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert answer.stderr.startswith("driftbandits: ")
    assert answer.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_options_reach_the_simulation(tmp_path: Path) -> None:
    instance = db.instances.sinusoid(horizon=500, drift=1e-3)
    instance.save(tmp_path / "means.csv")
    words = ["simulate", tmp_path / "means.csv", "--policy", "SnoozeIt", "--policy", "Rexp3", "--drift", 0.01]
    path = tmp_path / "runs.parquet"
    answer = driftbandits(*words, "--seed", 4, "--noise", "bernoulli", "--runs", 2, "--keep", path)
    assert answer.returncode == 0, answer.stderr
    assert "note: " in answer.stderr  # this SnoozeIt can never snooze
    kept = db.Simulation.load(path)
    assert (kept.seed, kept.noise) == (4, db.Bernoulli())
    assert kept.policies["Rexp3"] == db.Rexp3(500, 0.01)


def test_a_pipe_that_cannot_write_greek_gets_the_rest() -> None:
    """As on Windows; the tables that ``league`` prints have deltas in them."""
    program = "from driftbandits.cli import main as cli; cli.app = lambda *_, **__: print('drift δ'); cli.main()"
    environment = os.environ | {"PYTHONIOENCODING": "cp1252"}
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert (answer.stdout, answer.stderr) == ("drift ?\n", "")


@systems.signals
def test_ctrl_c_is_exit_code_130(tmp_path: Path) -> None:
    path = tmp_path / "new" / "runs.parquet"
    words = ["simulate", "walk", "--policy", "RoundRobin", "--runs", "1000000", "--keep", str(path)]
    with started("-m", "driftbandits", *words, stderr=subprocess.PIPE) as process:
        # Made when it is checked that the file can be written.
        wait_until(lambda: path.parent.exists() or process.poll() is not None, "the work to begin")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.strip() == "driftbandits: stopped"
    assert not [
        *path.parent.glob(".*")
    ]  # nothing half-written; tests/simulation/test_interruptions.py looks at what is kept


def test_experiments_and_export_read_the_store_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("theirs", "mine"):
        with db.Store(f"sqlite:///{name}.db") as store, store.open(f"{name}-button", arms=["a", "b"]) as session:
            session.tell(session.ask(), 1.0)
    monkeypatch.setenv("DRIFTBANDITS_STORE", "sqlite:///theirs.db")
    commands = ["experiments", "export theirs-button log.csv", "experiments --store sqlite:///mine.db"]
    said = [run_here(words.split(), capsys) for words in commands]
    assert "theirs-button" in said[0]
    assert pl.read_csv(tmp_path / "log.csv")["reward"].to_list() == [1]
    assert "mine-button" in said[2]
    assert "theirs-button" not in said[2]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_an_export_says_where_to_go_on_and_whether_it_can_be_replayed(tmp_path: Path, ending: str) -> None:
    with db.Store(f"sqlite:///{tmp_path}/s.db") as store, store.open("button", arms=["a", "b"]) as session:
        session.tell(session.ask(), 1.0)
    words = ["export", "button", tmp_path / f"log [1].{ending}", "--store", f"sqlite:///{tmp_path}/s.db"]
    first = driftbandits(*words).stdout.splitlines()
    assert first[0].startswith("wrote 1 Decisions to ")
    assert first[1:] == [
        "no row has a probability, which replay needs: explore=0.1 logs it for Decisions to come",
        "to go on: --since 2",
    ]
    with db.Store(f"sqlite:///{tmp_path}/s.db") as store, store.open("button") as session:
        session.change(explore=0.1)
        session.tell(session.ask(), 1.0)
    assert driftbandits(*words, "--since", 2).stdout.splitlines()[1:] == ["to go on: --since 5"]
    assert driftbandits(*words, "--since", 5).stdout.splitlines()[1:] == ["to go on: --since 5"]


def test_a_table_that_is_piped_keeps_its_numbers_whatever_the_width(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "30")
    db.Instance([[0.9, 0.1]] * 50, name="still").save("means.csv")
    words = ["simulate", "means.csv", "--policy", "RoundRobin", "--policy", "SuccessiveElimination", "--runs", "2"]
    lines = run_here(words, capsys).splitlines()
    (header,), (row,) = ([line for line in lines if name in line] for name in ("ns per step", "RoundRobin"))
    assert len(header) == len(row) > 60
    assert re.findall(r"\d+\.\d", row)[:3] == ["20.0", "20.0", "20.0"]
    assert any("SuccessiveElimination" in line for line in lines)
    assert "…" not in "".join(lines)


def run_here(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, run in this process."""
    with warnings.catch_warnings(), contextlib.suppress(SystemExit):  # main changes how warnings are shown
        main(words)
    out, err = capsys.readouterr()
    assert err == ""
    return out
