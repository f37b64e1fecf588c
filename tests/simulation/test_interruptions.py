"""Runs that are kept, stopped, cut short or go wrong: nothing finished is lost, and progress is told."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import driftbandits as db
import systems
from comparison import POLICIES, T, same
from driftbandits._common import threads
from driftbandits._common.threads import GoOn, in_threads
from stubborn import Stubborn
from waiting import PATIENCE, started, wait_until

SUPPORT = str(Path(systems.__file__).parent)


def test_keep_goes_on_where_it_was(instance: db.Instance, result: db.Simulation, tmp_path: Path) -> None:
    """A file with a third of the runs is finished, and none of those runs is made again."""
    from driftbandits.simulation.parquet import read_runs, write_runs

    path = tmp_path / "kept.parquet"
    policies = {name: POLICIES[name] for name in ("SW-UCB#", "Rexp3")}
    whole = db.simulate(policies, instance, runs=6, seed=11, keep=path)
    recipe, done = read_runs(path)
    part = {name: {run: runs[run] for run in (1, 4)} for name, runs in done.items()}
    write_runs(path, part, {key: value for key, value in recipe.items() if key != "format"})
    with pytest.raises(db.InputError, match="not finished, 8 runs are missing"):
        db.Simulation.load(path)
    resumed = db.simulate(policies, instance, runs=6, seed=11, keep=path)
    assert same(whole, resumed, "Rexp3")
    assert resumed.seconds["Rexp3"][4] == whole.seconds["Rexp3"][4]
    assert same(db.Simulation.load(path), whole, "SW-UCB#")
    with pytest.raises(db.InputError, match=r"another simulation .*different seed"):
        db.simulate(policies, instance, runs=6, seed=12, keep=path)


def test_keep_knows_plain_objects_and_numpy_numbers_again(instance: db.Instance, tmp_path: Path) -> None:
    """A plain object's looks have its address in them, which is another one tomorrow."""
    path = tmp_path / "kept.parquet"
    numbers = db.SWUCBSharp(np.int64(T), np.float64(1e-3))  # type: ignore[arg-type]
    first = db.simulate({"it": Stubborn(), "sw": numbers}, instance, runs=2, keep=path)
    written, another = path.stat().st_mtime_ns, Stubborn()
    again = db.simulate({"it": another, "sw": POLICIES["SW-UCB#"]}, instance, runs=2, keep=path)
    assert path.stat().st_mtime_ns == written
    assert same(first, again, "it")
    with pytest.raises(db.InputError, match=r"different noise"):
        db.simulate({"it": another, "sw": numbers}, instance, db.Bernoulli(), runs=2, keep=path)


def test_a_place_that_cannot_be_kept_in_is_known_before_the_work(tmp_path: Path) -> None:
    class Busy(Stubborn):
        def update(self, state: list[int], arm: int, reward: float) -> None:
            raise AssertionError("played a step")

    (tmp_path / "file").write_text("in the way")
    with pytest.raises(db.InputError, match="cannot write"):
        db.simulate({"it": Busy()}, db.instances.stationary(10), runs=1, keep=tmp_path / "file" / "runs.parquet")


def test_a_policy_that_does_not_fit_leaves_no_file(tmp_path: Path) -> None:
    three = db.instances.stationary(10, (0.1, 0.2, 0.3))
    with pytest.raises(db.InputError, match="exactly 2 arms"):
        db.simulate({"it": db.SnoozeIt(T, 1e-3)}, three, runs=1, keep=tmp_path / "runs.parquet")
    assert not list(tmp_path.iterdir())


class Strays(Stubborn):
    """Pulls an arm that does not exist at its fourth step."""

    def __init__(self, arm: int) -> None:
        self.arm = arm

    def select(self, state: list[int], rng: np.random.Generator) -> int:
        return self.arm if sum(state) == 3 else 0


@pytest.mark.parametrize("arm", [-1, 2])
def test_the_step_of_an_arm_that_does_not_exist_is_named(arm: int) -> None:
    with pytest.raises(db.InputError, match=f"Strays chose arm {arm} at step 4, which does not exist: arms are 0 to 1"):
        db.simulate({"it": Strays(arm)}, db.instances.stationary(10), runs=1)


def test_progress_on_a_terminal() -> None:
    """Standard error is a pseudo-terminal; the bar fills as runs end: the eleventh of 25 waits until that was seen."""
    pty = pytest.importorskip("pty")
    program = (
        "import driftbandits as db\n"
        "class Waits:\n"
        "    runs = 0\n"
        "    def init(self, n_arms): pass\n"
        "    def select(self, state, rng):\n"
        "        Waits.runs += 1\n"
        "        if Waits.runs == 11: input()\n"
        "        return 0\n"
        "    def update(self, state, arm, reward): pass\n"
        "db.simulate({'it': Waits()}, db.instances.stationary(1), runs=25, workers=1)\n"
    )
    ours, theirs = pty.openpty()
    own = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with started("-c", program, stdin=subprocess.PIPE, stderr=theirs, env=own) as process:
        assert process.stdin
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # how a pseudo-terminal says that its other end was closed
            while piece := os.read(ours, 4096):
                seen += piece
                if b" 40%" in seen and not process.stdin.closed:
                    process.stdin.write("\n")
                    process.stdin.close()
        os.close(ours)
        assert process.wait() == 0, seen.decode()
    assert b" 40%" in seen
    assert b"simulating" in seen
    assert b"M steps/s" in seen


@systems.signals
def test_ctrl_c_returns_promptly_and_keeps_what_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "kept.parquet"
    program = (
        "import driftbandits as db\n"
        "from driftbandits.simulation.engine import Job\n"
        "play = Job.play\n"
        "def tell(job, run, *rest):\n"
        "    result = play(job, run, *rest)\n"
        "    said = 'stopped' if result is None else 'finished'\n"
        "    print(f'{said} {run}\\n', end='', flush=True)\n"  # in one piece: another thread prints too
        "    return result\n"
        "Job.play = tell\n"
        "instance = db.instances.sinusoid(horizon=2_000_000)\n"
        "it = {'it': db.UCB1()}\n"
        f"db.simulate(it, instance, runs=100_000, workers=2, keep={str(path)!r})\n"
    )
    with started("-c", program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.stdout.read(), process.stderr.read()  # communicate() loses what readline() read ahead
    assert "KeyboardInterrupt" in errors
    told = [line.split() for line in (first + rest).splitlines()]
    from driftbandits.simulation.parquet import read_runs

    recipe, done = read_runs(path)
    assert recipe["runs"] == 100_000
    assert sorted(done["it"]) == sorted(int(run) for what, run in told if what == "finished")
    assert 1 <= len(done["it"]) < 100_000
    assert [what for what, _ in told].count("stopped") == 2  # each worker in the middle of a run
    assert [file.name for file in tmp_path.iterdir()] == ["kept.parquet"]


@systems.signals
def test_ctrl_c_leaves_a_kernel_that_loops_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can stop it, but neither the caller nor the end of the process waits for it."""
    program = (
        "import broken_policies, driftbandits as db\n"
        "from driftbandits._common import threads\n"
        "from driftbandits.simulation.engine import Job\n"
        "threads.PATIENCE = 0.5\n"
        "play = Job.play\n"
        "def tell(job, *rest):\n"
        "    print('begun', flush=True)\n"
        "    return play(job, *rest)\n"
        "Job.play = tell\n"
        "db.simulate(broken_policies.LoopsForEver(), db.instances.stationary(10), runs=1, progress=False)\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [SUPPORT, os.environ.get("PYTHONPATH")])))
    with started("-c", program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert "KeyboardInterrupt: 1 threads have not stopped within 0.5 seconds and go on until the process ends" in errors


def test_ctrl_c_while_threads_are_begun_waits_for_those_that_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python tells of Ctrl-C also within ``Thread.start``, when the new thread is at work already."""
    begin, working, ended = threading.Thread.start, threading.Event(), []

    def interrupted(thread: threading.Thread) -> None:
        begin(thread)
        assert working.wait(PATIENCE)
        raise KeyboardInterrupt

    def work(number: int, go_on: GoOn) -> None:
        working.set()
        wait_until(lambda: not go_on(1), "the end")
        time.sleep(0.2)
        ended.append(number)

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(3), 2, "working", 3, progress=False)
    assert ended == [0]


def test_ctrl_c_when_a_thread_has_just_ended_takes_it_for_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Event()

    class Interrupted(threading.Semaphore):
        """Ctrl-C comes when the end of the thread was heard, and nothing was made of it yet."""

        interrupted = False

        def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
            waiting.set()
            heard = super().acquire(blocking, timeout)
            if heard and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            return heard

    monkeypatch.setattr(threads, "PATIENCE", 0.5)
    monkeypatch.setattr(threading, "Semaphore", Interrupted)
    with pytest.raises(KeyboardInterrupt) as told:
        in_threads(lambda number, go_on: waiting.wait(PATIENCE), [1], 1, "working", 1, False)
    assert str(told.value) == "", "nothing is left that has not stopped"
