"""The dashboard's View against a plain recomputation from the whole log, whatever way events were bundled."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftbandits as db
from clock import Clock
from driftbandits.errors import InputError
from driftbandits.live.decisions import Asked, Event
from driftbandits.service.dashboard import views
from driftbandits.service.dashboard.curves import make_curves
from driftbandits.service.dashboard.tracks import ARMS, LAST, SUMS, Rows, Track, empty_rows
from driftbandits.service.dashboard.view_json import MOST_DRAWN, view_json
from driftbandits.service.dashboard.view_snapshots import pack_view, unpack_view
from driftbandits.service.dashboard.views import Seen, View
from naive_view import base_rows, curves, fold

MOST = 16
act = st.tuples(
    st.integers(0, 12),  # asks
    st.lists(st.integers(0, 40), max_size=8),  # which of the open Decisions to answer
    st.sampled_from([0.0, 0.01, 0.3, 2.0]),  # seconds to wait
    st.booleans(),  # commit now, or later with more
    st.booleans(),  # add up now, or later with more
)


class Played:
    """A Session played step by step, its log, and its View with the beliefs that it read."""

    def __init__(self, policy: db.Policy, arms: list[str], **options: Any) -> None:
        self.clock = Clock()
        self.session = db.Session(policy, arms, clock=self.clock, **options)
        self.session.journal = []
        self.view = View(self.session)
        self.log: list[Event] = []
        self.beliefs: dict[int, tuple[float, float, list[int]]] = {}
        self.open: list[str] = []

    def act(self, asks: int, answers: list[int], wait: float) -> None:
        if asks:
            self.open += [decision.id for decision in self.session.ask_many(asks)]
        for which in answers:
            if which < len(self.open):
                id = self.open.pop(which)
                self.session.tell_many([(id, (hash_of(id) % 8) / 8)])
        self.clock.now += wait
        self.session.settle()

    def commit(self) -> None:
        events, self.session.journal = self.session.journal or [], []
        before = self.view.belief
        self.view.apply(events, self.session)
        self.log += events
        if self.view.belief is not before:
            belief = self.view.belief
            gap = belief.snoozed[-1].gap if belief.snoozed else belief.gap
            known = [math.nan if value is None else value for value in (gap, belief.threshold)]
            self.beliefs[len(self.log)] = (known[0], known[1], [snooze.arm for snooze in belief.snoozed])


def hash_of(id: str) -> int:
    return int(id.rpartition("-")[2]) * 2_654_435_761 % 2**32


def compare(rows: Rows, expected: list[dict[str, Any]], origin: float) -> None:
    assert len(rows.last) == len(expected)
    found = make_curves(rows, origin)
    for index, row in enumerate(expected):
        assert rows.sums[index].tolist() == [row[name] for name in SUMS]
        assert rows.last[index] == pytest.approx([row[name] for name in LAST], nan_ok=True)
        for arm, came in enumerate(row["came"]):
            numbers = dict(zip(ARMS, rows.arms[index, arm].tolist(), strict=True))
            assert numbers == pytest.approx(
                {
                    "asks": row["asks"][arm],
                    "rewards": len(came),
                    "total": sum(r - origin for r, _ in came),
                    "squares": sum((r - origin) ** 2 for r, _ in came),
                    "weight": sum(weight for _, weight in came),
                    "weighted": sum((r - origin) * weight for r, weight in came),
                    "snoozed": row["snoozed"][arm],
                }
            )
    for arm in range(rows.arms.shape[1]):
        columns = [found.arms[name][:, arm] for name in ("share", "mean", "low", "high", "lead")]
        assert np.array(curves(expected, arm)).reshape(-1, 5) == pytest.approx(
            np.array(columns).T, nan_ok=True, abs=1e-9
        )


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (db.AutoTS(), {"explore": 0.1}),
        (db.SnoozeItTight(horizon=100, drift=1e-3, confidence=0.05), {"timeout": 3.0, "default_reward": 0.5}),
        (db.KalmanTS(drift=1e-3), {"timeout": 3.0}),
    ],
)
@given(acts=st.lists(act, max_size=40))
@settings(max_examples=40, deadline=None)
def test_any_history_in_any_bundles(policy: db.Policy, options: dict[str, Any], acts: list[Any]) -> None:
    most, views.MOST_ROWS = views.MOST_ROWS, MOST
    try:
        played = Played(policy, ["a", "b"], **options)
    finally:
        views.MOST_ROWS = most
    for asks, answers, wait, commits, adds_up in acts:
        played.act(asks, answers, wait)
        if commits:
            played.commit()
        if adds_up:
            played.view.take_in()
    played.commit()
    view = played.view
    view.take_in()
    rows = base_rows(played.log, played.beliefs, 2)
    origin = view.origin or 0.0
    compare(view.rows(view.whole), fold(rows, MOST), origin)
    assert len(view.whole.rest.last) + len(view.recent.rest.last) <= 2
    recent = view.rows(view.recent)
    assert min(len(rows), MOST // 2) <= len(recent.last) <= MOST + 1
    compare(recent, rows[len(rows) - len(recent.last) :], origin)
    assert view.pending == played.session.open
    assert view.seq == len(played.log)


def long_play(policy: db.Policy, steps: int, gap: float = 0.8, **options: Any) -> Played:
    played, luck = Played(policy, ["good", "bad"], **options), np.random.default_rng(0)
    for _ in range(steps):
        decision = played.session.ask()
        mean = 0.5 + (gap / 2 if decision.arm == "good" else -gap / 2)
        played.session.tell(decision.id, float(luck.random() < mean))
        played.clock.now += 0.1
        played.commit()
    return played


def test_a_snooze_is_seen_with_its_gap_and_its_span() -> None:
    played = long_play(db.SnoozeItTight(horizon=10_000, drift=1e-3), 1_500)
    found, _ = view_json(played.view)
    assert found["snoozes"]
    ended = found["snoozes"][-1]
    assert ended["arm"] == "bad"
    assert ended["better"] == "good"
    assert 0 < ended["gap"] <= 1
    assert ended["start"] < ended["end"] < found["snoozes"][-2]["start"]
    index = found["drawn"].index(1)
    asks = played.view.rows(played.view.whole).arms[:, 1, 0]
    snoozed = np.array(found["rows"]["snoozed"][index])
    assert (asks[snoozed == 1] == 0).mean() > 0.8  # the rest: a snooze's end is seen up to 8 steps late
    assert (snoozed == 1).sum() > 10
    assert (snoozed == 0).any()
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("gap", [0.96, -0.96])  # the first reward is 1, or 0
def test_intervals_of_rewards_of_0_and_1_stay_within_0_and_1(gap: float) -> None:
    """With 1.96 standard errors to each side they reached -0.04 and 1.01, and had no length where all were alike."""
    view = long_play(db.AutoTS(), 400, gap=gap, explore=0.3).view
    view.take_in()
    assert view.origin == (gap > 0)
    assert view_json(view)[0]["weighted"], "by the probabilities that the log keeps"
    found = make_curves(view.rows(view.whole), view.origin).arms
    known = ~np.isnan(found["mean"])
    low, mean, high = (found[name][known] for name in ("low", "mean", "high"))
    assert len(mean) > 50
    assert low.min() >= 0.0
    assert high.max() <= 1.0
    assert (low < high).all()
    assert ((low <= mean) & (mean <= high)).all()


def test_events_do_not_wait_for_someone_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment that nobody looks at must not fill the memory."""
    monkeypatch.setattr(views, "BUNDLE", 100)
    view = long_play(db.AutoTS(), 60).view
    assert len(view._asks) + len(view._closed) < 100
    view.take_in()
    assert int(view.rows(view.whole).sums[:, 0].sum()) == 60


def test_a_page_that_has_rows_gets_only_what_is_new() -> None:
    played = long_play(db.AutoTS(), 300)
    before, cursor = view_json(played.view)
    for _ in range(30):
        played.session.tell(played.session.ask().id, 0.25)
    played.clock.now += 1
    played.commit()
    more, _ = view_json(played.view, "whole", cursor)
    whole, _ = view_json(played.view)
    assert before["start"] == whole["start"] == 0
    assert more["start"] == len(before["rows"]["step"]) - 1
    for name, column in whole["rows"].items():
        pairs = [(column, before["rows"][name], more["rows"][name])]
        if name in ("share", "mean", "low", "high", "lead", "snoozed"):
            pairs = list(zip(column, before["rows"][name], more["rows"][name], strict=True))
        for everything, old, new in pairs:
            assert everything == old[: more["start"]] + new
    recent, _ = view_json(played.view, "recent", cursor)
    assert recent["start"] == 0


def test_a_new_generation_is_sent_whole() -> None:
    played = long_play(db.AutoTS(), 8 * views.MOST_ROWS + 4)
    _, cursor = view_json(played.view)
    for _ in range(20):
        played.session.tell(played.session.ask().id, 0.25)
    played.commit()
    assert view_json(played.view, "whole", cursor)[0]["start"] == 0


def test_many_arms_take_fewer_rows_and_only_the_busiest_are_drawn() -> None:
    played = Played(db.Uniform(), [f"arm {index}" for index in range(300)])
    for _ in range(60):
        played.act(100, list(range(40)), 0.1)
        played.commit()
    found, _ = view_json(played.view)
    assert len(found["rows"]["step"]) <= views.MOST_NUMBERS // 300 + 1
    assert len(found["drawn"]) == len(found["rows"]["mean"]) == MOST_DRAWN
    assert len(found["arms"]) == 50


def test_nothing_yet_is_no_rows() -> None:
    found, _ = view_json(View(db.Session(arms=["a", "b"])))
    assert found["rows"]["step"] == []
    assert found["mean"] is None
    assert [arm["mean"] for arm in found["arms"]] == [None, None]
    json.dumps(found, allow_nan=False)


def test_a_view_made_in_the_middle_takes_rewards_of_earlier_decisions() -> None:
    session = db.Session(arms=["a", "b"])
    decisions = session.ask_many(5)
    view = View(session)
    session.journal = []
    session.tell(decisions[0].id, 1.0)
    view.apply(session.journal, session)
    found, _ = view_json(view)
    assert found["counts"] == {"told": 1, "late": 0, "settled": 0, "pending": 4}
    assert found["since"] == 5


@pytest.mark.parametrize("together", [True, False])
def test_an_old_answer_leaves_the_newest_decisions_alone(together: bool) -> None:
    """Step 1 and step 13 have the same place among the last twelve, and the newer one, still pending, has it."""
    played = Played(db.AutoTS(), ["a", "b"], explore=0.5)
    played.session.ask_many(views.DECISIONS + 1)
    if not together:
        played.commit()
        played.view.take_in()
    played.session.tell_many([("d-1", 0.25), ("d-2", 0.5)])
    played.commit()
    played.view.take_in()
    asked = [event for event in played.log if isinstance(event, Asked)][1:]
    assert sorted(each for each in played.view.decisions if each) == [
        Seen(step, arm, 1000.0, probability, *(("told", 0.5) if step == 2 else ("pending", None)))
        for step, arm, _, _, probability, _ in asked
    ]


@pytest.mark.parametrize(("default", "state"), [(None, "dropped"), (0.25, "default")])
def test_a_decision_whose_time_was_up_is_shown_so_and_was_not_late(default: float | None, state: str) -> None:
    played = Played(db.AutoTS(), ["a", "b"], timeout=3.0, default_reward=default)
    played.act(1, [], 2.0)
    played.act(1, [], 0.5)
    played.session.tell("d-2", 1.0)
    played.act(0, [], 2.0)
    played.commit()
    played.view.take_in()
    seen = [(each.step, each.state, each.reward) for each in played.view.decisions if each]
    assert seen == [(1, state, default), (2, "told", 1.0)]
    assert list(played.view.delays) == [0.5]


@pytest.mark.parametrize("policy", [db.AutoTS(), db.SnoozeItTight(horizon=10_000, drift=1e-3)])
def test_a_snapshot_continues_as_if_nothing_happened(policy: db.Policy) -> None:
    played = long_play(policy, 900)
    played.act(30, [20], 0.1)  # those before it will be late
    played.commit()
    copy = unpack_view(pack_view(played.view), played.session)
    assert view_json(copy)[0] == view_json(played.view)[0]
    for _ in range(200):
        played.act(3, [0, 2], 0.2)
        events = list(played.session.journal or [])
        copy.apply(events, played.session)
        played.commit()
    assert view_json(copy, "recent")[0] == view_json(played.view, "recent")[0]
    assert view_json(copy)[0] == view_json(played.view)[0]


@pytest.mark.usefixtures("interpreted")
def test_a_wrong_snapshot_is_refused() -> None:
    session = db.Session(arms=["a", "b"])
    for data in (b"", b"no snapshot", session.snapshot()):
        with pytest.raises(InputError, match="not a snapshot of a View"):
            unpack_view(data, session)


@pytest.mark.parametrize("late", [False, True])
def test_young_data_is_not_taken_for_drift_where_silence_is_weighed(late: bool) -> None:
    clock = Clock()
    session = db.Session(db.Uniform(), ["a", "b"], timeout=100.0, default_reward=0.0, late=late, clock=clock)
    view, session.journal = View(session, drift=1e-6), []
    session.tell_many(dict.fromkeys(session.ask_many(4_000)[::2], 1.0))  # conversions first,
    clock.now += 101.0
    session.settle()  # and silence when its time is up
    view.apply(session.journal, session)
    view.take_in()
    assert (view.alarm_count == 0) == late
    assert unpack_view(pack_view(view), session).late == late
    session.journal = []
    session.change(late=not late)
    view.apply(session.journal, session)
    assert view.late == (not late)
    assert view.alarm
    assert sum(view.alarm.tests) == 0, "what comes now is compared with nothing of before"


def test_one_outlier_spoils_no_other_row() -> None:
    played = Played(db.AutoTS(), ["a", "b"])
    for step in range(400):
        played.session.tell(played.session.ask().id, 1e100 if step == 40 else 0.5)
    played.commit()
    found, _ = view_json(played.view)
    assert found["arms"][0]["mean"] == found["arms"][1]["mean"] == 0.5 or found["arms"][0]["mean"] is None


@given(half=st.integers(1, 5), pieces=st.lists(st.integers(1, 60), min_size=1, max_size=20), folds=st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_track_holds_no_more_than_it_may_whatever_the_pieces(half: int, pieces: list[int], folds: bool) -> None:
    count, most = sum(pieces), 2 * half
    base = empty_rows(count, 1)
    base.sums[:, 0] = base.last[:, 0] = np.arange(count)
    track, start = Track(most, 1, folds), 0
    for piece in pieces:
        track.add(base.part(start, start + piece))
        start += piece
    width = 1
    while folds and count // width > most:
        width *= 2
    assert track.width == width
    if folds:
        full = count // width
        assert track.rows.sums[:, 0].tolist() == base.sums[: full * width, 0].reshape(full, width).sum(axis=1).tolist()
        assert track.rows.last[:, 0].tolist() == [width * (row + 1) - 1 for row in range(full)]
        assert track.rest.sums[:, 0].sum() == base.sums[full * width :, 0].sum()
        assert track.filled == count - full * width
    else:
        kept = len(track.rows.last)
        assert min(count, half) <= kept <= most
        assert track.rows.last[:, 0].tolist() == base.last[count - kept :, 0].tolist()
