"""Policies that count pending rewards learn from a Session what was played, and from nobody else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.live.decisions import Event

ARMS = ["a", "b", "c"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def taught(**options: Any) -> db.Session:
    """A Session whose policy knows three arms, two of them about equally good."""
    session, rng = db.Session(db.BreakEven(), ARMS, **options), np.random.default_rng(1)
    for _ in range(40):
        decision = session.ask()
        session.tell(decision, {"a": 0.5, "b": 0.5, "c": 0.1}[decision.arm] + 0.5 * float(rng.standard_normal()))
    return session


def test_many_at_once_are_as_many_one_after_the_other() -> None:
    one, many = taught(), taught()
    arms = [one.ask().arm for _ in range(60)]
    assert arms == [decision.arm for decision in many.ask_many(60)]
    assert len(set(arms)) > 1, "an index without pending rewards gives all of them the same arm"


def test_open_decisions_are_counted_whoever_chose_them() -> None:
    clock = Clock()
    session = taught(timeout=100.0, sticky=50.0, clock=clock)
    session.force_arm("c")
    session.ask_many(7)
    session.force_arm(None)
    session.hold_out(0.5, "b")
    decisions = session.ask_many(20, units=[f"user-{index % 3}" for index in range(20)])
    check_counts(session)
    session.tell(decisions[0], 0.2)
    check_counts(session)
    session.add_arm("new")
    session.ask_many(4)
    check_counts(session)
    check_counts(db.Session.restore(session.snapshot(), clock))
    clock.now = 200.0
    session.settle()
    check_counts(session)
    assert not +Counter(session.pending)


def check_counts(session: db.Session) -> None:
    """As many as there are open Decisions; and nothing of it stays in the State."""
    waiting = Counter(session.arms.index(decision.arm) for decision in session.waiting())
    assert +Counter(session.pending) == waiting
    assert not session.state.arms.pending.any()


def test_the_log_tells_all() -> None:
    """A Session made again from its events goes on with the same bits, and so does one that was restored."""
    first = taught()
    first.journal = list[Event]()
    again = db.Session.restore(first.snapshot())
    open_now = first.ask_many(25)
    first.tell_many(dict.fromkeys(open_now[::3], 0.4))
    for event in first.journal:
        again.apply(event)
    restored = db.Session.restore(first.snapshot())
    assert again.snapshot() == first.snapshot()
    expected = [decision.arm for decision in first.ask_many(30)]
    for session in (again, restored):
        assert [decision.arm for decision in session.ask_many(30)] == expected


def test_silence_that_was_learnt_is_not_pending() -> None:
    clock = Clock()
    session = db.Session(db.BreakEven(), ARMS, timeout=1_000.0, default_reward=0.0, late=True, clock=clock)
    for step in range(400):
        clock.now = float(step)
        decision = session.ask()
        if step % 3 == 0:
            session.tell(decision, 1.0)
    ahead = session._late.ahead if session._late is not None else []
    assert sum(ahead) > 0
    for arm, count in session.pending.items():
        assert count == max(0, sum(d.arm == ARMS[arm] for d in session.waiting()) - ahead[arm])


@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_an_explanation_agrees_with_the_choice(explore: float) -> None:
    """Of a choice without chance, made while rewards were pending, the probability is 1, and with exploration less."""
    session = taught(explore=explore)
    decisions = session.ask_many(60)
    for decision in decisions[::7]:
        why = session.explain(decision)
        assert why.arm == decision.arm
        assert sum(arm.probability for arm in why.arms) == pytest.approx(1.0)
        if explore == 0:
            assert why.probability == 1.0
