"""What the dashboard shows of one experiment, updated event by event, in bounded memory."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from time import thread_time
from typing import NamedTuple

import numpy as np

from driftbandits.live.decisions import ArmChanged, Asked, Event, LateSwitched, PolicyChanged, Settled, Told
from driftbandits.live.session import Session
from driftbandits.policies import Policy
from driftbandits.policies._parts.belief import Belief, Snooze
from driftbandits.service.dashboard.drift_alarm import Alarm, DriftAlarm
from driftbandits.service.dashboard.tallies import Asks, BeliefAt, Closed, add_up, ask_columns, closed_columns, row_of
from driftbandits.service.dashboard.tracks import Rows, Track, empty_rows

MOST_ROWS = 512
MOST_NUMBERS = 10_000
"""Rows times arms: with more than 20 arms there are fewer rows."""
DECISIONS = 12
SNOOZES = 50
ALARMS = 20
DELAYS = 1000
BUNDLE = 32_768
"""Numbers that wait at most until they are added up: those of some 5,000 events."""
LOOK = 0.05
"""Least seconds between two readings of the policy's belief: for SnoozeIt one takes as long as its episode."""
LONG_LOOK = 1.0
"""The same within a row."""
LONG = 0.005
REST = 50.0
"""A reading that took longer than this is followed by a rest of so many times what it took: some take 0.2 seconds."""


class Seen(NamedTuple):
    """One of the last Decisions: ``state`` is "pending", "told", "default" or "dropped"."""

    step: int
    arm: int
    time: float
    probability: float | None
    state: str
    reward: float | None


class SnoozeSpan(NamedTuple):
    """A Snooze as seen from outside, between steps of the Session; ``end`` is None while it lasts."""

    snooze: Snooze
    start: int
    end: int | None


class View:
    """The dashboard's memory of an experiment: call ``apply`` with the events of every commit.

    Rows of 8 steps are kept for the last 4,096 steps or less (``recent``); of the ``whole`` life there are at most 512
    rows, which become twice as wide whenever they are full. A reward belongs to the row in which it came. Events are
    added up by the thousand, or when ``take_in`` is called, which is to be done before anything is read. The alarm
    watches the ``drift`` given, or else the policy's own.

    >>> session = Session(arms=["red", "blue"])
    >>> view = View(session)
    >>> session.journal = []
    >>> for _ in range(100):
    ...     decision = session.ask()
    ...     _ = session.tell(decision.id, float(decision.arm == "red"))
    >>> view.apply(session.journal, session)
    >>> view.take_in()
    >>> view.step, view.pending, int(view.rows(view.whole).sums[:, 0].sum())
    (100, 0, 100)
    """

    def __init__(self, session: Session, drift: float | None = None, n_arms: int | None = None) -> None:
        self.names, self.session_name = session.arms[:n_arms], session.name
        self.late = session.late
        self._policy = session.policy
        n_arms = len(self.names)
        most = max(16, min(MOST_ROWS, MOST_NUMBERS // n_arms)) // 2 * 2
        self.whole, self.recent = Track(most, n_arms, folds=True), Track(most, n_arms, folds=False)
        self.since, self.step, self.newest = session.step, session.step, 0
        self.changes = session.changes
        self.time = self.looked = 0.0 if session.time == -math.inf else session.time
        self.belief, self._rest = session.belief(), 0.0
        self.rewarded: float | None = None
        """When the last reward was told."""
        self.origin: float | None = None
        """The first reward, which is taken off all others before they are added up: so little is lost to rounding."""
        self.decisions: list[Seen | None] = [None] * DECISIONS
        self.delays: deque[float] = deque(maxlen=DELAYS)
        self.snoozes: deque[SnoozeSpan] = deque(maxlen=SNOOZES)
        self.snoozed: tuple[Snooze, ...] = ()
        self.watch(drift)
        self.alarms: deque[tuple[int, float, Alarm]] = deque(maxlen=ALARMS)
        self.alarm_count = 0
        self.unfinished = empty_rows(1, n_arms)
        self.open = {event.step: event for event, _ in session._open.values()}
        self.unfinished.last[0] = self.step, self.time, self.pending, math.nan, math.nan
        self.begin_bundle()
        self._looked_at = self.seq

    @property
    def pending(self) -> int:
        """How many Decisions wait for their reward."""
        return len(self.open)

    @property
    def seq(self) -> int:
        """How many events of the experiment it has seen, if it was there from the start, or might have."""
        return 2 * self.step - self.pending + self.changes

    def apply(self, events: Iterable[Event], session: Session | None) -> None:
        """Add the events that ``session`` made or applied since the last time.

        Without a session, for events of long ago, the policy's belief is not recorded.
        """
        before, step, time, pending = self.step, self.step, self.time, self.open
        asks, closed, nothing = self._asks, self._closed, math.nan
        for event in events:
            if type(event) is Asked:
                step, arm, time, _, probability, note = event
                pending[step] = event if note is None else event._replace(note=None)
                asks += (step, arm, time, nothing if probability is None else probability)
            elif type(event) is Told or type(event) is Settled:
                closes, reward, time = event
                _, arm, asked, _, probability, _ = pending.pop(closes)
                reward = nothing if reward is None else reward
                probability = nothing if probability is None else probability
                closed += (step, closes, arm, reward, probability, time, asked, type(event) is Told)
            else:
                self.changes += 1
                if isinstance(event, ArmChanged) and event.arm == len(self.names):
                    self.step, self.time = step, time
                    self._add_arm(event.name)
                    asks, closed = self._asks, self._closed
                elif isinstance(event, PolicyChanged):
                    self.step, self.time = step, time
                    self._change_policy(event.policy)
                    asks, closed = self._asks, self._closed
                elif isinstance(event, LateSwitched):
                    self.step, self.time = step, time
                    self._switch_late(event.on)
                    asks, closed = self._asks, self._closed
        self.step, self.time = step, time
        in_new_row = before == self.since or row_of(before, self.since) < row_of(step, self.since)
        if session and time - self.looked >= max(LOOK if in_new_row else LONG_LOOK, self._rest):
            self._read_belief(session)
        if len(asks) + len(closed) >= BUNDLE:
            self.take_in()

    def catch_up(self, session: Session) -> None:
        """Read the policy's belief if the last events were too close together for that, and nothing came since."""
        if self.seq != self._looked_at and session.clock() - self.looked >= max(LONG_LOOK, self._rest):
            self._read_belief(session)

    def watch(self, drift: float | None) -> None:
        """Compare rewards with that drift from here on; None: with the policy's own, if it was told one."""
        self._declared = drift
        drift = getattr(self._policy, "drift", None) if drift is None else drift
        sigma = getattr(self._policy, "sigma", 0.5)
        self.alarm = None if drift is None else DriftAlarm(len(self.names), drift, sigma)

    def _change_policy(self, policy: Policy) -> None:
        """Another policy may rely on another drift; what was compared with the old one is not compared with it."""
        if policy != self._policy:
            self.take_in()
            self._policy = policy
            self.watch(self._declared)

    def _switch_late(self, on: bool) -> None:
        """While silence is weighed, successes are known before failures, and the alarm would take that for drift."""
        self.take_in()
        self.late = on
        self.watch(self._declared)

    def _add_arm(self, name: str) -> None:
        """One arm more; what came before is added up first, for it knows nothing of it."""
        self.take_in()
        self.names, self.belief = [*self.names, name], Belief()
        self.unfinished = self.unfinished.with_arm()
        for track in (self.whole, self.recent):
            track.rows, track.rest = track.rows.with_arm(), track.rest.with_arm()
            track.generation += 1
        if self.alarm is not None:
            self.alarm.add_arm()

    def _read_belief(self, session: Session) -> None:
        """What the policy thinks now; a snooze begins or ends when it is seen for the first time, or no longer."""
        began = thread_time()
        belief = session.belief()  # of a Session that may have an arm more than was seen here
        took = thread_time() - began
        self._rest = REST * took if took > LONG else 0.0
        self.belief = belief = belief._replace(snoozed=tuple(s for s in belief.snoozed if s.arm < len(self.names)))
        self.looked, self._looked_at = self.time, self.seq
        last = max(belief.snoozed, key=lambda snooze: snooze.since, default=None)
        gap, threshold = last.gap if last else belief.gap, belief.threshold
        gap, threshold = (math.nan if value is None else value for value in (gap, threshold))
        self._beliefs.append(BeliefAt(self.step, gap, threshold, belief.snoozed))
        for index, span in enumerate(self.snoozes):
            if span.end is None and span.snooze not in belief.snoozed:
                self.snoozes[index] = span._replace(end=self.step)
        begun = (snooze for snooze in belief.snoozed if snooze not in self.snoozed)
        self.snoozes.extend(SnoozeSpan(snooze, self.step, None) for snooze in begun)
        self.snoozed = belief.snoozed

    def rows(self, track: Track) -> Rows:
        """All rows of ``whole`` or ``recent``, the unfinished one included; none before anything happened."""
        began = self.step > self.since or self.unfinished.sums.any()
        return track.all_rows(self.unfinished) if began else empty_rows(0, len(self.names))

    # Adding up

    def begin_bundle(self) -> None:
        """No event waits to be added up."""
        gap, threshold = self.unfinished.last[0, 3:].tolist()
        self._asks: list[float] = []
        self._closed: list[float] = []
        self._beliefs = [BeliefAt(self.step, gap, threshold, self.snoozed)]

    def take_in(self) -> None:
        """Add up the events that wait."""
        asks, closed = ask_columns(self._asks, self.since), closed_columns(self._closed, self.since)
        known = closed.reward[~np.isnan(closed.reward)]
        if self.origin is None and len(known):
            self.origin = float(known[0])
        rows = add_up(self.unfinished, asks, closed, self._beliefs, self.since, self.newest, self.origin or 0.0)
        done = len(rows.last) - 1
        self.whole.add(rows.part(0, done))
        self.recent.add(rows.part(0, done))
        self.unfinished = rows.part(done, done + 1)
        self.newest = int(closed.step[closed.told].max(initial=self.newest))
        if closed.told.any():
            self.rewarded = float(closed.time[closed.told].max())
        self.delays.extend((closed.time - closed.asked)[closed.told][-DELAYS:].tolist())
        self._note_decisions(asks, closed)
        self._raise_alarms(closed)
        self.begin_bundle()

    def _note_decisions(self, asks: Asks, closed: Closed) -> None:
        for _, step, arm, time, probability in zip(*(column[-DECISIONS:].tolist() for column in asks), strict=True):
            self.decisions[step % DECISIONS] = Seen(step, arm, time, _or_none(probability), "pending", None)
        new = closed.step > self.step - DECISIONS
        for _, step, arm, reward, probability, _, asked, told in zip(*(c[new].tolist() for c in closed), strict=True):
            state = "told" if told else "dropped" if math.isnan(reward) else "default"
            self.decisions[step % DECISIONS] = Seen(step, arm, asked, _or_none(probability), state, _or_none(reward))

    def _raise_alarms(self, closed: Closed) -> None:
        if self.alarm is None or self.late:
            return
        known = ~np.isnan(closed.reward)
        for arm in range(len(self.names)):
            mine = known & (closed.arm == arm)
            rewards = list(zip(closed.step[mine].tolist(), closed.reward[mine].tolist(), strict=True))
            for alarm in self.alarm.take(arm, rewards):
                self.alarm_count += 1
                self.alarms.append((self.step, self.time, alarm))


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
