"""The demo: it starts in one command, its instance drifts as declared, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import systems
from driftbandits.cli.demo import demo
from driftbandits.cli.main import main
from driftbandits.cli.visitors import VISITORS, Visitors
from driftbandits.client import Client
from driftbandits.errors import DriftbanditsError
from driftbandits.live.session import Session
from driftbandits.policies import make_policy
from waiting import INTERPRETED, PATIENCE, started, wait_until


def steepest(visitors: Visitors) -> float:
    means = [visitors.means(step) for step in range(1, 30_000)]
    assert all(0 <= mean <= 1 for each in means for mean in each)
    return float(max(np.abs(np.subtract(after, before)).max() for before, after in pairwise(means)))


def test_only_the_one_that_says_so_drifts_faster_than_declared() -> None:
    checkout, _, shipping = VISITORS
    assert steepest(checkout) <= checkout.declared["policy_settings"]["drift"] + 1e-12
    assert steepest(shipping) > 50 * shipping.declared["policy_settings"]["drift"]


def test_a_snooze_comes_within_the_first_minute() -> None:
    visitors, luck = VISITORS[0], np.random.default_rng(0)
    arms = visitors.declared["arms"]
    policy = make_policy(visitors.declared["policy"], **visitors.declared["policy_settings"])
    session = Session(policy, arms)
    first_minute = 60 * 20 * visitors.each_tick
    for _ in range(first_minute // 2):
        decision = session.ask()
        session.tell(decision.id, float(luck.random() < visitors.means(decision.step)[arms.index(decision.arm)]))
        if session.policy.belief(session.state).snoozed:
            return
    raise AssertionError("no snooze")


def test_it_says_what_it_does_before_it_imports_the_service(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It printed nothing for 8 seconds."""
    said = []

    def needs(*extras: str) -> AbstractContextManager[None]:
        said.append(capsys.readouterr().out)
        raise DriftbanditsError("far enough")

    monkeypatch.setattr("driftbandits._common.extras.needs", needs)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(DriftbanditsError, match="far enough"):
        demo(port=taken.getsockname()[1], browser=False)
    assert re.match("starting a service at http://127.0.0.1:[0-9]+ [(]port [0-9]+ is taken[)], with", said[0])


@pytest.mark.parametrize("command", ["demo", "serve"])
@pytest.mark.parametrize("port", ["80000", "-1", "1e9"])
def test_a_port_that_is_none_is_one_line(command: str, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It was an OverflowError's traceback."""
    with pytest.raises(SystemExit, match="2"):
        main([command, "--port", port])
    assert "a port is from 0, which means any that is free, to 65,535; got" in capsys.readouterr().err


@systems.signals
def test_one_command_shows_it_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    words = ("-m", "driftbandits", "demo", "--no-browser", "--port", "0")
    own = INTERPRETED | {"TMPDIR": str(tmp_path)}
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own) as running:
        assert running.stdout
        said = [running.stdout.readline() for _ in range(2 + len(VISITORS))]
        found = re.fullmatch("starting a service at (http://127.0.0.1:[0-9]+), with a new database .*\n", said[0])
        assert found, said
        for number, (line, visitors) in enumerate(zip(said[1:-1], VISITORS, strict=True), start=1):
            assert line.startswith(f"creating experiment {number} of {len(VISITORS)}: {visitors.id}, policy ")
        assert said[-1].startswith(f"the dashboard is at {found[1]}/#checkout-button ")
        assert len(list(tmp_path.glob("driftbandits-demo-*/demo.db"))) == 1
        with Client(found[1], patience=PATIENCE) as client:
            wait_until(
                lambda: all((client.experiment(visitors.id)["learnt"] or 0) >= 20 for visitors in VISITORS),
                "20 rewards in each experiment",
            )
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out, err) == (0, "the demo is over\n", "")
    assert not list(tmp_path.iterdir())
