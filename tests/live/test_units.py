"""Units: the same visitor gets the same arm; the holdout is a sample of visitors; who they are can be erased."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftbandits as db
from driftbandits.live.decisions import AGAIN, HELD, Asked, Note, Rewound
from driftbandits.live.lift import GROUPS, MOST_BLOCKS, Strata
from driftbandits.live.units import hash_of


def notes(session: db.Session) -> list[Note]:
    return [event.note for event in session.journal or [] if isinstance(event, Asked) and event.note]


def ready(**settings: Any) -> tuple[db.Session, list[float]]:
    """A Session that has learnt some rewards, and the time that its clock shows."""
    now = [1_000.0]
    session = db.Session(arms=["a", "b", "c"], clock=lambda: now[0], **settings)
    session.tell_many(dict.fromkeys(session.ask_many(30), 0.5))
    session.journal = []
    return session, now


def test_a_unit_keeps_its_arm_for_so_long_and_then_gets_another() -> None:
    session, now = ready(sticky=60, explore=0.5)
    first = session.ask(unit="ann")
    now[0] += 59.0
    assert {session.ask("ann").arm for _ in range(30)} == {first.arm}
    assert len({each.arm for each in session.ask_many(30, [str(number) for number in range(30)])}) > 1
    now[0] += 1.0
    ways = [note.way for note in notes(session)]
    session.ask("ann")
    assert [bool((way or 0) & AGAIN) for way in ways[:31]] == [False] + [True] * 30
    assert not (notes(session)[-1].way or 0) & AGAIN, "a visit does not prolong it"
    many = session.ask_many(20, ["bob"] * 20)
    assert len({each.arm for each in many}) == 1, "in one batch too"
    assert session.explain(many[0]).phase != "again"
    assert session.explain(many[1]).phase == "again"


def test_a_clock_that_was_ahead_binds_no_unit_longer() -> None:
    """The unit had its arm at a time that turned out to be in the future: it counts from the time that is right."""
    session, now = ready(sticky=60, explore=0.5)
    now[0] = 5_000.0
    session.ask("ann")
    session.apply(Rewound(1_010.0))
    for time, again in ((1_011.0, True), (1_069.0, True), (1_070.0, False)):
        now[0] = time
        session.ask("ann")
        assert bool((notes(session)[-1].way or 0) & AGAIN) is again, time


def test_a_disabled_arm_the_brake_and_the_control_come_first() -> None:
    session, _ = ready(sticky=60)
    had = session.ask("ann").arm
    other = next(arm for arm in session.arms if arm != had)
    session.force_arm(other)
    assert session.ask("ann").arm == other
    session.force_arm(None)
    assert session.ask("ann").arm == had, "the brake is forgotten"
    session.disable_arm(had)
    new = session.ask("ann").arm
    assert new != had
    session.enable_arm(had)
    assert {session.ask("ann").arm for _ in range(20)} == {new}
    session.change(policy=db.UCB1(), explore=0.5)
    assert {session.ask("ann").arm for _ in range(20)} == {new}
    session.change(sticky=None)
    assert len({session.ask("ann").arm for _ in range(40)}) > 1
    assert len(session._units) == 0


def test_probabilities_of_what_is_given_again_are_those_of_the_first_choice() -> None:
    session, _ = ready(sticky=60, explore=0.5)
    session.ask_many(200, [f"user-{number % 50}" for number in range(200)])
    asked = [event for event in session.journal or [] if isinstance(event, Asked)]
    assert [event.probability for event in asked[50:]] == [event.probability for event in asked[:50]] * 3
    weights = np.zeros(3)
    for event in asked[:50]:
        weights[event.arm] += 1.0 / (event.probability or np.nan)
    assert abs(weights.sum() - 150) < 5 * np.sqrt(50 * 3 * 2 / 0.5 * 3)


def test_the_holdout_is_a_random_sample_of_units() -> None:
    session, now = ready(sticky=60)
    session.hold_out(0.2, "a")
    units = [f"user-{number}" for number in range(2_000)]
    session.ask_many(2_000, units)
    held = [bool((note.way or 0) & HELD) for note in notes(session)]
    assert abs(sum(held) - 400) < 5 * np.sqrt(2_000 * 0.2 * 0.8)
    places = [int.from_bytes(hash_of(unit, session.unit_key)[:8], "big") / 2**64 for unit in units]
    assert held == [place < 0.2 for place in places], "of those with a smaller number, and of all of them"
    assert abs(np.mean(places) - 0.5) < 5 / np.sqrt(12 * 2_000)
    assert abs(sum(held[:1_000]) - sum(held[1_000:])) < 5 * np.sqrt(2_000 * 0.2 * 0.8)
    now[0] += 1_000.0  # long after
    session.journal = []
    again = session.ask_many(2_000, units)
    assert [bool((note.way or 0) & HELD) for note in notes(session)] == held, "always the same ones"
    assert {each.arm for each, is_held in zip(again, held, strict=True) if is_held} == {"a"}
    session.hold_out(0.3, "a")
    session.journal = []
    session.ask_many(2_000, units)
    more = [bool((note.way or 0) & HELD) for note in notes(session)]
    assert all(now_held or not before for before, now_held in zip(held, more, strict=True)), "a larger share adds"
    assert abs(sum(more) - 600) < 5 * np.sqrt(2_000 * 0.3 * 0.7)
    other = db.Session(arms=["a", "b"], unit_key="another secret")
    other.hold_out(0.2, "a")
    other.journal = []
    other.ask_many(2_000, units)
    both = sum(one and bool((two.way or 0) & HELD) for one, two in zip(held, notes(other), strict=True))
    assert abs(both - 80) < 5 * np.sqrt(80), "by another secret it is another sample"


def test_nobody_is_held_out_while_an_arm_is_forced() -> None:
    session, _ = ready(sticky=60)
    session.hold_out(0.5, "a")
    session.force_arm("b")
    units = [f"user-{number}" for number in range(100)]
    decisions = session.ask_many(100, units)
    assert {decision.arm for decision in decisions} == {"b"}
    assert not any((note.way or 0) & HELD for note in notes(session))
    session.tell_many(dict.fromkeys(decisions, 1.0))
    assert session.lift()[-2:] == (0, 0)
    session.force_arm(None)
    session.journal = []
    after = session.ask_many(100, units)
    ways = [note.way or 0 for note in notes(session)]
    assert not any(way & AGAIN for way in ways), "what was forced is no one's arm"
    assert 25 < sum(bool(way & HELD) for way in ways) < 75
    assert {decision.arm for decision, way in zip(after, ways, strict=True) if way & HELD} == {"a"}


def test_the_interval_of_the_lift_by_hand() -> None:
    rng, strata = np.random.Generator(np.random.SFC64(5)), Strata()
    steps = np.arange(1, 61)
    held, rewards, groups = steps % 3 == 0, rng.random(60), rng.integers(0, GROUPS, 60)
    alone = steps % 5 == 0
    for step, is_held, reward, group, is_alone in zip(steps, held, rewards, groups, alone, strict=True):
        strata.add(int(step), bool(is_held), float(reward), None if is_alone else int(group))
    off = np.where(held, rewards - rewards[held].mean(), rewards - rewards[~held].mean())
    errors = [(off / 40)[~alone & ~held & (groups == g)].sum() - (off / 20)[~alone & held & (groups == g)].sum()
              for g in range(GROUPS)]  # fmt: skip
    variance = (off**2)[alone & ~held].sum() / (40 * 39) + (off**2)[alone & held].sum() / (20 * 19)
    variance += GROUPS / (GROUPS - 1) * np.square(errors).sum()
    right = rewards[~held].mean() - rewards[held].mean()
    reach = 2.0395 * np.sqrt(variance)  # Student's t with 31 degrees of freedom
    assert strata.lift()[:3] == pytest.approx((right, right - reach, right + reach), rel=1e-3)


def test_the_interval_of_the_lift_is_honest_when_units_come_often() -> None:
    """Rewards of a unit are alike; those who take them for independent ones are wrong most of the time."""
    rng = np.random.Generator(np.random.SFC64(3))
    hits = naive_hits = 0
    runs, units, visits = 60, 200, 10
    for _ in range(runs):
        likes, held = rng.normal(0.5, 0.3, units), rng.random(units) < 0.3
        groups = rng.integers(0, GROUPS, units)
        strata, naive = Strata(), Strata()
        who = rng.integers(0, units, units * visits)
        rewards = likes[who] + np.where(held[who], 0.0, 0.05) + 0.2 * rng.standard_normal(len(who))
        for step, (unit, reward) in enumerate(zip(who.tolist(), rewards.tolist(), strict=True), 1):
            strata.add(step, bool(held[unit]), reward, int(groups[unit]))
            naive.add(step, bool(held[unit]), reward)
        found, other = strata.lift(), naive.lift()
        assert found.lift == pytest.approx(other.lift)
        assert (found.rewards, found.held_out) == (other.rewards, other.held_out)
        assert (found.policy, found.holdout) == pytest.approx((other.policy, other.holdout))
        hits += (found.low or 0.0) <= 0.05 <= (found.high or 0.0)
        naive_hits += (other.low or 0.0) <= 0.05 <= (other.high or 0.0)
    assert hits > 0.95 * runs - 5 * np.sqrt(runs * 0.05 * 0.95)
    assert naive_hits < 0.8 * runs
    wide = Strata()
    for step in range(1, 64 * MOST_BLOCKS * 2, 3):
        wide.add(step, step % 2 == 0, 1.0, step % GROUPS if step % 5 else None)
    assert len(wide.blocks) <= MOST_BLOCKS
    assert wide.lift().rewards + wide.lift().held_out == len(range(1, 64 * MOST_BLOCKS * 2, 3))
    assert (wide.lift().low, wide.lift().high) == (0.0, 0.0)


@pytest.mark.parametrize("made", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_know_units_and_erasing_forgets_them(made: Callable[[Any], Any]) -> None:
    now = [1_000.0]
    session = db.Session(arms=["a", "b", "c"], sticky=60, unit_key="secret", seed=2)
    session.clock = lambda: now[0]
    session.hold_out(0.3, "c")
    units = [f"user-{number}" for number in range(60)]
    session.tell_many(dict.fromkeys(session.ask_many(60, units, [{"name": unit} for unit in units]), 0.5))
    twin = made(session)
    twin.clock = session.clock
    assert twin.snapshot() == session.snapshot()
    assert twin.lift() == session.lift()
    assert [each.arm for each in twin.ask_many(60, units)] == [each.arm for each in session.ask_many(60, units)]
    hashed = notes_of(session, "user-7")
    assert hashed in session.snapshot()
    assert b"user-7" not in session.snapshot()
    session.erase("user-7")
    assert hashed not in session.snapshot()
    assert len(session._units) == 60, "its slot stays, with nobody's name"
    session.journal = []
    session.ask("user-7")
    assert not (notes(session)[0].way or 0) & AGAIN


def notes_of(session: db.Session, unit: str) -> bytes:
    session.journal = []
    session.ask(unit)
    found = notes(session)[-1].unit
    assert found is not None
    return found


def test_the_key_of_hashes_is_random_unless_given_and_stays_in_the_snapshot() -> None:
    sessions = [db.Session(arms=["a", "b"], seed=seed, sticky=60) for seed in (0, 0, 1)]
    keys = {session.unit_key for session in sessions}
    assert len(keys) == 3, "the seed is no secret"
    assert all(len(key) >= 32 and key not in repr(sessions) for key in keys)
    session = sessions[0]
    arms = [session.ask(f"user-{number}").arm for number in range(20)]
    for copied in (db.Session.restore(session.snapshot()), copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        assert copied.unit_key == session.unit_key
        assert [copied.ask(f"user-{number}").arm for number in range(20)] == arms
    same = [db.Session(arms=["a", "b"], sticky=60, unit_key="the same", clock=lambda: 5.0) for _ in range(2)]
    for each in same:
        each.hold_out(0.3, "a")
        each.ask_many(50, [f"user-{number}" for number in range(50)])
    assert same[0].snapshot() == same[1].snapshot()


def test_what_units_get_does_not_depend_on_the_key() -> None:
    units = [f"user-{number % 30}" for number in range(90)]
    told = []
    for key in ("one secret", "another secret"):
        session = db.Session(arms=["a", "b", "c"], sticky=60, explore=0.3, unit_key=key)
        told.append([session.ask(unit).arm for unit in units])
    assert told[0] == told[1]


def test_what_is_refused_changes_nothing() -> None:
    session, _ = ready(sticky=60)
    before = session.snapshot()
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: session.ask(unit=""), "1 to 200 characters"),
        (lambda: session.ask(unit="x" * 201), "1 to 200 characters"),
        (lambda: session.ask(unit="\ud800"), "1 to 200 characters"),
        (lambda: session.ask(unit=17), "got 17"),  # type: ignore[arg-type]
        (lambda: session.ask(metadata={"x": float("nan")}), "object of JSON"),
        (lambda: session.ask(metadata={"x": "\ud800"}), "object of JSON"),
        (lambda: session.ask(metadata=[1]), "object of JSON"),  # type: ignore[arg-type]
        (lambda: session.ask(metadata={"x": "y" * 1_017}), "at most 1,024 bytes as JSON, and this has 1,025"),
        (lambda: session.ask_many(2, ["ann"]), "as many as Decisions, 2; got 1"),
        (lambda: session.ask_many(3, "ann"), "must be a list"),
        (lambda: session.change(sticky=0), "sticky must be a positive number"),
        (lambda: session.erase(""), "1 to 200 characters"),
        (lambda: db.Session(arms=["a", "b"], unit_key=""), "unit_key must be"),
    ]
    for call, words in calls:
        with pytest.raises(db.InputError, match=words):
            call()
        assert session.snapshot() == before
    assert session.ask(metadata={"x": "y" * 1_016})
    assert notes(session) == [Note(None, None, '{"x":"' + "y" * 1_016 + '"}')]


def test_the_arm_of_the_holdout_ends_with_it_and_what_is_over_is_forgotten() -> None:
    session, now = ready(sticky=60)
    units = [f"user-{number}" for number in range(40)]
    session.hold_out(0.5, "a")
    session.ask_many(40, units)
    held = [bool((note.way or 0) & HELD) for note in notes(session)]
    assert 0 < sum(held) < 40
    session.hold_out(0)
    session.journal = []
    session.ask_many(40, units)
    assert [not (note.way or 0) & AGAIN for note in notes(session)] == held
    now[0] += 60.0
    session.ask("ann")
    assert len(session._units) == 1
