"""What changes while a Session runs: arms, policy, exploration. Whatever happens, it is the fold of its log."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import driftbandits as db
from driftbandits.live.decisions import (
    ArmChanged,
    Asked,
    Corrected,
    Counted,
    Event,
    Forced,
    HeldOut,
    Rewound,
    Settled,
    Told,
)
from driftbandits.live.units import hash_of
from naive_units import NaiveUnits

with warnings.catch_warnings():
    warnings.simplefilter("ignore", db.FeasibilityWarning)
    POLICIES = [db.AutoTS(), db.UCB1(), db.SWUCB(window=20, xi=1.0), db.SnoozeItK(500, 1e-3, 0.1), db.KLUCB()]
"""Natively, snoozed from outside, and beginning anew; in any order and in turn."""
VERBS = (
    ["ask"] * 8
    + ["tell"] * 8
    + ["visit"] * 8
    + ["add", "disable", "enable", "remove", "policy", "explore", "timeout", "force", "hold", "restore"]
    + ["sticky", "erase", "rewind"]
)
VISITORS = ["ann", "bob", "cid", "dan"]


def fold(events: list[Event], **declared: Any) -> db.Session:
    session = db.Session(**declared)
    for event in events:
        session.apply(event)
    return session


def erased(event: Event, unit: bytes) -> Event:
    """As a Store leaves an event when a unit is erased."""
    if isinstance(event, Asked) and event.note is not None and event.note.unit == unit:
        return event._replace(note=event.note._replace(unit=None, metadata=None))
    return event


@pytest.mark.parametrize("most", [3, 1_000_000])
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_sequence_of_changes_is_the_fold_of_its_log(
    most: int, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    monkeypatch.setattr("driftbandits.live.units.MOST_UNITS", most)
    now = [100.0]
    declared: dict[str, Any] = {"arms": ["a", "b", "c"], "policy": data.draw(st.sampled_from(POLICIES)), "remember": 50}
    declared |= {"sticky": data.draw(st.sampled_from([None, 5.0, 40.0])), "unit_key": "k"}
    session = db.Session(**declared, clock=lambda: now[0])
    events: list[Event] = []
    session.journal = events
    chosen: list[tuple[str, list[str]]] = []
    kept = NaiveUnits(most)
    refusals: list[str] = []
    for verb in data.draw(st.lists(st.sampled_from(VERBS), min_size=5, max_size=80)):
        now[0] += 1.0
        there = [arm for arm, is_now in zip(session.arms, session.statuses, strict=True) if is_now != "removed"]
        arm = data.draw(st.sampled_from(there))
        before = session.snapshot()
        try:
            if verb == "ask":
                allowed = [session.forced] if session.forced else session.available
                chosen += [(each.arm, allowed) for each in session.ask_many(data.draw(st.integers(1, 4)))]
            elif verb == "visit":
                units = data.draw(st.lists(st.sampled_from([None, *VISITORS]), min_size=1, max_size=3))
                allowed = [session.forced] if session.forced else session.available
                metadata = data.draw(st.sampled_from([None, [{"page": "home"}] * len(units)]))
                made = session.ask_many(len(units), units, metadata)
                chosen += [(each.arm, allowed) for each in made]
                kept.visit(session, made, units, now[0])
            elif verb == "sticky":
                session.change(sticky=data.draw(st.sampled_from([None, 5.0, 40.0])))
                kept.slots = [] if session.sticky is None else kept.slots
            elif verb == "erase":
                name = data.draw(st.sampled_from(VISITORS))
                session.erase(name)
                events[:] = [erased(event, hash_of(name, session.unit_key)) for event in events]
                kept.slots = [(None if unit == name else unit, *slot) for unit, *slot in kept.slots]  # type: ignore[misc]
            elif verb == "rewind":
                session.apply(Rewound(now[0]))
            elif verb == "tell" and session.open:
                waiting = data.draw(st.sampled_from(session.waiting()))
                session.tell_many({f"d-{waiting.step}": data.draw(st.sampled_from([0.0, 0.5, 1.0]))})
            elif verb == "add":
                session.add_arm(f"new {len(session.arms)}")
            elif verb in ("disable", "enable", "remove"):
                getattr(session, f"{verb}_arm")(arm)
            elif verb == "policy":
                session.change(policy=data.draw(st.sampled_from(POLICIES)))
            elif verb == "explore":
                session.change(explore=data.draw(st.sampled_from([0.0, 0.3])))
            elif verb == "timeout":
                session.change(timeout=data.draw(st.sampled_from([None, 3.0, 20.0])))
            elif verb == "force":
                session.force_arm(data.draw(st.sampled_from([None, *session.available])))
            elif verb == "hold":
                session.hold_out(data.draw(st.sampled_from([0.0, 0.3])), data.draw(st.sampled_from(session.available)))
            elif verb == "restore":
                session = db.Session.restore(session.snapshot(), clock=lambda: now[0])
                session.journal = events
        except db.InputError as error:
            refusals.append(str(error))
            assert session.snapshot() == before, "what is refused changes nothing"
    assert all(arm in available for arm, available in chosen), "a disabled arm is never chosen"
    assert all("only arm" in words or "is defined for" in words or ", or none, first" in words for words in refusals)
    folded = fold(events, **declared)
    assert folded.snapshot() == session.snapshot()
    folded.clock = session.clock
    assert folded.ask_many(5) == session.ask_many(5)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_old_decisions_stay_explainable(policy: db.Policy) -> None:
    """What is said of a Decision after a change of arms or policy is what was said of it when it was made."""
    session = db.Session(policy, arms=["a", "b", "c"], explore=0.1)
    said = {}
    for step in range(1, 61):
        decision = session.ask()
        said[decision.id] = session.explain(decision)
        session.tell(decision, 0.25 * session.arms.index(decision.arm))
        if step == 15:
            session.add_arm("d")
        if step == 30:
            session.disable_arm("c")
        if step == 45:
            session.change(policy=db.UCB1() if isinstance(policy, db.AutoTS) else db.AutoTS())
    assert {id: session.explain(id) for id in said} == said
    assert not next(view for view in said["d-40"].arms if view.arm == "c").available
    assert "d" not in [view.arm for view in said["d-15"].arms]
    assert "d" in [view.arm for view in said["d-16"].arms]
    restored = db.Session.restore(session.snapshot())
    with pytest.raises(db.InputError, match="have changed since"):
        restored.explain("d-20")


def test_a_new_arm_gets_its_turn_and_no_more_while_its_rewards_are_late() -> None:
    session = db.Session(arms=["a", "b", "c"], explore=0.2)
    session.tell_many(dict.fromkeys(session.ask_many(300), 0.5))
    session.add_arm("d")
    shares = Counter(decision.arm for decision in session.ask_many(1000))
    assert 200 < shares["d"] < 300  # one in four, and the share that explores: 0.8/4 + 0.2/4
    decision = next(each for each in session.ask_many(10) if each.arm == "d")
    session.tell(decision, 0.9)
    assert Counter(each.arm for each in session.ask_many(100))["d"] > 50


def test_a_new_arm_is_found_as_fast_as_by_a_policy_that_begins_anew() -> None:
    """How often a new best arm is pulled in its first 150 steps, on average of 20 runs each."""
    rate = {"a": 0.3, "b": 0.4, "c": 0.5, "d": 0.9}
    pulls: dict[bool, list[int]] = {True: [], False: []}
    for seed in range(20):
        rng = np.random.Generator(np.random.SFC64(seed))
        for fresh in pulls:
            session = db.Session(arms=["a", "b", "c"], seed=seed)
            for step in range(450):
                if step == 300:
                    if fresh:
                        session = db.Session(arms=list(rate), seed=seed)
                    else:
                        session.add_arm("d")
                decision = session.ask()
                session.tell(decision, float(rng.random() < rate[decision.arm]))
            recent = list(session._learner.recent)[-150:]
            pulls[fresh].append(sum(arm == 3 for _, arm, _ in recent))
    assert np.mean(pulls[False]) > np.mean(pulls[True]) - 5 * np.std(pulls[True]) / np.sqrt(20)
    assert np.mean(pulls[False]) > 100


def test_a_new_policy_begins_with_the_last_rewards() -> None:
    session = db.Session(db.Uniform(), arms=["a", "b"])
    for _ in range(400):
        decision = session.ask()
        session.tell(decision, float(decision.arm == "b"))
    session.change(policy=db.UCB1())
    assert session.learnt == 400
    assert Counter(session.ask().arm for _ in range(20))["b"] >= 18
    session.change(policy=db.SnoozeIt(10_000, 1e-5, confidence=0.1))
    assert session.learnt > 100, "in the order that it needs"


def test_the_kill_switch() -> None:
    session = db.Session(arms=["a", "b"], explore=0.5)
    for _ in range(50):
        decision = session.ask()
        session.tell(decision, float(decision.arm == "b"))
    session.force_arm("a")
    forced = session.ask_many(50)
    assert {each.arm for each in forced} == {"a"}
    why = session.explain(forced[0])
    assert (why.phase, why.probability, [view.probability for view in why.arms]) == ("forced", 1.0, [1.0, 0.0])
    session.tell_many(dict.fromkeys(forced, 0.0))
    assert session.learnt == 100, "rewards are learnt"
    with pytest.raises(db.InputError, match="force another arm, or none"):
        session.disable_arm("a")
    session.change(policy=db.UCB1())
    assert session.forced == "a"
    session.force_arm(None)
    assert "b" in {each.arm for each in session.ask_many(20)}
    assert session.explain(forced[0]) == why


def test_what_is_refused() -> None:
    session = db.Session(db.SnoozeIt(1_000, 1e-3, confidence=0.1), arms=["a", "b"])
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: session.add_arm("c"), "exactly 2 arms, not for 3"),
        (lambda: session.disable_arm("a"), "exactly 2 arms, not for 1"),
        (lambda: session.add_arm("a"), "already"),
        (lambda: session.remove_arm("z"), "has no arm 'z'"),
        (lambda: session.force_arm("z"), "that is on"),
        (lambda: session.change(policy="UCB1"), "derived from Policy"),  # type: ignore[arg-type]
        (lambda: session.apply(ArmChanged(7, "x", "on", 0.0)), "there are 2"),
    ]
    for call, words in calls:
        with pytest.raises(db.InputError, match=words):
            call()
    session = db.Session(arms=["a", "b"])
    session.remove_arm("a")
    with pytest.raises(db.InputError, match="only arm"):
        session.disable_arm("b")
    with pytest.raises(db.InputError, match="there is or was an arm 'a'"):
        session.add_arm("a")
    with pytest.raises(db.InputError, match="has no arm 'a'"):
        session.enable_arm("a")


@pytest.mark.parametrize(
    "event",
    [
        *(Forced(arm, 0.0) for arm in (-1, 2)),
        *(HeldOut(0.1, arm, 0.0) for arm in (-1, 2)),
        *(ArmChanged(arm, "x", "on", 0.0) for arm in (-1, 3)),
        ArmChanged(0, "a", "gone", 0.0),
        *(Counted(((arm, 1),), 0.0, 0.0) for arm in (-1, 2)),
        Counted(((0, 0),), 0.0, 0.0),
        *(Corrected(step, 0.5, 0.0) for step in (0, 2, 3)),
        *(Told(step, 0.5, 0.0) for step in (0, 1, 3)),
        *(Settled(step, 0.5, 0.0) for step in (0, 1, 3)),
        *(Asked(step, 0, 0.0, None, None) for step in (2, 4)),
        *(Asked(3, arm, 0.0, None, None) for arm in (-1, 2)),
    ],
    ids=str,
)
def test_a_log_that_does_not_fit_is_refused_and_changes_nothing(event: Event) -> None:
    """Of two arms and two Decisions, the second of which is open: numbers just beyond the first and the last."""
    session = db.Session(arms=["a", "b"], timeout=60.0, default_reward=0.0, late=True, clock=lambda: 0.0)
    session.tell(session.ask_many(2)[0], 1.0)
    before = session.snapshot()
    with pytest.raises(db.InputError, match="the log "):
        session.apply(event)
    assert session.snapshot() == before


@pytest.mark.parametrize("event", [Forced(1, 0.0), HeldOut(0.1, 1, 0.0), ArmChanged(2, "x", "on", 0.0)], ids=str)
def test_a_log_may_name_the_last_arm_and_the_next(event: Event) -> None:
    session = db.Session(arms=["a", "b"])
    session.apply(event)
    found = session.forced, session.holdout, session.arms[2:]
    assert found in [("b", None, []), (None, (0.1, "b"), []), (None, None, ["x"])]


@pytest.mark.parametrize(
    "policy", [db.AutoTS(), db.UCB1(), db.SWTS(window=20)], ids=lambda policy: type(policy).__name__
)
def test_new_arms_can_be_the_only_ones_that_are_on(policy: db.Policy) -> None:
    """With none left to choose from, a policy chose an arm that is off."""
    session = db.Session(policy, arms=["a", "b"])
    session.tell_many(dict.fromkeys(session.ask_many(4), 0.5))
    for name in ("c", "d"):
        session.add_arm(name)
    for name in ("a", "b"):
        session.disable_arm(name)
    assert {each.arm for each in session.ask_many(6)} == {"c", "d"}


@pytest.mark.parametrize("policy", [db.KLUCB(), db.UCB1()], ids=lambda policy: type(policy).__name__)
def test_a_reward_of_an_arm_that_the_policy_no_longer_knows_is_not_learnt(policy: db.Policy) -> None:
    """It was the last arm, so the others have kept their numbers; its reward was written beyond the State."""
    session = db.Session(db.AutoTS(), arms=["a", "b"], explore=0.5)
    session.tell_many(dict.fromkeys(session.ask_many(4), 0.5))
    session.add_arm("c")
    first, second = [each for each in session.ask_many(50) if each.arm == "c"][:2]
    session.tell(first, 0.5)
    session.remove_arm("c")
    session.change(policy=policy)  # learns the last rewards again, that of c among them
    before = session._learner.learnt
    session.tell(second, 1.0)
    assert session._learner.learnt == before <= 4


@pytest.mark.usefixtures("interpreted")
def test_a_restored_session_continues_with_the_random_numbers_of_its_policy() -> None:
    """A policy that draws when it learns began after another one: its numbers are those of its era."""
    session = db.Session(db.UCB1(), arms=["a", "b", "c"], unit_key="k")
    session.change(policy=db.MASTER(400))
    rewards = np.random.default_rng(1).integers(0, 2, 200).tolist()
    for reward in rewards[:100]:
        session.tell(session.ask().id, reward)
    restored, arms = db.Session.restore(session.snapshot()), []
    for reward in rewards[100:]:
        made = [each.ask() for each in (session, restored)]
        for each, decision in zip((session, restored), made, strict=True):
            each.tell(decision.id, reward)
        arms.append([decision.arm for decision in made])
    assert [first for first, _ in arms] == [second for _, second in arms]
