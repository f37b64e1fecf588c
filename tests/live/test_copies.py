"""Copies and pickles of what is played live go on from where the original was, and share nothing with it."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from lively import lively

COPIES: list[Callable[[Any], Any]] = [copy.deepcopy, copy.copy, lambda one: pickle.loads(pickle.dumps(one))]
NAMES = ["AutoTS", "SnoozeItK", "MASTER"]
"""One that draws, one whose State grows, and one that draws once and remembers."""


def go_on(session: db.Session, steps: int) -> list[str]:
    arms = []
    for step in range(steps):
        decision = session.ask()
        arms.append(decision.arm)
        session.tell(decision.id, float(step * 7 % 5) / 5)
    return arms


@pytest.fixture(autouse=True)
def only_new_garbage() -> Iterator[None]:
    """``gc.collect`` looks at what a test made, and not at all that was compiled before."""
    gc.freeze()
    yield
    gc.unfreeze()


class Clock:
    """A clock of one's own, which can be pickled."""

    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("made", COPIES)
def test_a_session(name: str, made: Callable[[Any], Any]) -> None:
    session = db.Session(lively(name), arms=["red", "blue"], explore=0.2, timeout=60.0, clock=Clock())
    go_on(session, 40)
    session.ask_many(3)
    twin = made(session)
    assert twin.snapshot() == session.snapshot()
    assert isinstance(twin.clock, Clock)
    expected = go_on(session, 60)
    after = session.snapshot()
    del session
    gc.collect()  # what the copy used of the original's memory would be gone now
    assert go_on(twin, 60) == expected
    assert twin.snapshot() == after


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("made", COPIES)
def test_online(name: str, made: Callable[[Any], Any]) -> None:
    def go_on(play: db.Online) -> list[int]:
        arms = []
        for step in range(50):
            arms.append(play.select())
            play.update(arms[-1], step * 3 % 7 / 7)
        return arms

    play = db.Online(lively(name), 2, seed=3)
    go_on(play)
    twin = made(play)
    before = twin.snapshot()
    expected = go_on(play)
    assert twin.snapshot() == before, "the original's steps reached the copy"
    del play
    gc.collect()
    assert go_on(twin) == expected


class Plain:
    """Keeps what it learns in itself."""

    def init(self, n_arms: int) -> None:
        self.total = [0.0] * n_arms

    def select(self, state: None, rng: np.random.Generator) -> int:
        return int(np.argmax(self.total)) if rng.random() < 0.5 else int(rng.integers(len(self.total)))

    def update(self, state: None, arm: int, reward: float) -> None:
        self.total[arm] += reward


@pytest.mark.parametrize("made", COPIES)
def test_online_of_a_plain_policy(made: Callable[[Any], Any]) -> None:
    play = db.Online(Plain(), 3, seed=1)
    for step in range(20):
        play.update(play.select(), step % 3)
    twin = made(play)
    choices = [[], []]  # type: list[list[int]]
    for one, chosen in zip((play, twin), choices, strict=True):
        for step in range(30):
            chosen.append(one.select())
            one.update(chosen[-1], step % 4)
    assert choices[0] == choices[1]


def test_a_session_pickled_in_another_process() -> None:
    program = """
import pickle, sys
import driftbandits as db
session = db.Session(db.AutoTS(), arms=["red", "blue"], seed=4)
for step in range(30):
    session.tell(session.ask().id, float(step % 3))
sys.stdout.buffer.write(pickle.dumps(session))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    session, twin = pickle.loads(done.stdout), db.Session(db.AutoTS(), arms=["red", "blue"], seed=4)
    for step in range(30):
        twin.tell(twin.ask().id, float(step % 3))
    assert go_on(session, 30) == go_on(twin, 30)


def test_a_copy_keeps_no_journal() -> None:
    session = db.Session(arms=["red", "blue"])
    session.journal = []
    go_on(session, 3)
    twin = copy.deepcopy(session)
    go_on(twin, 2)
    assert twin.journal is None
    assert len(session.journal) == 6
