"""The demo: it starts in one command, its instance drifts as declared, and Ctrl-C leaves nothing behind."""

from __future__ import annotations

import re
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np

import systems
from driftbandits.cli.visitors import VISITORS, Visitors
from driftbandits.client import Client
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


@systems.signals
def test_one_command_shows_it_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    words = ("-m", "driftbandits", "demo", "--no-browser", "--port", "0")
    own = INTERPRETED | {"TMPDIR": str(tmp_path)}
    with started(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=own) as demo:
        assert demo.stdout
        said = demo.stdout.readline()
        found = re.search("http://127.0.0.1:[0-9]+", said)
        assert found, said
        assert len(list(tmp_path.glob("driftbandits-demo-*/demo.db"))) == 1
        with Client(found[0], patience=PATIENCE) as client:
            wait_until(
                lambda: all((client.experiment(visitors.id)["learnt"] or 0) >= 20 for visitors in VISITORS),
                "20 rewards in each experiment",
            )
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate()
    assert (demo.returncode, out, err) == (0, "the demo is over\n", "")
    assert not list(tmp_path.iterdir())
