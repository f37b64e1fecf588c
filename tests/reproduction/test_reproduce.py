"""The reproduction: the same bits whatever the workers and however often it was killed, and clear about bad input."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reproduction import __main__ as command
from reproduction import context as kept
from reproduction.__main__ import main, reproduce
from reproduction.context import Settings, written_whole
from reproduction.report import page
from reproduction.report.page import SECTIONS
from reproduction.statements import Judged
from waiting import started, wait_until

SHORT = 8_000
ROOT = Path(__file__).parents[2]
SCRIPT = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
import warnings
from driftbandits import FeasibilityWarning
warnings.simplefilter("ignore", FeasibilityWarning)
from reproduction.__main__ import reproduce
from reproduction.context import Settings
from reproduction.report import page
page._Page.figure = lambda self, name, title, caller: caller()
reproduce(Settings(2, 0, {SHORT}), Path(sys.argv[1]), workers=2)
"""
"""Figures take most of the time, and nothing that can be resumed."""


def start(out: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A whole reproduction of a short horizon, on two threads of its own process."""
    return started("-W", "error", "-c", SCRIPT, out)


def whole(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, on one thread of this process."""
    monkeypatch.setattr(page._Page, "figure", lambda self, name, title, caller: caller())
    reproduce(Settings(2, 0, SHORT), out, workers=1)


def finished_parts(out: Path) -> dict[Path, int]:
    """The parts that are on disk, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in out.glob("[rs][ut]*/*.parquet")}


def go_on_and_kill(out: Path, count: int, moments: random.Random) -> None:
    """Until there are more parts than that, one of them new; then at any moment."""
    enough = max(count, len(finished_parts(out)))
    with start(out) as process:
        wait_until(lambda: len(finished_parts(out)) > enough or process.poll() is not None, f"part {enough + 1}")
        time.sleep(moments.uniform(0.0, 0.1))
        process.kill()


def contents(out: Path) -> dict[str, Any]:
    """All that must not depend on luck, by file: tables without their timings, and the bytes of everything else."""
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        if path.suffix == ".parquet":
            found[str(path.relative_to(out))] = pl.read_parquet(path).drop("seconds", strict=False)
        elif path.is_file() and path.name != "timings.json":
            found[str(path.relative_to(out))] = path.read_bytes()
    return found


def _same(one: Any, other: Any) -> bool:
    return bool(one.equals(other) if isinstance(one, pl.DataFrame) else one == other)


def test_killed_again_and_again_it_ends_with_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.randrange(10**6)
    print(f"moments drawn with seed {seed}")
    moments = random.Random(seed)
    quiet, disturbed = tmp_path / "quiet", tmp_path / "disturbed"
    whole(quiet, monkeypatch)
    for count in sorted(moments.sample(range(len(finished_parts(quiet))), 2)):
        go_on_and_kill(disturbed, count, moments)
    kept = finished_parts(disturbed)
    with start(disturbed) as process:
        assert process.wait() == 0
    assert kept.items() <= finished_parts(disturbed).items()
    expected, found = contents(quiet), contents(disturbed)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert _same(value, found[name]), name
    told = json.loads(expected["summary.json"])
    assert len([one for one in told["statements"] if one["id"] == "claim-1"]) == 1
    assert b"seconds" not in expected["summary.json"]


def run(out: Path, *, runs: int = 2, seed: int = 0, only: str = "toggling", again: bool = False) -> list[Judged]:
    return reproduce(Settings(runs, seed, SHORT), out, only=only, workers=1, again=again).judged


@pytest.fixture(autouse=True)
def one_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "ENDINGS", ("svg",))


def test_equal_seeds_give_equal_files_whatever_the_workers(tmp_path: Path) -> None:
    for workers in (1, 3):
        reproduce(Settings(2, 5, SHORT), tmp_path / str(workers), only="equal-drift", workers=workers)
    one, three = contents(tmp_path / "1"), contents(tmp_path / "3")
    assert one.keys() == three.keys()
    assert all(_same(one[name], three[name]) for name in one)
    assert sum(name.endswith(".svg") for name in one) == 3


def test_only_runs_and_reports_one(tmp_path: Path) -> None:
    judged = run(tmp_path)
    found = {one.statement.claim: one.verdicts for one in judged if one.statement.claim and one.verdicts}
    assert list(found) == ["Claim 2"]
    assert [path.name for path in tmp_path.glob("runs/*")] == ["toggling.parquet"]
    drawn = sorted(path.name for path in tmp_path.glob("figures/*"))
    assert drawn == ["instances-toggling.svg", "regret-toggling-ours.svg", "regret-toggling-paper.svg"]
    assert all((tmp_path / "figures" / name).stat().st_size < 200_000 for name in drawn)


def test_a_section_of_formulas_runs_nothing(tmp_path: Path) -> None:
    run(tmp_path, only="episode-bounds")
    assert not (tmp_path / "runs").exists()
    assert "The main findings" not in (tmp_path / "report.html").read_text(), "a heading without findings"


def test_every_format_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    run(tmp_path, only="gap-profile")
    assert {path.name for path in tmp_path.glob("figures/*")} == {
        f"{name}.{ending}" for name in ("gap-profile", "gap-profile-both") for ending in ("svg", "png", "pdf")
    }


def test_finished_files_are_kept_and_leftovers_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, only="wave")
    file = tmp_path / "runs" / "episodic-regret.parquet"
    before, summary = file.stat().st_mtime_ns, (tmp_path / "summary.json").read_bytes()
    killed = written_whole(file)  # its block never ends
    left = killed.__enter__()
    left.touch()
    of_a_simulation = tmp_path / "runs" / ".toggling-0123456789abcdef.parquet.tmp"  # as ``simulate(keep=...)`` names it
    of_a_simulation.touch()
    run(tmp_path, only="wave")
    assert file.stat().st_mtime_ns == before
    assert not left.exists()
    assert not of_a_simulation.exists()
    run(tmp_path, only="wave", again=True)
    assert file.stat().st_mtime_ns > before
    assert (tmp_path / "summary.json").read_bytes() == summary
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("only", ["toggling", "mild-drift"])
def test_files_of_another_seed_are_computed_again_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: str
) -> None:
    run(tmp_path / "fresh", seed=1, only=only)
    run(tmp_path / "used", seed=0, only=only)
    run(tmp_path / "used", seed=1, only=only)
    assert f"{only}: computing it again" in capsys.readouterr().err
    fresh, used = contents(tmp_path / "fresh"), contents(tmp_path / "used")
    assert fresh["summary.json"] == used["summary.json"]


@pytest.mark.parametrize("folder", ["runs", "studies"])
def test_a_file_cut_short_is_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: str) -> None:
    run(tmp_path)
    file, summary = tmp_path / folder / "toggling.parquet", (tmp_path / "summary.json").read_bytes()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    run(tmp_path)
    said = capsys.readouterr().err
    assert "toggling: computing it again" in said
    assert "cut short" in said
    assert (tmp_path / "summary.json").read_bytes() == summary


def test_a_result_of_another_version_is_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = kept.versions() | {"driftbandits": "0.0.1"}
    with monkeypatch.context() as patch:
        patch.setattr(kept, "versions", lambda: old)
        run(tmp_path, only="mild-drift")
    run(tmp_path, only="mild-drift")
    assert "different versions" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, only="episode-bounds")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    run(tmp_path, only="episode-bounds")
    assert "report" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "must be a whole number, at least 1; got 0"),
        (["--workers", "0"], "must be a whole number, at least 1; got 0"),
        (["--seed", "-1"], "must be a whole number, at least 0; got -1"),
        (["--only", "experiment"], "invalid choice: 'experiment'"),
    ],
)
def test_bad_input_is_an_error(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["--only", "toggling", "--runs", "2", "--out", str(tmp_path / "file" / "results")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_ctrl_c_says_how_to_resume(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "write_report", stopped)
    assert main(["--only", "episode-bounds", "--out", str(tmp_path)]) == 130
    assert "the same command resumes" in capsys.readouterr().err


def test_the_command_prints_the_claims(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "reproduction", "--runs", "2", "--only", "toggling", "--out", str(tmp_path)]
    answer = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert "Claim 2" in answer.stdout
    assert (tmp_path / "report.html").exists()
    assert "toggling" in SECTIONS
