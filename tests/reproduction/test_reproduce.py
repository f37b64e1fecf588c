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
from driftbandits.research.paper import facts, figure_one, opening, sections, strong_tests
from driftbandits.research.paper.compose import SECTIONS
from driftbandits.research.paper.reproduce import reproduce

from commands import driftbandits
from driftbandits._common.files import written_whole
from driftbandits._common.versions import versions
from driftbandits.errors import InputError
from driftbandits.research.league.report import drawings, parts, progress
from driftbandits.research.league.report.content import Drawing
from waiting import started, wait_until

SHORT = 8_000
DRAW = (facts, figure_one, opening, sections, strong_tests)
"""Modules that draw. Figures take most of the time, and nothing that can be resumed."""
SCRIPT = f"""
import sys
from pathlib import Path
from {facts.__package__} import {", ".join(module.__name__.rpartition(".")[2] for module in DRAW)}
from driftbandits.research.league.report.content import Drawing
from driftbandits.research.paper.reproduce import reproduce
for module in ({", ".join(module.__name__.rpartition(".")[2] for module in DRAW)}):
    module.save_drawing = lambda out, name, title, caption, forms: Drawing(name, title, caption, {{}})
reproduce(2, 0, Path(sys.argv[1]), workers=2, horizon={SHORT})
"""


def start(out: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    """A whole reproduction of a short horizon, on two threads of its own process."""
    return started("-W", "error", "-c", SCRIPT, out)


def whole(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, on one thread of this process."""
    for module in DRAW:
        monkeypatch.setattr(
            module, "save_drawing", lambda out, name, title, caption, forms: Drawing(name, title, caption, {})
        )
    reproduce(2, 0, out, workers=1, horizon=SHORT)


def finished_parts(out: Path) -> dict[Path, int]:
    """The parts that are on disk, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in out.glob("runs/[!.]*.parquet")}


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
    summary = json.loads(expected["summary.json"])
    assert [claim["name"][:7] for claim in summary["claims"]].count("Claim 1") == 1
    assert len(summary["claims"]) == 7
    assert len(summary["experiments"]) + len(summary["facts"]) == len(SECTIONS) + 3 - 1  # the opening is neither
    assert b"seconds" not in expected["summary.json"]


def run(out: Path, *, runs: int = 2, seed: int = 0, only: str = "toggling", again: bool = False) -> Any:
    return reproduce(runs, seed, out, only=only, workers=1, again=again, horizon=SHORT)


@pytest.fixture(autouse=True)
def one_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "ENDINGS", ("svg",))


def test_equal_seeds_give_equal_files_whatever_the_workers(tmp_path: Path) -> None:
    for workers in (1, 3):
        reproduce(2, 5, tmp_path / str(workers), only="equal-drift", workers=workers, horizon=SHORT)
    one, three = contents(tmp_path / "1"), contents(tmp_path / "3")
    assert one.keys() == three.keys()
    assert all(_same(one[name], three[name]) for name in one)
    assert sum(name.endswith(".svg") for name in one) == 3


def test_only_runs_and_reports_one(tmp_path: Path) -> None:
    content = run(tmp_path)
    assert [section.name for section in content.experiments] == ["toggling"]
    assert [claim.name for claim in content.claims] == ["Claim 2"]
    assert [path.name for path in tmp_path.glob("runs/*")] == ["toggling.parquet"]
    drawn = [stem for drawing in content.experiments[0].drawings for stem in drawing.forms.values()]
    assert drawn == ["figures/instances-toggling", "figures/regret-toggling-ours", "figures/regret-toggling-paper"]
    assert all((tmp_path / f"{stem}.svg").stat().st_size < 200_000 for stem in drawn)
    assert (tmp_path / "report.html").exists()


def test_only_a_figure_runs_nothing(tmp_path: Path) -> None:
    content = run(tmp_path, only="episode-bounds")
    assert not (tmp_path / "runs").exists()
    assert content.claims == []


def test_every_format_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    run(tmp_path, only="gap-profile")
    assert {path.name for path in tmp_path.glob("figures/*")} == {
        f"{name}.{ending}" for name in ("gap-profile", "gap-profile-both") for ending in ("svg", "png", "pdf")
    }


def test_finished_parts_are_run_again_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, only="episodic-regret")
    file = tmp_path / "runs" / "episodic-regret.parquet"
    before, summary = file.stat().st_mtime_ns, (tmp_path / "summary.json").read_bytes()
    killed = written_whole(file)  # its block never ends
    left = killed.__enter__()
    run(tmp_path, only="episodic-regret")
    assert file.stat().st_mtime_ns == before
    assert not left.exists()
    run(tmp_path, only="episodic-regret", again=True)
    assert file.stat().st_mtime_ns > before
    assert (tmp_path / "summary.json").read_bytes() == summary
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("only", ["episodic-regret", "mild-drift"])
def test_a_part_of_another_seed_is_run_again_and_said_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], only: str
) -> None:
    run(tmp_path / "fresh", seed=1, only=only)
    run(tmp_path / "used", seed=0, only=only)
    run(tmp_path / "used", seed=1, only=only)
    assert f"{only}: running it again" in capsys.readouterr().err
    fresh, used = contents(tmp_path / "fresh"), contents(tmp_path / "used")
    assert fresh["summary.json"] == used["summary.json"]


@pytest.mark.parametrize("only", ["episodic-regret", "mild-drift"])
def test_a_part_cut_short_is_run_again(tmp_path: Path, capsys: pytest.CaptureFixture[str], only: str) -> None:
    run(tmp_path, only=only)
    file, summary = tmp_path / "runs" / f"{only}.parquet", (tmp_path / "summary.json").read_bytes()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    run(tmp_path, only=only)
    said = capsys.readouterr().err
    assert f"{only}: running it again" in said
    assert "cut short" in said
    assert (tmp_path / "summary.json").read_bytes() == summary


def test_a_table_of_another_version_is_run_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = versions("scipy") | {"driftbandits": "0.0.1"}
    with monkeypatch.context() as patch:
        patch.setattr(parts, "versions", lambda *more: old)
        run(tmp_path, only="mild-drift")
    run(tmp_path, only="mild-drift")
    assert "different versions" in capsys.readouterr().err


def test_progress_is_shown_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, only="episodic-regret")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    run(tmp_path, only="episodic-regret")
    assert "everything" in capsys.readouterr().err


def test_progress_counts_work_and_learns_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("driftbandits.research.league.report.progress.time.monotonic", lambda: now[0])
    one, two, three = (parts.Part(name, name[0], 10.0, lambda *_: None) for name in ("a1", "a2", "b"))
    shown = progress.Progress([one, two, three])
    assert shown.reached() == (0, 30, 30)
    with shown.part(one):
        now[0] += 5
        assert shown.reached() == (5, 30, 25)
        assert shown.reached("a") == (5, 20, 15)
        now[0] += 35
        assert shown.reached("a")[0] == 9.5  # expected long ago, so it waits just before its end
    assert shown.reached("a") == (10, 20, 30)  # (5 + 40)/(5 + 10) = 3 times slower than expected
    with shown.part(two):
        pass  # read, not run: no word on the pace
    assert shown.reached() == (20, 30, 30)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "0"], "runs must be a whole number, at least 1; got 0"),
        (["--workers", "0"], "workers must be a whole number, at least 1; got 0"),
        (
            ["--only", "experiment"],
            "unknown name 'experiment'; --only takes one of snoozeit, separated, toggling",
        ),
        (["--out", "file/results"], "cannot write"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").touch()
    answer = driftbandits("reproduce", *arguments, cwd=tmp_path)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_the_command_prints_the_claims(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "driftbandits", "reproduce", "--runs", "2", "--only", "toggling"]
    answer = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
    assert answer.returncode == 0
    assert answer.stderr == ""
    assert "Claim 2" in answer.stdout
    assert (tmp_path / "results" / "report.html").exists()


def test_a_file_that_cannot_be_replaced_stays_an_error(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("not a directory")
    with pytest.raises(InputError, match="cannot write"):
        run(tmp_path, only="episodic-regret")
