"""Time in a Session never runs backwards, whatever last told it the time."""

from __future__ import annotations

import pytest

import driftbandits as db
from driftbandits.live.decisions import Asked, Event, Outcome, Settled, Told


@pytest.mark.parametrize("told", [Told(1, 0.5, 3000.0), Settled(1, None, 3000.0)])
def test_a_reward_moves_time_on(told: Told | Settled) -> None:
    session = db.Session(arms=["a", "b"], timeout=60, clock=lambda: 1000.0)
    session.ask()
    session.apply(told)
    assert session.ask().due == 3060.0


@pytest.mark.parametrize(
    "late", [Asked(3, 0, 2000.0, None, None), Told(1, 0.5, 2000.0), Settled(1, 0.5, 2000.0)], ids=str
)
def test_a_log_whose_clock_jumped_back_does_no_harm(late: Event) -> None:
    session = db.Session(arms=["a", "b"], timeout=60, clock=lambda: 1000.0)
    for event in (Asked(1, 0, 1000.0, None, None), Asked(2, 1, 3000.0, None, None), late):
        session.apply(event)
    assert session.ask().due == 3060.0


def test_settling_moves_time_on() -> None:
    now = [1000.0]
    session = db.Session(arms=["a", "b"], timeout=60, default_reward=0.5, clock=lambda: now[0])
    session.ask()
    now[0] = 1030.0
    session.ask()
    now[0] = 1060.0
    assert session.settle() == [Settled(1, 0.5, 1060.0)]
    now[0] = 1000.0
    assert session.ask().due == 1120.0


def test_asks_and_tells_settle_what_is_due() -> None:
    now = 0.0
    session = db.Session(arms=["red", "blue"], timeout=10, default_reward=0.0, clock=lambda: now)
    session.journal = []
    first, second = session.ask(), session.ask()
    now = 5.0
    third = session.ask()
    now = 9.9
    session.ask()
    assert [type(event) for event in session.journal] == [Asked] * 4
    now = 10.0  # of the first two the time is up now, not later
    session.ask()
    assert session.journal[4:6] == [Settled(first.step, 0.0, 10.0), Settled(second.step, 0.0, 10.0)]
    assert session.tell_many([(first.id, 1.0)]) == [Outcome.EXPIRED]
    now = 15.0
    assert session.tell_many([("nobody", 1.0)]) == [Outcome.UNKNOWN]
    assert session.journal[7:] == [Settled(third.step, 0.0, 15.0)]
    assert session.open == 2
