"""Many rewards at once: what becomes of each where ids come twice, are wrong or long forgotten."""

from __future__ import annotations

import math
from typing import Any

import pytest

import driftbandits as db
from driftbandits.live.decisions import Outcome, Told

NEW, AGAIN, CONFLICT = Outcome.NEW, Outcome.AGAIN, Outcome.CONFLICT


def asked(count: int = 2, **settings: Any) -> db.Session:
    """A Session with so many open Decisions, whose clock stands still."""
    session = db.Session(db.RoundRobin(), ["a", "b"], clock=lambda: 1000.0, unit_key="k", **settings)
    session.journal = []
    for _ in range(count):
        session.ask()
    return session


def test_the_first_of_two_rewards_counts() -> None:
    """The same one again is no harm, another is a conflict, as if they had been told one after the other."""
    session, alone = asked(), asked()
    outcomes = session.tell_many([("d-1", 0.5), ("d-1", 0.75), ("d-1", 0.5), ("d-2", 1.0), ("d-1", 0.25)])
    assert outcomes == [NEW, CONFLICT, AGAIN, NEW, CONFLICT]
    assert alone.tell_many([("d-1", 0.5), ("d-2", 1.0)]) == [NEW, NEW]
    assert session.journal == alone.journal
    assert session.snapshot() == alone.snapshot()
    assert session.tell_many([("d-1", 0.75), ("d-1", 0.5)]) == [CONFLICT, AGAIN]


def test_a_wrong_reward_does_not_stand_in_the_way_of_the_right_one() -> None:
    session = asked()
    outcomes = session.tell_many([("d-1", math.nan), ("x-1", math.nan), ("d-9", 0.5), ("d-1", 0.5), ("d-1", math.inf)])
    assert outcomes == [Outcome.INVALID, Outcome.UNKNOWN, Outcome.UNKNOWN, NEW, Outcome.INVALID]
    assert session.learnt == 1


def test_zero_has_no_sign() -> None:
    session = asked()
    assert session.tell_many([("d-1", -0.0), ("d-1", 0.0)]) == [NEW, AGAIN]
    (told,) = (event for event in session.journal or [] if isinstance(event, Told))
    assert math.copysign(1.0, told.reward) == 1.0


@pytest.mark.parametrize(("remember", "remembered"), [(0, []), (1, [3]), (2, [2, 3]), (3, [1, 2, 3])])
def test_so_many_answers_are_remembered_and_the_rest_is_expired(remember: int, remembered: list[int]) -> None:
    session = asked(3, remember=remember)
    assert [step for step in range(5) if session.remembers(f"d-{step}")] == [1, 2, 3]
    rewards = [(f"d-{step}", 0.5) for step in (1, 2, 3)]
    assert session.tell_many(rewards) == [NEW] * 3
    assert [step for step in range(5) if session.remembers(f"d-{step}")] == remembered
    expected = [AGAIN if step in remembered else Outcome.EXPIRED for step in (1, 2, 3)]
    assert session.tell_many([*rewards, ("d-4", 0.5)]) == [*expected, Outcome.UNKNOWN]
