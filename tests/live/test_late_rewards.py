"""Late rewards: silence is weighed by its age, each Decision is learnt once in the end, and the log says it all."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import driftbandits as db
from clock import Clock
from driftbandits.live.cohorts import ASKED, PRIOR, SETTLED, TICKS, TOLD, Cohorts
from driftbandits.live.decisions import Asked, Corrected, Counted, Event, Outcome, Rewound, Settled, Told, amended
from naive_late import NaiveLate

DAY = 86_400.0
Law = Callable[[np.random.Generator], float]
LAWS: dict[str, Law] = {
    "exponential": lambda rng: rng.exponential(0.3 * DAY),
    "log-normal": lambda rng: float(np.exp(rng.normal(np.log(0.25 * DAY), 1.5))),
    "same evening or next day": lambda rng: (
        DAY * abs(rng.normal(*((0.08, 0.03) if rng.random() < 0.5 else (0.7, 0.05))))
    ),
}
WITHIN = {"exponential": 0.96433, "log-normal": 0.82231, "same evening or next day": 1.0}
"""How many of all delays are shorter than a day."""


def lived(
    laws: list[Law],
    rates: list[float],
    days: float,
    growth: float = 2.0,
    first: int = 10,
    seed: int = 0,
    held: float = 0.0,
    **declared: Any,
) -> db.Session:
    """A Session whose traffic grows by a factor e^growth a day: a batch of asks a hundred times a day."""
    rng, clock = np.random.Generator(np.random.SFC64(seed)), Clock()
    declared = {"timeout": DAY, "default_reward": 0.0, "late": True, **declared}
    arms = [str(arm) for arm in range(len(rates))]
    session = db.Session(db.Uniform(), arms, clock=clock, **declared)
    session.journal = []
    if held:
        session.hold_out(held, "0")
    start, coming = clock.now, list[tuple[float, str]]()
    for part in range(int(days * 100) + 1):
        now = start + part * DAY / 100
        while coming and coming[0][0] <= now:
            clock.now, id = heapq.heappop(coming)
            session.tell_many([(id, 1.0)])
        clock.now = now
        for decision in session.ask_many(int(first * np.exp(growth * part / 100))):
            arm = int(decision.arm)
            if rng.random() < rates[arm] and (delay := laws[arm](rng)) < DAY:
                heapq.heappush(coming, (now + delay, decision.id))
    session.settle()
    return session


def sums(session: db.Session) -> tuple[Any, Any, Any]:
    """Of each arm how many were asked, told, and learnt in whatever way."""
    asked, told, silent, ahead = np.zeros((4, len(session.arms)))
    arm_of: dict[int, int] = {}
    for event in session.journal or ():
        if isinstance(event, Asked):
            arm_of[event.step] = event.arm
            asked[event.arm] += 1
        elif isinstance(event, Told):
            told[arm_of[event.step]] += 1
        elif isinstance(event, Settled):
            arm = arm_of[event.step]
            silent[arm] += ahead[arm] == 0
            ahead[arm] = max(ahead[arm] - 1, 0)
        elif isinstance(event, Counted):
            for arm, count in event.counts:
                silent[arm] += count
                ahead[arm] += count
    assert (told + silent).sum() == session.learnt
    return asked, told, told + silent


def error_of(session: db.Session, rate: Any, learnt: Any) -> Any:
    """The standard error of S/W: coins of different ages, and the law of delays (Greenwood's formula, backwards)."""
    cohorts = session._late.cohorts  # type: ignore[union-attr]
    assert cohorts is not None
    now, many = session.time, len(cohorts.last)
    delays, ages = cohorts.delays[:many], now - np.array(cohorts.last)
    watched, weights = ages[:, None] >= cohorts.bounds, cohorts.weights(now)
    late = cohorts.done + (delays * watched).sum(0)
    known = cohorts.done.cumsum() + (delays.cumsum(1) * watched).sum(0) + PRIOR
    hazard = late / known
    young = weights[:, None] * (cohorts.counts[:many, ASKED] - cohorts.counts[:many, SETTLED])
    above = np.array([young[ages < bound].sum(0) for bound in cohorts.bounds[1:]])
    of_law = (above**2 * (hazard / (1.0 - hazard) / known)[1:, None]).sum(0)
    squares = learnt - young.sum(0) + (weights[:, None] * young).sum(0)  # old ones are known for sure
    return np.sqrt(rate * (1.0 - rate * squares / learnt) / learnt + (rate / learnt) ** 2 * of_law)


@pytest.mark.parametrize("name", LAWS)
def test_estimates_are_within_their_intervals_where_silence_as_failure_is_off_by_30_percent(name: str) -> None:
    session = lived([LAWS[name]] * 2, [0.1, 0.3], days=2.0)
    rate = np.array([0.1, 0.3]) * WITHIN[name]
    asked, told, learnt = sums(session)
    assert (told / asked < 0.7 * rate).all(), "counting silence as failure"
    settled = sum(isinstance(event, Settled) for event in session.journal or ())
    assert told.sum() / (told.sum() + settled) > 1.5 * rate.mean(), "waiting for the timeout"
    off = np.abs(told / learnt - rate)
    assert (off < 5.2 * error_of(session, rate, learnt)).all()  # 2e-7 for each arm
    assert (off < 0.15 * rate).all(), "and the intervals are narrow"


def test_all_is_right_in_the_end_also_where_one_arm_is_slower() -> None:
    """F is that of all arms: a slow arm seems worse while it is young, and no longer when all are closed."""
    quick, slow = LAWS["exponential"], lambda rng: 0.6 * DAY + rng.exponential(0.05 * DAY)
    session = lived([quick, slow], [0.3, 0.3], days=1.2, growth=0.5)
    _, told, learnt = sums(session)
    assert told[1] / learnt[1] < 0.25 < told[0] / learnt[0]
    before, session.clock = session.learnt, lambda: session.time + 2 * DAY
    session.settle()
    assert session.open == 0
    assert session._late is not None
    assert session._late.ahead == [0, 0]
    assert session.learnt == session.step, "each Decision was learnt exactly once"
    assert session.learnt > before


def test_the_lift_is_of_decisions_whose_silence_is_known() -> None:
    session = lived([LAWS["exponential"]] * 2, [0.1, 0.5], days=1.8, held=0.5)
    right = 0.2 * WITHIN["exponential"]  # the policy shows both arms alike
    lift, of_all = session.lift(), session._strata.lift()
    assert lift.low is not None
    assert lift.high is not None
    assert lift.low < right < lift.high
    assert lift.low > 0.0
    assert of_all.high is not None
    assert of_all.high < right, "of young Decisions only successes are known, in both groups"
    assert 1_000 < lift.rewards + lift.held_out < session.step / 4
    session.change(late=False)
    found = session.lift()
    assert found._replace(unknown=0) == of_all
    assert found.unknown == session.open


def test_old_delays_weigh_half_when_there_are_many() -> None:
    cohorts = Cohorts(DAY, 1)
    for day in range(4):
        for _ in range(6_000):
            cohorts.ask(0, 2 * day * DAY)
            cohorts.tell(0, 2 * day * DAY, 60.0 if day < 2 else 3_600.0)
    cohorts.ask(0, 8 * DAY)
    short, long = cohorts.done[cohorts.bounds <= 120.0].sum(), cohorts.done[cohorts.bounds > 120.0].sum()
    assert (short, long) == (1_500.0, 4_500.0)  # 6,000 each day, and half of all when they are more than 10,000


def test_a_cohort_weighs_as_much_as_one_of_its_mean_age() -> None:
    cohorts = Cohorts(timeout=TICKS, n_arms=1)
    for time in (0.0, 0.5):  # of one tick
        cohorts.ask(0, time)
    [found] = cohorts.weights(1.0)
    assert found == np.interp(0.75, np.append(0.0, cohorts.bounds), np.append(0.0, cohorts.law))
    assert 0.0 < found < np.interp(1.0, np.append(0.0, cohorts.bounds), np.append(0.0, cohorts.law))


def test_explanations_say_that_intervals_are_too_narrow() -> None:
    session = db.Session(db.Uniform(), ["a", "b"], timeout=DAY, default_reward=0.0, late=True)
    why = session.explain(session.ask())
    assert why.late
    assert "while data is young the intervals are too narrow" in str(why)
    session.change(late=False)
    assert not session.explain(session.ask()).late


def test_how_sure_an_estimate_is() -> None:
    """The variance of S/W is p (1 - p G)/W when F is known: the effective number of rewards is W (1 - p)/(1 - p G)."""
    rng, p = np.random.Generator(np.random.SFC64(1)), 0.4
    cohorts = Cohorts(DAY, 1)
    for part in range(16):
        cohorts.ask(0, part * DAY / 16)
    cohorts.law = cohorts.bounds / DAY
    weights = cohorts.weights(DAY)
    found = []
    for _ in range(2000):
        cohorts.counts[:16, ASKED, 0] = 50
        cohorts.counts[:16, TOLD, 0] = rng.binomial(50, p * weights)
        told = cohorts.counts[:16, TOLD, 0].sum()
        found.append(told / (told + cohorts.missing(DAY)[0]))
    total, squares = 50 * weights.sum(), 50 * (weights**2).sum()
    assert abs(np.mean(found) - p) < 5 * np.std(found) / 2000**0.5
    wanted = p * (1 - p * squares / total) / total
    assert abs(np.var(found) / wanted - 1) < 5 * (2 / 2000) ** 0.5
    assert 1.1 < np.var(found) / (p * (1 - p) / total) < 1 / (1 - p)


@settings(max_examples=12, deadline=None, derandomize=True, phases=[Phase.generate])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ask", "ask", "tell", "settle"]),
            st.sampled_from([0.0, 0.004, 0.3, 3.0, 40.0]),
            st.integers(1, 5),
        ),
        min_size=20,
        max_size=150,
    )
)
def test_it_learns_what_its_twin_learns(moves: list[tuple[str, float, int]]) -> None:
    clock, twin = Clock(), NaiveLate(60.0, -0.5, 2)
    session = db.Session(db.UCB1(), ["a", "b"], timeout=60.0, default_reward=-0.5, late=True, clock=clock)
    for verb, seconds, number in moves:
        clock.now += seconds
        twin.settle(clock.now)
        if verb == "ask":
            twin.ask(clock.now, [session.arms.index(each.arm) for each in session.ask_many(number)])
        else:
            session.settle()
            if verb == "tell" and session.open:
                step = session.waiting()[number % session.open].step
                assert session.tell(f"d-{step}", number / 5) is Outcome.NEW
                twin.tell(clock.now, step, number / 5)
        assert session._late is not None
        assert session._late.cohorts is not None
        assert session._late.ahead == twin.ahead
        assert np.allclose(session._late.cohorts.law, twin.law, rtol=1e-9)
        assert np.allclose(session._late.cohorts.missing(clock.now), twin.missing(clock.now), rtol=1e-9)
        assert session._learner._past.pulls == twin.learnt


VERBS = ["ask"] * 8 + ["tell"] * 5 + ["jump"] * 3 + ["late", "timeout", "default", "arm", "policy", "restore", "rewind"]


@settings(max_examples=25, deadline=None, derandomize=True, phases=[Phase.generate])
@given(data=st.data())
def test_whatever_happens_a_session_is_the_fold_of_its_log(data: st.DataObject) -> None:
    clock = Clock()
    declared: dict[str, Any] = {"arms": ["a", "b"], "timeout": 30.0, "default_reward": 0.0, "late": True}
    declared["unit_key"] = "k"
    session = db.Session(db.UCB1(), **declared, clock=clock)
    events: list[Event] = []
    session.journal = events
    for verb in data.draw(st.lists(st.sampled_from(VERBS), min_size=10, max_size=80)):
        clock.now += data.draw(st.sampled_from([0.05, 0.7]))
        if verb == "ask":
            session.ask_many(data.draw(st.integers(1, 6)))
        elif verb == "tell" and session.open:
            session.tell_many({f"d-{data.draw(st.sampled_from(session.waiting())).step}": 1.0})
        elif verb == "jump":
            clock.now += data.draw(st.sampled_from([3.0, 20.0, 50.0]))
            session.settle(data.draw(st.sampled_from([None, 1, 3])))
        elif verb == "late":
            session.change(late=not session.late)
        elif verb == "timeout":
            session.change(timeout=data.draw(st.sampled_from([7.0, 30.0, 100.0])))
        elif verb == "default":
            session.change(default_reward=data.draw(st.sampled_from([0.0, -1.0])))
        elif verb == "arm" and len(session.arms) < 5:
            session.add_arm(f"new {len(session.arms)}")
        elif verb == "policy":
            session.change(policy=data.draw(st.sampled_from([db.UCB1(), db.SWUCB(window=30, xi=1.0)])))
        elif verb == "rewind":
            clock.now -= 10.0
            session.apply(Rewound(clock.now))
        elif verb == "restore":
            session = db.Session.restore(session.snapshot(), clock=clock)
            session.journal = events
        assert session.seq == len(events)
    folded = db.Session(db.UCB1(), **declared)
    for event in events:
        folded.apply(event)
    assert folded.snapshot() == session.snapshot()
    folded.clock, folded.journal = clock, []
    clock.now += 11.0
    before = len(events)
    assert folded.ask_many(3) == session.ask_many(3)
    assert folded.journal == events[before:]
    # A refund is a correction, and one that retracts takes back a Decision altogether: what is left is a log like any.
    closed = [event.step for event in events if isinstance(event, Told | Settled)]
    if closed:
        step, reward = data.draw(st.sampled_from(closed)), data.draw(st.sampled_from([None, 0.0, 0.25]))
        right = db.Session(db.UCB1(), **declared, clock=clock)
        for event in amended([*events, Corrected(step, reward, clock.now)], {step: reward}):
            right.apply(event)
        clock.now += 300.0
        right.settle()
        assert right.open == 0
        assert right.seq > len(events)


def test_switched_off_it_takes_back_what_was_learnt_ahead() -> None:
    clock = Clock()
    session = db.Session(db.UCB1(), ["a", "b"], timeout=60, default_reward=0, late=True, clock=clock)
    session.force_arm("a")
    session.ask_many(50)
    clock.now += 30.0
    session.ask_many(50)
    clock.now += 5.0
    session.settle()
    ahead = session.learnt
    assert 50 < ahead < 100
    session.change(late=False, timeout=40)
    clock.now += 10.0
    session.settle()
    assert (session.learnt, session.open) == (ahead, 50), "the first half was learnt ahead, and more"
    clock.now += 30.0
    session.settle()
    assert session.learnt == 100


def test_an_ask_counts_a_limited_number_and_the_next_ones_go_on() -> None:
    clock = Clock()
    session = db.Session(db.UCB1(), ["a", "b"], timeout=60, default_reward=0, late=True, clock=clock)
    session.ask_many(1000)
    clock.now += 59.0
    session.settle(100)
    assert 90 < session.learnt <= 100
    session.settle(100)
    assert session.learnt <= 100, "once a tick"
    clock.now += 0.01
    session.settle(100)
    assert 180 < session.learnt <= 200


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({"late": 1}, "late must be True or False; got 1"),
        ({"late": True}, "late=True needs a timeout, after which silence is final"),
        ({"late": True, "timeout": 60}, "got timeout=60.0 and default_reward=None"),
        (
            {"late": True, "timeout": 60, "default_reward": 0, "policy": db.Exp3S(100, 1)},
            "any order, such as BreakEven",
        ),
    ],
)
def test_what_it_can_not_do_is_refused(declared: dict[str, Any], said: str) -> None:
    with pytest.raises(db.InputError, match=said.replace("(", r"\(")):
        db.Session(**{"arms": ["a", "b"], **declared})
    session = db.Session(arms=["a", "b"], timeout=60, default_reward=0, late=True)
    before = session.snapshot()
    for change in ({"timeout": None}, {"default_reward": None}, {"policy": db.Exp3S(100, 1)}):
        with pytest.raises(db.InputError, match="late=True"):
            session.change(**change)
    assert session.snapshot() == before
