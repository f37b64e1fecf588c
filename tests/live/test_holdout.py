"""The holdout: a random sample that always gets one arm, and the lift against it, honest under drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.live.decisions import Asked
from driftbandits.live.lift import MOST_BLOCKS, Strata


@pytest.mark.parametrize("policy", [db.AutoTS(), db.KLUCB()], ids=["any order", "in turn"])
def test_the_holdout_is_a_random_sample_whose_probabilities_are_told(policy: db.Policy) -> None:
    session = db.Session(policy, arms=["a", "b", "c"], explore=0.3)
    session.journal = []
    for _ in range(30):
        decision = session.ask()
        session.tell(decision, 0.3 * session.arms.index(decision.arm))
    session.hold_out(0.1, "a")
    asked = session.ask_many(4_000)
    held = [each for each in asked if session._learner.is_held_out(each.step)]
    assert {each.arm for each in held} == {"a"}
    assert {session.explain(each).phase for each in held[:3]} == {"held out"}
    assert abs(len(held) - 400) < 5 * np.sqrt(4_000 * 0.1 * 0.9)
    early = sum(each.step <= 2_030 for each in held)
    assert abs(2 * early - len(held)) < 5 * np.sqrt(len(held)), "at any time alike"
    told = [event for event in session.journal if isinstance(event, Asked)][-4_000:]
    weights: Any = [1.0 / event.probability for event in told if event.arm == 0]  # type: ignore[operator]
    assert abs(sum(weights) - 4_000) < 5 * np.sqrt(4_000 * max(weights)), "they are exact"


def test_the_interval_of_the_lift_is_honest_under_drift() -> None:
    """Means drift by much more than the lift, which drifts too; 95 % of the intervals hold its average."""
    rng = np.random.Generator(np.random.SFC64(1))
    hits, naive_hits, runs, T = 0, 0, 300, 1_500
    for _ in range(runs):
        level = 0.5 + 0.4 * np.sin(2 * np.pi * (np.arange(T) / T + rng.random()))
        lift = 0.05 * np.linspace(0.0, 2.0, T)
        held = rng.random(T) < 0.2
        rewards = level + np.where(held, 0.0, lift) + 0.1 * rng.standard_normal(T)
        strata = Strata()
        for step in rng.permutation(T):
            strata.add(int(step) + 1, bool(held[step]), float(rewards[step]))
        found = strata.lift()
        assert found.low is not None
        assert found.high is not None
        hits += bool(found.low <= 0.05 <= found.high)
        naive_hits += (found.high - found.low) < 0.5 * 4 * rewards.std() / np.sqrt(held.sum())
        assert (found.rewards, found.held_out) == (int((~held).sum()), int(held.sum()))
    assert 0.95 * runs - 5 * np.sqrt(runs * 0.05 * 0.95) <= hits
    assert naive_hits == runs, "and drift does not widen it"


@pytest.mark.parametrize(("level", "swing"), [(0.5, 0.4), (0.04, 0.0), (0.9, 0.05)])
def test_the_interval_of_the_lift_of_rewards_of_0_and_1_is_honest(level: float, swing: float) -> None:
    """Of a drifting rate, of a small one, of a large one: 95 % of Newcombe's intervals hold the lift's average."""
    rng = np.random.Generator(np.random.SFC64(5))
    hits, runs, T = 0, 400, 800
    for _ in range(runs):
        rates = level + swing * np.sin(2 * np.pi * (np.arange(T) / T + rng.random()))
        held = rng.random(T) < 0.2
        rewards = rng.random(T) < rates + np.where(held, 0.0, 0.03)
        strata = Strata()
        for step in range(T):
            strata.add(step + 1, bool(held[step]), float(rewards[step]))
        found = strata.lift()
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.03 <= found.high
    assert hits >= 0.95 * runs - 5 * np.sqrt(runs * 0.05 * 0.95)
    assert hits < runs, "nor is it much too wide"


@pytest.mark.parametrize(("policy", "holdout"), [(1.0, 0.0), (0.95, 0.05), (0.0, 0.0), (1.0, 1.0)])
def test_the_lift_of_rewards_of_0_and_1_has_an_interval_within_1(policy: float, holdout: float) -> None:
    """Of 0.95 against 0.05 it reached to 1.04; where all rewards of a group are alike, it had no length."""
    strata = Strata()
    for place in range(20):
        strata.add(2 * place + 1, False, float(place < 20 * policy))
        strata.add(2 * place + 2, True, float(place < 20 * holdout))
    found = strata.lift()
    assert found.low is not None
    assert found.high is not None
    assert found.lift == pytest.approx(policy - holdout)
    assert -1.0 <= found.low <= policy - holdout <= found.high <= 1.0
    assert found.high - found.low > 0.1


def test_blocks_grow_wider_and_nothing_is_lost() -> None:
    strata = Strata()
    for step in range(1, 64 * MOST_BLOCKS * 2, 3):
        strata.add(step, step % 2 == 0, 1.0)
    assert len(strata.blocks) <= MOST_BLOCKS
    found = strata.lift()
    assert (found.lift, found.policy, found.holdout) == (0.0, 1.0, 1.0)
    assert found.rewards + found.held_out == len(range(1, 64 * MOST_BLOCKS * 2, 3))
    assert Strata().lift()._asdict() == dict.fromkeys(found._fields) | {"rewards": 0, "held_out": 0, "unknown": 0}


def test_a_session_tells_the_lift() -> None:
    session = db.Session(arms=["a", "b"])
    session.hold_out(0.25, "a")
    for _ in range(600):
        decision = session.ask()
        session.tell(decision, 0.2 + 0.6 * (decision.arm == "b"))
    found = session.lift()
    assert found.holdout == pytest.approx(0.2)
    assert found.lift == pytest.approx(0.6, abs=0.05)
    assert db.Session.restore(session.snapshot()).lift() == found
    session.force_arm("a")
    session.tell_many(dict.fromkeys(session.ask_many(50), 0.0))
    assert session.lift() == found, "what was forced is compared with nothing"
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: session.hold_out(1.0, "a"), "leaves nothing to the policy"),
        (lambda: session.hold_out(0.1, "z"), "an arm that is on"),
        (lambda: session.hold_out(0.1), "an arm that is on"),
    ]
    for call, words in calls:
        with pytest.raises(db.InputError, match=words):
            call()
    session.force_arm(None)
    with pytest.raises(db.InputError, match="hold out another arm, or none"):
        session.remove_arm("a")
    session.hold_out(0)
    assert session.holdout is None


def test_the_lift_tells_how_many_rewards_it_does_not_know() -> None:
    """Where only successes are told, each silent Decision is a failure that is not counted yet."""
    now = [0.0]
    session = db.Session(arms=["a", "b"], timeout=100, default_reward=0, clock=lambda: now[0])
    session.ask_many(50)
    session.hold_out(0.5, "a")
    decisions = session.ask_many(400)
    session.tell_many(dict.fromkeys((each for each in decisions if each.step % 4 == 0), 1.0))
    found = session.lift()
    assert (found.rewards + found.held_out, found.unknown) == (100, 300), "those before the holdout are not meant"
    assert found.lift == 0.0, "only successes are known"
    session.force_arm("a")
    session.ask_many(30)
    session.force_arm(None)
    session.ask_many(10)
    assert session.lift().unknown == 310, "forced ones are not compared"
    assert db.Session.restore(session.snapshot()).lift() == session.lift()
    now[0] = 100.0
    session.settle()
    assert session.lift().unknown == 0
    session.change(default_reward=None)
    session.ask_many(7)
    now[0] = 300.0
    session.settle()
    assert session.lift().unknown == 7, "dropped ones stay unknown"
    session.change(default_reward=0.0, late=True)
    session.ask_many(5)
    assert session.lift().unknown == 0, "with late, Decisions up to the oldest open one are compared"


def forced_for_a_moment(session: db.Session) -> None:
    session.force_arm("b")
    session.force_arm(None)


CHANGES: dict[str, Callable[[db.Session], object]] = {
    "policy": lambda session: session.change(policy=db.KLUCB()),
    "explore": lambda session: session.change(explore=0.5),
    "reward_range": lambda session: session.change(reward_range=(0.0, 2.0)),
    "timeout": lambda session: session.change(timeout=60.0, default_reward=0.0),
    "sticky": lambda session: session.change(sticky=60.0),
    "late": lambda session: session.change(timeout=60.0, default_reward=0.0, late=True),
    "a new arm": lambda session: session.add_arm("d"),
    "an arm off": lambda session: session.disable_arm("c"),
    "an arm removed": lambda session: session.remove_arm("c"),
    "force": forced_for_a_moment,
}


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_the_holdout_and_exploration_outlive_every_change(name: str, restored: bool) -> None:
    """As many are held out as before, the lift goes on, and probabilities are those that ``explain`` tells."""
    session = db.Session(db.UCB1(), ["a", "b", "c"], explore=0.2, clock=lambda: 0.0)
    session.hold_out(0.25, "a")
    for decision in session.ask_many(40):
        session.tell(decision, 0.2 + 0.6 * (decision.arm == "b"))
    CHANGES[name](session)
    if restored:
        session = db.Session.restore(session.snapshot(), clock=lambda: 0.0)
    if name == "a new arm":
        decision = next(each for each in session.ask_many(9) if each.arm == "d")
        session.tell(decision, 0.1)
    before, session.journal = session.lift(), []
    asked = session.ask_many(400)
    assert session.holdout == (0.25, "a")
    held = [each for each in asked if session.explain(each).phase == "held out"]
    assert {each.arm for each in held} == {"a"}
    assert abs(len(held) - 100) < 5 * np.sqrt(400 * 0.25 * 0.75)
    chosen = {each.arm for each in asked} - {"a"}
    assert chosen == set(session.available) - {"a"}, "exploration reaches every arm"
    K, explore = len(session.available), session.explore
    for event in session.journal[::20]:
        assert isinstance(event, Asked)
        least = 0.75 * explore / K + 0.25 * (event.arm == 0)
        assert event.probability in (pytest.approx(least), pytest.approx(least + 0.75 * (1 - explore)))
        told = {view.arm: view.probability for view in session.explain(f"d-{event.step}").arms}
        assert told[session.arms[event.arm]] == pytest.approx(event.probability)
    session.tell_many(dict.fromkeys(asked, 0.5))
    after = session.lift()
    assert (after.rewards + after.held_out) - (before.rewards + before.held_out) == 400


def test_another_seed_holds_out_others() -> None:
    """Else two experiments that the same visitors meet, one after the other, would hold out the same ones."""
    held = []
    for seed in (0, 1):
        session = db.Session(db.UCB1(), arms=["a", "b"], seed=seed)
        session.hold_out(0.5, "a")
        held.append([session._learner.is_held_out(each.step) for each in session.ask_many(2_000)])
    both = sum(one and other for one, other in zip(*held, strict=True))
    assert 400 < both < 600, "a quarter: five standard deviations are 97"
