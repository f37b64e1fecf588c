"""A real Dask cluster, and what happens to a sweep when parts of it die."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftbandits as db
from clusters import cluster, wait_until
from driftbandits.sweep import executors
from driftbandits.sweep.directory import read

FILE = """
name = "small"
runs = 300
[grid]
policy = ["RoundRobin", "SWUCBSharp"]
instance = "toggling"
horizon = [1_000, 100_000]
"""


def sorted_bytes(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def sweep_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "small.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def on_threads(sweep_file: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return sorted_bytes(db.Sweep.load(sweep_file).run(tmp_path_factory.mktemp("threads") / "out"))


def parts(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.parquet")}


def command(*words: object) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "driftbandits", "sweep", *map(str, words)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_same_bytes_on_a_cluster_and_a_worker_killed_in_the_middle(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    done: dict[str, Any] = {}

    def work(address: str) -> None:
        with executors.cluster(address) as pool:
            done["table"] = db.Sweep.load(sweep_file).run_on(pool, tmp_path / "out", None, False, lambda line: None)

    with cluster(tmp_path) as made:
        thread = threading.Thread(target=work, args=(made.address,))
        thread.start()
        wait_until(lambda: parts(tmp_path / "out"), "the first blocks")
        assert thread.is_alive()  # in the middle
        made.workers[0].kill()
        thread.join(120)
        assert made.workers[1].poll() is None
    assert sorted_bytes(done["table"]) == on_threads
    runs = done["table"].select("cell", pl.int_ranges("first_run", pl.col("first_run") + pl.col("runs")).alias("run"))
    assert not runs.explode("run").is_duplicated().any()


def test_the_scheduler_killed_is_a_clear_error_and_the_sweep_goes_on(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with cluster(tmp_path) as made:
        running = command(sweep_file, "--out", out, "--cluster", made.address)
        wait_until(lambda: parts(out), "the first blocks")
        made.scheduler.kill()
        _, said = running.communicate(timeout=120)
    assert running.returncode == 1, said
    assert "the cluster was lost" in said
    assert "start the same sweep again" in said
    assert "Traceback" not in said
    before, rows = parts(out), read(out)
    assert 0 < rows["runs"].sum() < 1200
    again = command(sweep_file, "--out", out)
    told, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert f"{rows.height:,} blocks finished before" in told
    assert before.items() <= parts(out).items()
    assert sorted_bytes(read(out)) == on_threads


def test_killed_at_any_moment_it_goes_on_and_runs_nothing_twice(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    running = command(sweep_file, "--out", out, "--workers", 1)
    wait_until(lambda: parts(out), "the first blocks")
    running.kill()
    running.communicate(timeout=60)
    before, rows = parts(out), read(out)
    (out / ".part-000099-abcdefgh.parquet.tmp").write_bytes(b"half a fi")  # what a kill while writing leaves
    assert rows["runs"].sum() < 1200
    again = command(sweep_file, "--out", out, "--local-cluster", 2)
    told, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert f"{rows.height:,} blocks finished before" in told
    assert before.items() <= parts(out).items()
    assert not list(out.glob(".*.tmp"))
    assert sorted_bytes(read(out)) == on_threads


def test_any_executor_will_do(sweep_file: Path, on_threads: bytes, tmp_path: Path) -> None:
    import multiprocessing

    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        table = db.Sweep.load(sweep_file).run(tmp_path / "out", pool)
    assert sorted_bytes(table) == on_threads


def test_a_scheduler_that_does_not_answer(sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "somewhere://nowhere"):
        with (
            pytest.raises(db.InputError, match=f"no Dask scheduler answers at {address}.*dask worker"),
            executors.cluster(address),
        ):
            pass
    assert not (tmp_path / "small").exists()
