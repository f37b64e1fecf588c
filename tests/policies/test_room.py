"""A State that grows has room for what comes, whatever the rewards, and a policy that counts wrongly writes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftbandits as db
from driftbandits._numba.loops import update
from driftbandits._numba.player import AHEAD, Player
from driftbandits.policies._parts.pair_windows import most_points, push_waiting
from driftbandits.testing.policies import play_stream, reward_streams
from lively import lively
from many_examples import examples

GROWING = sorted(name for name, kind in db.POLICIES.items() if kind.reserve is not db.Policy.reserve)
STEPS = 3 * AHEAD + 100


def never_passing(name: str, n_arms: int) -> db.Policy:
    """A policy under settings in which its State keeps growing: tests that do not pass, windows that reach far back."""
    settings = {"horizon": 10**6, "drift": 1e-9, "best_arms": np.zeros(1, int), "confidence": 1.0}
    if name == "SnoozeIt":
        settings["drift"] = 1e-6
    return db.policies.make_policy(name, **settings)


def test_growing_policies_say_whether_they_have_room() -> None:
    assert len(GROWING) == 12
    for name in GROWING:
        assert db.POLICIES[name].has_room is not db.Policy.has_room, name


@pytest.mark.parametrize(
    ("name", "make"), [*((name, lively) for name in sorted(db.POLICIES)), *((name, never_passing) for name in GROWING)]
)
def test_no_index_leaves_its_array(name: str, make: Any) -> None:
    """Every policy with every index checked, on rewards that are hard on its State: the licence to run unchecked."""
    for n_arms in (2, 4):
        policy = make(name, n_arms)
        if name == "Oracle":
            policy = replace(policy, best_arms=np.arange(STEPS) % n_arms)
        if n_arms > policy.arms[1]:
            continue
        for rewards in reward_streams(policy).values():
            play_stream(policy, n_arms, rewards, STEPS, "checked")


def smooth(policy: db.Policy, select: Any, update: Any, steps: int) -> None:
    """Rewards of one arm that grow by a trifle: each sum lies on the hull, and no test passes for long."""
    pulls = 0
    for _ in range(steps):
        arm = select()
        pulls += arm == 0
        update(arm, 1e-6 * pulls if arm == 0 else 0.0)


def test_points_put_off_have_room_online() -> None:
    """SnoozeItK lets points wait until a look needs them; 8,400 of them came at once, and the room was for 64."""
    policy = db.SnoozeItK(100_000, 1e-5)
    play = db.Online(policy, 2)
    smooth(policy, play.select, play.update, 20_000)
    assert play.state.run[0].t == 20_000
    assert play.state.pool[0].fresh > 5_000


def test_points_put_off_have_room_in_a_session_and_its_fold() -> None:
    policy, names = db.SnoozeItK(100_000, 1e-5), ["red", "blue"]
    session = db.Session(policy, arms=names, unit_key="k")
    session.journal, pulls = [], 0
    while session.step < 12_000:
        decisions = session.ask_many(1)
        arm = names.index(decisions[0].arm)
        pulls += arm == 0
        session.tell(decisions[0].id, 1e-6 * pulls if arm == 0 else 0.0)
    fold = db.Session(policy, arms=names, unit_key="k")
    for event in session.journal:
        fold.apply(event)
    assert fold.snapshot() == session.snapshot()


@given(
    name=st.sampled_from(GROWING),
    n_arms=st.integers(2, 4),
    stream=st.sampled_from(sorted(reward_streams())),
    steps=st.integers(0, 400),
    ahead=st.integers(1, 200),
)
@examples(70)
def test_has_room_is_true(name: str, n_arms: int, stream: str, steps: int, ahead: int) -> None:
    """Played as plain Python, where an index too large raises: whatever has_room promises is there."""
    policy = lively(name, n_arms)
    if n_arms > policy.arms[1]:
        return
    rng, rewards = np.random.default_rng(1), reward_streams(policy)[stream]
    player = Player(policy, n_arms, rng, ahead=max(1, steps), mode="interpreted")
    pulls = [0] * n_arms
    for step in range(steps + ahead):
        if step == steps:
            player.state = policy.reserve(player.state, ahead)
            assert policy.has_room(player.state, ahead)
            lengths = [len(array) for array in player.state]
        arm = policy.select(player.state, rng)
        update(policy, player.state, arm, rewards(pulls[arm], arm), rng)
        pulls[arm] += 1
    assert [len(array) for array in player.state] == lengths


@pytest.mark.parametrize("name", GROWING)
def test_room_is_made_for_every_number_of_steps(name: str) -> None:
    """Also for those at which arrays become longer: one step too few shows only there."""
    policy = lively(name)
    for steps in range(1, 300):
        assert policy.has_room(policy.reserve(policy.init(2), steps), steps)


@pytest.mark.parametrize("name", GROWING)
def test_a_state_that_grows_forgets_nothing(name: str) -> None:
    """A State that grows every 16 updates chooses and estimates as one that had room from the start."""
    policy = lively(name)
    rewards = np.random.default_rng(5).random(600)
    found = []
    for ahead in (16, 4096):
        rng = np.random.default_rng(7)
        player = Player(policy, 2, rng, ahead=ahead, mode="interpreted")
        chosen = []
        for reward in rewards.tolist():
            chosen.append(player.select())
            player.update(chosen[-1], 0.8 * reward + 0.2 * chosen[-1])
        belief = policy.belief(player.state)
        found.append((chosen, *(None if each is None else np.asarray(each).tolist() for each in belief[:3])))
    assert found[0] == found[1]


@given(
    n_arms=st.integers(2, 5),
    stream=st.sampled_from(sorted(reward_streams())),
    steps=st.integers(0, 300),
    confidence=st.sampled_from([0.05, 0.3, 1.0]),
)
@examples(25)
def test_points_that_wait_are_counted(n_arms: int, stream: str, steps: int, confidence: float) -> None:
    """``most_points`` counts what ``push_waiting`` would push at most, and pushing changes no choice."""
    policy, rewards = db.SnoozeItK(1_000, 1e-4, confidence), reward_streams()[stream]
    rng, pulls = np.random.default_rng(0), [0] * n_arms
    lazy, keen = (policy.reserve(policy.init(n_arms), steps + 100) for _ in range(2))
    for step in range(steps):
        arm = policy.select(lazy, rng)
        assert policy.select(keen, rng) == arm
        for state in (lazy, keen):
            policy.update(state, arm, rewards(pulls[arm], arm))
        pulls[arm] += 1
        if step % 7 == 0:
            push_waiting(keen)
            assert most_points(keen, 0) == 0
            assert most_points(keen, 5) == 10 * (n_arms - 1)
    before = int(lazy.pool[0].fresh)
    waiting = most_points(lazy, 0)
    push_waiting(lazy)
    assert int(lazy.pool[0].fresh) - before <= waiting
    assert most_points(lazy, 0) == 0


def test_room_for_points_does_not_add_up() -> None:
    """In pieces as a Session plays it, 20,000 steps in which no test passes need a ring, and few vertices."""
    policy, rng = db.SnoozeItK(10**6, 1e-7), np.random.Generator(np.random.SFC64(3))
    player = Player(policy, 3, rng)
    rewards = rng.normal(0.5, 0.5, 20_000).tolist()
    for reward in rewards:
        player.update(player.select(), reward)
    assert len(player.state.vertices) <= 2 * (2 * 2 * AHEAD) + 4096
