"""A sweep's directory and its life: resumed, damaged, foreign, locked, full; runs added until they are enough."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from filelock import FileLock

import driftbandits as db
import systems
from driftbandits._common.intervals import mean_interval
from driftbandits.sweep import blocks, drive, executors
from driftbandits.sweep.directory import read
from driftbandits.sweep.plan import LEAST_RUNS, Plan, Until
from driftbandits.sweep.tasks import play, stopped
from waiting import started, wait_until

GRID: dict[str, Any] = {"policy": ["UCB1", "RoundRobin"], "instance": "sinusoid", "horizon": 400, "drift": [1e-3, 1e-2]}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of five runs, so that little work makes many; and every result written at once."""
    monkeypatch.setattr(blocks, "STEPS", 2_000)
    monkeypatch.setattr(drive, "WRITE_SECONDS", (0.0, 0.0))
    monkeypatch.setattr("driftbandits.sweep.plan.TASK_SECONDS", 1e-6)  # a task for every block


def sweep(**changes: Any) -> db.Sweep:
    return db.Sweep({**GRID, **changes.pop("grid", {})}, **{"runs": 23, "seed": 1, **changes})


def as_bytes(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


class Backwards(Executor):
    """Keeps what it is given, and then does the last first; it counts the blocks it played."""

    def __init__(self, fail_after: int | None = None) -> None:
        self.played: list[Any] = []
        self._waiting: list[tuple[Future[Any], Any]] = []
        self._fail_after = fail_after

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, args))
        if len(self._waiting) == 4 or self._fail_after is not None:
            self._work(function)
        else:
            threading.Timer(0.3, self._work, (function,)).start()
        return future

    def _work(self, function: Any) -> None:
        while self._waiting:
            future, args = self._waiting.pop()
            if self._fail_after is not None and len(self.played) >= self._fail_after:
                future.cancel()
                future.set_running_or_notify_cancel()
                continue
            result = function(*args)
            self.played += [one.block for one in result]
            future.set_result(result)


def test_order_interruptions_and_executors_change_no_byte(tmp_path: Path) -> None:
    whole = as_bytes(sweep().run(tmp_path / "whole", workers=2))
    assert as_bytes(sweep().run(tmp_path / "one", workers=1)) == whole
    backwards = Backwards()
    assert as_bytes(sweep().run(tmp_path / "backwards", backwards, workers=2)) == whole
    played = []
    for fail_after in (1, 3, 4):
        failing = Backwards(fail_after)
        with pytest.raises(db.Unfinished, match=r"the cluster was lost.*start the same sweep again"):
            sweep().run(tmp_path / "torn", failing, workers=2)
        played += failing.played
    last = Backwards()
    assert as_bytes(sweep().run(tmp_path / "torn", last, workers=2)) == whole
    played += last.played
    assert len(played) == len(set(played)) == 4 * 5
    assert len(pl.read_parquet(tmp_path / "torn" / "*.parquet")) == 4 * 5


def test_no_workers_yet_is_said_once_and_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drive, "COUNT_SECONDS", -1.0)
    said: list[str] = []
    with executors.threads(1) as pool:
        counts = iter([0, 0, 0])
        joining = executors.Pool(pool.executor, lambda: next(counts, 1), "somewhere")
        table = sweep().run_on(joining, tmp_path / "out", None, False, said.append)
    assert table.height == 20
    assert said.count("no workers are connected: waiting for some") == 1


def test_a_finished_sweep_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep().run(tmp_path / "out")
    monkeypatch.setattr(drive, "play", None)
    assert sweep().run(tmp_path / "out").equals(first)


@systems.signals
def test_ctrl_c_keeps_what_is_finished(tmp_path: Path) -> None:
    file = tmp_path / "long.toml"
    file.write_text('runs = 100_000\n[grid]\npolicy = "UCB1"\ninstance = "sinusoid"\nhorizon = 2_000_000\n')
    words = ("-m", "driftbandits", "sweep", file, "--out", tmp_path / "out")
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        wait_until(lambda: [*tmp_path.glob("out/part-*")] or running.poll() is not None, "a first part")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate()
    assert running.returncode == 130
    assert said.strip().endswith("driftbandits: stopped")
    assert 0 < read(tmp_path / "out").height < 100_000
    assert not list(tmp_path.glob("out/.*.tmp"))


def test_a_stopped_sweep_ends_within_a_run() -> None:
    from driftbandits.sweep.tasks import Task

    cell = sweep().cells[0]
    stopped.add("mine")
    assert play(Task("mine", (blocks.Block(0, 0, 3),), {0: cell})) == []
    assert len(play(Task("other", (blocks.Block(0, 0, 3),), {0: cell}))) == 1


def test_a_worker_of_another_version_is_refused() -> None:
    from driftbandits.sweep.tasks import Task

    with pytest.raises(db.InputError, match="install one version everywhere"):
        play(Task("it", (), {}, version="0.0.0"))


@pytest.mark.parametrize("damage", ["cut", "emptied", "altered"])
def test_a_damaged_file_is_named_set_aside_and_run_again(damage: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = sweep().run(out)
    victim = sorted(out.glob("part-*.parquet"))[1]
    data = victim.read_bytes()
    victim.write_bytes(
        {"cut": data[: len(data) // 2], "emptied": b"", "altered": data[:40] + b"?" * 40 + data[80:]}[damage]
    )
    with pytest.raises(db.InputError, match=f"{victim.name} is cut short or damaged.*start the sweep again"):
        read(out)
    said: list[str] = []
    with executors.threads(1) as pool:
        again = sweep().run_on(pool, out, None, False, said.append)
    assert again.equals(whole)
    assert any(victim.name in line and "set aside" in line for line in said)
    assert not victim.exists()
    assert victim.with_name(f"{victim.name}.damaged").exists()


def test_directories_that_are_not_ours(tmp_path: Path) -> None:
    sweep().run(tmp_path / "mine")
    for other, different in ((sweep(seed=2), "seed"), (sweep(runs=24), "runs"), (sweep(grid={"drift": 1e-3}), "grid")):
        with pytest.raises(db.InputError, match=f"belongs to another sweep.*different {different}"):
            other.run(tmp_path / "mine")
    sweep(seed=2).run(tmp_path / "theirs")
    part = sorted((tmp_path / "theirs").glob("part-*"))[0]
    shutil.copy(part, tmp_path / "mine" / "part-000777.parquet")
    with pytest.raises(db.InputError, match=r"part-000777\.parquet belongs to another sweep"):
        sweep().run(tmp_path / "mine")
    (tmp_path / "mine" / "part-000777.parquet").unlink()
    own = sorted((tmp_path / "mine").glob("part-*"))[0]
    shutil.copy(own, tmp_path / "mine" / "part-000778.parquet")
    with pytest.raises(db.InputError, match="twice: was a file copied"):
        sweep().run(tmp_path / "mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("42")
    with pytest.raises(db.InputError, match=r"holds other things \(thesis.tex"):
        sweep().run(tmp_path / "full")
    (tmp_path / "file").write_text("")
    with pytest.raises(db.InputError, match=r"cannot use .*file"):
        sweep().run(tmp_path / "file")
    with pytest.raises(db.InputError, match="is not the directory of a sweep"):
        read(tmp_path / "full")
    (tmp_path / "mine" / "sweep.json").write_text("{")
    with pytest.raises(db.InputError, match=r"sweep\.json cannot be read"):
        sweep().run(tmp_path / "mine")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    sweep().run(tmp_path / "out")
    with FileLock(tmp_path / "out" / ".lock"):
        with pytest.raises(db.InputError, match="another process is running this sweep"):
            sweep().run(tmp_path / "out")
        assert read(tmp_path / "out").height == 20  # whoever only looks may


def test_a_full_disk_loses_nothing_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync
    written: list[int] = []

    def fills_up(handle: int) -> None:
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(handle)
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fills_up)
        with pytest.raises(db.Unfinished, match=r"No space left on device.*make room.*start the same sweep again"):
            sweep().run(tmp_path / "out", workers=1)
    assert not list((tmp_path / "out").glob(".*.tmp"))
    assert 0 < read(tmp_path / "out").height < 20
    assert sweep().run(tmp_path / "out").equals(sweep().run(tmp_path / "other"))


def test_a_really_full_disk(tmp_path: Path) -> None:
    if sys.platform != "linux" or os.geteuid() or not shutil.which("mount"):
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no small disk to be had")
    try:
        file = tmp_path / "big.toml"
        file.write_text('runs = 8_000\n[grid]\npolicy = "RoundRobin"\ninstance = "sinusoid"\nhorizon = 50\n')
        program = [sys.executable, "-m", "driftbandits", "sweep", str(file), "--out", str(disk / "out")]
        answer = subprocess.run(program, capture_output=True, text=True)
        assert answer.returncode == 1, answer.stderr
        assert "No space left on device" in answer.stderr
        assert "Traceback" not in answer.stderr
        read(disk / "out")
    finally:
        subprocess.run(["umount", disk], check=True)


def test_until_the_interval_is_narrow(tmp_path: Path) -> None:
    wanted = 0.05
    table = sweep(runs=4).run(tmp_path / "out", until=f"ci<{wanted}")
    for (cell,), part in table.group_by("cell"):
        regrets = part.sort("first_run")["regret"].explode().to_numpy()
        ladder = [4]
        while ladder[-1] < len(regrets):
            ladder.append(max(ladder[-1] + 1, int(ladder[-1] * blocks.GROWTH)))
        assert ladder[-1] == len(regrets), cell
        for runs in ladder:
            mean, _, high = mean_interval(regrets[:runs])
            enough = runs >= LEAST_RUNS and high - mean <= wanted * mean
            assert enough == (runs == ladder[-1])
    counts = table.group_by("policy").agg(pl.sum("runs")).sort("policy")
    assert counts["runs"].to_list() == [2 * 13, counts["runs"][1]]  # round robin never varies: 4, 6, 9, 13
    assert counts["runs"][1] > 60


def test_until_does_not_depend_on_order_or_interruptions(tmp_path: Path) -> None:
    whole = as_bytes(sweep(runs=4).run(tmp_path / "whole", workers=2, until="ci<0.05"))
    assert as_bytes(sweep(runs=4).run(tmp_path / "backwards", Backwards(), workers=2, until="ci<0.05")) == whole
    sweep(runs=4).run(tmp_path / "later")
    sweep(runs=4).run(tmp_path / "later", until="ci<0.2")
    assert as_bytes(sweep(runs=4).run(tmp_path / "later", until="ci<0.05")) == whole
    part = sorted((tmp_path / "later").glob("part-*"))[0]  # of the first round, with later rounds there
    lost = pl.read_parquet(part).height
    part.unlink()
    counted = Backwards()
    assert as_bytes(sweep(runs=4).run(tmp_path / "later", counted, workers=2, until="ci<0.05")) == whole
    assert len(counted.played) == lost < 20


def test_until_stops_at_most_runs(tmp_path: Path) -> None:
    said: list[str] = []
    with executors.threads(1) as pool:
        table = sweep(runs=4).run_on(pool, tmp_path / "out", Until(1e-4, most_runs=20), False, said.append)
    runs = table.group_by("policy").agg(pl.sum("runs")).sort("policy")
    assert runs["runs"].to_list() == [26, 40]
    assert sum("not enough" in line for line in said) == 2


@pytest.mark.parametrize("text", ["ci<0", "ci<2", "ci>0.1", "sd<0.1", "ci<", "ci<a"])
def test_until_that_means_nothing(text: str) -> None:
    with pytest.raises(db.InputError, match=r'until must read "ci<0.02"'):
        Until.parse(text)


def test_oracle_has_no_regret_and_that_is_enough(tmp_path: Path) -> None:
    table = db.Sweep({**GRID, "policy": "Oracle"}, runs=12).run(tmp_path / "out", until="ci<0.01")
    assert np.abs(table["regret"].explode().to_numpy()).max() == 0
    assert table["runs"].sum() == 24


def test_the_manifest_tells_whose_it_is(tmp_path: Path) -> None:
    sweep(name="my sweep").run(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "sweep.json").read_text())
    assert manifest["name"] == "my sweep"
    assert manifest["cells"] == 4
    assert manifest["grid"] == GRID


def test_a_round_is_judged_by_its_own_runs_and_those_before() -> None:
    cells = sweep(runs=10).cells[:1]
    noisy, calm = np.array([1.0, 9.0, 5.0, 2.0, 8.0]), np.full(10_000, 5.0)
    there = [(blocks.Block(0, 0, 5), noisy), (blocks.Block(0, 5, 5), noisy), (blocks.Block(0, 15, 5), calm)]
    plan = Plan(cells, [400], there, Until(0.05))
    assert list(plan.todo) == [blocks.Block(0, 10, 5)]
