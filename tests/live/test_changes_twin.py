"""A Session whose settings, arms and policy change, against its reference implementation, on whole histories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

import driftbandits as db
from clock import Clock
from driftbandits.live.decisions import Event
from driftbandits.policies.snoozeitk import SnoozeItKState
from lively import lively
from many_examples import examples
from naive_session import NaiveSession

NAMES = ["AutoTS", "SWUCB", "Uniform", "KLUCB", "Exp3S", "META", "SnoozeItK"]
"""In any order and in turn; natively, snoozed from outside and beginning anew; with probabilities and own draws."""
ARMS = ["a", "b", "c"]

play = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 4)),
    st.tuples(st.just("ask"), st.integers(1, 20)),
    st.tuples(st.just("answer"), st.integers(0, 6)),
    st.tuples(st.just("answer"), st.just(40)),
    st.tuples(st.just("tell"), st.integers(1, 60)),
    st.tuples(st.just("wait"), st.floats(0, 4)),
)
change = st.one_of(
    st.tuples(st.just("policy"), st.sampled_from(NAMES)),
    st.tuples(st.just("explore"), st.sampled_from([0.0, 0.1, 0.5, 1.0])),
    st.tuples(st.just("hold"), st.tuples(st.sampled_from([0.0, 0.1, 0.3]), st.integers(0, 4))),
    st.tuples(st.just("force"), st.sampled_from([None, 0, 1])),
    st.tuples(st.just("timeout"), st.sampled_from([None, 1.0, 3.0])),
    st.tuples(st.just("default"), st.sampled_from([None, 0.25])),
    st.tuples(st.just("range"), st.sampled_from([None, (0.0, 2.0)])),
    st.tuples(st.just("arm"), st.tuples(st.integers(0, 4), st.sampled_from(["on", "off", "removed"]))),
    st.tuples(st.just("arm"), st.just((99, "on"))),
    st.tuples(st.just("restore"), st.just(None)),
)
histories = st.lists(st.one_of(play, play, change), min_size=20, max_size=70)


def changed(session: db.Session, twin: NaiveSession, what: str, how: Any) -> None:
    """Change both; InputError, before the twin is changed, where the Session refuses."""
    if what == "policy":
        session.change(policy=lively(how, 3))
        twin.change(policy=lively(how, 3))
    elif what == "explore":
        session.change(explore=how)
        twin.change(explore=how)
    elif what == "timeout":
        session.change(timeout=how)
        twin.change(timeout=how)
    elif what == "default":
        session.change(default_reward=how)
        twin.change(default=how)
    elif what == "range":
        session.change(reward_range=how)
        twin.change(range=how)
    elif what == "hold":
        share, arm = how[0], how[1] % len(session.arms)
        session.hold_out(share, session.arms[arm])
        twin.holdout = (share, arm) if share > 0 else None
    elif what == "force":
        session.force_arm(None if how is None else session.arms[how])
        twin.forced = how
    else:
        arm, status = min(how[0], len(session.arms)), how[1]
        if arm == len(session.arms) and arm < 6:
            session.add_arm(f"new {arm}")
            twin.arm(arm, "on")
        elif arm < len(session.arms) and twin.statuses[arm] != status:
            {"on": session.enable_arm, "off": session.disable_arm, "removed": session.remove_arm}[status](
                session.arms[arm]
            )
            twin.arm(arm, status)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", NAMES)
@given(
    acts=histories,
    timeout=st.sampled_from([None, 3.0]),
    default=st.sampled_from([None, 0.25]),
    explore=st.sampled_from([0.0, 0.25]),
    seed=st.integers(0, 99),
)
@examples(25, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whole_histories_with_changes(
    name: str, acts: list[Any], timeout: float | None, default: float | None, explore: float, seed: int
) -> None:
    """Arms, probabilities, outcomes, State and lift are those of the reference implementation after every change."""
    clock, policy, luck = Clock(), lively(name, 3), np.random.default_rng(seed)
    session = db.Session(
        policy, ARMS, seed, clock=clock, timeout=timeout, default_reward=default, explore=explore, unit_key="k"
    )
    events: list[Event] = []
    session.journal = events
    twin = NaiveSession(policy, 3, seed, timeout, default, explore)
    for what, how in acts:
        if what == "wait":
            clock.now += how
        elif what == "restore":
            session = db.Session.restore(session.snapshot(), clock=clock)
            session.journal = events
        elif what == "ask":
            expected = twin.ask(clock.now, how)
            assert [decision.arm for decision in session.ask_many(how)] == [session.arms[arm] for arm, _ in expected]
            recorded = [event.probability for event in events[-how:]]  # type: ignore[union-attr]
            assert recorded == pytest.approx([p for _, p in expected], abs=1e-12)
        elif what in ("answer", "tell"):
            open_steps = [step for step, decision in enumerate(twin.decisions, 1) if decision["open"]]
            steps = [how] if what == "tell" else luck.permutation(open_steps)[:how].tolist()
            rewards = [(int(step), float(luck.integers(0, 5)) / 4) for step in steps]
            outcomes = session.tell_many([(f"d-{step}", reward) for step, reward in rewards])
            assert [outcome.value for outcome in outcomes] == twin.tell(clock.now, rewards)
        else:
            before = session.snapshot()
            try:
                changed(session, twin, what, how)
            except db.InputError:
                assert session.snapshot() == before, "what is refused changes nothing"
        assert session.learnt == twin.learnt
        assert known(session.state, twin.state) == known(twin.state, session.state)
        compare_lift(session, twin)


def known(state: Any, other: Any) -> list[Any]:
    """What was learnt. Room differs in length, and SnoozeItK puts work off until it needs room."""
    put_off = ("sides", "pool", "vertices") if isinstance(state, SnoozeItKState) else ()
    return [
        array.tolist()
        for name, array in state._asdict().items()
        if name not in put_off and len(array) == len(getattr(other, name))
    ]


def compare_lift(session: db.Session, twin: NaiveSession) -> None:
    found, (made, held_out, unknown) = session.lift(), twin.lift()
    assert (found.rewards, found.held_out, found.unknown) == (len(made), len(held_out), unknown)
    if min(len(made), len(held_out)) >= 20:
        assert (found.policy, found.holdout) == pytest.approx((np.mean(made), np.mean(held_out)))
