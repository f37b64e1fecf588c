"""What a Session refuses, and that a refusal changes nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from clock import Clock
from driftbandits.live import decisions
from driftbandits.live.decisions import ConflictError, ExpiredError, Outcome, UnknownDecisionError


@pytest.mark.parametrize("reward", [math.nan, math.inf, -1e101, "0.5", None, 1j])
def test_a_bad_reward_changes_nothing(reward: Any) -> None:
    session = db.Session(arms=["a", "b"])
    decision, before = session.ask(), session.snapshot()
    with pytest.raises(db.InputError, match="finite number"):
        session.tell(decision.id, reward)
    assert session.snapshot() == before
    assert session.tell(decision.id, True) is Outcome.NEW


@pytest.mark.parametrize(
    "id", ["d-2", "d-0", "d-01", "d-+1", "d-1 ", "d-\u0661", "x-1", "d-", "", "d-1.0", "d--1", "d-" + "9" * 30, 7, None]
)
def test_an_unknown_id_changes_nothing(id: Any) -> None:
    session = db.Session(arms=["a", "b"])
    session.ask()
    before = session.snapshot()
    with pytest.raises(UnknownDecisionError, match="ids are d-1 to d-1"):
        session.tell(id, 0.5)
    assert session.snapshot() == before


def test_ids_may_come_from_a_table() -> None:
    """There they are often strings of numpy's own."""
    session = db.Session(arms=["a", "b"])
    ids = np.array([decision.id for decision in session.ask_many(3)])
    assert session.tell_many(zip(ids, np.array([0.5, 1.0, 0.0]), strict=True)) == [Outcome.NEW] * 3
    assert session.tell(ids[1], 1.0) is Outcome.AGAIN


def test_another_value_is_a_conflict() -> None:
    session = db.Session(arms=["a", "b"])
    decision = session.ask()
    assert session.tell(decision.id, 0.5) is Outcome.NEW
    before = session.snapshot()
    assert session.tell(decision.id, 0.5) is Outcome.AGAIN
    with pytest.raises(ConflictError, match="another reward already"):
        session.tell(decision.id, 0.6)
    assert session.tell_many([(decision.id, 0.7), ("d-9", 1.0)]) == [Outcome.CONFLICT, Outcome.UNKNOWN]
    assert session.snapshot() == before


def test_what_is_forgotten_is_expired() -> None:
    session = db.Session(arms=["a", "b"], remember=2)
    ids = [session.ask().id for _ in range(4)]
    session.tell_many([(id, 0.5) for id in ids])
    assert session.tell(ids[3], 0.5) is Outcome.AGAIN
    with pytest.raises(ExpiredError, match="long forgotten"):
        session.tell(ids[0], 0.5)


@pytest.mark.parametrize(("default", "learnt"), [(None, 0), (0.0, 1)])
def test_a_reward_that_never_comes_is_settled_once(default: float | None, learnt: int) -> None:
    clock = Clock()
    session = db.Session(arms=["a", "b"], timeout=60, default_reward=default, clock=clock)
    decision = session.ask()
    assert decision.due == clock.now + 60
    clock.now += 59.9
    assert session.settle() == []
    clock.now += 0.1
    assert [settled.reward for settled in session.settle()] == [default]
    assert (session.learnt, session.open, session.settle()) == (learnt, 0, [])
    before = session.snapshot()
    with pytest.raises(ExpiredError, match="its time was up"):
        session.tell(decision.id, 1.0)
    assert session.snapshot() == before


def test_a_clock_that_jumps_back_does_no_harm() -> None:
    clock = Clock()
    session = db.Session(arms=["a", "b"], timeout=60, clock=clock)
    first = session.ask()
    clock.now -= 1e6
    second = session.ask()
    assert second.due == first.due
    assert session.tell(first.id, 0.5) is Outcome.NEW


def test_time_goes_on_through_a_snapshot() -> None:
    clock = Clock()
    session = db.Session(arms=["a", "b"], timeout=60, clock=clock)
    decision = session.ask()
    later = Clock()
    later.now = clock.now + 61
    restored = db.Session.restore(session.snapshot(), clock=later)
    with pytest.raises(ExpiredError):
        restored.tell(decision.id, 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arms": "ab"}, "different names"),
        ({"arms": ["a", "a"]}, "different names"),
        ({"arms": []}, "different names"),
        ({"arms": ["a", 1]}, "different names"),
        ({"arms": ["a"]}, "at least 2 arms, not for 1"),
        ({"seed": -1}, "seed"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": math.nan}, "timeout"),
        ({"default_reward": math.inf}, "default_reward"),
        ({"policy": "AutoTS"}, "derived from Policy"),
        ({"remember": -1}, "remember"),
        ({"explore": 1.5}, "share of all Decisions"),
    ],
)
def test_wrong_settings(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(db.InputError, match=message):
        db.Session(**{"arms": ["a", "b"], **wrong})


def test_a_foreign_snapshot_is_refused() -> None:
    online = db.Online(db.UCB1(), 2).snapshot()
    for data in (b"", b"nonsense", online):
        with pytest.raises(db.InputError, match="not a snapshot"):
            db.Session.restore(data)


def test_a_log_with_a_gap_is_refused() -> None:
    session = db.Session(arms=["a", "b"])
    session.journal = []
    session.ask_many(2)
    fresh = db.Session(arms=["a", "b"])
    with pytest.raises(db.InputError, match="step 2 cannot follow step 0"):
        fresh.apply(session.journal[1])
    with pytest.raises(db.InputError, match="which is not open"):
        fresh.apply(decisions.Told(1, 0.5, 0.0))


def test_too_many_open_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftbandits.live.session.MOST_OPEN", 3)
    session = db.Session(arms=["a", "b"])
    session.ask_many(3)
    with pytest.raises(db.InputError, match="set a timeout"):
        session.ask()


def test_before_the_first_ask_no_range_of_ids_is_named() -> None:
    with pytest.raises(UnknownDecisionError, match="there is no Decision 'd-1' here: none has been made yet"):
        db.Session(arms=["a", "b"]).tell("d-1", 0.5)


def test_a_session_has_so_many_arms_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were removed count: the log keeps them."""
    monkeypatch.setattr("driftbandits.live.arms.MOST_ARMS", 4)
    session = db.Session(arms=["a", "b"])
    session.add_arm("c")
    session.remove_arm("a")
    session.add_arm("d")
    with pytest.raises(db.InputError, match="has had 4 arms and takes no more"):
        session.add_arm("e")
    assert session.available == ["b", "c", "d"]
