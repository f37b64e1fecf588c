"""A real Dask cluster, and what happens to a sweep when parts of it die."""

from __future__ import annotations

import io
import socket
import subprocess
import threading
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import driftbandits as db
from clusters import cluster
from commands import driftbandits
from driftbandits.sweep import executors
from driftbandits.sweep.directory import read
from waiting import PATIENCE, started, wait_until

FILE = """
name = "small"
runs = 300
[grid]
policy = ["RoundRobin", "SWUCBSharp"]
instance = "toggling"
horizon = [1_000, 500_000]
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


def command(*words: object) -> AbstractContextManager[subprocess.Popen[str]]:
    return started("-m", "driftbandits", "sweep", *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_same_bytes_on_a_cluster_and_a_worker_killed_in_the_middle(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    done: dict[str, Any] = {}

    def work(address: str) -> None:
        with executors.cluster(address) as pool:
            done["table"] = db.Sweep.load(sweep_file).run_on(pool, tmp_path / "out", None, False, lambda line: None)

    with cluster(tmp_path) as made:
        thread = threading.Thread(target=work, args=(made.address,), daemon=True)
        thread.start()
        wait_until(lambda: parts(tmp_path / "out") or not thread.is_alive(), "the first blocks")
        assert thread.is_alive()  # in the middle
        made.workers[0].kill()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert made.workers[1].poll() is None
    assert sorted_bytes(done["table"]) == on_threads
    runs = done["table"].select("cell", pl.int_ranges("first_run", pl.col("first_run") + pl.col("runs")).alias("run"))
    assert not runs.explode("run").is_duplicated().any()


def test_the_scheduler_killed_is_a_clear_error_and_the_sweep_goes_on(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with cluster(tmp_path, workers=1) as made, command(sweep_file, "--out", out, "--cluster", made.address) as running:
        wait_until(lambda: parts(out) or running.poll() is not None, "the first blocks")
        made.scheduler.kill()
        _, said = running.communicate()
    assert running.returncode == 1, said
    assert "the cluster was lost" in said
    assert "start the same sweep again" in said
    assert "Traceback" not in said
    before, rows = parts(out), read(out)
    assert 0 < rows["runs"].sum() < 1200
    again = driftbandits("sweep", sweep_file, "--out", out)
    assert again.returncode == 0, again.stderr
    assert f"{rows.height:,} blocks finished before" in again.stdout
    assert before.items() <= parts(out).items()
    assert sorted_bytes(read(out)) == on_threads


def test_killed_at_any_moment_it_goes_on_and_runs_nothing_twice(
    sweep_file: Path, on_threads: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with command(sweep_file, "--out", out, "--workers", 1) as running:
        wait_until(lambda: parts(out) or running.poll() is not None, "the first blocks")
        running.kill()
    before, rows = parts(out), read(out)
    (out / ".part-000099-abcdefgh.parquet.tmp").write_bytes(b"half a fi")  # what a kill while writing leaves
    assert rows["runs"].sum() < 1200
    again = driftbandits("sweep", sweep_file, "--out", out, "--local-cluster", 2)
    assert again.returncode == 0, again.stderr
    assert f"{rows.height:,} blocks finished before" in again.stdout
    assert before.items() <= parts(out).items()
    assert not list(out.glob(".*.tmp"))
    assert sorted_bytes(read(out)) == on_threads


def test_any_executor_will_do(tmp_path: Path) -> None:
    import multiprocessing

    few = tmp_path / "few.toml"  # nothing is killed here, so that it need not last
    few.write_text(FILE.replace("300", "40"))
    expected = sorted_bytes(db.Sweep.load(few).run(tmp_path / "threads"))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        table = db.Sweep.load(few).run(tmp_path / "out", pool)
    assert sorted_bytes(table) == expected


def test_a_scheduler_that_does_not_answer(sweep_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "somewhere://nowhere"):
        with (
            pytest.raises(db.InputError, match=f"no Dask scheduler answers at {address}.*dask worker"),
            executors.cluster(address),
        ):
            pass
    assert not (tmp_path / "small").exists()


def test_a_local_cluster_listens_to_this_machine_alone_whatever_port_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's usual port may be another cluster's; a warning of it would be an error here."""
    bind, addresses = socket.socket.bind, []

    def noted(it: socket.socket, address: Any) -> None:
        addresses.append(address)
        bind(it, address)

    with socket.socket() as taken:
        with suppress(OSError):
            taken.bind(("", 8787))
            taken.listen()
        monkeypatch.setattr(socket.socket, "bind", noted, raising=False)
        with executors.local_cluster(1) as pool:
            assert pool.executor.submit(abs, -1).result(PATIENCE) == 1
    assert {host for host, _ in addresses} == {"127.0.0.1"}
