"""The Session against its plain twin on whole histories, and every refusal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from clock import Clock
from driftbandits._numba.loops import update
from driftbandits._numba.player import Player
from driftbandits._numba.random import StepStream
from driftbandits.live import decisions
from driftbandits.live.decisions import TooOldError, UnknownDecisionError
from driftbandits.live.learners import UPDATE_STEPS
from driftbandits.live.past import KEEP
from lively import lively
from naive_session import NaiveSession

LIVE = sorted(set(db.POLICIES) - {"Oracle"})
Settings = dict[str, Any]


def states_equal(one: Any, other: Any) -> bool:
    """What a State's logical part holds: reserved room beyond it differs."""
    return all(
        np.array_equal(a[: min(len(a), len(b))], b[: min(len(a), len(b))])
        for a, b in zip(one, other, strict=True)
        if len(a) == len(b)
    )


@pytest.mark.parametrize("seed", [0, 7, 2**63])
def test_every_step_has_a_stream_of_its_own(seed: int) -> None:
    stream = StepStream(seed)
    for step in (1, 2, 5, 2**40, 1):
        fresh = np.random.Generator(np.random.Philox(key=seed, counter=[0, step, 0, 0]))
        rng = stream.at(step)
        rng.integers(0, 9, dtype=np.int32)  # leaves half a word behind, which the next step must not see
        fresh.integers(0, 9, dtype=np.int32)
        assert np.array_equal(rng.standard_normal(7), fresh.standard_normal(7))


act = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 4)),
    st.tuples(st.just("ask"), st.just(1)),
    st.tuples(st.just("answer"), st.just(9)),
    st.tuples(st.just("tell"), st.lists(st.tuples(st.integers(1, 60), st.integers(0, 3)), min_size=1, max_size=6)),
    st.tuples(st.just("answer"), st.integers(0, 6)),
    st.tuples(st.just("wait"), st.floats(0, 4)),
)


@pytest.mark.parametrize("name", ["AutoTS", "SWUCB", "Exp3S", "Uniform", "SnoozeItTight", "GLRUCB"])
@given(
    acts=st.lists(act, min_size=10, max_size=60),
    timeout=st.sampled_from([None, 3.0]),
    default=st.sampled_from([None, 0.25]),
    explore=st.sampled_from([0.0, 0.25, 1.0]),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_whole_histories(
    name: str, acts: list[Any], timeout: float | None, default: float | None, explore: float, seed: int
) -> None:
    clock, policy, luck = Clock(), lively(name), np.random.default_rng(seed)
    given_settings: Settings = {"timeout": timeout, "default_reward": default, "explore": explore}
    session = db.Session(policy, ["a", "b"], seed, clock=clock, unit_key="k", **given_settings)
    session.journal = []
    twin = NaiveSession(policy, 2, seed, timeout, default, explore)
    for what, how in acts:
        if what == "wait":
            clock.now += how
        elif what == "ask":
            decisions = session.ask_many(how)
            expected = twin.ask(clock.now, how)
            assert [decision.arm for decision in decisions] == ["ab"[arm] for arm, _ in expected]
            recorded = [event.probability for event in session.journal[-how:]]  # type: ignore[union-attr]
            assert recorded == pytest.approx([p for _, p in expected], abs=1e-12)
        else:
            if what == "answer":  # in a random order, most of what is open
                open_steps = [step for step, decision in enumerate(twin.decisions, 1) if decision["open"]]
                steps = luck.permutation(open_steps)[:how].tolist()
                rewards = [(int(step), float(luck.random())) for step in steps]
            else:
                rewards = [(step, value / 3) for step, value in how]
            outcomes = session.tell_many([(f"d-{step}", reward) for step, reward in rewards])
            assert [outcome.value for outcome in outcomes] == twin.tell(clock.now, rewards)
        assert session.learnt == twin.learnt
        assert states_equal(session.state, twin.state)
    folded = db.Session(policy, ["a", "b"], seed, clock=clock, unit_key="k", **given_settings)
    for event in session.journal:
        folded.apply(event)
    assert folded.snapshot() == session.snapshot()


def play(session: db.Session, steps: int, overlap: int = 1) -> list[str]:
    """Ask and tell; of ``overlap`` Decisions that are open at a time the latest is told first."""
    arms = []
    for _ in range(steps // overlap):
        decisions = session.ask_many(overlap)
        arms += [decision.arm for decision in decisions]
        session.tell_many([(d.id, 0.75 if d.arm == "a" else 0.25 + (d.step % 3) / 4) for d in reversed(decisions)])
    return arms


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("overlap", [1, 3])
def test_every_policy_continues_bit_for_bit_and_explains_itself(name: str, overlap: int) -> None:
    session = db.Session(lively(name), ["a", "b"], seed=3, clock=Clock())
    play(session, 120, overlap)
    open_decision = session.ask()
    again = db.Session.restore(session.snapshot(), clock=Clock())
    assert again.snapshot() == session.snapshot()
    assert again.tell(open_decision.id, 0.5) == session.tell(open_decision.id, 0.5)
    assert play(again, 120, overlap) == play(session, 120, overlap)
    assert again.snapshot() == session.snapshot()
    why = session.explain(open_decision)
    assert why.arm == open_decision.arm
    assert sum(view.probability for view in why.arms) == pytest.approx(1)
    assert all(view.estimate is not None for view in why.arms)
    assert why.as_dict()["arms"][1]["arm"] == "b"
    assert open_decision.id in str(why)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("name", LIVE)
def test_in_step_a_session_is_the_policy_itself(name: str) -> None:
    policy = lively(name)
    session = db.Session(policy, ["a", "b"], seed=5)
    state = policy.reserve(policy.init(2), 200)
    stream = StepStream(5)
    for step in range(1, 201):
        decision = session.ask()
        arm = int(policy.select(state, stream.at(step)))
        assert decision.arm == "ab"[arm]
        reward = 0.9 if arm == 0 else 0.1 * (step % 7)
        session.tell(decision.id, reward)
        update(policy, state, arm, reward, stream.at(UPDATE_STEPS + step - 1))


@pytest.mark.parametrize("name", [name for name in LIVE if db.POLICIES[name].any_order])
def test_policies_that_take_any_order_come_back_to_every_arm(name: str) -> None:
    """Fed 50 rewards of arm 0 that they did not ask for, they still look at arms 1 and 2 within 40 steps."""
    policy = lively(name, 3)
    state, rng = policy.reserve(policy.init(3), 90), np.random.default_rng(1)
    for _ in range(50):
        policy.update(state, 0, 0.5)
    chosen = []
    for _ in range(40):
        chosen.append(int(policy.select(state, rng)))
        policy.update(state, chosen[-1], 0.5)
    assert {1, 2} <= set(chosen)


def test_a_first_bundle_goes_round_the_arms() -> None:
    session = db.Session(arms=["a", "b", "c"])
    assert [decision.arm for decision in session.ask_many(4)] == ["a", "b", "c", "a"]
    assert session.ask().arm == "b"
    session.tell("d-2", 0.5)
    assert [decision.arm for decision in session.ask_many(2)] == ["a", "c"]


def test_explain_tells_what_was_known_then() -> None:
    session = db.Session(arms=["a", "b"], seed=1)
    first = session.ask()
    play(session, 40)
    then, known = session.ask(), session.policy.belief(session.state)
    play(session, 400)
    why = session.explain(then)
    assert why.learnt == 40
    assert [view.estimate for view in why.arms] == list(known.estimate)  # type: ignore[arg-type]
    assert session.explain(first.id).arms[0].estimate is None


def test_explain_shows_a_snooze() -> None:
    session = db.Session(db.SnoozeItTight(horizon=10_000, drift=1e-4), ["a", "b"])
    for _ in range(400):
        decision = session.ask()
        session.tell(decision.id, 1.0 if decision.arm == "b" else 0.0)
    why = session.explain(session.ask())
    assert (why.phase, why.arm, why.arms[0].snoozed_until) == ("snoozed", "b", why.until)
    event = session.state.event[0]
    assert (why.gap, why.window, why.until) == (event.lead, event.window, event.until)
    assert "until step" in str(why)
    exploring = session.explain("d-20")
    assert exploring.phase == "exploring"
    assert exploring.gap is not None
    assert exploring.threshold is not None
    assert exploring.gap < exploring.threshold


def test_explanations_reach_back_only_so_far() -> None:
    session = db.Session(db.RoundRobin(), ["a", "b"], remember=3 * KEEP)
    for _ in range(3 * KEEP):
        session.tell(session.ask().id, 0.5)
    assert session.explain(f"d-{session.step - KEEP + 1}").learnt == session.learnt - KEEP
    with pytest.raises(TooOldError, match="ask the Store"):
        session.explain(f"d-{session.step - 2 * KEEP - 10}")
    with pytest.raises(TooOldError, match="ask the Store"):
        session.explain("d-1")
    with pytest.raises(UnknownDecisionError):
        session.explain("e-1")


@pytest.mark.parametrize("name", ["SnoozeItTight", "GLRUCB", "SWUCB", "AutoTS"])
def test_even_the_bytes_do_not_depend_on_how_events_were_bundled(name: str) -> None:
    session = db.Session(lively(name), ["a", "b"], clock=Clock(), unit_key="k")
    session.journal = []
    play(session, 3_000, overlap=50)
    folded = db.Session(lively(name), ["a", "b"], clock=Clock(), unit_key="k")
    for event in session.journal:
        folded.apply(event)
    assert folded.snapshot() == session.snapshot()


def test_old_explanations_are_exact_also_after_a_restart() -> None:
    session = db.Session(arms=["a", "b"], seed=2)
    seen = {}
    for _ in range(2 * KEEP + KEEP // 2):
        decision = session.ask()
        if decision.step % 997 == 0:
            seen[decision.id] = session.policy.belief(session.state)
        session.tell(decision.id, (decision.step % 10) / 10)
    assert len(seen) > 8
    kept = [id for id in seen if int(id[2:]) > session.step - KEEP]
    for id in kept:
        assert [view.estimate for view in session.explain(id).arms] == list(seen[id].estimate)  # type: ignore[arg-type]
    restored = db.Session.restore(session.snapshot())
    now = restored.ask()
    known = restored.policy.belief(restored.state)
    play(restored, 10)
    assert [view.estimate for view in restored.explain(now).arms] == list(known.estimate)  # type: ignore[arg-type]
    with pytest.raises(TooOldError):
        restored.explain(kept[0])


def test_rewards_put_aside_are_dropped_when_too_old() -> None:
    """At most two Decisions are open at a time, so a reward put aside is good for four more steps and not for five."""
    for wait, learnt in ((3, 3), (4, 2)):
        clock = Clock()
        session = db.Session(db.RoundRobin(), ["a", "b"], timeout=1.0, clock=clock)
        first, second = session.ask_many(2)
        assert (first.arm, second.arm) == ("a", "a")
        session.tell(first.id, 0.5)
        session.tell(second.id, 0.5)  # put aside: the policy waits for b
        assert (session.learnt, session.most_open) == (1, 2)
        for _ in range(wait):
            assert session.ask().arm == "b"
            clock.now += 2.0  # never told, and dropped
        session.settle()
        last = session.ask()
        session.tell(last.id, 0.5)
        assert (last.arm, last.step, session.learnt) == ("b", 3 + wait, learnt)


@pytest.mark.parametrize("policy", [db.SWUCB(10_000, window=500), db.SnoozeItK(10_000, 1e-3), db.KalmanTS(drift=1e-3)])
def test_no_kernel_runs_while_another_changes_the_state(policy: db.Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Session is for one thread; but threads that share it all the same must not read arrays half written."""
    session, play = db.Session(policy, ["a", "b"], explore=0.1), Player.play
    alone: list[bool] = []

    def watched(player: Player, *given: Any, **named: Any) -> int:
        alone.append(player._lock.locked())
        return play(player, *given, **named)

    monkeypatch.setattr(Player, "play", watched)
    for _ in range(3):
        session.tell_many([(decision, 0.5) for decision in session.ask_many(3)])
    assert alone
    assert all(alone)


def test_probabilities_are_those_of_the_choices() -> None:
    """Whatever the probability kept, the arm falls that often: sum of (1[arm is a] - p) is within 5 deviations."""
    policy = db.KalmanTS(drift=1e-3)
    session = db.Session(policy, ["a", "b"], seed=11, explore=0.1)
    session.journal = []
    for _ in range(2):
        session.tell(session.ask().id, 0.5)
    session.ask_many(20_000)
    kept = [event for event in session.journal if isinstance(event, decisions.Asked)][2:]
    p = np.array([event.probability for event in kept])
    arm = np.array([event.arm for event in kept])
    chance_of_a = np.where(arm == 0, p, 1 - p)
    assert abs((arm == 0).sum() - chance_of_a.sum()) < 5 * math.sqrt((chance_of_a * (1 - chance_of_a)).sum())
    assert abs((1 / p[arm == 0]).sum() - 20_000) < 5 * math.sqrt((1 / chance_of_a - 1).sum())
    assert 0.3 < p.mean() < 0.7
