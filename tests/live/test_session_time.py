"""Time in a Session never runs backwards, whatever last told it the time."""

from __future__ import annotations

import pytest

import driftbandits as db
from driftbandits.live.decisions import Asked, Event, Settled, Told


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
